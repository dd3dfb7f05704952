"""Sweeps and reductions of grids as text for the terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..streaming.pareto import Front
from ..streaming.top_k import PointTable
from ..streaming.winners import WinnerTable
from ..sweeps.grid_tables import group_rows, point_rows
from ..totals_text import SIDES
from .text_table import table

if TYPE_CHECKING:
    from ..config import Config
    from ..sweeps.grid_result import GridReduction
    from ..sweeps.result import Sweep

_ROWS = 40  # lines of a table
_FLAGS = ("memory.weights_fit", "memory.kv_fits")


def heading(provenance: Mapping[str, Any], points: int, axes: Mapping[str, np.ndarray]) -> str:
    """The run, its edition and price date, and the grid."""
    choices = provenance["choices"]
    run = f"{choices.get('recipe') or 'a run of your own'} on {choices.get('model') or 'a model of your own'}"
    prices = choices.get("price_list") or "your own"
    # of the choices that have an axis none is the run's
    if "model" in axes:
        run = run.split(" on ")[0]
    dated = "prices by date" if "prices" in axes else f"prices of {prices}"
    over = " x ".join(f"{path}[{len(values)}]" for path, values in axes.items())
    return f"{run}: {points:,} configurations, {over}\nedition {provenance['assumptions']}, {dated}\n"


def range_of_start(config: Config) -> str:
    """P10 and P90 of the run that a grid starts from, in USD and as shares of its totals."""
    from ..cost_sensitivity.estimate_range import estimate_with_range

    ranged = estimate_with_range(config)
    words = ranged.in_words()
    shares = [
        f"{title} {ranged.low[name] / total - 1:+.0%} to {ranged.high[name] / total - 1:+.0%}"
        for name, title in SIDES.items()
        if ranged.high.get(name, math.inf) < math.inf and (total := ranged.estimate[name])
    ]
    text = f"every row is at its own values; of the run that the grid starts from: {words}"
    return textwrap.fill(text + (f" (that is {', '.join(shares)})" if shares else ""), 100, subsequent_indent="  ")


def sweep_table(batch: Sweep, outputs: Sequence[str]) -> str:
    """The first rows of a batch: its axes and some outputs."""
    units = batch.units
    names = [*batch.axes, *(name for name in outputs if name in batch.values)]
    columns = [batch[name].flat[:_ROWS].tolist() for name in names]
    rows = [[_written(name, value) for name, value in zip(names, row)] for row in zip(*columns)]
    text = table(rows, [_headed(name, units) for name in names], _aligned(rows))
    return text + _more(len(batch) - len(rows), "rows: write them with --csv or --out")


def reduction_text(found: GridReduction) -> str:
    """Every result of a reduction that the command asked for, as tables."""
    parts = [heading(found.provenance, found.size, found.axes)]
    if found.points < found.size:
        parts[0] += f"{found.points:,} of them are done\n"
    by_kind = {name: result for name, result in found.results.items() if name != "nonfinite"}
    for name in ("top", "front", "groups", "winners"):
        result = by_kind.get(name)
        if isinstance(result, PointTable | Front):
            parts.append(_points(found, name, result))
        elif isinstance(result, WinnerTable) and not result.by:
            parts.append(_sides(result))
        elif name == "groups" and isinstance(result, dict):
            parts += [_groups(found, output, each) for output, each in result.items()]
    conditions = _conditions(found)
    if conditions:
        parts.append(f"of configurations with {' and '.join(conditions)}\n")
    bad = {name: count for name, count in found.results.get("nonfinite", {}).items() if count}
    parts += [f"{name} is not a finite number in {count:,} configurations\n" for name, count in bad.items()]
    return "\n".join(parts).rstrip("\n")


def _conditions(found: GridReduction) -> list[str]:
    every = [text for arguments in found.about["reducers"].values() for text in arguments.get("where", ())]
    return list(dict.fromkeys(text.replace(".0", "") if text.endswith(".0") else text for text in every))


def _points(found: GridReduction, name: str, result: PointTable | Front) -> str:
    rows = point_rows(result)
    if not rows:
        return f"{_titled(found, name)}: no configuration meets the conditions\n"
    shown = rows if len(rows) <= _ROWS else [rows[i] for i in np.linspace(0, len(rows) - 1, _ROWS).round().astype(int)]
    axes = [path for path, values in found.axes.items() if len(values) > 1]
    flags = [flag for flag in _FLAGS if any(row.get(flag) == 0 for row in rows)]
    outputs = [each for each in found.about["outputs"] if each not in _FLAGS]
    text = _told(found, shown, [*axes, *outputs, *flags], axes)
    left = _more(len(rows) - len(shown), "points: write them with --csv or --json")
    lost = f"\nthinned: {result.dropped:,} points left out" if isinstance(result, Front) and not result.exact else ""
    return f"{_titled(found, name)}\n\n{text}{left}{lost}\n"


def _told(found: GridReduction, rows: Sequence[Mapping[str, Any]], names: Sequence[str], axes: Sequence[str]) -> str:
    """Points as a table; an axis on which all of them agree is told beneath it."""
    shared = [path for path in axes if len(rows) > 1 and len({row[path] for row in rows}) == 1]
    kept = [name for name in names if name not in shared]
    body = [[_written(name, row[name]) for name in kept] for row in rows]
    text = table(body, [_headed(name, found.units) for name in kept], _aligned(body))
    return text + _shared(found, rows[0], shared, "all with")


def _shared(found: GridReduction, row: Mapping[str, Any], paths: Sequence[str], words: str) -> str:
    values = (f"{path} = {_written(path, row[path])} {found.units.get(path, '')}".removesuffix(" 1") for path in paths)
    return f"\n{words} {', '.join(value.rstrip() for value in values)}" if paths else ""


def _titled(found: GridReduction, name: str) -> str:
    arguments = found.about["reducers"][name]
    if name == "top":
        return f"least {arguments['output']}"
    return f"Pareto front of {', '.join(arguments['minimise'])}"


def _groups(found: GridReduction, output: str, result: Any) -> str:
    by, rows = list(result.by), group_rows(found, output, result)
    sides = found.results.get("winners")
    names = list(sides.wins) if isinstance(sides, WinnerTable) and sides.by == result.by else []
    shares = [_shares(sides, side) for side in names] if isinstance(sides, WinnerTable) else []
    # the point that has the least of its group: told beneath the table where that is the same everywhere
    filled = [row for row in rows if row["points"]]
    others = [path for path, values in found.axes.items() if len(values) > 1 and path not in by]
    same = [path for path in others if len(filled) > 1 and len({row[path] for row in filled}) == 1]
    own = [path for path in others if path not in same]
    body = []
    for place, row in enumerate(rows):
        cells = [_written(path, row[path]) for path in by]
        cells += [f"{row['points']:,}", *(_written(output, row.get(key)) for key in (output, "mean"))]
        cells += [share[place] for share in shares]
        body.append(cells + [_written(path, row.get(path)) for path in own])
    head = [_headed(path, found.units) for path in by] + ["points", f"least {_headed(output, found.units)}", "mean"]
    head += [f"{side.split('.')[0].replace('self_hosted', 'own')} cheaper" for side in names]
    head += [f"{_headed(path, found.units)} at the least" for path in own]
    text = table(body[:_ROWS], head, _aligned(body)) + _more(len(body) - _ROWS, "groups: write them with --csv")
    return text + (_shared(found, filled[0], same, "each least with") if filled else "") + "\n"


def _shares(result: WinnerTable, side: str) -> list[str]:
    total = sum(result.wins.values(), result.ties).ravel()
    return [f"{100 * won / all_of:.1f} %" if all_of else "-" for won, all_of in zip(result.wins[side].ravel(), total)]


def _sides(result: WinnerTable) -> str:
    total = int(sum(result.wins.values(), result.ties).sum())
    counts = [(f"{name} is less", int(won.sum())) for name, won in result.wins.items()]
    rows = [[name, f"{count:,}", f"{100 * count / max(total, 1):.1f} %"] for name, count in counts]
    return table([*rows, ["equal", f"{int(result.ties.sum()):,}", ""]], align="lrr") + "\n"


def _headed(name: str, units: Mapping[str, str]) -> str:
    unit = units.get(name, "1")
    return name if unit == "1" else f"{name} [{unit}]"


def _written(name: str, value: Any) -> str:
    if value is None or value != value:
        return "-"
    if isinstance(value, str):
        return value
    if name.endswith((".total", ".hours")):
        return f"{value:,.2f}"
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e9 else f"{value:.6g}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """r for columns of numbers, l for those that hold words."""
    words = [any(cell[:1].isalpha() for cell in column) for column in zip(*rows)]
    return "".join("l" if word else "r" for word in words)


def _more(count: int, what: str) -> str:
    return f"\n... and {count:,} more {what}" if count > 0 else ""
