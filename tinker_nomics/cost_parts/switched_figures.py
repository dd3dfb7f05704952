"""What each assumption makes of a model and a cluster: the figures that the step formulas take, switch by switch.

With a switch off a figure takes the value at which the revised formula is the published one: no window and no state, a
mixture that reads all of its experts, an engine one GPU wide whose memory limits nothing, an MFU that does not grow.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..assumptions import Assumptions, either
from ..config import Config, Number, copy_with
from ..formulas import rollout
from ..formulas.figures import ClusterFigures, ModelFigures
from ..formulas.itemised_memory import replica_gpus
from ..formulas.own_step import TrainerFigures
from ..formulas.trained_tokens import sequence_tokens
from ..placement_checks import SHARED_FRACTION, SPLIT_FRACTION


def window_of(config: Config) -> Number:
    """The sliding window; infinite where there is none, in a configuration or in one row of a sweep over models."""
    window = config.model.window
    return jnp.inf if window is None else jnp.where(jnp.isnan(window), jnp.inf, window)


def kv_bytes(config: Config, switches: Assumptions) -> Number:
    """Bytes of cache per token of context that grow without limit."""
    return either(
        switches.kv_bytes,
        lambda: rollout.kv_bytes_heuristic(config.model.active_parameters),
        lambda: config.model.kv_bytes_per_token,
    )


def _or_zero(value: Number) -> Number:
    return 0.0 if value is None else value


def rollout_model(config: Config, switches: Assumptions) -> ModelFigures:
    """The model as decode, prefill and memory see it."""
    model = config.model

    def chosen(switch: Any, published: Number, revised: Number) -> Number:
        return either(switch, lambda: published, lambda: revised)

    return ModelFigures(
        parameters=model.parameters,
        matrix_parameters=chosen(switches.batch_roof, model.active_parameters, model.matrix_parameters),
        weight_bytes=model.weight_bytes,
        lookup_bytes=chosen(switches.experts_hit, 0.0, model.lookup_bytes),
        expert_bytes=chosen(switches.experts_hit, 0.0, model.expert_bytes),
        experts=chosen(switches.experts_hit, 0.0, model.experts),
        experts_per_token=chosen(switches.experts_hit, 0.0, model.experts_per_token),
        blocks=chosen(switches.batch_roof, 0.0, model.blocks),
        hidden=chosen(switches.itemised_memory, 0.0, model.hidden),
        kv_heads=chosen(switches.itemised_memory, 1.0, model.kv_heads),
        kv_bytes_per_token=kv_bytes(config, switches),
        window_kv_bytes_per_token=chosen(switches.kv_bytes, 0.0, _or_zero(model.window_kv_bytes_per_token)),
        window=window_of(config),
        state_bytes_per_sequence=chosen(switches.kv_bytes, 0.0, _or_zero(model.state_bytes_per_sequence)),
        attention_flops=0.0,
        window_attention_flops=chosen(switches.batch_roof, 0.0, model.window_attention_flops),
        decode_attention_flops=chosen(switches.batch_roof, 0.0, model.decode_attention_flops),
        lora_used_per_rank=0.0,
    )


def train_model(config: Config) -> ModelFigures:
    """The model as the arithmetic of training sees it, in the revised edition."""
    model = config.model
    return ModelFigures(
        parameters=model.parameters,
        matrix_parameters=model.matrix_parameters,
        weight_bytes=model.weight_bytes,
        lookup_bytes=0.0,
        expert_bytes=0.0,
        experts=0.0,
        experts_per_token=0.0,
        blocks=model.blocks,
        hidden=model.hidden,
        kv_heads=1.0,
        kv_bytes_per_token=0.0,
        window_kv_bytes_per_token=0.0,
        window=window_of(config),
        state_bytes_per_sequence=0.0,
        attention_flops=model.attention_flops,
        window_attention_flops=model.window_attention_flops,
        decode_attention_flops=0.0,
        lora_used_per_rank=model.lora_used_per_rank,
    )


def cluster_figures(
    config: Config, switches: Assumptions, model: ModelFigures, split: Any
) -> tuple[ClusterFigures, dict[str, Number]]:
    """The engine, and the margin of its width where that follows from the memory.

    Args:
        split: whether the engine has its GPUs to itself, so that it may fill more of them.
    """
    cluster, engine = config.cluster, config.cluster.engine

    def chosen(switch: Any, published: Number, revised: Number) -> Number:
        return either(switch, lambda: published, lambda: revised)

    fraction = engine.memory_fraction
    if fraction is None:
        fraction = either(split, lambda: SHARED_FRACTION, lambda: SPLIT_FRACTION)
    figures = ClusterFigures(
        chip=cluster.chip,
        gpus=cluster.gpus,
        tensor_parallel=1.0,
        engine_memory_fraction=fraction,
        decode_efficiency=chosen(switches.batch_roof, cluster.rollout_efficiency, engine.decode_efficiency),
        block_seconds=chosen(switches.batch_roof, 0.0, engine.block_seconds),
        token_seconds=chosen(switches.batch_roof, 0.0, engine.token_seconds),
        prefill_efficiency=chosen(switches.batch_roof, cluster.rollout_efficiency, engine.prefill_efficiency),
        sequences=engine.sequences,
        limited=chosen(switches.itemised_memory, 0.0, 1.0),
    )
    width, margins = engine.tensor_parallel, {}
    if width is None:
        width, margin = replica_gpus(sequence_tokens(config.workload), model, figures)
        margins = {"replica_gpus_ceil": margin}
    width = chosen(switches.itemised_memory, 1.0, width)
    return copy_with(figures, {"tensor_parallel": width}), margins


def trainer_figures(config: Config, switches: Assumptions, sync_bytes: Number) -> TrainerFigures:
    """The trainer's MFU, its own seconds, and what it sends to the engines."""
    mfu, trainer = config.cluster.mfu, config.cluster.trainer

    def chosen(switch: Any, published: Number, revised: Number) -> Number:
        return either(switch, lambda: published, lambda: revised)

    return TrainerFigures(
        mfu_dense=chosen(switches.mfu_surface, mfu, trainer.mfu_dense),
        mfu_moe=chosen(switches.mfu_surface, mfu, trainer.mfu_moe),
        mfu_power=chosen(switches.mfu_surface, 0.0, trainer.mfu_power),
        fixed_seconds=chosen(switches.step_remainder, 0.0, trainer.fixed_seconds),
        sync_bytes=chosen(switches.step_remainder, 0.0, sync_bytes),
        sync_rate=chosen(switches.step_remainder, 1.0, trainer.sync_rate),
        experts=chosen(switches.mfu_surface, 0.0, config.model.experts),
    )
