"""Parts of what reducers found in a grid: tables by group and kept points where axes have some values."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from ..streaming.groups import GroupTable
from ..streaming.pareto import Front
from ..streaming.top_k import PointTable
from ..streaming.winners import WinnerTable
from .selecting import places_on


def sliced(
    axes: Mapping[str, np.ndarray], result: Any, choice: Mapping[str, Any], single: Set[str] = frozenset()
) -> Any:
    """A result where axes have some values, or None where it cannot tell; those in `single` have one already."""
    if isinstance(result, PointTable | Front):
        return _points_with(axes, result, choice)
    if isinstance(result, WinnerTable):
        return _groups_with(result, choice, single)
    if isinstance(result, dict) and result and all(isinstance(table, GroupTable) for table in result.values()):
        tables = {name: _groups_with(table, choice, single) for name, table in result.items()}
        return None if None in tables.values() else tables
    return None


def _points_with(axes: Mapping[str, np.ndarray], table: Any, choice: Mapping[str, Any]) -> Any:
    if not set(choice) <= set(axes):
        return None
    keep = np.ones(len(table.number), bool)
    for path, value in choice.items():
        places = np.concatenate(places_on(path, axes[path], value))
        keep &= np.isin(table.inputs[path], axes[path][places])
    inputs, outputs = ({name: column[keep] for name, column in part.items()} for part in (table.inputs, table.outputs))
    return table._replace(number=table.number[keep], inputs=inputs, outputs=outputs)


def _groups_with(table: Any, choice: Mapping[str, Any], single: Set[str]) -> Any:
    choice = {path: value for path, value in choice.items() if path in table.by or path not in single}
    if not set(choice) <= set(table.by):
        return None
    by, dropped, places = dict(table.by), [], []
    for dimension, path in enumerate(table.by):
        values = np.array(table.by[path])
        if path not in choice:
            places.append(np.arange(len(values)))
            continue
        places.append(np.array([found[0] for found in places_on(path, values, choice[path])]))
        by[path] = tuple(values[places[-1]].tolist())
        if np.ndim(choice[path]) == 0:
            dropped.append(dimension)
            del by[path]

    def cut(array: np.ndarray) -> np.ndarray:
        return np.squeeze(array[np.ix_(*places)], axis=tuple(dropped))

    fields: dict[str, Any] = {"by": by}
    for name in table._fields[1:]:
        value = getattr(table, name)
        fields[name] = {key: cut(each) for key, each in value.items()} if isinstance(value, dict) else cut(value)
    return table._replace(**fields)
