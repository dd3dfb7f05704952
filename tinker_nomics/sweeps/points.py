"""The points of a sweep by chunk number: blocks of a grid that are never written out, or rows of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

GRID_CHUNK = 1 << 18  # points; the best of 2^15 to 2^18
ROW_CHUNK = 1 << 15  # rows; 2^14 is as fast on idle cores and slower on busy ones, 2^12 and 2^16 are slower


class _Blocks:
    """What the engine asks of points that lie in host memory: they are one stratum."""

    strata = 1
    stratum_chunks: int
    chunk_size: int

    @property
    def size(self) -> int:
        """Points computed, those of overlapping blocks and of fill-up rows counted as often as they are."""
        return self.stratum_chunks * self.chunk_size


class GridPoints(_Blocks):
    """A grid in blocks: some values of one axis times all axes after it.

    A block holds each varied parameter once per value, not once per point: arrays that broadcast against each other.
    So a formula is computed only over the axes that it depends on, and its result stays that small.

    Args:
        leaves: {path: values} with one dimension per axis, of length 1 where the parameter does not vary.
        shape: the grid's shape.
    """

    def __init__(self, leaves: Mapping[str, np.ndarray], shape: tuple[int, ...], target: int = GRID_CHUNK):
        self.leaves, self.shape = dict(leaves), shape
        inner, points = len(shape), 1
        while inner and points * shape[inner - 1] <= target:
            inner -= 1
            points *= shape[inner]
        self._cut = max(inner - 1, 0)  # the axis of which a block takes some values
        self._values = shape[0] if inner == 0 else max(1, target // points)
        self._outer = (*shape[: self._cut], math.ceil(shape[self._cut] / self._values))
        self.stratum_chunks = math.prod(self._outer)
        self.chunk_size = self._values * math.prod(shape[self._cut + 1 :])

    def where(self, number: int) -> tuple[slice, ...]:
        """The block's place in the grid. The last block of an axis reaches back, so that all have one shape."""
        *fixed, last = (int(index) for index in np.unravel_index(number, self._outer))
        start = min(last * self._values, self.shape[self._cut] - self._values)
        whole = (slice(None),) * (len(self.shape) - self._cut - 1)
        return (*(slice(index, index + 1) for index in fixed), slice(start, start + self._values), *whole)

    def host_chunk(self, number: int) -> dict[str, np.ndarray]:
        """{path: values} of the block."""
        where = self.where(number)
        return {path: values[within(values.shape, where)] for path, values in self.leaves.items()}


def within(shape: tuple[int, ...], where: tuple[Any, ...]) -> tuple[Any, ...]:
    """The part of an array of `shape` that a block at `where` takes: all of the dimensions of length 1."""
    return tuple(place if length > 1 else slice(None) for length, place in zip(shape, where))


class RowPoints(_Blocks):
    """A table of points in chunks of ROW_CHUNK rows, however many there are: one trace serves tables of any length.

    Args:
        leaves: {path: values [rows]}.
        rows: how many.
    """

    chunk_size = ROW_CHUNK

    def __init__(self, leaves: Mapping[str, np.ndarray], rows: int):
        self.leaves, self.rows = dict(leaves), rows
        self.stratum_chunks = math.ceil(rows / self.chunk_size)

    def where(self, number: int) -> slice:
        """The chunk's rows."""
        return slice(number * self.chunk_size, min((number + 1) * self.chunk_size, self.rows))

    def host_chunk(self, number: int) -> dict[str, np.ndarray]:
        """{path: values [ROW_CHUNK]}; the last chunk is filled up with its last row."""
        rows = {path: values[self.where(number)] for path, values in self.leaves.items()}
        missing = max(0, (number + 1) * self.chunk_size - self.rows)
        return {path: np.pad(values, (0, missing), "edge") for path, values in rows.items()} if missing else rows
