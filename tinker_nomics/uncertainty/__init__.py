"""Sensitivity and uncertainty of any jittable function of named inputs.

Distributions are plain host values and do not import JAX; the analyses load when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .beta_distributions import PERT as PERT
    from .beta_distributions import Beta as Beta
    from .correlation import nearest_correlation as nearest_correlation
    from .data_distributions import Discrete as Discrete
    from .data_distributions import Empirical as Empirical
    from .data_distributions import Truncated as Truncated
    from .distribution_base import Distribution as Distribution
    from .distributions import LogNormal as LogNormal
    from .distributions import LogUniform as LogUniform
    from .distributions import Normal as Normal
    from .distributions import Triangular as Triangular
    from .distributions import Uniform as Uniform
    from .errors import CorrelationError as CorrelationError
    from .errors import DistributionError as DistributionError
    from .errors import UncertaintyError as UncertaintyError

_WHERE = {
    "Beta": "beta_distributions",
    "CorrelationError": "errors",
    "Discrete": "data_distributions",
    "Distribution": "distribution_base",
    "DistributionError": "errors",
    "Empirical": "data_distributions",
    "LogNormal": "distributions",
    "LogUniform": "distributions",
    "Normal": "distributions",
    "PERT": "beta_distributions",
    "Triangular": "distributions",
    "Truncated": "data_distributions",
    "UncertaintyError": "errors",
    "Uniform": "distributions",
    "nearest_correlation": "correlation",
}
__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
