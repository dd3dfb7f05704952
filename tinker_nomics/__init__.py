"""What an RLVR run costs on Tinker and on GPUs of your own, what moves it, and what one decoded token costs.

Names are imported when first used: importing the package starts neither JAX nor matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# public name -> where it lives; a name of a function is never the name of a submodule
_PUBLIC = {
    "Config": "config",
    "replace": "config",
    "Assumptions": "assumptions",
    "estimate": "cost_model",
    "Estimate": "outputs",
    "sweep": "sweeping",
    "Sweep": "sweeping",
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
    "sensitivity": "sensitivity_report",
    "monte_carlo": "config_monte_carlo",
    "explain": "explaining",
    "Explanation": "explaining",
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
_MODULES = ("catalog", "cost_model", "decode", "uncertainty")

__all__ = [*_PUBLIC, *_MODULES, "__version__"]


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
