"""The standard normal distribution in the forms that compile fast and keep their digits in the far tail."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, reduce

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc

from ..config import Number

HALF = math.sqrt(0.5)
FURTHEST = 9.0  # standard deviations beyond which a tail, 1e-19, is taken to stay as it is
_DEGREES = 18, 11  # of the polynomials of `normal_tails`: relative errors below 1e-9


def normal_cdf(z: Number) -> Number:
    """Phi(z) = erfc(-z/sqrt 2)/2: chance that a standard normal variable is below z."""
    return erfc(-HALF * z) / 2


def normal_density(z: Number) -> Number:
    """phi(z) = exp(-z^2/2)/sqrt(2 pi)."""
    return jnp.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def normal_tails(z: Number) -> tuple[Number, Number]:
    """1 - Phi(z) and ln Phi(z), for where many are needed: both take a third of the time of erfc and a logarithm.

    The smaller tail is q = exp(A(|z|) - z^2/2) and ln(1 - q) = -q B(q), with polynomials A and B.
    """
    above = z > 0
    distance = jnp.where(above, z, -z)
    distance = jnp.where(distance < FURTHEST, distance, FURTHEST)
    log_tail_rest, log_ratio = _polynomials()
    log_tail = _horner(log_tail_rest, distance * (2 / FURTHEST) - 1) - distance * distance / 2
    tail = jnp.exp(log_tail)
    return jnp.where(above, tail, 1 - tail), jnp.where(above, -tail * _horner(log_ratio, 4 * tail - 1), log_tail)


@cache
def _polynomials() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A over distances from 0 to `FURTHEST` and B over tails from 0 to 1/2, both scaled to [-1, 1], highest power last."""

    def log_tail_rest(z: float) -> float:
        return math.log(math.erfc(HALF * z) / 2) + z * z / 2

    def log_ratio(q: float) -> float:
        return -math.log1p(-q) / q

    ends = (FURTHEST, 0.5)
    found = zip((log_tail_rest, log_ratio), ends, _DEGREES, strict=True)
    first, second = (_interpolated(f, end, degree) for f, end, degree in found)
    return first, second


def _interpolated(f: Callable[[float], float], end: float, degree: int) -> tuple[float, ...]:
    nodes = np.polynomial.chebyshev.chebpts1(degree + 1)
    found = np.polynomial.Chebyshev.fit(nodes, [f((x + 1) * end / 2) for x in nodes.tolist()], degree, (-1, 1))
    return tuple(np.polynomial.chebyshev.cheb2poly(found.coef).tolist())


def _horner(coefficients: tuple[float, ...], x: Number) -> Number:
    return reduce(lambda sum_, coefficient: sum_ * x + coefficient, coefficients[-2::-1], coefficients[-1])
