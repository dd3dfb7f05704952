"""What reducers found in a grid with the texts of choices, which reducers see as the places 0, 1, ... of the texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..streaming.extremes import Extreme
from ..streaming.pareto import Front
from ..streaming.top_k import PointTable


def with_texts(axes: Mapping[str, np.ndarray], result: Any) -> Any:
    """A result whose points have the texts of their choices: kept points, extremes, rows; any other as it is."""
    if isinstance(result, PointTable | Front):
        return result._replace(inputs=_worded(axes, result.inputs))
    if isinstance(result, Extreme):
        at = {path: np.array([value]) for path, value in result.inputs.items()}
        return result._replace(inputs={path: column[0].item() for path, column in _worded(axes, at).items()})
    if isinstance(result, dict) and _are_extremes(result):
        return {name: tuple(with_texts(axes, each) for each in pair) for name, pair in result.items()}
    if isinstance(result, tuple) and len(result) == 2 and all(isinstance(part, dict) for part in result):
        return _worded(axes, result[0]), result[1]  # rows: inputs and outputs
    return result


def _are_extremes(result: Mapping[str, Any]) -> bool:
    return bool(result) and all(
        isinstance(pair, tuple) and all(isinstance(each, Extreme) for each in pair) for pair in result.values()
    )


def _worded(axes: Mapping[str, np.ndarray], inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        path: axes[path][column.astype(np.int64)] if path in axes and axes[path].dtype.kind in "US" else column
        for path, column in inputs.items()
    }
