"""The cost model written out a second time, from its specification, without JAX: what the tests hold the package to.

Every function takes values by parameter path and works on floats (`PLAIN`) or on NumPy arrays that broadcast (`NUMPY`);
the two differ only in how one of two values is picked. A chapter here is a file of `tinker_nomics/formulas`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

Values = Mapping[str, Any]


class Ops(NamedTuple):
    """How to pick, and how to round up."""

    pick: Callable[[Any, Any, Any], Any]
    ceil: Callable[[Any], Any]


PLAIN = Ops(lambda condition, yes, no: yes if condition else no, lambda x: float(math.ceil(x)))
NUMPY = Ops(np.where, np.ceil)


class Choices(NamedTuple):
    """What shapes the formulas: the pipeline's kind, the training's kind, and the switches that are on."""

    schedule: str = "auto"
    training: str = "lora"
    switches: frozenset[str] = frozenset()


PUBLISHED = Choices()

# ---- tokens ----------------------------------------------------------------------------------------------------------


def growth_multiplier(factor):
    return 0.5 + 0.5 * factor


def output_tokens_per_turn(v: Values):
    return growth_multiplier(v["workload.length_growth"]) * v["workload.completion_tokens"]


def effective_turns(v: Values):
    failed = v["workload.failure_rate"] * v["workload.failure_extra_turns"]
    return growth_multiplier(v["workload.turns_growth"]) * v["workload.turns"] * (1 + failed)


def rollouts(v: Values):
    return v["workload.steps"] * v["workload.rollouts_per_prompt"] * v["workload.prompts_per_step"]


def rollout_tokens(v: Values):
    return output_tokens_per_turn(v) * effective_turns(v) * rollouts(v)


def train_tokens(v: Values):
    return v["workload.epochs"] * rollout_tokens(v)


def prefill_tokens(v: Values):
    turns = effective_turns(v)
    read_again = output_tokens_per_turn(v) + v["workload.observation_tokens"]
    return rollouts(v) * (v["workload.prompt_tokens"] * turns + 0.5 * read_again * (turns - 1) * turns)


# ---- api_billing -----------------------------------------------------------------------------------------------------


def stream_cost(tokens, price):
    return price * (tokens / 1e6)


def storage_per_month(checkpoint_bytes, v: Values):
    return v["prices.storage"] * (checkpoint_bytes / 1e9)


# ---- rollout ---------------------------------------------------------------------------------------------------------


def kv_bytes_heuristic(v: Values):
    return 16_000 * (v["model.active_parameters"] / 1e9)


def kv_bytes(v: Values, switches=frozenset(), ops: Ops = PLAIN):
    """Cache per token of a decoded token's context; from the architecture, windows and state are spread over it."""
    if "kv_bytes" not in switches:
        return kv_bytes_heuristic(v)
    context = decode_context(v)
    window = v.get("model.window")
    seen = context if window is None else ops.pick(context < window, context, window)
    windowed = (
        (v.get("model.window_kv_bytes_per_token") or 0.0) if ops is PLAIN else v["model.window_kv_bytes_per_token"]
    )
    state = (v.get("model.state_bytes_per_sequence") or 0.0) if ops is PLAIN else v["model.state_bytes_per_sequence"]
    return v["model.kv_bytes_per_token"] + (windowed * seen + state + state) / context


def decode_context(v: Values):
    output = output_tokens_per_turn(v)
    before = 0.5 * (effective_turns(v) - 1) * (output + v["workload.observation_tokens"])
    return v["workload.prompt_tokens"] + before + 0.5 * output


def bandwidth_side(v: Values, kv):
    """Decode tokens per second of one GPU by memory traffic."""
    batch = v["workload.prompts_per_step"] * v["workload.rollouts_per_prompt"] / v["cluster.gpus"]
    step_bytes = v["model.weight_bytes"] + batch * kv * decode_context(v)
    return batch * (v["cluster.chip.bandwidth"] / step_bytes)


def compute_side(v: Values):
    """Decode tokens per second of one GPU by arithmetic."""
    return v["cluster.chip.matrix_rate"] / 2 / v["model.active_parameters"]


