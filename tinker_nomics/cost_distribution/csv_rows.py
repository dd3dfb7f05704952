"""A CostDistribution as CSV for people and spreadsheets: a line per output and per event, units and provenance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..files import atomic_path
from ..uncertainty.simulation import TABLE_QUANTILES

if TYPE_CHECKING:
    from .result import CostDistribution

_PROVENANCE = ("program", "hash", "seed", "budget", "uncertain", "correlations", "provenance")


def write_csv(result: CostDistribution, path: str | Path, force: bool = False) -> Path:
    """Lines "# name = JSON" with the provenance, a header with units, then outputs, then events.

    Raises:
        OutputExistsError: the file exists and `force` is not set.
    """
    about = {**result.about, "budget": result.budget}
    lines = [f"# {name} = {json.dumps(about[name])}" for name in _PROVENANCE]
    lines += [f"# samples = {result.samples}", f"# complete = {json.dumps(result.complete)}"]
    lines.append(f"# chunks = {json.dumps(list(result.chunks))}")
    lines.append(f"# total_chunks = {result.total_chunks}")
    if result.which_part is not None:
        lines.append(f"# {result.which_part}")
    quantiles = [f"P{100 * p:g}" for p in TABLE_QUANTILES]
    names = ["output", "unit", "mean", "mean_error", "std", "minimum", "maximum", *quantiles]
    lines.append(",".join([*names, *(f"{name}_error" for name in quantiles), "nonfinite"]))
    for name, part in result.parts.items():
        figures = [part.mean, part.mean_error, part.std, part.least.value, part.greatest.value]
        figures += [part.quantile(p) for p in TABLE_QUANTILES] + [part.quantile_error(p) for p in TABLE_QUANTILES]
        lines.append(",".join([name, result.units[name], *map(repr, figures), str(part.nonfinite)]))
    lines += ["", "event,probability,error"]
    for event, (chance, error) in result.events.items():
        lines.append(f'"{event}",{chance!r},{error!r}')
    with atomic_path(path, force) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Path(path)
