"""Groups that Tinker's asynchronous queue throws away as too stale: the share discarded, differentiable in rho.

B workers are always busy, one group each; the trainer takes groups first in, first out, discards those that started
more than k steps ago and trains when B fresh ones are there (`analysis/tinker_queue.py` simulates exactly that). Times
are in units of the mean time of a group, rho is the training time of a step.

Derivation. In the limit of many workers groups finish at the rate B, so a step of length tau sees B tau of them and
needs B: tau = 1/(1 - discarded). A group that ends u after the counter last moved on is fresh iff it took at most
u + k tau; those tested in one step end between -rho and tau - rho. Hence, with F the distribution of group times,

    integral of F(x) dx from k tau - rho to (k + 1) tau - rho = 1,

and tau is never below rho, where the trainer is always busy. With finitely many workers the two regimes blend over a
width w that falls with B; its three coefficients are fitted to the simulation (`analysis/fit_staleness_queue.py`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..config import Number
from .fitted import coefficients
from .normal import normal_cdf, normal_density
from .root import bracketed_root

STEPS = 7  # of Newton's method


def partial_integral(x: Number, variation: Number) -> tuple[Number, Number]:
    """Integral of F from 0 to x = x Phi(z) - Phi(z - sigma), and F(x) = Phi(z): F is log-normal with mean 1 and
    coefficient of variation cv.

    sigma^2 = ln(1 + cv^2), z = (ln x + sigma^2/2)/sigma. Zero for x <= 0.
    """
    sigma = jnp.sqrt(jnp.log1p(variation * variation))
    positive = x > 0
    safe = jnp.where(positive, x, 1.0)
    z = (jnp.log(safe) + sigma * sigma / 2) / sigma
    both = normal_cdf(jnp.stack(jnp.broadcast_arrays(z, z - sigma)))
    return jnp.where(positive, safe * both[0] - both[1], 0.0), jnp.where(positive, both[0], 0.0)


def unlimited_step(rho: Number, bound: Number, variation: Number) -> Number:
    """tau of the trainer that never holds anything up, for infinitely many workers, in mean group times.

    Args:
        rho: training time of a step over the mean time of a group.
        bound: k, the staleness bound in steps.
        variation: cv, coefficient of variation of group times, > 0.

    Returns:
        The root of the equation above, by Newton's method; one step more carries the first derivatives.
    """

    def excess(tau: Number, rho: Number, bound: Number, variation: Number) -> tuple[Number, Number]:
        """The equation's left side less 1, and its derivative by tau: (k + 1) F((k + 1) tau - rho) - k F(k tau - rho)."""
        ends = jnp.stack(jnp.broadcast_arrays((bound + 1) * tau - rho, bound * tau - rho))
        whole, share = partial_integral(ends, jnp.broadcast_to(variation, ends.shape))
        return whole[0] - whole[1] - 1, (bound + 1) * share[0] - bound * share[1]

    fixed = tuple(map(jax.lax.stop_gradient, (rho, bound, variation)))
    zero = jnp.zeros(jnp.broadcast_shapes(*map(jnp.shape, fixed)))
    # beyond the mean time F grows towards 1, so the interval is never longer than this
    high = 4.0 + fixed[0] + fixed[2] ** 2
    equal = (fixed[0] + 2) / (fixed[1] + 1)  # the root where all groups take equally long
    start = jnp.where(equal >= 1, equal, 1.0)
    tau = bracketed_root(lambda tau: excess(tau, *fixed), zero, zero + high, zero + start, STEPS)
    value, slope = excess(tau, rho, bound, variation)
    return tau - value / jax.lax.stop_gradient(slope)


def step_length(rho: Number, bound: Number, batch: Number, variation: Number) -> Number:
    """Mean length of a step in mean group times: the soft maximum rho + w g((tau - rho)/w) of tau and rho.

    g(z) = z Phi(z) + phi(z) is the mean of max(0, z + a normal variable); w = a cv^b B^c.

    Args:
        rho, bound, variation: as in `unlimited_step`.
        batch: B, groups per step and workers.
    """
    fitted = coefficients("staleness_queue")
    width = fitted["scale"] * variation ** fitted["variation_power"] * batch ** fitted["batch_power"]
    z = (unlimited_step(rho, bound, variation) - rho) / width
    return rho + width * (z * normal_cdf(z) + normal_density(z))


def discarded_share(rho: Number, bound: Number, batch: Number, variation: Number) -> Number:
    """1 - 1/step length: groups discarded over groups finished.

    For rho < 1 it falls with k; for rho > 1 it tends to 1 - 1/rho for every k. Never below zero.

    Source: the public cookbook's asynchronous loop (August 2026) and the derivation above; against the simulation over
    0.1 <= rho <= 4, 0 <= k <= 8, 4 <= B <= 512, 0.15 <= cv <= 2 the error is in `fitted.toml`.

    **Kinks:** at zero discarded, where the soft maximum leaves a step shorter than one group time.
    """
    length = step_length(rho, bound, batch, variation)
    share = 1 - 1 / length
    return jnp.where(share >= 0, share, 0.0)


def billed_multiplier(discarded: Number) -> Number:
    """1/(1 - discarded): groups sampled, prefilled and run in a sandbox for each group that is trained."""
    return 1 / (1 - discarded)