def rollout_tokens_per_second(v: Values, kv, ops: Ops = PLAIN):
    memory, compute = bandwidth_side(v, kv), compute_side(v)
    return ops.pick(memory < compute, memory, compute) * v["cluster.rollout_efficiency"] * v["cluster.gpus"]


def prefill_tokens_per_second(v: Values):
    return compute_side(v) * v["cluster.rollout_efficiency"] * v["cluster.gpus"]


def uncached_prefill(v: Values):
    return prefill_tokens(v) * (1 - v["cluster.prefix_cache_hit_rate"])


# ---- training --------------------------------------------------------------------------------------------------------


def train_flop_per_token(v: Values, training: str = "lora"):
    return (4 if training == "lora" else 6) * v["model.active_parameters"]


def train_tokens_per_second(v: Values, training: str = "lora"):
    return v["cluster.mfu"] * v["cluster.gpus"] * v["cluster.chip.matrix_rate"] / train_flop_per_token(v, training)


# ---- memory ----------------------------------------------------------------------------------------------------------


def training_and_rollout_bytes(v: Values, training: str = "lora"):
    return v["model.parameters"] * 2 * (2 if training == "lora" else 3) * 1.8


def gpu_quotient(v: Values, training: str = "lora"):
    """GPUs needed before rounding up."""
    return training_and_rollout_bytes(v, training) / v["cluster.chip.memory_bytes"]


def min_gpus(v: Values, training: str = "lora", ops: Ops = PLAIN):
    whole = ops.ceil(gpu_quotient(v, training))
    return ops.pick(whole > 2, whole, 2.0)


def kv_cache_bytes(v: Values, kv):
    return output_tokens_per_turn(v) * v["workload.rollouts_per_prompt"] * v["workload.prompts_per_step"] * kv


def kv_room(v: Values, kv):
    return v["cluster.gpus"] * v["cluster.chip.memory_bytes"] - v["model.weight_bytes"] * 2 - kv_cache_bytes(v, kv)


# ---- lora ------------------------------------------------------------------------------------------------------------


def dense_gqa_parameters_per_rank(hidden, kv_width, ffn, layers):
    return layers * (7 * hidden + 2 * (kv_width + hidden) + 3 * ffn)


def adapter_parameters(per_rank, v: Values):
    return v["lora.rank"] * per_rank


def checkpoint_bytes(parameters):
    return parameters + parameters


# ---- schedule --------------------------------------------------------------------------------------------------------


def abort_rate(v: Values, ops: Ops = PLAIN):
    k = v["schedule.max_steps_off_policy"]
    return ops.pick(k >= 2, 1 / (5 * ops.pick(k >= 2, k, 2.0)), 0.0)


def abort_multiplier(rate):
    return 1 / (1 - rate)


def overlapped_hours(rollout, train, v: Values, kind: str = "auto", ops: Ops = PLAIN):
    longer = ops.pick(rollout > train, rollout, train)
    if kind == "stream_minibatch":
        return longer
    return ops.pick(v["schedule.max_steps_off_policy"] < 1, rollout + train, longer)


# ---- sandbox ---------------------------------------------------------------------------------------------------------


def sandbox_cost(v: Values):
    if v["sandbox.seconds"] is None:
        return 0.0
    cores = v["sandbox.price_per_core_second"] * v["sandbox.cores"]
    return (cores + v["sandbox.price_per_gib_second"] * v["sandbox.gib"]) * v["sandbox.seconds"] * rollouts(v)


# ---- the whole -------------------------------------------------------------------------------------------------------


