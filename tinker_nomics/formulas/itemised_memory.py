"""Memory of own GPUs item by item, in place of a factor of 1.8. Bytes, sequences, GPUs.

Source: arithmetic, in bf16 with fp32 moments; activations per token of a transformer layer are 34 d bytes where
attention keeps no score matrix and 2 d bytes at its boundary.
"""

from __future__ import annotations

import jax.numpy as jnp

from ..config import Number
from .decode_step import cache_held, cache_ways
from .figures import ClusterFigures, ModelFigures

UNLIMITED = 1e15  # sequences: more than any cluster runs
LAYER_BYTES = 34.0  # activations per token and unit of width of a layer that recomputes nothing
BOUNDARY_BYTES = 2.0
ADAM_BYTES = 16.0  # per trained parameter: bf16 weight and gradient, fp32 master and two moments


def activation_bytes(tokens: Number, model: ModelFigures, recompute: Number) -> Number:
    """tokens layers d (2 + 34 (1 - recompute)) + tokens 34 d recompute: activations kept for the backward pass.

    With full checkpointing the layer boundaries are kept, and one layer at a time is recomputed.

    Args:
        tokens: tokens in flight through the trainer at once.
        recompute: 1 with full checkpointing, 0 without.

    Check values: Qwen3-32B, B = 64, L = 8192: 5.8 TB without checkpointing, 344 GB for layer boundaries alone.
    """
    kept = BOUNDARY_BYTES * recompute + LAYER_BYTES * (1 - recompute)
    return tokens * model.hidden * (model.blocks * kept + LAYER_BYTES * recompute)


def trained_bytes(parameters: Number) -> Number:
    """16 B a parameter: weight, gradient, fp32 master and two moments of what is trained.

    Args:
        parameters: of the adapter, or of the whole model in full fine-tuning.
    """
    return ADAM_BYTES * parameters


def trainer_bytes(
    tokens: Number, model: ModelFigures, trained_parameters: Number, recompute: Number, buffers: Number, kind: str
) -> Number:
    """base weights + trained parameters' state + activations + buffers: bytes of the trainer over all of its GPUs.

    Args:
        tokens: tokens in flight at once over all GPUs.
        trained_parameters: of the adapter for LoRA; ignored in full fine-tuning, where all parameters train.
        recompute: 1 with full checkpointing, 0 without.
        buffers: communication buffers over all GPUs [B].
        kind: "lora" or "full".
    """
    activations = activation_bytes(tokens, model, recompute)
    if kind == "full":
        return trained_bytes(model.parameters) + activations + buffers
    return 2 * model.parameters + trained_bytes(trained_parameters) + activations + buffers


def cache_bytes(sequences: Number, context: Number, model: ModelFigures) -> Number:
    """Bytes of cache and state of `sequences` sequences of `context` tokens each, one copy.

    Check value: Qwen3-8B with 1,024 sequences of 512 tokens: 77 GB.
    """
    return sequences * cache_held(context, model)


def concurrency(context: Number, model: ModelFigures, cluster: ClusterFigures) -> Number:
    """(fraction x memory - weights/w) ways / cache of one sequence: sequences that fit on a replica of w GPUs.

    A GPU holds 1/w of the weights and 1/ways of a sequence's cache, ways = min(w, KV heads).

    Returns:
        Sequences, not rounded; negative where the weights alone do not fit.

    **Kinks:** at w = KV heads; at context = window.
    """
    room = cluster.engine_memory_fraction * cluster.chip.memory_bytes - model.weight_bytes / cluster.tensor_parallel
    return room * cache_ways(cluster.tensor_parallel, model) / cache_held(context, model)


def at_most(context: Number, model: ModelFigures, cluster: ClusterFigures) -> Number:
    """max(1, min(concurrency, sequences)): sequences that a replica runs at a time; without limit where memory has none.

    **Kinks:** where one sequence fits; where as many fit as are asked for; those of `concurrency`.
    """
    fits = concurrency(context, model, cluster)
    if cluster.sequences is not None:
        fits = jnp.where(cluster.sequences <= fits, cluster.sequences, fits)
    fits = jnp.where(fits >= 1, fits, 1.0)
    return jnp.where(cluster.limited > 0, fits, UNLIMITED)


def replica_gpus(context: Number, model: ModelFigures, cluster: ClusterFigures) -> tuple[Number, Number]:
    """2^ceil(log2(weights/(fraction x memory - cache of one sequence))): GPUs of a replica where nobody chooses.

    The smallest power of two that holds the weights beside one sequence's cache, at least 1.

    Returns:
        GPUs, and the distance of the logarithm up to the next whole number.

    **Kinks:** doubles where the logarithm is whole.
    """
    room = cluster.engine_memory_fraction * cluster.chip.memory_bytes - cache_held(context, model)
    there = room > 0
    doublings = jnp.log2(model.weight_bytes / jnp.where(there, room, 1.0))
    more = jnp.where(doublings >= 0, doublings, 0.0)
    whole = jnp.ceil(more)
    # exp2 of a whole number is not always whole in floating point
    return jnp.where(there, jnp.round(jnp.exp2(whole)), jnp.inf), whole - doublings


def engine_gpus(context: Number, model: ModelFigures, cluster: ClusterFigures) -> tuple[Number, Number]:
    """ceil((weights + cache of one sequence)/(fraction x memory)): GPUs of the smallest replica, no minimum of two.

    Returns:
        GPUs, and the distance of the quotient up to the next whole number.

    **Kinks:** jumps by one where the quotient is whole.
    """
    quotient = (model.weight_bytes + cache_held(context, model)) / (
        cluster.engine_memory_fraction * cluster.chip.memory_bytes
    )
    whole = jnp.ceil(quotient)
    return whole, whole - quotient


def trainer_gpus(bytes_needed: Number, cluster: ClusterFigures) -> tuple[Number, Number]:
    """ceil(bytes / memory): GPUs that the trainer needs, and the distance up to the next whole number.

    **Kinks:** jumps by one where the quotient is whole.
    """
    quotient = bytes_needed / cluster.chip.memory_bytes
    whole = jnp.ceil(quotient)
    return whole, whole - quotient
