"""Facts with their sources: models, dated price lists, recipes, sandboxes, reference runs, chips and rents.

Every row names its source, date and status: V read in the source, S secondary, D derived. Lookups forgive case,
punctuation and the part before the slash; a miss names the nearest three. Nothing here imports JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .chip_table import chip, chips
    from .lookup import CatalogError
    from .model_file import model_from_file
    from .model_table import ModelRow, model, models
    from .price_table import PriceList, PriceRow, newest_price_date, price, price_dates, prices
    from .recipe_table import Recipe, recipe, recipes
    from .rent_table import rent
    from .run_table import ReferenceRun, reference_runs
    from .sandbox_table import SandboxRow, sandbox, sandboxes

# public name -> the file that holds it; no file bears the name of a function
_HOME = {
    "CatalogError": "lookup",
    "ModelRow": "model_table",
    "PriceList": "price_table",
    "PriceRow": "price_table",
    "Recipe": "recipe_table",
    "ReferenceRun": "run_table",
    "SandboxRow": "sandbox_table",
    "chip": "chip_table",
    "chips": "chip_table",
    "model": "model_table",
    "model_from_file": "model_file",
    "models": "model_table",
    "newest_price_date": "price_table",
    "price": "price_table",
    "price_dates": "price_table",
    "prices": "price_table",
    "recipe": "recipe_table",
    "recipes": "recipe_table",
    "reference_runs": "run_table",
    "rent": "rent_table",
    "sandbox": "sandbox_table",
    "sandboxes": "sandbox_table",
}

__all__ = [
    "CatalogError",
    "ModelRow",
    "PriceList",
    "PriceRow",
    "Recipe",
    "ReferenceRun",
    "SandboxRow",
    "chip",
    "chips",
    "model",
    "model_from_file",
    "models",
    "newest_price_date",
    "price",
    "price_dates",
    "prices",
    "recipe",
    "recipes",
    "reference_runs",
    "rent",
    "sandbox",
    "sandboxes",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(__all__) | set(globals()))
