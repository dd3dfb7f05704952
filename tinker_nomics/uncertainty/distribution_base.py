"""What every distribution of an uncertain input offers: a quantile function traced with its parameters."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .errors import DistributionError
from .normal_quantile import normal_quantile

Z90 = 1.2815515655446004  # the P90 of the standard normal


def finite(kind: str, **values: float) -> None:
    """Refuse a parameter that is no finite number, by name."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
            raise DistributionError(f"{kind}: {name} = {value!r} must be a finite number")


def namespace(value: Any) -> Any:
    """jax.numpy for JAX arrays and tracers, numpy for everything else; does not import JAX."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, jax.Array):
        import jax.numpy as jnp

        return jnp
    return np


@dataclass(frozen=True)
class Distribution:
    """Base of the distributions: a quantile function with traced parameters.

    Args:
        integer: sample whole numbers (a uniform gives each of low, ..., high the same weight; others are rounded).
        source: where the distribution comes from; printed in reports.
    """

    integer: bool = field(default=False, kw_only=True)
    source: str = field(default="", kw_only=True)
    # whether `transform` wants standard normal values rather than uniform ones
    from_normal: ClassVar[bool] = False
    # whether `transform` yields whole numbers itself where `integer` is set, so that nothing is rounded
    whole_by_itself: ClassVar[bool] = False

    def leaves(self) -> tuple[Any, ...]:
        """The parameters that are traced: floats and float64 arrays."""
        raise TypeError(f"{type(self).__name__} defines no leaves")

    @classmethod
    def transform(cls, x: Any, leaves: tuple[Any, ...], xp: Any, structure: tuple) -> Any:
        """The quantile at u (or at Phi(z) where `from_normal`), of arrays of any shape."""
        raise TypeError(f"{cls.__name__} defines no quantile function")

    def cdf(self, x: float) -> float:
        """P(X <= x), on the host."""
        raise TypeError(f"{type(self).__name__} defines no distribution function")

    @property
    def support(self) -> tuple[float, float]:
        """The least and the greatest value; infinite where the distribution has no end."""
        return (-math.inf, math.inf)

    @property
    def structure(self) -> tuple:
        """What a compiled program depends on: the class and whether values are whole."""
        return (type(self), self.integer)

    def quantile(self, p: Any) -> Any:
        """The value below which a share p of the probability lies; p in (0, 1), a number or an array, NumPy or traced.

        The ends p = 0 and 1 give the ends of the support.
        """
        xp = namespace(p)
        if xp is not np:
            return quantile_of(self.structure, self.leaves(), p, None, xp)
        p = np.asarray(p, dtype=np.float64)
        if not np.all((p >= 0) & (p <= 1)):
            raise DistributionError(f"a quantile is asked for at p in [0, 1], not at {p!r}")
        inside = np.clip(p, 2.0**-54, 1 - 2.0**-53)
        x = np.asarray(quantile_of(self.structure, self.leaves(), inside, None, np), dtype=np.float64)
        low, high = self.support
        x = np.where(p == 0, low, np.where(p == 1, high, x))
        return float(x) if x.ndim == 0 else x

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    def describe(self) -> str:
        """One phrase for tables: the kind and its P10, P50 and P90."""
        p10, p50, p90 = (self.quantile(p) for p in (0.1, 0.5, 0.9))
        return f"{type(self).__name__} P10 {p10:.4g}, P50 {p50:.4g}, P90 {p90:.4g}"


def quantile_of(structure: tuple, leaves: tuple[Any, ...], u: Any, z: Any, xp: Any) -> Any:
    """The quantile of a distribution given by its structure and leaves, at u or, where given, at the normal value z."""
    kind, integer = structure[:2]
    if kind.from_normal:
        x = kind.transform(normal_quantile(u, xp) if z is None else z, leaves, xp, structure)
    else:
        if u is None:
            from jax.scipy.special import ndtr

            u = ndtr(z)
        x = kind.transform(u, leaves, xp, structure)
    return xp.floor(x + 0.5) if integer and not kind.whole_by_itself else x
