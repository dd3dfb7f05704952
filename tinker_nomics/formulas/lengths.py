"""Lengths of completions: a log-normal distribution by mean and spread, cut off at a cap. Tokens, shares.

Some rollouts run much longer than the rest; a synchronous step waits for the longest. The distribution is given by what
people report: the mean and p99/p50. Given samples enter through their own mean and p99/p50.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..config import Number
from .normal import normal_cdf

NORMAL_P99 = 2.3263478740408408  # the standard normal's 99th percentile
BISECTIONS = 50


def log_sigma(p99_over_p50: Number) -> Number:
    """sigma = ln(p99/p50)/2.326: standard deviation of the logarithm of a length.

    Args:
        p99_over_p50: 99th percentile over median, > 1 [1].
    """
    return jnp.log(p99_over_p50) / NORMAL_P99


def capped_mean(median: Number, sigma: Number, cap: Number) -> Number:
    """E[min(X, cap)] = m e^(sigma^2/2) Phi(z - sigma) + cap (1 - Phi(z)), z = ln(cap/m)/sigma: tokens.

    Args:
        median: m, median of the uncut distribution [tokens].
        sigma: standard deviation of the logarithm, > 0.
        cap: tokens at which a completion is cut; infinity for none.
    """
    capped = jnp.isfinite(cap)
    safe = jnp.where(capped, cap, 1.0)
    z = jnp.log(safe / median) / sigma
    below, above = _cut_normals(z, sigma)
    whole = median * jnp.exp(sigma * sigma / 2)
    return jnp.where(capped, whole * below + safe * above, whole)


def _cut_normals(z: Number, sigma: Number) -> tuple[Number, Number]:
    """Phi(z - sigma) and Phi(-z), in one call: each costs a second of compilation where there are many."""
    both = normal_cdf(jnp.stack(jnp.broadcast_arrays(z - sigma, -z)))
    return both[0], both[1]


def median_from_mean(mean: Number, sigma: Number, cap: Number) -> Number:
    """The median of the uncut distribution whose mean after the cut is `mean`: tokens.

    Without a cap m = mean e^(-sigma^2/2); with one, the root of `capped_mean` by bisection and one Newton step, which
    carries the first derivatives.

    Args:
        mean: mean of the cut lengths, < cap [tokens].
        sigma: standard deviation of the logarithm, > 0.
        cap: tokens at which a completion is cut; infinity for none.

    **Kinks:** none for mean < cap; a mean at or above the cap has no solution and gives a very large median.
    """
    free = mean * jnp.exp(-sigma * sigma / 2)
    capped = jnp.isfinite(cap)
    target, bound = jnp.where(capped, mean, 0.5), jnp.where(capped, cap, 1.0)

    def halve(_: int, span: tuple[Number, Number]) -> tuple[Number, Number]:
        low, high = span
        middle = (low + high) / 2
        above = capped_mean(jnp.exp(middle), sigma, bound) > target
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    start = jnp.log(target) + 0.0 * sigma * bound
    # the cut mean is below both the cap and the free mean, so the free median is a lower bound
    low, high = jax.lax.fori_loop(0, BISECTIONS, halve, (start - sigma * sigma / 2, start + 20.0 + 0.0 * sigma))
    log_median = jax.lax.stop_gradient((low + high) / 2)
    median = jnp.exp(log_median)
    whole = median * jnp.exp(sigma * sigma / 2)
    below, above = _cut_normals(jnp.log(bound / median) / sigma, sigma)
    slope = jax.lax.stop_gradient(whole * below)  # d capped_mean / d ln(median)
    enough = slope > 1e-9 * jax.lax.stop_gradient(bound)
    step = (whole * below + bound * above - target) / jnp.where(enough, slope, 1.0)
    log_median = log_median - jnp.where(enough, step, 0.0)
    return jnp.where(capped, jnp.exp(log_median), free)


def survival(tokens: Number, median: Number, sigma: Number) -> Number:
    """S(u) = Phi(-ln(u/m)/sigma): share of completions longer than u tokens, before the cut."""
    return normal_cdf(-jnp.log(tokens / median) / sigma)


def alive(tokens: Number, sequences: Number, median: Number, sigma: Number) -> tuple[Number, Number]:
    """Of n sequences that started together: how many run on past u tokens, and how surely any does.

    any = 1 - (1 - S)^n; running = n S / any, the mean number where there is at least one. The integral of `any` over u
    is the expected longest length, that of running x any is all tokens.

    Args:
        tokens: u.
        sequences: n, >= 1.
    """
    share = survival(tokens, median, sigma)
    whole = share >= 1.0
    some = -jnp.expm1(sequences * jnp.log1p(-jnp.where(whole, 0.5, share)))
    some = jnp.where(whole, 1.0, some)
    visible = some > 1e-280
    return jnp.where(visible, sequences * share / jnp.where(visible, some, 1.0), 1.0), some
