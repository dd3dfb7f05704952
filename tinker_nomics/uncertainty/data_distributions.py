"""Distributions made of values: discrete ones, samples or quantiles as measured, and any other cut to a range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from .distribution_base import Distribution, finite, quantile_of
from .errors import DistributionError


def _numbers(kind: str, name: str, values: Any) -> tuple[float, ...]:
    array = np.asarray(values, dtype=np.float64).reshape(-1)
    if array.size == 0 or not np.all(np.isfinite(array)):
        raise DistributionError(f"{kind}: {name} must be one or more finite numbers")
    return tuple(array.tolist())


@dataclass(frozen=True)
class Discrete(Distribution):
    """`values` with `probabilities` that sum to 1 (equal ones when none are given), in the order given."""

    values: Sequence[float]
    probabilities: Sequence[float] | None = None

    def __post_init__(self) -> None:
        values = _numbers("Discrete", "values", self.values)
        shares = self.probabilities
        shares = (1.0 / len(values),) * len(values) if shares is None else _numbers("Discrete", "probabilities", shares)
        if len(shares) != len(values):
            raise DistributionError(f"Discrete: {len(values)} values but {len(shares)} probabilities")
        if min(shares) < 0 or abs(math.fsum(shares) - 1.0) > 1e-9:
            raise DistributionError(f"Discrete: probabilities sum to {math.fsum(shares)!r}; they must be >= 0, sum 1")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "probabilities", shares)

    @property
    def support(self) -> tuple[float, float]:
        return (min(self.values), max(self.values))

    def leaves(self) -> tuple[Any, ...]:
        steps = np.cumsum(np.asarray(self.probabilities, dtype=np.float64))[:-1]
        return (np.asarray(self.values, dtype=np.float64), steps)

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        values, steps = (xp.asarray(leaf) for leaf in leaves)
        return values[xp.searchsorted(steps, x, side="right")]

    def cdf(self, x: float) -> float:
        assert self.probabilities is not None
        return math.fsum(p for value, p in zip(self.values, self.probabilities) if value <= x)


@dataclass(frozen=True)
class Empirical(Distribution):
    """What was measured: either `samples`, each as likely as the others, or `quantiles` {p: value}.

    Samples are drawn as they are, nothing between them. Quantiles are joined by straight lines and must include
    p = 0 and p = 1, since what lies beyond the measured ones is not ours to guess.
    """

    samples: Sequence[float] | None = None
    quantiles: Mapping[float, float] | Sequence[tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        if (self.samples is None) == (self.quantiles is None):
            raise DistributionError("Empirical: give either samples or quantiles, and not both")
        if self.samples is not None:
            object.__setattr__(self, "samples", tuple(sorted(_numbers("Empirical", "samples", self.samples))))
            return
        given = self.quantiles
        assert given is not None
        pairs = sorted(given.items() if isinstance(given, Mapping) else given)
        places, values = (_numbers("Empirical", name, part) for name, part in zip(("p", "values"), zip(*pairs)))
        if places[0] != 0.0 or places[-1] != 1.0:
            raise DistributionError(
                f"Empirical: quantiles run from p = {places[0]!r} to {places[-1]!r}; add the least value (p = 0) and "
                "the greatest (p = 1)"
            )
        if any(b <= a for a, b in pairwise(places)) or any(b < a for a, b in pairwise(values)):
            raise DistributionError("Empirical: quantiles must rise with p, each p once")
        object.__setattr__(self, "quantiles", tuple(zip(places, values)))

    @property
    def support(self) -> tuple[float, float]:
        values = self._values()
        return (values[0], values[-1])

    def _values(self) -> tuple[float, ...]:
        if self.samples is not None:
            return tuple(self.samples)
        assert self.quantiles is not None
        return tuple(value for _, value in self.quantiles)  # type: ignore[misc]

    @property
    def structure(self) -> tuple:
        return (type(self), self.integer, self.samples is not None)

    def leaves(self) -> tuple[Any, ...]:
        values = np.asarray(self._values(), dtype=np.float64)
        if self.samples is not None:
            return (values,)
        assert self.quantiles is not None
        return (values, np.asarray([place for place, _ in self.quantiles], dtype=np.float64))  # type: ignore[misc]

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        values = xp.asarray(leaves[0])
        if not structure[2]:
            return xp.interp(x, xp.asarray(leaves[1]), values)
        return values[xp.floor(x * values.shape[0]).astype("int32")]

    def cdf(self, x: float) -> float:
        values = np.asarray(self._values())
        if self.samples is not None:
            return float(np.searchsorted(values, x, side="right")) / len(values)
        places = self.leaves()[1]
        if x < values[0]:
            return 0.0
        last = int(np.searchsorted(values, x, side="right"))  # the greatest p at which the quantile is still <= x
        if last == len(values):
            return 1.0
        rise = values[last] - values[last - 1]
        return float(places[last - 1] + (places[last] - places[last - 1]) * (x - values[last - 1]) / rise)


@dataclass(frozen=True)
class Truncated(Distribution):
    """`distribution` given that it falls within [low, high]; either end may be left open (None)."""

    distribution: Distribution
    low: float | None = None
    high: float | None = None
    whole_by_itself: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, Distribution):
            raise DistributionError(f"Truncated: {self.distribution!r} is no distribution")
        ends = {name: end for name, end in (("low", self.low), ("high", self.high)) if end is not None}
        finite("Truncated", **ends)
        if isinstance(self.distribution, (Discrete, Empirical)) or self.distribution.integer or self.integer:
            raise DistributionError("Truncated cuts continuous distributions; leave out the values of a discrete one")
        low, high = self.support
        if not low < high or not self._share()[0] < self._share()[1]:
            raise DistributionError(
                f"Truncated: [{self.low!r}, {self.high!r}] holds no probability of {self.distribution.describe()}"
            )

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.distribution.support
        return (low if self.low is None else max(low, self.low), high if self.high is None else min(high, self.high))

    def _share(self) -> tuple[float, float]:
        """The probabilities below the two ends."""
        return (
            0.0 if self.low is None else self.distribution.cdf(self.low),
            1.0 if self.high is None else self.distribution.cdf(self.high),
        )

    @property
    def structure(self) -> tuple:
        return (type(self), self.integer, self.distribution.structure)

    def leaves(self) -> tuple[Any, ...]:
        start, stop = self._share()
        return (start, stop - start, *self.support, *self.distribution.leaves())

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        start, share, low, high, *inner = leaves
        u = start + share * x
        u = xp.where(u < 2.0**-54, 2.0**-54, xp.where(u > 1.0 - 2.0**-53, 1.0 - 2.0**-53, u))
        y = quantile_of(structure[2], tuple(inner), u, None, xp)
        return xp.where(y < low, low, xp.where(y > high, high, y))

    def cdf(self, x: float) -> float:
        start, stop = self._share()
        return min(1.0, max(0.0, (self.distribution.cdf(x) - start) / (stop - start)))
