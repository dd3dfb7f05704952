"""Lengths of completions: a log-normal distribution by mean and spread, cut off at a cap. Tokens, shares.

Some rollouts run much longer than the rest; a synchronous step waits for the longest. The distribution is given by what
people report: the mean and p99/p50. Given samples enter through their own mean and p99/p50.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..config import Number
from .normal import normal_cdf, normal_tails

NORMAL_P99 = 2.3263478740408408  # the standard normal's 99th percentile
NEWTON_STEPS = 4  # the error is then below 1e-7 for every spread up to p99/p50 = 10^4, and one more step follows


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
    below, above = normal_cdf(z - sigma), normal_cdf(-z)
    whole = median * jnp.exp(sigma * sigma / 2)
    return jnp.where(capped, whole * below + safe * above, whole)


def median_from_mean(mean: Number, sigma: Number, cap: Number) -> Number:
    """The median of the uncut distribution whose mean after the cut is `mean`: tokens.

    Without a cap m = mean e^(-sigma^2/2); with one, the root of `capped_mean` by Newton's method, whose last step carries
    the first derivatives.

    Args:
        mean: mean of the cut lengths, < cap [tokens].
        sigma: standard deviation of the logarithm, > 0.
        cap: tokens at which a completion is cut; infinity for none.

    **Kinks:** none for mean < cap; a mean at or above the cap has no solution and gives a very large median.
    """
    free = mean * jnp.exp(-sigma * sigma / 2)
    capped = jnp.isfinite(cap)
    target, bound = jnp.where(capped, mean, 0.5), jnp.where(capped, cap, 1.0)
    log_median = _log_median(*map(jax.lax.stop_gradient, (target, bound, sigma)))
    median = jnp.exp(log_median)
    whole = median * jnp.exp(sigma * sigma / 2)
    z = jnp.log(bound / median) / sigma
    below, above = normal_cdf(z - sigma), normal_cdf(-z)
    slope = jax.lax.stop_gradient(whole * below)  # d capped_mean / d ln(median)
    enough = slope > 1e-9 * jax.lax.stop_gradient(bound)
    step = (whole * below + bound * above - target) / jnp.where(enough, slope, 1.0)
    log_median = log_median - jnp.where(enough, step, 0.0)
    return jnp.where(capped, jnp.exp(log_median), free)


def _log_median(mean: Number, cap: Number, sigma: Number) -> Number:
    """ln m, by Newton's method on the logit of mean/cap as a function of z = ln(cap/m)/sigma.

    The logit is convex in z and nearly straight on either side, so the method needs no bracket. Not differentiable.
    """
    everything = mean >= cap
    share = jnp.where(everything, 0.5, mean / cap)
    goal = jnp.log(share / (1 - share))
    # where few are cut, ln(share) = sigma^2/2 - sigma z; the softplus bends that towards the normal tail where most are
    straight = 1.737 * jnp.log(1 / share) / sigma
    bent = jnp.log(jnp.expm1(jnp.where(straight < 600, straight, 600.0))) / 1.737
    tail = -jnp.sqrt(-2 * jnp.where(straight < 1.737, jnp.log(straight / 1.737), 0.0))
    start = jnp.where(bent > tail, bent, tail) + sigma / 2

    def closer(_: int, z: Number) -> Number:
        below, above = normal_cdf(z - sigma), normal_cdf(-z)
        long = jnp.exp(sigma * sigma / 2 - z * sigma) * below
        found, rest = long + above, (1 - above) - long
        rest = jnp.where(rest > 1e-300, rest, 1e-300)
        return z + (jnp.log(found / rest) - goal) * found * rest / (sigma * long)

    z = jax.lax.fori_loop(0, NEWTON_STEPS, closer, start)
    return jnp.where(everything, jnp.log(mean) + 20.0, jnp.log(cap) - sigma * z)


def alive(x: Number, sequences: Number) -> tuple[Number, Number]:
    """Of n sequences that started together: how many run on past m e^(sigma x) tokens, and how surely any does.

    S = Phi(-x); any = 1 - (1 - S)^n; running = n S / any, the mean number where there is at least one. The integral of
    `any` over the length is the expected longest, that of running x any is all tokens.

    Args:
        x: standard deviations of the logarithm of a length above its median m.
        sequences: n, >= 1.
    """
    share, log_ended = normal_tails(x)
    some = 1 - jnp.exp(sequences * log_ended)
    visible = some > 1e-14  # below, rounding has eaten it: a single one runs, if any
    return jnp.where(visible, sequences * share / jnp.where(visible, some, 1.0), 1.0), some
