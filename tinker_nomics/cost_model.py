"""The traced model: `evaluate` composes the formulas, `estimate` calls it once for plain numbers."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .assumptions import Assumptions, either
from .boundary import x64
from .config import Config, copy_with
from .formulas import api_billing, lora, memory, rollout, sandbox, schedule, tokens, training
from .notes import notes_of
from .outputs import Difference, Estimate, LoraSize, MemoryNeed, SelfHosted, Staleness, TinkerCost, Tokens
from .plain_config import checked, not_plain, overflow


def evaluate(config: Config, assumptions: Assumptions | None = None) -> Estimate:
    """Price one run: the pure function that every driver wraps, for use inside jit, vmap and grad.

    Args:
        config: leaves are scalars, or arrays that broadcast against each other.
        assumptions: in place of the config's own; a traced switch computes both editions and selects.

    Returns:
        An Estimate whose leaves have the broadcast shape of what they depend on; nothing is checked here.

    **Kinks:** those of the formulas; `branches` holds the margin of each.
    """
    switches = config.assumptions if assumptions is None else assumptions
    work, model, cluster = config.workload, config.model, config.cluster
    streams = Tokens(tokens.rollout_tokens(work), tokens.train_tokens(work), tokens.prefill_tokens(work))
    kv = either(switches.kv_bytes, lambda: rollout.kv_bytes_heuristic(model.active_parameters),
                lambda: model.kv_bytes_per_token)
    box = sandbox.sandbox_cost(tokens.rollouts(work), config.sandbox)
    adapter = _adapter(config, switches)
    tinker = _tinker(config, streams, box, adapter)
    abort, abort_branch = schedule.abort_rate(config.schedule)
    own, own_branches = _self_hosted(config, streams, kv, abort, box)
    need, memory_branches = _memory(config, kv)
    return Estimate(
        tokens=streams,
        tinker=tinker,
        self_hosted=own,
        difference=Difference(own.total - tinker.total),
        memory=need,
        lora=adapter,
        staleness=Staleness(abort),
        branches={**own_branches, **abort_branch, **memory_branches},
    )


def _tinker(config: Config, streams: Tokens, box: Any, adapter: LoraSize) -> TinkerCost:
    prices = config.prices
    sampled = api_billing.stream_cost(streams.rollout, prices.sample)
    trained = api_billing.stream_cost(streams.train, prices.train)
    prefilled = api_billing.stream_cost(streams.prefill, prices.prefill)
    stored = None if adapter.checkpoint_bytes is None else api_billing.storage_per_month(adapter.checkpoint_bytes, prices)
    total = (sampled + trained + prefilled + box) * config.workload.recipe_multiplier
    return TinkerCost(sampled, trained, prefilled, box, stored, total)


def _self_hosted(config: Config, streams: Tokens, kv: Any, abort: Any, box: Any) -> tuple[SelfHosted, dict[str, Any]]:
    work, model, cluster = config.workload, config.model, config.cluster
    decode_speed, roof = rollout.rollout_tokens_per_second(work, model, cluster, kv)
    train_speed = training.train_tokens_per_second(model, cluster, config.lora)
    sampled = streams.rollout * schedule.abort_multiplier(abort)
    prefill = rollout.uncached_prefill(streams.prefill, cluster)
    decode_hours = rollout.hours(sampled, decode_speed)
    prefill_hours = rollout.hours(prefill, rollout.prefill_tokens_per_second(model, cluster))
    rollout_hours = decode_hours + prefill_hours
    train_hours = rollout.hours(streams.train, train_speed)
    hours, overlap = schedule.overlapped_hours(rollout_hours, train_hours, config.schedule)
    gpu_hours = hours * cluster.gpus
    own = SelfHosted(
        rollout_tokens_per_second=decode_speed,
        train_tokens_per_second=train_speed,
        decode_hours=decode_hours,
        prefill_hours=prefill_hours,
        rollout_hours=rollout_hours,
        train_hours=train_hours,
        hours=hours,
        gpu_hours=gpu_hours,
        overlap_speedup=schedule.overlap_speedup(rollout_hours, train_hours, hours),
        sandbox=box,
        total=(gpu_hours * cluster.price_per_gpu_hour + box) * work.recipe_multiplier,
    )
    return own, {**roof, **overlap}


def _memory(config: Config, kv: Any) -> tuple[MemoryNeed, dict[str, Any]]:
    weights = memory.training_and_rollout_bytes(config.model, config.lora)
    needed, margins = memory.min_gpus(weights, config.cluster)
    cache_bytes = memory.kv_cache_bytes(config.workload, kv)
    margins["kv_fits"] = memory.kv_room(cache_bytes, config.model, config.cluster)
    fits = [jnp.where(margins[name] >= 0, 1.0, 0.0) for name in ("weights_fit", "kv_fits")]
    return MemoryNeed(needed, weights, cache_bytes, *fits), margins


def _adapter(config: Config, switches: Assumptions) -> LoraSize:
    if config.lora.training == "full":
        return LoraSize(None, None)
    per_rank = either(switches.lora_parameters, lambda: config.model.lora_parameters_per_rank_published,
                      lambda: config.model.lora_parameters_per_rank)
    if per_rank is None:
        return LoraSize(None, None)
    parameters = lora.adapter_parameters(per_rank, config.lora)
    return LoraSize(parameters, lora.checkpoint_bytes(parameters))


@cache
def _flat_model(structure: Any) -> tuple[Any, Any]:
    """The jitted model of one pytree structure, vector in, vector out, and the structure of what comes out."""

    def model(vector: jax.Array) -> Estimate:
        return evaluate(jax.tree.unflatten(structure, list(vector)))

    count = structure.num_leaves
    with x64():
        shape = jax.eval_shape(model, jax.ShapeDtypeStruct((count,), np.float64))
    flat = jax.jit(lambda vector: jnp.stack([jnp.asarray(leaf) for leaf in jax.tree.leaves(model(vector))]))
    return flat, jax.tree.structure(shape)


def estimate(config: Config) -> Estimate:
    """Price one run.

    Args:
        config: plain numbers, as `Config.from_recipe`, `Config.from_toml` and `replace` make them.

    Returns:
        An Estimate of Python floats: USD, hours, tokens (see `outputs.UNITS`); `estimate.to_dict()` nests them.

    Raises:
        TinkerNomicsError: no Config of plain numbers, or a cost too large to be a number.

    The first call of a structure traces and compiles; further ones with other numbers do not.
    """
    leaves, structure = jax.tree.flatten(checked(config, "estimate"))
    flat, shape = _flat_model(structure)
    try:
        vector = np.array(leaves, dtype=np.float64)
    except (TypeError, ValueError):
        raise not_plain(config, "estimate") from None
    with x64():
        values = np.asarray(flat(vector)).tolist()
    priced = jax.tree.unflatten(shape, values)
    if math.isinf(priced.tinker.total) or math.isinf(priced.self_hosted.total):
        raise overflow(config)
    return copy_with(priced, {"notes": notes_of(config)})