def evaluate(v: Values, choices: Choices = PUBLISHED, ops: Ops = PLAIN) -> dict[str, Any]:
    """Every output of an estimate by its dotted name."""
    k = v["schedule.max_steps_off_policy"]
    kv = kv_bytes(v, choices.switches, ops)
    sampled, trained, read = rollout_tokens(v), train_tokens(v), prefill_tokens(v)
    box, multiplier = sandbox_cost(v), v["workload.recipe_multiplier"]
    bill = [stream_cost(sampled, v["prices.sample"]), stream_cost(trained, v["prices.train"])]
    bill.append(stream_cost(read, v["prices.prefill"]))
    tinker = multiplier * (sum(bill) + box)

    abort = abort_rate(v, ops)
    speed, train_speed = rollout_tokens_per_second(v, kv, ops), train_tokens_per_second(v, choices.training)
    decode = sampled * abort_multiplier(abort) / (3600 * speed)
    prefill = uncached_prefill(v) / (3600 * prefill_tokens_per_second(v))
    rollout, train = decode + prefill, trained / (3600 * train_speed)
    hours = overlapped_hours(rollout, train, v, choices.schedule, ops)
    own = multiplier * (hours * v["cluster.gpus"] * v["cluster.price_per_gpu_hour"] + box)

    quotient, needed = gpu_quotient(v, choices.training), min_gpus(v, choices.training, ops)
    room = kv_room(v, kv)
    named = {
        "tokens.rollout": sampled,
        "tokens.train": trained,
        "tokens.prefill": read,
        "tinker.rollout": bill[0],
        "tinker.train": bill[1],
        "tinker.prefill": bill[2],
        "tinker.sandbox": box,
        "tinker.total": tinker,
        "self_hosted.rollout_tokens_per_second": speed,
        "self_hosted.train_tokens_per_second": train_speed,
        "self_hosted.decode_hours": decode,
        "self_hosted.prefill_hours": prefill,
        "self_hosted.rollout_hours": rollout,
        "self_hosted.train_hours": train,
        "self_hosted.hours": hours,
        "self_hosted.gpu_hours": hours * v["cluster.gpus"],
        "self_hosted.overlap_speedup": (rollout + train) / hours,
        "self_hosted.sandbox": box,
        "self_hosted.total": own,
        "difference.total": own - tinker,
        "memory.min_gpus": needed,
        "memory.weights_bytes": training_and_rollout_bytes(v, choices.training),
        "memory.kv_cache_bytes": kv_cache_bytes(v, kv),
        "memory.weights_fit": ops.pick(v["cluster.gpus"] >= needed, 1.0, 0.0),
        "memory.kv_fits": ops.pick(room >= 0, 1.0, 0.0),
        "staleness.abort_rate": abort,
        "branches.decode_roof": bandwidth_side(v, kv) - compute_side(v),
        "branches.abort_threshold": k - 2,
        "branches.overlap_threshold": k - 1,
        "branches.longer_phase": rollout - train,
        "branches.min_gpus_ceil": ops.ceil(quotient) - quotient,
        "branches.min_gpus_two": ops.ceil(quotient) - 2,
        "branches.weights_fit": v["cluster.gpus"] - needed,
        "branches.kv_fits": room,
    }
    if choices.training == "lora":
        edition = "" if "lora_parameters" in choices.switches else "_published"
        parameters = adapter_parameters(v[f"model.lora_parameters_per_rank{edition}"], v)
        saved = checkpoint_bytes(parameters)
        named |= {"lora.parameters": parameters, "lora.checkpoint_bytes": saved}
        named["tinker.storage_per_month"] = storage_per_month(saved, v)
    return named


def difference_scales(v: Values, choices: Choices = PUBLISHED, ops: Ops = PLAIN) -> dict[str, Any]:
    """For each output that is a difference, the size of its terms: what rounding is relative to."""
    out = evaluate(v, choices, ops)
    kv = kv_bytes(v, choices.switches, ops)
    return {
        "difference.total": out["self_hosted.total"] + out["tinker.total"],
        "branches.decode_roof": bandwidth_side(v, kv) + compute_side(v),
        "branches.longer_phase": out["self_hosted.rollout_hours"] + out["self_hosted.train_hours"],
        "branches.min_gpus_ceil": gpu_quotient(v, choices.training) + 1,
        "branches.kv_fits": v["cluster.gpus"] * v["cluster.chip.memory_bytes"]
        + v["model.weight_bytes"] * 2
        + out["memory.kv_cache_bytes"],
    }
