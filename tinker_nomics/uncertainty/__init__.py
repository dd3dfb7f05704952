"""Sensitivity and uncertainty of any jittable function of named inputs.

Distributions are plain host values and do not import JAX; the analyses load when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bars import Bar as Bar
    from .bars import Tornado as Tornado
    from .beta_distributions import PERT as PERT
    from .beta_distributions import Beta as Beta
    from .correlation import nearest_correlation as nearest_correlation
    from .data_distributions import Discrete as Discrete
    from .data_distributions import Empirical as Empirical
    from .data_distributions import Truncated as Truncated
    from .derivative_measures import Dgsm as Dgsm
    from .derivative_measures import dgsm as dgsm
    from .distribution_base import Distribution as Distribution
    from .distributions import LogNormal as LogNormal
    from .distributions import LogUniform as LogUniform
    from .distributions import Normal as Normal
    from .distributions import Triangular as Triangular
    from .distributions import Uniform as Uniform
    from .elasticity import Elasticities as Elasticities
    from .elasticity import elasticities as elasticities
    from .elementary_effects import Morris as Morris
    from .elementary_effects import morris as morris
    from .errors import CorrelationError as CorrelationError
    from .errors import DistributionError as DistributionError
    from .errors import UncertaintyError as UncertaintyError
    from .percentile_lines import Spider as Spider
    from .percentile_lines import spider as spider
    from .roots import BreakEven as BreakEven
    from .roots import Crossing as Crossing
    from .roots import break_even as break_even
    from .sample_analysis import GivenData as GivenData
    from .sample_analysis import given_data as given_data
    from .shapley import ShapleyEffects as ShapleyEffects
    from .shapley import shapley_effects as shapley_effects
    from .simulation import MonteCarlo as MonteCarlo
    from .simulation import monte_carlo as monte_carlo
    from .swings import levers as levers
    from .swings import tornado as tornado
    from .variance_indices import SobolIndices as SobolIndices
    from .variance_indices import sobol_indices as sobol_indices

_WHERE = {
    "Bar": "bars",
    "Beta": "beta_distributions",
    "BreakEven": "roots",
    "CorrelationError": "errors",
    "Crossing": "roots",
    "Dgsm": "derivative_measures",
    "Discrete": "data_distributions",
    "Distribution": "distribution_base",
    "DistributionError": "errors",
    "Elasticities": "elasticity",
    "Empirical": "data_distributions",
    "GivenData": "sample_analysis",
    "LogNormal": "distributions",
    "LogUniform": "distributions",
    "MonteCarlo": "simulation",
    "Morris": "elementary_effects",
    "Normal": "distributions",
    "PERT": "beta_distributions",
    "ShapleyEffects": "shapley",
    "SobolIndices": "variance_indices",
    "Spider": "percentile_lines",
    "Tornado": "bars",
    "Triangular": "distributions",
    "Truncated": "data_distributions",
    "UncertaintyError": "errors",
    "Uniform": "distributions",
    "break_even": "roots",
    "dgsm": "derivative_measures",
    "elasticities": "elasticity",
    "given_data": "sample_analysis",
    "levers": "swings",
    "monte_carlo": "simulation",
    "morris": "elementary_effects",
    "nearest_correlation": "correlation",
    "shapley_effects": "shapley",
    "sobol_indices": "variance_indices",
    "spider": "percentile_lines",
    "tornado": "swings",
}

__all__ = list(_WHERE)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)


def __dir__() -> list[str]:
    return list(_WHERE)
