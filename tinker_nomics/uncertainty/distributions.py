"""Distributions with a closed quantile function. Importing them does not import JAX."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from .distribution_base import Z90, Distribution, finite
from .errors import DistributionError


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal with mean `mean` and standard deviation `sd` > 0."""

    mean: float
    sd: float
    from_normal: ClassVar[bool] = True

    def __post_init__(self) -> None:
        finite("Normal", mean=self.mean, sd=self.sd)
        if self.sd <= 0:
            raise DistributionError(f"Normal: sd = {self.sd!r} must be > 0")

    def leaves(self) -> tuple[Any, ...]:
        return (float(self.mean), float(self.sd))

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        mean, sd = leaves
        return mean + sd * x

    def cdf(self, x: float) -> float:
        return _normal_cdf((x - self.mean) / self.sd)


@dataclass(frozen=True)
class LogNormal(Distribution):
    """shift + exp(N(mu, sigma)); `from_quantiles` and `from_median` make one from what people know."""

    mu: float
    sigma: float
    shift: float = 0.0
    from_normal: ClassVar[bool] = True

    def __post_init__(self) -> None:
        finite("LogNormal", mu=self.mu, sigma=self.sigma, shift=self.shift)
        if self.sigma <= 0:
            raise DistributionError(f"LogNormal: sigma = {self.sigma!r} must be > 0")

    @classmethod
    def from_quantiles(
        cls, p10: float, p50: float, p90: float, *, integer: bool = False, source: str = ""
    ) -> LogNormal:
        """The shifted log-normal through three quantiles.

        c = (p10 p90 - p50^2) / (p10 + p90 - 2 p50), sigma = ln((p90 - c) / (p50 - c)) / 1.2815515655,
        mu = ln(p50 - c).

        Raises:
            DistributionError: not p10 < p50 < p90, or a left-skewed triple (p10 + p90 <= 2 p50).
        """
        finite("LogNormal.from_quantiles", p10=p10, p50=p50, p90=p90)
        given = f"p10 = {p10!r}, p50 = {p50!r}, p90 = {p90!r}"
        if not p10 < p50 < p90:
            raise DistributionError(f"LogNormal.from_quantiles: {given} must rise: p10 < p50 < p90")
        if p10 + p90 <= 2 * p50:
            raise DistributionError(
                f"LogNormal.from_quantiles: {given} lean to the left (p10 + p90 <= 2 p50), which no shifted log-normal "
                "does; give Normal, PERT, Triangular or Empirical(quantiles=...) instead"
            )
        shift = (p10 * p90 - p50 * p50) / (p10 + p90 - 2 * p50)
        sigma = math.log((p90 - shift) / (p50 - shift)) / Z90
        return cls(math.log(p50 - shift), sigma, shift, integer=integer, source=source)

    @classmethod
    def from_median(cls, p50: float, p90: float, *, integer: bool = False, source: str = "") -> LogNormal:
        """The log-normal (two parameters, no shift) with this median and P90, 0 < p50 < p90."""
        finite("LogNormal.from_median", p50=p50, p90=p90)
        if not 0 < p50 < p90:
            raise DistributionError(f"LogNormal.from_median: p50 = {p50!r}, p90 = {p90!r} must be 0 < p50 < p90")
        return cls(math.log(p50), math.log(p90 / p50) / Z90, integer=integer, source=source)

    @property
    def mean(self) -> float:
        return self.shift + math.exp(self.mu + self.sigma**2 / 2)

    @property
    def support(self) -> tuple[float, float]:
        return (self.shift, math.inf)

    def leaves(self) -> tuple[Any, ...]:
        return (float(self.mu), float(self.sigma), float(self.shift))

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        mu, sigma, shift = leaves
        return shift + xp.exp(mu + sigma * x)

    def cdf(self, x: float) -> float:
        return 0.0 if x <= self.shift else _normal_cdf((math.log(x - self.shift) - self.mu) / self.sigma)


@dataclass(frozen=True)
class Uniform(Distribution):
    """Uniform on [low, high]; with `integer=True` each of low, low + 1, ..., high has the same weight."""

    low: float
    high: float
    whole_by_itself: ClassVar[bool] = True

    def __post_init__(self) -> None:
        finite("Uniform", low=self.low, high=self.high)
        if not self.low < self.high:
            raise DistributionError(f"Uniform: low = {self.low!r}, high = {self.high!r} must be low < high")
        if self.integer and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise DistributionError(f"Uniform(integer=True): low = {self.low!r}, high = {self.high!r} must be whole")

    @property
    def support(self) -> tuple[float, float]:
        return (float(self.low), float(self.high))

    def leaves(self) -> tuple[Any, ...]:
        return (float(self.low), float(self.high))

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        low, high = leaves
        if not structure[1]:
            return low + (high - low) * x
        whole = low + xp.floor((high - low + 1.0) * x)
        return xp.where(whole > high, high, whole)

    def cdf(self, x: float) -> float:
        if self.integer:
            return min(1.0, max(0.0, (math.floor(x) - self.low + 1) / (self.high - self.low + 1)))
        return min(1.0, max(0.0, (x - self.low) / (self.high - self.low)))


@dataclass(frozen=True)
class LogUniform(Distribution):
    """exp(U), U uniform on [ln low, ln high], 0 < low < high."""

    low: float
    high: float

    def __post_init__(self) -> None:
        finite("LogUniform", low=self.low, high=self.high)
        if not 0 < self.low < self.high:
            raise DistributionError(f"LogUniform: low = {self.low!r}, high = {self.high!r} must be 0 < low < high")

    @property
    def support(self) -> tuple[float, float]:
        return (float(self.low), float(self.high))

    def leaves(self) -> tuple[Any, ...]:
        return (float(self.low), math.log(self.high / self.low))

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        low, log_ratio = leaves
        return low * xp.exp(log_ratio * x)

    def cdf(self, x: float) -> float:
        if x <= self.low:
            return 0.0
        return min(1.0, math.log(x / self.low) / math.log(self.high / self.low))


@dataclass(frozen=True)
class Triangular(Distribution):
    """Triangular on [low, high] with its peak at `mode`."""

    low: float
    mode: float
    high: float

    def __post_init__(self) -> None:
        finite("Triangular", low=self.low, mode=self.mode, high=self.high)
        if not (self.low <= self.mode <= self.high and self.low < self.high):
            raise DistributionError(
                f"Triangular: low = {self.low!r}, mode = {self.mode!r}, high = {self.high!r} must be "
                "low <= mode <= high and low < high"
            )

    @property
    def support(self) -> tuple[float, float]:
        return (float(self.low), float(self.high))

    def leaves(self) -> tuple[Any, ...]:
        return (float(self.low), float(self.mode), float(self.high))

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        low, mode, high = leaves
        width = high - low
        rising = x * width < mode - low
        # one root of the half that holds u: the other half's argument would be as good, at twice the cost
        root = xp.sqrt(xp.where(rising, x * (width * (mode - low)), (1.0 - x) * (width * (high - mode))))
        return xp.where(rising, low + root, high - root)

    def cdf(self, x: float) -> float:
        if x <= self.low:
            return 0.0
        if x >= self.high:
            return 1.0
        width = self.high - self.low
        if x < self.mode:
            return (x - self.low) ** 2 / (width * (self.mode - self.low))
        return 1.0 - (self.high - x) ** 2 / (width * (self.high - self.mode))
