"""One decode step of a replica: bytes that it reads, arithmetic that it does, seconds that it takes.

The rooflines are the published edition's (kipp.ly, "Transformer inference arithmetic"; the JAX scaling book); what
differs is counted from the architecture: only the experts that a batch hits are read, each GPU reads the share of the
cache that it holds, and attention's arithmetic grows with the context.
"""

from __future__ import annotations

import jax.numpy as jnp

from ..config import Number
from .figures import ClusterFigures, ModelFigures


def experts_hit(batch: Number, experts: Number, used: Number) -> Number:
    """1 - (1 - k/E)^b: share of a layer's experts that a batch of b tokens hits, each token k of E at random.

    Args:
        batch: b, tokens in the step.
        experts: E, 0 for a dense model.
        used: k, experts per token.

    Returns:
        A share; 1 where there are no experts. The distinct experts are E times this.

    Source: arithmetic; routing that is not uniform hits fewer.
    """
    dense = experts <= 0
    unused = jnp.where(dense, 0.5, 1 - used / jnp.where(dense, 1.0, experts))
    every = unused <= 0
    missed = jnp.exp(batch * jnp.log(jnp.where(every, 0.5, unused)))
    return jnp.where(dense | every, 1.0, 1 - missed)


def weights_read(batch: Number, model: ModelFigures) -> Number:
    """weights - looked-up table - experts (missed share): bytes of weights that a step of b tokens reads."""
    missed = 1 - experts_hit(batch, model.experts, model.experts_per_token)
    return model.weight_bytes - model.lookup_bytes - model.expert_bytes * missed


def cache_read(context: Number, model: ModelFigures) -> Number:
    """kv c + kv_window min(c, window) + 2 state: bytes of cache and state that one sequence moves in a step.

    States are read and written.

    **Kinks:** at context = window, for models that have one.
    """
    within = jnp.where(context <= model.window, context, model.window)
    return (
        model.kv_bytes_per_token * context
        + model.window_kv_bytes_per_token * within
        + 2 * model.state_bytes_per_sequence
    )


def cache_held(context: Number, model: ModelFigures) -> Number:
    """Bytes of cache and state that one sequence of `context` tokens holds."""
    return cache_read(context, model) - model.state_bytes_per_sequence


def cache_ways(width: Number, model: ModelFigures) -> Number:
    """min(w, kv heads): how many GPUs of a replica share one sequence's cache; beyond the KV heads it is copied.

    A compressed latent cache has one head, so every GPU holds and reads all of it.

    **Kinks:** at w = kv heads.
    """
    return jnp.where(width <= model.kv_heads, width, model.kv_heads)


def step_seconds(batch: Number, context: Number, model: ModelFigures, cluster: ClusterFigures) -> tuple[Number, Number]:
    """max(bytes/bandwidth, FLOP/matrix rate)/efficiency + blocks t_block + b t_token: one token for every sequence.

    bytes = weights read/w + b cache/ways; FLOP = b (2 N_active + attention c)/w, per GPU of w.

    Args:
        batch: b, sequences in flight on the replica.
        context: c, tokens of context per sequence.

    Returns:
        Seconds, and the roof's margin: memory side - compute side [s].

    **Kinks:** the roof's crossover; those of the cache.
    """
    width = cluster.tensor_parallel
    weights = weights_read(batch, model) / width
    cache = batch * cache_read(context, model) / cache_ways(width, model)
    memory = (weights + cache) / cluster.chip.bandwidth
    within = jnp.where(context <= model.window, context, model.window)
    attention = model.decode_attention_flops * context + model.window_attention_flops * within
    compute = batch * (2 * model.matrix_parameters + attention) / (width * cluster.chip.matrix_rate)
    longer = jnp.where(memory >= compute, memory, compute)
    overhead = model.blocks * cluster.block_seconds + batch * cluster.token_seconds
    return longer / cluster.decode_efficiency + overhead, memory - compute


def intensity(batch: Number, context: Number, model: ModelFigures) -> Number:
    """b 2 N / (weights + b cache): FLOP per byte of a decode step, saturating at 2 N/(c kv) as the batch grows.

    Source: arithmetic. Qwen3-8B saturates at 244 FLOP/B with 456 tokens of context and at 27 with 4096: below the ridge
    point of every chip, so no batch makes it compute-bound.
    """
    moved = weights_read(batch, model) + batch * cache_read(context, model)
    return batch * 2 * model.matrix_parameters / moved
