"""A GridReduction as rows: CSV for people and spreadsheets, plain values for JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import TinkerNomicsError
from ..files import atomic_path
from ..streaming.groups import GroupTable
from ..streaming.histogram import BinnedCounts
from ..streaming.pareto import Front
from ..streaming.top_k import PointTable
from ..streaming.winners import WinnerTable
from .files import cell
from .grid_result import GridReduction

Row = dict[str, Any]
_ABOUT = ("program", "hash", "axes", "reducers", "provenance")
_LEADING = ("result", "output", "points", "mean", "number")


def point_rows(table: PointTable | Front) -> list[Row]:
    """{"number", axis: value, output: value} of each point."""
    return [
        {"number": int(table.number[place])}
        | {name: column[place].item() for name, column in {**table.inputs, **table.outputs}.items()}
        for place in range(len(table.number))
    ]


def group_rows(found: GridReduction, output: str, table: GroupTable) -> list[Row]:
    """Per group: the group, "points", "mean", the least value of the output and the point that has it."""
    rows = []
    for place, group in _groups(table.by):
        row: Row = {"output": output, "points": int(table.count[place])}
        if row["points"]:
            number = int(table.number[place])
            row |= {"mean": float(table.mean[place]), "number": number, **found.at(number)}
            row[output] = float(table.least[place])
        rows.append(row | group)
    return rows


def winner_rows(table: WinnerTable) -> list[Row]:
    """Per group and output: the group and "points", how often the output was the least; "tie" for shared ones."""
    every = {**table.wins, "tie": table.ties}
    return [
        {"output": output, "points": int(counts[place]), **group}
        for place, group in _groups(table.by)
        for output, counts in every.items()
    ]


def rows_of(found: GridReduction, name: str) -> list[Row] | None:
    """The rows of one result; None of what is no table of points or groups."""
    result = found.results[name]
    if isinstance(result, PointTable | Front):
        return point_rows(result)
    if isinstance(result, WinnerTable):
        return winner_rows(result)
    if isinstance(result, dict) and result and all(isinstance(table, GroupTable) for table in result.values()):
        return [row for output, table in result.items() for row in group_rows(found, output, table)]
    return None


def _groups(by: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[tuple[int, ...], Row]]:
    for place in np.ndindex(*(len(values) for values in by.values())):
        yield place, {path: values[index] for (path, values), index in zip(by.items(), place)}


def plain(name: str, result: Any) -> Any:
    """A result as lists, floats and texts; points as one mapping each, a histogram as the bins that hold counts.

    Raises:
        TinkerNomicsError: the result of a reducer of one's own that is no number, text, array, list or mapping.
    """
    if isinstance(result, Front):
        return {"points": point_rows(result), "dropped": result.dropped, "exact": result.exact}
    if isinstance(result, PointTable):
        return {"points": point_rows(result)}
    try:
        return _plain(result)
    except TypeError as error:
        raise TinkerNomicsError(
            f"result {name!r} cannot be written as text: {error}; let `result` return numbers, texts, arrays, lists or "
            "mappings of these"
        ) from None


def _plain(value: Any) -> Any:
    if isinstance(value, BinnedCounts):
        return value.to_dict()
    named = getattr(value, "_asdict", None)
    if named is not None:
        value = named()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "__array__"):
        return np.asarray(value).tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"it holds a {type(value).__name__}")


def write_csv(found: GridReduction, path: str | Path, force: bool = False) -> Path:
    """One table: a line per point kept (its axes and outputs), per group and output (points, mean, the least value and
    the point that has it) and per group and side (points at which it is the least). Units stand in brackets.

    Lines before the header begin with "# " and hold grid, provenance, and results that are no such table, as JSON. A
    mean has its output's unit. Cells that say nothing are empty.

    Raises:
        OutputExistsError: the file exists and `force` is not set.
    """
    units = found.units
    names = (*_LEADING, *found.axes, *found.about["outputs"])
    tables = {name: rows_of(found, name) for name in found.results}
    with atomic_path(path, force) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        for key in (*_ABOUT, *(["selected"] if "selected" in found.about else [])):
            file.write(f"# {key} = {json.dumps(found.about[key], default=str)}\n")
        file.write(f"# points = {found.points}\n# complete = {json.dumps(found.complete)}\n")
        for name, result in found.results.items():
            if tables[name] is None:
                file.write(f"# {name} = {json.dumps(plain(name, result))}\n")
            if isinstance(result, Front):
                file.write(f"# {name}.dropped = {result.dropped}\n")
        file.write(",".join(f"{name} [{units[name]}]" if name in units else name for name in names) + "\n")
        for name, rows in tables.items():
            for row in rows or ():
                full = {"result": name, **row}
                file.write(",".join("" if full.get(key) is None else cell(full[key]) for key in names) + "\n")
    return Path(path)
