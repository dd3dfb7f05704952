"""What a run needs in memory, either way: weights times a factor, or item by item."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..assumptions import Assumptions, is_traced, may_be_on
from ..config import Config, Number
from ..formulas import itemised_memory as items
from ..formulas import memory
from ..formulas.decode_step import cache_held
from ..formulas.lora import adapter_parameters
from ..formulas.trained_tokens import sequence_tokens
from ..outputs import MemoryNeed
from .own_run import per_rank
from .switched_figures import cluster_figures, rollout_model


def run_memory(config: Config, switches: Assumptions, kv: Number) -> tuple[MemoryNeed, dict[str, Number]]:
    """The memory of a run and its margins.

    Args:
        kv: bytes of cache per token of context, for the published count.

    **Kinks:** jumps where a count of GPUs is whole.
    """
    if not may_be_on(switches.itemised_memory):
        return _published(config, kv)
    revised = _itemised(config, switches)
    if not is_traced(switches.itemised_memory):
        return revised
    old, old_margins = _published(config, kv)
    new, margins = revised

    def chosen(name: str, before: Any, after: Any) -> Any:
        return after if before is None else jnp.where(switches.itemised_memory, after, before)

    need = MemoryNeed(**{name: chosen(name, getattr(old, name), value) for name, value in new.__dict__.items()})
    both = {name: chosen(name, old_margins.get(name), margin) for name, margin in margins.items()}
    return need, {**old_margins, **both}


def _published(config: Config, kv: Number) -> tuple[MemoryNeed, dict[str, Number]]:
    weights = memory.training_and_rollout_bytes(config.model, config.lora)
    needed, margins = memory.min_gpus(weights, config.cluster)
    cache = memory.kv_cache_bytes(config.workload, kv)
    margins["kv_fits"] = memory.kv_room(cache, config.model, config.cluster)
    fits = [jnp.where(margins[name] >= 0, 1.0, 0.0) for name in ("weights_fit", "kv_fits")]
    return MemoryNeed(needed, weights, cache, *fits), margins


def _itemised(config: Config, switches: Assumptions) -> tuple[MemoryNeed, dict[str, Number]]:
    """One replica of the engine and the trainer; side by side where the pool is split, else the larger of the two."""
    work, trainer, kind = config.workload, config.cluster.trainer, config.lora.training
    model = rollout_model(config, switches)
    asynchronous = _asynchronous(config)
    shared, margins = cluster_figures(config, switches, model, False)
    alone, _ = cluster_figures(config, switches, model, switches.pool_split)
    # an engine with its GPUs to itself may fill more of them, so its replicas can be narrower
    cluster = jax.tree.map(lambda beside, own: jnp.where(asynchronous, own, beside), shared, alone)
    sequence = sequence_tokens(work)
    in_flight = sequence if trainer.tokens_in_flight is None else trainer.tokens_in_flight
    counted = per_rank(config, switches)
    adapter = 0.0 if kind == "full" or counted is None else adapter_parameters(counted, config.lora)
    buffers = 0.0 if trainer.buffer_bytes is None else trainer.buffer_bytes
    needed = items.trainer_bytes(in_flight, model, adapter, trainer.recompute, buffers, kind)
    trainer_gpus, margins["trainer_gpus_ceil"] = items.trainer_gpus(needed, cluster)
    width = cluster.tensor_parallel
    gpus = jnp.where(asynchronous, width + trainer_gpus, jnp.where(width >= trainer_gpus, width, trainer_gpus))
    fits = items.concurrency(sequence, model, cluster)
    margins["weights_fit"] = config.cluster.gpus - gpus
    margins["kv_fits"] = (fits - 1) * cache_held(sequence, model)
    flags = [jnp.where(margins[name] >= 0, 1.0, 0.0) for name in ("weights_fit", "kv_fits")]
    base = 0.0 if kind == "full" else 2 * model.parameters
    trained = items.trained_bytes(model.parameters if kind == "full" else adapter)
    return MemoryNeed(
        min_gpus=gpus,
        weights_bytes=model.weight_bytes + base + trained,
        kv_cache_bytes=items.cache_bytes(work.prompts_per_step * work.rollouts_per_prompt, sequence, model),
        weights_fit=flags[0],
        kv_fits=flags[1],
        concurrency=items.at_most(sequence, model, cluster),
        engine_gpus=width,
        trainer_gpus=trainer_gpus,
        activation_bytes=items.activation_bytes(in_flight, model, trainer.recompute),
        trained_bytes=trained,
    ), margins


def _asynchronous(config: Config) -> Number:
    """Whether engine and trainer have GPUs of their own: where the schedule lets them work at once, from k = 1 on."""
    k = config.schedule.max_steps_off_policy
    return k >= 1 if config.schedule.kind in ("auto", "async") else jnp.asarray(False)
