"""Beta and PERT: no kept library has their quantile function in jittable form, so it is a table of exact values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from .distribution_base import Distribution, finite
from .errors import DistributionError

# nodes over the standard normal value z of u; 8.25 covers 2^-53 <= u <= 1 - 2^-53
_REACH, _NODES = 8.25, 1025
_STEP = 2 * _REACH / (_NODES - 1)
_LEAST_LOGIT = -690.0  # of the smallest doubles


@lru_cache(maxsize=256)
def _logit_table(a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """ln(x / (1 - x)) of the beta quantile at Phi(z), and step times its slope in z, at the nodes.

    Cubic Hermite pieces through exact values and slopes err by about step^4 / 384 times the fourth derivative. Either
    tail is taken from its own side, so that neither loses digits to 1 - x.
    """
    from scipy.special import betaincinv, betaln, ndtr

    z = np.linspace(-_REACH, _REACH, _NODES)
    least = math.exp(_LEAST_LOGIT)
    x = np.clip(betaincinv(a, b, ndtr(z)), least, 1.0)
    rest = np.clip(betaincinv(b, a, ndtr(-z)), least, 1.0)
    log_x = np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(x))
    log_rest = np.where(x < 0.5, np.log1p(-np.minimum(x, 0.5)), np.log(rest))
    logit = log_x - log_rest
    # dx/dz = phi(z) / f(x) and d logit / dx = 1 / (x (1 - x))
    log_slope = -0.5 * z * z - 0.5 * math.log(2 * math.pi) + betaln(a, b) - a * log_x - b * log_rest
    slope = np.where((x <= least) | (rest <= least), 0.0, np.exp(np.minimum(log_slope, 700.0)))
    return logit, slope * _STEP


def _interpolate(z: Any, logit: Any, slope: Any, xp: Any) -> Any:
    """x at the normal values z by cubic Hermite interpolation of its logit."""
    place = (z + _REACH) / _STEP
    place = xp.where(place < 0.0, 0.0, xp.where(place > _NODES - 1.0, _NODES - 1.0, place))
    left = xp.floor(place).astype("int32")
    left = xp.where(left > _NODES - 2, _NODES - 2, left)
    t = place - left
    y0, y1, d0, d1 = logit[left], logit[left + 1], slope[left], slope[left + 1]
    rise = y1 - y0
    y = y0 + t * (d0 + t * ((3.0 * rise - 2.0 * d0 - d1) + t * (d0 + d1 - 2.0 * rise)))
    return 1.0 / (1.0 + xp.exp(-y))


@dataclass(frozen=True)
class Beta(Distribution):
    """Beta(a, b) stretched over [low, high]; a, b > 0."""

    a: float
    b: float
    low: float = 0.0
    high: float = 1.0
    from_normal: ClassVar[bool] = True

    def __post_init__(self) -> None:
        finite("Beta", a=self.a, b=self.b, low=self.low, high=self.high)
        if not (0.01 <= self.a <= 1e6 and 0.01 <= self.b <= 1e6):
            raise DistributionError(f"Beta: a = {self.a!r}, b = {self.b!r} must lie in [0.01, 1e6]")
        if not self.low < self.high:
            raise DistributionError(f"Beta: low = {self.low!r}, high = {self.high!r} must be low < high")

    def _shape(self) -> tuple[float, float]:
        return (float(self.a), float(self.b))

    @property
    def support(self) -> tuple[float, float]:
        return (float(self.low), float(self.high))

    def leaves(self) -> tuple[Any, ...]:
        return (float(self.low), float(self.high), *_logit_table(*self._shape()))

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        low, high, logit, slope = leaves
        return low + (high - low) * _interpolate(x, xp.asarray(logit), xp.asarray(slope), xp)

    def cdf(self, x: float) -> float:
        from scipy.special import betainc

        return float(betainc(*self._shape(), min(1.0, max(0.0, (x - self.low) / (self.high - self.low)))))


@dataclass(frozen=True)
class PERT(Distribution):
    """The beta of project planning on [low, high] with its peak at `mode`.

    a = 1 + weight (mode - low) / (high - low), b = 1 + weight (high - mode) / (high - low); the mean is
    (low + weight mode + high) / (weight + 2).
    """

    low: float
    mode: float
    high: float
    weight: float = 4.0
    from_normal: ClassVar[bool] = True

    def __post_init__(self) -> None:
        finite("PERT", low=self.low, mode=self.mode, high=self.high, weight=self.weight)
        if not (self.low <= self.mode <= self.high and self.low < self.high and 0 < self.weight <= 1e5):
            raise DistributionError(
                f"PERT: low = {self.low!r}, mode = {self.mode!r}, high = {self.high!r}, weight = {self.weight!r} must "
                "be low <= mode <= high, low < high, 0 < weight <= 1e5"
            )

    def _beta(self) -> Beta:
        share = (self.mode - self.low) / (self.high - self.low)
        return Beta(1.0 + self.weight * share, 1.0 + self.weight * (1.0 - share), self.low, self.high)

    @property
    def support(self) -> tuple[float, float]:
        return (float(self.low), float(self.high))

    def leaves(self) -> tuple[Any, ...]:
        return self._beta().leaves()

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        return Beta.transform(x, leaves, xp, structure)

    def cdf(self, x: float) -> float:
        return self._beta().cdf(x)
