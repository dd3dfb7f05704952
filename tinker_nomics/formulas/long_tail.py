"""The long tail of a rollout phase: how long until the last of a batch is done, and what refilling saves. Seconds.

A synchronous step waits for its longest rollout; meanwhile the batch empties and every step gets faster. An engine that
is refilled stays at its concurrency and waits for nobody.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from ..config import Number
from .decode_step import step_seconds
from .figures import ClusterFigures, ModelFigures
from .itemised_memory import at_most
from .lengths import alive

NODES, EARLY_NODES = 64, 6
LOWEST, HIGHEST = -6.0, 7.5  # in standard deviations of the logarithm of a length


def _context(tokens: Number, prompt: Number, observed: Number) -> Number:
    """P + u (1 + o): context after u sampled tokens, with o tokens observed for each sampled one."""
    return prompt + tokens * (1 + observed)


def synchronous_seconds(
    sequences: Number,
    median: Number,
    sigma: Number,
    cap: Number,
    prompt: Number,
    observed: Number,
    model: ModelFigures,
    cluster: ClusterFigures,
) -> Number:
    """Seconds until the last of n sequences that a replica starts together is done, without refill.

    T = integral du any(u) max(1, a/C) t(min(a, C), P + u (1 + o)) over u from 0 to the cap: a(u) sequences still run, C
    of them fit at a time, t is the decode step. Where a > C the sequences take turns. Tokens are conserved exactly;
    fixed quadrature in ln u, so smooth in every argument.

    Args:
        sequences: n per replica, >= 1.
        median, sigma: of the log-normal length before the cut [tokens], [1].
        cap: tokens at which a rollout is cut; infinity for none.
        prompt: P [tokens].
        observed: o, tokens of the environment per sampled token.

    **Kinks:** those of the decode step; where a = C.
    """

    def advance(tokens: Number) -> Number:
        return _advance(tokens, sequences, median, sigma, prompt, observed, model, cluster)

    return _over_lengths(advance, median, sigma, cap)


def expected_longest(sequences: Number, median: Number, sigma: Number, cap: Number) -> Number:
    """Integral of 1 - (1 - S(u))^n up to the cap: expected length of the longest of n [tokens].

    Args:
        sequences: n, >= 1.
        median, sigma, cap: as in `synchronous_seconds`.
    """
    return _over_lengths(lambda tokens: alive(tokens, sequences, median, sigma)[1], median, sigma, cap)


def _over_lengths(f: Callable[[Number], Number], median: Number, sigma: Number, cap: Number) -> Number:
    """Integral of f(u) du from 0 to the cap: up to where the first stops in u, from there in ln u."""
    capped = jnp.isfinite(cap)
    at_cap = jnp.log(jnp.where(capped, cap, 1.0) / median) / sigma
    top = jnp.where(capped & (at_cap < HIGHEST), at_cap, HIGHEST)
    bottom = jnp.where(top - 1.0 < LOWEST, top - 1.0, LOWEST)
    first = median * jnp.exp(sigma * bottom)

    def at(early: Number, node: Number) -> Number:
        """f du/dnode where u is linear in the node early on, and exponential later."""
        tokens = jnp.where(early, first * node, median * jnp.exp(sigma * (bottom + (top - bottom) * node)))
        return f(tokens) * jnp.where(early, first, sigma * (top - bottom) * tokens)

    early, nodes, weights = _nodes()
    return jnp.tensordot(weights, jax.vmap(at)(early, nodes), axes=1)


def _nodes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes from 0 to 1 of both stretches, one after the other: whether early, node, weight.

    Fresh arrays at every trace: JAX remembers an array that it has seen by its identity, with the precision of then.
    """
    early, late = (np.polynomial.legendre.leggauss(count) for count in (EARLY_NODES, NODES))
    nodes, weights = np.concatenate([early, late], axis=1)
    return np.arange(len(nodes)) < EARLY_NODES, (nodes + 1) / 2, weights / 2


def _advance(
    tokens: Number,
    sequences: Number,
    median: Number,
    sigma: Number,
    prompt: Number,
    observed: Number,
    model: ModelFigures,
    cluster: ClusterFigures,
) -> Number:
    """Seconds per token by which every running sequence advances, times the chance that any still runs."""
    running, some = alive(tokens, sequences, median, sigma)
    context = _context(tokens, prompt, observed)
    fits = at_most(context, model, cluster)
    full = running > fits
    seconds, _ = step_seconds(jnp.where(full, fits, running), context, model, cluster)
    return some * seconds * jnp.where(full, running / fits, 1.0)


def refilled_seconds(
    sequences: Number,
    in_flight: Number,
    mean: Number,
    prompt: Number,
    observed: Number,
    model: ModelFigures,
    cluster: ClusterFigures,
) -> Number:
    """n mean/b t(b, P + mean (1 + o)/2): seconds for n sequences on a replica that is refilled and stays at b in
    flight.

    Args:
        sequences: n per replica and step.
        in_flight: sequences offered to the replica at a time; b is this, or what fits.
        mean: sampled tokens per sequence.

    **Kinks:** where in_flight = what fits; those of the decode step.
    """
    context = _context(mean / 2, prompt, observed)
    fits = at_most(context, model, cluster)
    batch = jnp.where(in_flight <= fits, in_flight, fits)
    seconds, _ = step_seconds(batch, context, model, cluster)
    return sequences * mean / batch * seconds
