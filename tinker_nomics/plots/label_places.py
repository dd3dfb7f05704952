"""Places for labels beside the ends of lines, moved apart where they would overlap."""

from __future__ import annotations

import numpy as np


def spaced(values: np.ndarray, gap: float, high: float) -> np.ndarray:
    """Heights near `values` [n], in their order, at least `gap` apart and at most `high`."""
    values = np.asarray(values, dtype=float)
    order = np.argsort(values, kind="stable")
    places = values[order].copy()
    for k in range(1, len(places)):
        places[k] = max(places[k], places[k - 1] + gap)
    if len(places):
        places[-1] = min(places[-1], high)
    for k in range(len(places) - 2, -1, -1):
        places[k] = min(places[k], places[k + 1] - gap)
    result = np.empty_like(places)
    result[order] = places
    return result
