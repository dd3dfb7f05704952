"""The revised edition written out a second time, without JAX: plain arithmetic and bisection, any mixture of switches.

What needs an integral (the tail of a synchronous step) is left to the simulations in `formulas/test_long_tail.py`: here
`long_tail` only takes k steps' worth of rollouts in flight on an asynchronous pool. Shares and widths are given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set

import oracle

from tinker_nomics.formulas.fitted import coefficients

Values = Mapping[str, float]


# ---- tokens and Tinker's bill ----------------------------------------------------------------------------------------


def cached_tokens(v: Values) -> float:
    turns = oracle.effective_turns(v)
    turn = oracle.output_tokens_per_turn(v) + v["workload.observation_tokens"]
    again = (turns - 1) * v["workload.prompt_tokens"] + turn * (turns - 1) * (turns - 2) / 2
    within = (v["workload.rollouts_per_prompt"] - 1) / v["workload.rollouts_per_prompt"] * v["workload.prompt_tokens"]
    each = v["workload.cache_hit_turns"] * again + v["workload.cache_hit_group"] * within
    return oracle.rollouts(v) * each


def sequence_tokens(v: Values) -> float:
    turns = oracle.effective_turns(v)
    seen = turns * oracle.output_tokens_per_turn(v) + (turns - 1) * v["workload.observation_tokens"]
    return v["workload.prompt_tokens"] + seen


def trained_tokens(v: Values, on: Set[str]) -> float:
    if "whole_sequences" not in on:
        return oracle.train_tokens(v)
    if v["workload.strips_thinking"]:
        return v["workload.epochs"] * (oracle.prefill_tokens(v) + oracle.rollout_tokens(v))
    return v["workload.epochs"] * oracle.rollouts(v) * sequence_tokens(v)


def log_normal(x: float, sigma: float) -> float:
    """Distribution function of a log-normal with mean 1."""
    return 0.0 if x <= 0 else math.erfc(-(math.log(x) + sigma**2 / 2) / sigma / math.sqrt(2)) / 2


def partial_integral(x: float, sigma: float) -> float:
    if x <= 0:
        return 0.0
    z = (math.log(x) + sigma**2 / 2) / sigma
    return x * math.erfc(-z / math.sqrt(2)) / 2 - math.erfc(-(z - sigma) / math.sqrt(2)) / 2


def discarded(v: Values, asynchronous: bool) -> float:
    k, rho, cv = (v[f"schedule.{name}"] for name in ("max_steps_off_policy", "rho", "variation"))
    if not asynchronous:
        return 0.0
    sigma = math.sqrt(math.log(1 + cv * cv))
    low, high = 0.0, 4.0 + rho + cv * cv
    for _ in range(100):
        tau = (low + high) / 2
        done = partial_integral((k + 1) * tau - rho, sigma) - partial_integral(k * tau - rho, sigma)
        low, high = (low, tau) if done > 1 else (tau, high)
    fit = coefficients("staleness_queue")
    width = fit["scale"] * cv ** fit["variation_power"] * v["workload.prompts_per_step"] ** fit["batch_power"]
    z = (tau - rho) / width
    soft = z * math.erfc(-z / math.sqrt(2)) / 2 + math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return max(0.0, 1 - 1 / (rho + width * soft))


def evaluated_share(v: Values) -> float:
    batch = v["workload.prompts_per_step"] * v["workload.rollouts_per_prompt"]
    return v["evaluation.sequences"] / v["evaluation.every"] / batch


def tinker_total(v: Values, on: Set[str], asynchronous: bool) -> float:
    lost = discarded(v, asynchronous) if "staleness_queue" in on else 0.0
    again = 1 / (1 - lost)
    everything = again if "abort_everything" in on else 1.0
    table = "prices" if "dated_prices" in on else "published_prices"
    found = cached_tokens(v) if "cached_prefill" in on else 0.0
    bill = oracle.rollout_tokens(v) * v[f"{table}.sample"] * again + trained_tokens(v, on) * v[f"{table}.train"]
    bill += (oracle.prefill_tokens(v) - found) * v[f"{table}.prefill"] * everything
    bill += found * v["prices.cached_prefill"] * everything
    if "step_remainder" in on:
        read = (oracle.prefill_tokens(v) - found) * v[f"{table}.prefill"] + found * v["prices.cached_prefill"]
        bill += (oracle.rollout_tokens(v) * v[f"{table}.sample"] + read) * evaluated_share(v)
    return v["workload.recipe_multiplier"] * (bill / 1e6 + oracle.sandbox_cost(v) * everything)


# ---- decode ----------------------------------------------------------------------------------------------------------


def weights_read(v: Values, batch: float) -> float:
    unused = 1 - v["model.experts_per_token"] / v["model.experts"]
    missed = unused**batch if unused > 0 else 0.0
    return v["model.weight_bytes"] - v["model.lookup_bytes"] - v["model.expert_bytes"] * missed


def cache_of_one(v: Values, context: float, on: Set[str], states: float) -> float:
    if "kv_bytes" not in on:
        return oracle.kv_bytes_heuristic(v) * context
    windowed = v["model.window_kv_bytes_per_token"] * min(context, v["model.window"])
    return v["model.kv_bytes_per_token"] * context + windowed + states * v["model.state_bytes_per_sequence"]


def at_most(v: Values, context: float, on: Set[str]) -> float:
    """Sequences of this context that a replica runs at a time."""
    if "itemised_memory" not in on:
        return math.inf
    width = v["cluster.engine.tensor_parallel"]
    room = v["cluster.engine.memory_fraction"] * v["cluster.chip.memory_bytes"] - v["model.weight_bytes"] / width
    fits = room * min(width, v["model.kv_heads"]) / cache_of_one(v, context, on, 1.0)
    return max(1.0, min(fits, v["cluster.engine.sequences"]))


def step_seconds(v: Values, batch: float, context: float, on: Set[str]) -> float:
    itemised, own = "itemised_memory" in on, "batch_roof" in on
    width = v["cluster.engine.tensor_parallel"] if itemised else 1.0
    ways = min(width, v["model.kv_heads"]) if itemised else 1.0
    read = weights_read(v, batch) if "experts_hit" in on else v["model.weight_bytes"]
    memory = (read / width + batch * cache_of_one(v, context, on, 2.0) / ways) / v["cluster.chip.bandwidth"]
    flop = 2 * (v["model.matrix_parameters"] if own else v["model.active_parameters"])
    if own:
        flop += v["model.decode_attention_flops"] * context
        flop += v["model.window_attention_flops"] * min(context, v["model.window"])
    compute = batch * flop / (width * v["cluster.chip.matrix_rate"])
    if not own:
        return max(memory, compute) / v["cluster.rollout_efficiency"]
    overhead = v["model.blocks"] * v["cluster.engine.block_seconds"] + batch * v["cluster.engine.token_seconds"]
    return max(memory, compute) / v["cluster.engine.decode_efficiency"] + overhead


def decode_seconds(v: Values, gpus: float, on: Set[str], asynchronous: bool) -> float:
    """One step's decode on `gpus`, nobody waiting for the longest."""
    width = v["cluster.engine.tensor_parallel"] if "itemised_memory" in on else 1.0
    each = v["workload.prompts_per_step"] * v["workload.rollouts_per_prompt"] / (gpus / width)
    ahead = max(1.0, v["schedule.max_steps_off_policy"]) if asynchronous and "long_tail" in on else 1.0
    mean = oracle.effective_turns(v) * oracle.output_tokens_per_turn(v)
    context = oracle.decode_context(v)
    batch = min(each * ahead, at_most(v, context, on))
    return each * mean / batch * step_seconds(v, batch, context, on)


