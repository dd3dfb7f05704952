"""Which parts of a grid some of its points, consecutive by number, lie in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def first_from(shape: Sequence[int], fixed: Mapping[int, int], start: int) -> int | None:
    """The least number of a point, `start` or above, whose places along some dimensions are given; None without one.

    Args:
        shape: the grid's; the last dimension is numbered fastest.
        fixed: {dimension: place}.
        start: a point's number.
    """
    digits = [int(place) for place in np.unravel_index(start, tuple(shape))]
    wrong = [dimension for dimension, place in fixed.items() if digits[dimension] != place]
    if not wrong:
        return start
    # as many leading places as can stay do stay, the next one rises, and the others are the least
    for rising in range(min(wrong), -1, -1):
        place = fixed.get(rising, digits[rising] + 1)
        if digits[rising] < place < shape[rising]:
            rest = [fixed.get(dimension, 0) for dimension in range(rising + 1, len(shape))]
            return int(np.ravel_multi_index((*digits[:rising], place, *rest), tuple(shape)))
    return None


def reached(
    axes: Mapping[str, np.ndarray], by: Mapping[str, Sequence[float | str]], first: int, stop: int
) -> np.ndarray:
    """bool of the groups' shape: whether a point numbered first <= number < stop lies in the group.

    Groups by what is no axis, and groups of values that the axis does not have, count as reached.
    """
    shape = [len(values) for values in axes.values()]
    found = np.ones([len(values) for values in by.values()], bool)
    for index in np.ndindex(*found.shape):
        fixed: dict[int, int] = {}
        for dimension, (path, values) in enumerate(axes.items()):
            if path in by:
                there = np.flatnonzero(values == by[path][index[list(by).index(path)]])
                if len(there):
                    fixed[dimension] = int(there[0])
        number = first_from(shape, fixed, first) if first < stop else None
        found[index] = number is not None and number < stop
    return found
