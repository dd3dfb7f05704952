"""Counts, means and minima by group, for example by chip and width."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import TinkerNomicsError
from .constraints import admitted, check_clauses, check_names, column, parse_constraints
from .counts import Clause
from .extremes import NOWHERE
from .reducer import Chunk, Evaluation, Reducer, picked

By = tuple[tuple[str, tuple[float | str, ...]], ...]


def group_axes(by: Mapping[str, Sequence[Any]]) -> By:
    """{input: values} as static axes of groups, refusing an empty or unsorted one."""
    if not by:
        raise TinkerNomicsError("groups: name an input and its values, e.g. {'cluster.gpus': [1, 2, 4]}")
    axes = []
    for name, values in by.items():
        listed = tuple(value if isinstance(value, str) else float(value) for value in values)
        numbers = [value for value in listed if isinstance(value, float)]
        if not listed or len(set(listed)) < len(listed) or numbers != sorted(numbers):
            raise TinkerNomicsError(f"groups by {name!r}: values must be there, differ and rise, not {listed!r}")
        axes.append((name, listed))
    return tuple(axes)


def group_shape(by: By) -> tuple[int, ...]:
    return tuple(len(values) for _, values in by)


def group_codes(by: By, chunk: Chunk) -> jax.Array:
    """int32 [n]: the group of each point in row-major order; a number belongs to the nearest value of its axis, a
    text axis is given by the place 0, 1, ... of the text. Where a value is not finite the code says nothing."""
    code: Any = 0
    for name, values in by:
        given = column(chunk, name).astype(jnp.float64)
        grid = [float(place) if isinstance(value, str) else value for place, value in enumerate(values)]
        middles = [(a + b) / 2 for a, b in pairwise(grid)]
        place = jnp.zeros(given.shape, jnp.int32)
        if len(middles) <= 16:
            for middle in middles:  # a few comparisons are faster than a search
                place = place + (given > middle)
        else:
            place = jnp.searchsorted(jnp.asarray(middles), given).astype(jnp.int32)
        code = code * len(values) + place
    return code


class GroupState(NamedTuple):
    """Of one output, by group [g]: points, mean, least value and the number of its point."""

    count: jax.Array
    mean: jax.Array
    least: jax.Array
    number: jax.Array


class GroupTable(NamedTuple):
    """One output by group, arrays of the groups' shape: count, mean (NaN where empty), least value and its point."""

    by: dict[str, tuple[float | str, ...]]
    count: np.ndarray
    mean: np.ndarray
    least: np.ndarray
    number: np.ndarray


class Groups(Reducer):
    """Count, mean and minimum of outputs in every group of points; least values and counts are exact.

    Args:
        by: {input or output: values}; the groups are all their combinations. Numbers must rise; each point belongs to
            the nearest. Texts are labels of the places 0, 1, ... that the input then holds. Points without a finite
            value belong to no group.
        outputs: the outputs to follow, all when None.
        where: comparisons that all must hold.
    """

    by: By = eqx.field(static=True)
    outputs: tuple[str, ...] | None = eqx.field(static=True)
    clauses: tuple[Clause, ...] = eqx.field(static=True)

    def __init__(
        self, by: Mapping[str, Sequence[Any]], outputs: Iterable[str] | None = None, where: str | Iterable[str] = ()
    ):
        self.by = group_axes(by)
        self.outputs = None if outputs is None else tuple([outputs] if isinstance(outputs, str) else outputs)
        self.clauses = parse_constraints(where if isinstance(where, str) else list(where))

    def init(self, shapes: Evaluation) -> dict[str, GroupState]:
        check_names("Groups", [name for name, _ in self.by] + list(self.outputs or ()), shapes)
        check_clauses(self.clauses, shapes)
        size = math.prod(group_shape(self.by))
        nothing = GroupState(
            jnp.zeros(size, jnp.int64),
            jnp.zeros(size, jnp.float64),
            jnp.full(size, jnp.inf, jnp.float64),
            jnp.full(size, NOWHERE, jnp.int64),
        )
        return {name: nothing for name in picked(self.outputs, shapes) if shapes.outputs[name].ndim == 1}

    def update(self, state: dict[str, GroupState], chunk: Chunk) -> dict[str, GroupState]:
        code = group_codes(self.by, chunk)
        new = {}
        for name, old in state.items():
            good, value = admitted(self.clauses, chunk, name, *(by for by, _ in self.by)), chunk.outputs[name]
            count = jnp.zeros_like(old.count).at[code].add(good.astype(jnp.int64))
            total = jnp.zeros_like(old.mean).at[code].add(jnp.where(good, value, 0.0))
            key = jnp.where(good, value, jnp.inf)
            least = jnp.full_like(old.least, jnp.inf).at[code].min(key)
            here = good & (key == least[code])
            place = jnp.where(here, chunk.first + jnp.arange(code.shape[0]), NOWHERE)
            number = jnp.full_like(old.number, NOWHERE).at[code].min(place)
            mean = total / jnp.where(count > 0, count, 1)
            new[name] = _together(old, GroupState(count, mean, least, number))
        return new

    def merge(self, a: dict[str, GroupState], b: dict[str, GroupState]) -> dict[str, GroupState]:
        return {name: _together(a[name], b[name]) for name in a}

    def result(self, state: dict[str, GroupState]) -> dict[str, GroupTable]:
        shape, tables = group_shape(self.by), {}
        for name, part in state.items():
            count, mean, least, number = (np.asarray(leaf).reshape(shape) for leaf in part)
            empty = count == 0
            tables[name] = GroupTable(
                dict(self.by),
                count,
                np.where(empty, np.nan, mean),
                np.where(empty, np.nan, least),
                np.where(number == NOWHERE, -1, number),
            )
        return tables


def _together(a: GroupState, b: GroupState) -> GroupState:
    count = a.count + b.count
    share = b.count / jnp.where(count > 0, count, 1)
    take = (b.least < a.least) | ((b.least == a.least) & (b.number < a.number))
    mean = a.mean + (b.mean - a.mean) * share
    return GroupState(count, mean, jnp.where(take, b.least, a.least), jnp.where(take, b.number, a.number))
