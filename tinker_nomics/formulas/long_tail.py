"""The long tail of a rollout phase: how long until the last of a batch is done, and what refilling saves. Seconds.

A synchronous step waits for its longest rollout; meanwhile the batch empties and every step gets faster. An engine that
is refilled stays at its concurrency and waits for nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..config import Number
from .decode_step import StepTerms, seconds_of, step_terms
from .figures import ClusterFigures, ModelFigures
from .itemised_memory import at_most
from .lengths import alive

# Gauss-Legendre nodes while all run, while they become fewer, and until the last ends; no array above 64 numbers, since
# XLA's CPU runtime starts a thread for each step of a program that holds 512 bytes or more in one piece
EARLY, FALLING, LAST = 6, 20, 16
FIRST_END = -5.0  # in standard deviations of the logarithm: one in 3.5 million is shorter


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
    of them fit at a time, t is the decode step. Where a > C the sequences take turns. By quadrature with a fixed number of
    nodes, so continuous in every argument: within 1e-5 of the integral where no kink lies inside, within 0.12 % for
    models of the catalog on H100s, and within 1.5 % over random figures of machine and model, 1e-8 in the median.

    Args:
        sequences: n per replica, >= 1.
        median, sigma: of the log-normal length before the cut [tokens], [1].
        cap: tokens at which a rollout is cut; infinity for none.
        prompt: P [tokens].
        observed: o, tokens of the environment per sampled token.

    **Kinks:** those of the decode step; where a = C.
    """

    terms = step_terms(model, cluster)

    def advance(tokens: Number, running: Number, some: Number) -> Number:
        """Seconds per token by which every running sequence advances, times the chance that any still runs."""
        context = _context(tokens, prompt, observed)
        fits = at_most(context, model, cluster)
        full = running > fits
        seconds, _ = seconds_of(terms, jnp.where(full, fits, running), context)
        return some * seconds * jnp.where(full, running / fits, 1.0)

    return _over_lengths(advance, sequences, median, sigma, cap)


def expected_longest(sequences: Number, median: Number, sigma: Number, cap: Number) -> Number:
    """Integral of 1 - (1 - S(u))^n up to the cap: expected length of the longest of n [tokens].

    Args:
        sequences: n, >= 1.
        median, sigma, cap: as in `synchronous_seconds`.
    """
    return _over_lengths(lambda tokens, running, some: some, sequences, median, sigma, cap)


def _over_lengths(
    f: Callable[[Number, Number, Number], Number], sequences: Number, median: Number, sigma: Number, cap: Number
) -> Number:
    """Integral of f(u, running, any) du from 0 to the cap, in three stretches: in u while all run, then in ln u."""
    bottom, middle, top = _stretches(sequences, median, sigma, cap)
    falling, last = middle - bottom, top - middle
    (early_nodes, early_weights), late_nodes, late_weights = _nodes()
    first = median * jnp.exp(sigma * bottom)

    def early(node: Number) -> Number:
        return f(first * node, sequences, 1.0)

    def late(share_falling: Number, share_last: Number) -> Number:
        x = bottom + share_falling * falling + share_last * last
        tokens = median * jnp.exp(sigma * x)
        return f(tokens, *alive(x, sequences)) * tokens

    while_all = jnp.tensordot(early_weights, jax.vmap(early)(early_nodes), axes=1)
    later = jax.vmap(late)(*late_nodes)
    while_fewer, for_the_last = (jnp.tensordot(weights, later, axes=1) for weights in late_weights)
    return first * while_all + sigma * (falling * while_fewer + last * for_the_last)


def _stretches(sequences: Number, median: Number, sigma: Number, cap: Number) -> tuple[Number, Number, Number]:
    """Where the first one ends, where few are left, where the last one ends or the cap cuts: in standard deviations of
    the logarithm. What lies beyond the last is below 1e-6 of the whole."""
    capped = jnp.isfinite(cap)
    at_cap = jnp.log(jnp.where(capped, cap, 1.0) / median) / sigma
    logarithm = 2 * jnp.log(sequences)
    end = 0.8 * sigma + jnp.sqrt(logarithm + 30)
    top = jnp.where(capped & (at_cap < end), at_cap, end)
    bottom = jnp.where(top - 1 < FIRST_END, top - 1, FIRST_END)
    few = jnp.sqrt(logarithm + 0.25) - 1.2
    middle = jnp.where(few < top, few, top)
    return bottom, jnp.where(middle > bottom, middle, bottom), top


def _nodes() -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Nodes and weights of the first stretch; of the other two, how far each node is through either, and its weight in
    either.

    Fresh arrays at every trace: JAX remembers an array that it has seen by its identity, with the precision of then.
    """
    early, (falling, falling_weights), (last, last_weights) = map(_gauss, (EARLY, FALLING, LAST))
    before, after = np.zeros(FALLING), np.zeros(LAST)
    nodes = np.append(falling, after + 1), np.append(before, last)
    return early, nodes, (np.append(falling_weights, after), np.append(before, last_weights))


def _gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


class Refilled(NamedTuple):
    """A replica that is refilled: the context stays where it is in the mean, and with it what fits at a time."""

    mean: Number  # sampled tokens per sequence
    context: Number  # [tokens]
    fits: Number  # sequences at a time
    terms: StepTerms

    def seconds(self, sequences: Number, in_flight: Number) -> Number:
        """n mean/b t(b, context): seconds for n sequences where `in_flight` are offered at a time."""
        batch = jnp.where(in_flight <= self.fits, in_flight, self.fits)
        seconds, _ = seconds_of(self.terms, batch, self.context)
        return sequences * self.mean / batch * seconds


def refilled(mean: Number, prompt: Number, observed: Number, model: ModelFigures, cluster: ClusterFigures) -> Refilled:
    """The replica of `refilled_seconds`, for any number of sequences."""
    context = _context(mean / 2, prompt, observed)
    return Refilled(mean, context, at_most(context, model, cluster), step_terms(model, cluster))


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
    return refilled(mean, prompt, observed, model, cluster).seconds(sequences, in_flight)