# ---- training and the step -------------------------------------------------------------------------------------------


def train_flop(v: Values, on: Set[str], training: str) -> float:
    flop = oracle.train_flop_per_token(v, training)
    if "train_flop" in on:
        repeated = v["cluster.trainer.recompute"] + v["cluster.trainer.logprob_passes"]
        half = sequence_tokens(v) / 2
        attention = v["model.attention_flops"] * half + v["model.window_attention_flops"] * min(half, v["model.window"])
        backward = 1 if training == "lora" else 2
        flop = 2 * v["model.matrix_parameters"] * (1 + backward + repeated) + attention * (3 + repeated)
        if training == "lora":
            edition = "lora_used_per_rank" if "lora_parameters" in on else "lora_parameters_per_rank_published"
            flop += 6 * v[f"model.{edition}"] * v["lora.rank"]
    if "step_remainder" in on:
        flop += 2 * (v["cluster.trainer.reference_parameters"] + v["cluster.trainer.reward_parameters"])
    return flop


def mfu(v: Values, on: Set[str], tokens_per_gpu: float) -> float:
    if "mfu_surface" not in on:
        return v["cluster.mfu"]
    at = v["cluster.trainer.mfu_moe"] if v["model.experts"] > 0 else v["cluster.trainer.mfu_dense"]
    return min(1.0, at * (tokens_per_gpu / 1e5) ** v["cluster.trainer.mfu_power"])


