"""Recipes: what the Tinker Cookbook states for its reinforcement-learning runs, value by value with its label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from .lookup import find
from .tables import packaged


@dataclass(frozen=True)
class Recipe:
    """One run of the cookbook; what it does not state is absent.

    Args:
        name: its name here.
        title: what it trains, in words.
        model: the default model's id.
        values: {parameter path: value}.
        labels: {parameter path: where the value comes from}.
        examples: {parameter path: (value, label)} that the calculator page offers in place of a cap.
        sandbox: the sandbox provider; None where the run needs none.
        schedule: "sync", "stream_minibatch" or "async" by default.
        source, date, status: the cookbook's file.
        notes: what else to know of it.
        trajectory_tokens: tokens at which a whole trajectory ends; None where it is not stated.
    """

    name: str
    title: str
    model: str
    values: Mapping[str, float]
    labels: Mapping[str, str]
    examples: Mapping[str, tuple[float, str]]
    sandbox: str | None
    schedule: str
    source: str
    date: str
    status: str
    notes: tuple[str, ...]
    trajectory_tokens: float | None


def _split(table: Mapping[str, Mapping[str, object]]) -> tuple[dict[str, float], dict[str, str]]:
    return {path: float(row["value"]) for path, row in table.items()}, {  # type: ignore[arg-type]
        path: str(row["label"]) for path, row in table.items()
    }


@cache
def _rows() -> dict[str, Recipe]:
    table = packaged("recipes.toml")
    rows = {}
    for row in table["recipe"]:
        values, labels = _split(row["values"])
        numbers, texts = _split(row.get("examples", {}))
        rows[row["name"]] = Recipe(
            name=row["name"],
            title=row["title"],
            model=row["model"],
            values=values,
            labels=labels,
            examples={path: (value, texts[path]) for path, value in numbers.items()},
            sandbox=row.get("sandbox"),
            schedule=row.get("schedule", "sync"),
            source=f"{table['package']} {row['file']}",
            date=table["date"],
            status=row.get("status", "V"),
            notes=tuple(row.get("notes", ())),
            trajectory_tokens=row.get("trajectory_tokens"),
        )
    return rows


def recipes() -> tuple[Recipe, ...]:
    """Every recipe, in the table's order."""
    return tuple(_rows().values())


def recipe(name: str) -> Recipe:
    """The recipe that `name` means.

    Raises:
        CatalogError: no such recipe; names the nearest three.
    """
    return _rows()[find(name, _rows(), "recipe")]
