"""What an RLVR run costs on Tinker and on GPUs of your own, what moves it, and what one decoded token costs.

Names are imported when first used: importing the package starts neither JAX nor matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import catalog as catalog
    from . import cost_model as cost_model
    from . import decode as decode
    from . import streaming as streaming
    from . import uncertainty as uncertainty
    from .assumptions import Assumptions as Assumptions
    from .config import Config as Config
    from .config import replace as replace
    from .cost_distribution.simulation import monte_carlo as monte_carlo
    from .cost_model import estimate as estimate
    from .cost_sensitivity.report import sensitivity as sensitivity
    from .decode import DecodeRefusal as DecodeRefusal
    from .decode import DecodeStep as DecodeStep
    from .decode import Deployment as Deployment
    from .decode import GgufError as GgufError
    from .decode import GgufHeader as GgufHeader
    from .decode import HeaderSource as HeaderSource
    from .decode import decode_step as decode_step
    from .decode import price as price
    from .decode import price_grid as price_grid
    from .decode import read_header as read_header
    from .decode import usd_per_million_tokens as usd_per_million_tokens
    from .errors import ConfigError as ConfigError
    from .errors import TinkerNomicsError as TinkerNomicsError
    from .explanations.explaining import Explanation as Explanation
    from .explanations.explaining import explain as explain
    from .hardware import Chip as Chip
    from .hardware import Link as Link
    from .hardware import Machine as Machine
    from .hardware import Tier as Tier
    from .outputs import Estimate as Estimate
    from .sweeps.grid_reduction import reduce_grid as reduce_grid
    from .sweeps.grid_result import GridReduction as GridReduction
    from .sweeps.sweeping import Sweep as Sweep
    from .sweeps.sweeping import sweep as sweep
    from .uncertainty import PERT as PERT
    from .uncertainty import Beta as Beta
    from .uncertainty import Discrete as Discrete
    from .uncertainty import Empirical as Empirical
    from .uncertainty import LogNormal as LogNormal
    from .uncertainty import LogUniform as LogUniform
    from .uncertainty import Normal as Normal
    from .uncertainty import Triangular as Triangular
    from .uncertainty import Truncated as Truncated
    from .uncertainty import Uniform as Uniform

__version__ = "0.1.0"

# public name -> where it lives; a name of a function is never the name of a submodule
_PUBLIC = {
    "Config": "config",
    "replace": "config",
    "Assumptions": "assumptions",
    "estimate": "cost_model",
    "Estimate": "outputs",
    "sweep": "sweeps.sweeping",
    "Sweep": "sweeps.sweeping",
    "reduce_grid": "sweeps.grid_reduction",
    "GridReduction": "sweeps.grid_result",
    "TinkerNomicsError": "errors",
    "ConfigError": "errors",
    "read_header": "decode",
    "GgufHeader": "decode",
    "HeaderSource": "decode",
    "GgufError": "decode",
    "Deployment": "decode",
    "DecodeStep": "decode",
    "DecodeRefusal": "decode",
    "decode_step": "decode",
    "price": "decode",
    "price_grid": "decode",
    "usd_per_million_tokens": "decode",
    "Chip": "hardware",
    "Link": "hardware",
    "Machine": "hardware",
    "Tier": "hardware",
    "sensitivity": "cost_sensitivity.report",
    "monte_carlo": "cost_distribution.simulation",
    "explain": "explanations.explaining",
    "Explanation": "explanations.explaining",
    "Normal": "uncertainty",
    "LogNormal": "uncertainty",
    "Uniform": "uncertainty",
    "LogUniform": "uncertainty",
    "Triangular": "uncertainty",
    "PERT": "uncertainty",
    "Beta": "uncertainty",
    "Discrete": "uncertainty",
    "Empirical": "uncertainty",
    "Truncated": "uncertainty",
}
_MODULES = ("catalog", "cost_model", "decode", "streaming", "uncertainty")

__all__ = [
    "PERT",
    "Assumptions",
    "Beta",
    "Chip",
    "Config",
    "ConfigError",
    "DecodeRefusal",
    "DecodeStep",
    "Deployment",
    "Discrete",
    "Empirical",
    "Estimate",
    "Explanation",
    "GgufError",
    "GgufHeader",
    "GridReduction",
    "HeaderSource",
    "Link",
    "LogNormal",
    "LogUniform",
    "Machine",
    "Normal",
    "Sweep",
    "Tier",
    "TinkerNomicsError",
    "Triangular",
    "Truncated",
    "Uniform",
    "__version__",
    "catalog",
    "cost_model",
    "decode",
    "decode_step",
    "estimate",
    "explain",
    "monte_carlo",
    "price",
    "price_grid",
    "read_header",
    "reduce_grid",
    "replace",
    "sensitivity",
    "streaming",
    "sweep",
    "uncertainty",
    "usd_per_million_tokens",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _PUBLIC:
        value = getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
