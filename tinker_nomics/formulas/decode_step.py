"""One decode step of a replica: bytes that it reads, arithmetic that it does, seconds that it takes.

The rooflines are the published edition's (kipp.ly, "Transformer inference arithmetic"; the JAX scaling book); what
differs is counted from the architecture: only the experts that a batch hits are read, each GPU reads the share of the
cache that it holds, and attention's arithmetic grows with the context.
"""

from __future__ import annotations

from typing import NamedTuple

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
    mixture, log_unused = _unused(experts, used)
    return jnp.where(mixture, 1 - jnp.exp(batch * log_unused), 1.0)


def _unused(experts: Number, used: Number) -> tuple[Number, Number]:
    """Whether some experts go unused by a token, and ln(1 - k/E), their share's logarithm: 0 where none does."""
    dense = experts <= 0
    unused = jnp.where(dense, 0.0, 1 - used / jnp.where(dense, 1.0, experts))
    some = unused > 0
    return some, jnp.log(jnp.where(some, unused, 1.0))


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


class StepTerms(NamedTuple):
    """A decode step in seconds, term by term: all that hangs on neither the batch nor the context, worked out once."""

    weights: Number  # all weights but the looked-up table, from memory [s]
    experts: Number  # of those, what a batch that hits no expert would spare; 0 without experts [s]
    log_unused: Number  # ln(1 - k/E) [1]
    state: Number  # from memory per sequence [s]
    cache: Number  # per sequence and token of context [s]
    window_cache: Number  # per sequence and token of context within the window [s]
    matrices: Number  # arithmetic per sequence [s]
    attention: Number  # per sequence and token of context [s]
    window_attention: Number
    window: Number  # [tokens]
    slower: Number  # by how much the roof is missed [1]
    overhead: Number  # of the step, whatever its batch [s]
    sequence_overhead: Number  # per sequence [s]


def step_terms(model: ModelFigures, cluster: ClusterFigures) -> StepTerms:
    """The terms of `step_seconds` for one model on one replica."""
    chip, width = cluster.chip, cluster.tensor_parallel
    ways = cache_ways(width, model) * chip.bandwidth
    rate = width * chip.matrix_rate
    mixture, log_unused = _unused(model.experts, model.experts_per_token)
    return StepTerms(
        weights=(model.weight_bytes - model.lookup_bytes) / (width * chip.bandwidth),
        experts=jnp.where(mixture, model.expert_bytes / (width * chip.bandwidth), 0.0),
        log_unused=log_unused,
        state=2 * model.state_bytes_per_sequence / ways,
        cache=model.kv_bytes_per_token / ways,
        window_cache=model.window_kv_bytes_per_token / ways,
        matrices=2 * model.matrix_parameters / rate,
        attention=model.decode_attention_flops / rate,
        window_attention=model.window_attention_flops / rate,
        window=model.window,
        slower=1 / cluster.decode_efficiency,
        overhead=model.blocks * cluster.block_seconds,
        sequence_overhead=cluster.token_seconds,
    )


def seconds_of(terms: StepTerms, batch: Number, context: Number) -> tuple[Number, Number]:
    """`step_seconds` of terms that are known: without a division, for where one run takes many steps."""
    within = jnp.where(context <= terms.window, context, terms.window)
    weights = terms.weights - terms.experts * jnp.exp(batch * terms.log_unused)
    memory = weights + batch * (terms.state + terms.cache * context + terms.window_cache * within)
    compute = batch * (terms.matrices + terms.attention * context + terms.window_attention * within)
    longer = jnp.where(memory >= compute, memory, compute)
    return longer * terms.slower + terms.overhead + batch * terms.sequence_overhead, memory - compute


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
    return seconds_of(step_terms(model, cluster), batch, context)


def intensity(batch: Number, context: Number, model: ModelFigures) -> Number:
    """b 2 N / (weights + b cache): FLOP per byte of a decode step, saturating at 2 N/(c kv) as the batch grows.

    Source: arithmetic. Qwen3-8B saturates at 244 FLOP/B with 456 tokens of context and at 27 with 4096: below the ridge
    point of every chip, so no batch makes it compute-bound.
    """
    moved = weights_read(batch, model) + batch * cache_read(context, model)
    return batch * 2 * model.matrix_parameters / moved
