"""Choices as levers: what the neighbouring rows of the catalog would do in place of the chosen chip and model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import catalog
from ..config import Config, get, problems_of, set_paths
from ..errors import TinkerNomicsError
from ..parameters import registry
from ..report_outputs import OUTPUTS
from .local_model import LocalModel


@dataclass(frozen=True)
class Alternative:
    """One other row of the catalog in place of the chosen one.

    Args:
        choice: "chip" or "model".
        name: the other row.
        side: -1 for the next one down in its order (chips by bandwidth, models by active parameters), +1 for the next up.
        outputs: {output: value} with it, everything else as it is; those of own GPUs are left out where such a run is
            refused.
        refused: why it is, in words; empty where it is not.
    """

    choice: str
    name: str
    side: int
    outputs: dict[str, float]
    refused: str = ""


def alternatives(config: Config, model: LocalModel) -> tuple[Alternative, ...]:
    """The next chip and the next model down and up for which the catalog has every figure, at the run's date.

    As in a sweep, a choice brings every figure of its rows but those that the run overrides, and its rent is the asked
    provider's, else the median.
    """
    choices = config.provenance.choices
    date = choices.get("prices")
    found: list[Alternative] = []
    if date and choices.get("chip"):
        figures = ((chip.id, _chip_values(chip, date, choices.get("provider"))) for chip in catalog.chips())
        found += _neighbours(config, model, "chip", choices["chip"], figures, "cluster.chip.bandwidth")
    if date and choices.get("model"):
        rows = ((row.id, _model_values(row, date)) for row in catalog.models())
        found += _neighbours(config, model, "model", choices["model"], rows, "model.active_parameters")
    return tuple(found)


def _chip_values(chip: Any, date: str, provider: str | None) -> dict[str, float | None] | None:
    values: dict[str, float | None] = {
        path: getattr(chip, path.split(".")[-1]) for path in registry() if path.startswith("cluster.chip.")
    }
    if None in values.values():
        return None
    return _or_none(lambda: values | {"cluster.price_per_gpu_hour": catalog.rent(chip.id, date, provider).usd_per_hour})


def _model_values(row: Any, date: str) -> dict[str, float | None] | None:
    def values() -> dict[str, float | None]:
        price = catalog.price(row.id, date)
        rows = (("model.", row), ("prices.", price))
        return {
            path: getattr(of, path.split(".")[1])
            for prefix, of in rows
            for path in registry()
            if path.startswith(prefix)
        }

    return _or_none(values)


def _or_none(find: Callable[[], dict[str, float | None]]) -> dict[str, float | None] | None:
    try:
        return find()
    except TinkerNomicsError:
        return None


def _neighbours(
    config: Config,
    model: LocalModel,
    choice: str,
    chosen: str | None,
    rows: Iterable[tuple[str, dict[str, float | None] | None]],
    order: str,
) -> list[Alternative]:
    here = get(config, order)
    usable = [(name, values) for name, values in rows if values is not None and name != chosen]
    # a figure that the present row lacks has no column to go to; one that the other lacks would be guessed
    usable = [(n, v) for n, v in usable if all(v[path] is not None for path in v if path in model.paths)]
    found = []
    for side in (-1, 1):
        beyond = [(n, v) for n, v in usable if (v[order] - here) * side > 0]  # type: ignore[operator]
        if not beyond:
            continue
        name, values = min(beyond, key=lambda row: abs(row[1][order] - here))  # type: ignore[operator]
        changed = {
            path: value
            for path, value in values.items()
            if path in model.paths and path not in config.provenance.overridden
        }
        row = model.base.copy()
        for path, value in changed.items():
            row[model.paths.index(path)] = value
        outputs: dict[str, float] = dict(zip(OUTPUTS, map(float, np.asarray(model.outputs(row[None])[0][0]))))
        refused = "; ".join(problem.allowed for problem in problems_of(set_paths(config, changed)))
        if refused:
            outputs = {output: value for output, value in outputs.items() if output == "tinker.total"}
        found.append(Alternative(choice, name, side, outputs, refused))
    return found
