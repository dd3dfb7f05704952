"""Places for labels beside the ends of lines, moved apart where they would overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

# a thin line from the point to the middle of its label's left edge
LEADER: dict[str, Any] = {"arrowstyle": "-", "linewidth": 0.6, "relpos": (0.0, 0.5), "shrinkA": 1, "shrinkB": 0}


def spaced(values: np.ndarray, gap: float, high: float) -> np.ndarray:
    """Heights as near to `values` [n] as can be (least squares), in their order, `gap` apart and at most `high`."""
    from scipy.optimize import isotonic_regression

    values = np.asarray(values, dtype=float)
    if len(values) == 0:
        return values
    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(values))
    places = isotonic_regression(values[order] - steps).x + steps
    # what would stand above the top is pushed down, and what is below with it
    places = np.minimum(places, high - steps[::-1])
    result = np.empty_like(places)
    result[order] = places
    return result