def train_seconds(v: Values, gpus: float, on: Set[str], training: str) -> float:
    tokens = trained_tokens(v, on) / v["workload.steps"]
    rate = gpus * v["cluster.chip.matrix_rate"] * mfu(v, on, tokens / gpus)
    return tokens * train_flop(v, on, training) / rate


def prefill_seconds(v: Values, gpus: float, on: Set[str], more: float) -> float:
    found = cached_tokens(v) if "cached_prefill" in on else 0.0
    tokens = (oracle.prefill_tokens(v) - found) * (1 - v["cluster.prefix_cache_hit_rate"]) / v["workload.steps"]
    flop = 2 * (v["model.matrix_parameters"] if "batch_roof" in on else v["model.active_parameters"])
    efficiency = v["cluster.engine.prefill_efficiency" if "batch_roof" in on else "cluster.rollout_efficiency"]
    return (
        tokens
        * (more if "abort_everything" in on else 1.0)
        * flop
        / (gpus * v["cluster.chip.matrix_rate"] * efficiency)
    )


def own_total(v: Values, on: Set[str], kind: str, training: str) -> float:
    more = 1 / (1 - oracle.abort_rate(v))
    rest = "step_remainder" in on
    evaluated = 1 + (evaluated_share(v) if rest else 0.0)
    if kind == "async" and v["schedule.max_steps_off_policy"] < 1:
        kind = "sync"
    asynchronous = kind == "async"
    gpus = v["cluster.gpus"]
    share = v["schedule.rollout_share"] if asynchronous and "pool_split" in on else 1.0
    left = 1 - share if share < 1 else 1.0
    decode = decode_seconds(v, gpus * share, on, asynchronous) * more * evaluated
    rollout = decode + prefill_seconds(v, gpus * share, on, more) * evaluated
    fixed = v["cluster.trainer.fixed_seconds"] if rest else 0.0
    if rest and kind == "sync":
        fixed += v["sandbox.seconds"]
    train = train_seconds(v, gpus * left, on, training) + fixed
    edition = "lora_parameters_per_rank" + ("" if "lora_parameters" in on else "_published")
    sent = 2 * (v["model.parameters"] if training == "full" else v[f"model.{edition}"] * v["lora.rank"])
    sync = sent / v["cluster.trainer.sync_rate"] if rest else 0.0
    seconds = (max(rollout, train) if asynchronous else rollout + train) + sync
    box = oracle.sandbox_cost(v) * (more if "abort_everything" in on else 1.0)
    bill = seconds * v["workload.steps"] / 3600 * gpus * v["cluster.price_per_gpu_hour"]
    return v["workload.recipe_multiplier"] * (bill + box)
