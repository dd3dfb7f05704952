"""The k points with the least value of one output, under constraints, with all that is known of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import TinkerNomicsError
from .constraints import admitted, check_clauses, check_names, parse_constraints
from .counts import Clause
from .extremes import NOWHERE
from .reducer import Chunk, Evaluation, Reducer


class PointState(NamedTuple):
    """Points [k]: sort keys [k, m], numbers, inputs and scalar outputs; NOWHERE is the number of an empty place."""

    keys: jax.Array
    number: jax.Array
    inputs: dict[str, jax.Array]
    outputs: dict[str, jax.Array]


class PointTable(NamedTuple):
    """Points as columns: number (int64 [k]), inputs and outputs {name: float64 [k]}."""

    number: np.ndarray
    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]


def no_points(size: int, keys: int, shapes: Evaluation) -> PointState:
    """`size` empty places for points with `keys` sort keys."""
    blank = jnp.full(size, jnp.nan, jnp.float64)
    return PointState(
        jnp.full((size, keys), jnp.inf, jnp.float64),
        jnp.full(size, NOWHERE, jnp.int64),
        {name: blank for name in shapes.inputs},
        {name: blank for name, value in shapes.outputs.items() if value.ndim == 1},
    )


def points_at(chunk: Chunk, keys: jax.Array, place: jax.Array, good: jax.Array, like: PointState) -> PointState:
    """The points of a chunk at `place` [k] with sort keys [k, m]; those not `good` become empty places."""

    def taken(columns: dict[str, jax.Array], wanted: dict[str, jax.Array]) -> dict[str, jax.Array]:
        return {name: jnp.where(good, columns[name][place].astype(jnp.float64), jnp.nan) for name in wanted}

    return PointState(
        jnp.where(good[:, None], keys, jnp.inf),
        jnp.where(good, chunk.first + place, NOWHERE),
        taken(chunk.inputs, like.inputs),
        taken(chunk.outputs, like.outputs),
    )


def joined(a: PointState, b: PointState) -> PointState:
    """Both sets of points, one after the other."""
    return jax.tree_util.tree_map(lambda x, y: jnp.concatenate([x, y]), a, b)


def in_order(points: PointState) -> PointState:
    """The points by their sort keys, then by number."""
    columns = [points.keys[:, index] for index in reversed(range(points.keys.shape[1]))]
    order = jnp.lexsort((points.number, *columns))
    return jax.tree_util.tree_map(lambda leaf: leaf[order], points)


def table_of(points: PointState) -> PointTable:
    """The places that hold points, as NumPy columns."""
    number = np.asarray(points.number)
    filled = number != NOWHERE
    inputs, outputs = (
        {name: np.asarray(column)[filled] for name, column in part.items()} for part in (points.inputs, points.outputs)
    )
    return PointTable(number[filled], inputs, outputs)


class TopK(Reducer):
    """The `k` points with the least finite value of an output (the greatest, with `largest`), best first.

    Exact whatever the layout: among equals the earlier point by number wins. Memory is k points.

    Args:
        output: what is ranked (an output or an input).
        k: how many points, >= 1.
        where: comparisons that all must hold, e.g. ("memory.weights_fit == 1", "cluster.gpus <= 16").
        largest: rank from the top.
    """

    output: str = eqx.field(static=True)
    k: int = eqx.field(static=True)
    clauses: tuple[Clause, ...] = eqx.field(static=True)
    largest: bool = eqx.field(static=True)

    def __init__(self, output: str, k: int = 10, where: str | Iterable[str] = (), largest: bool = False):
        if k < 1 or int(k) != k:
            raise TinkerNomicsError(f"TopK: k = {k!r} must be a whole number >= 1")
        self.output, self.k, self.largest = output, int(k), bool(largest)
        self.clauses = parse_constraints(where if isinstance(where, str) else list(where))

    def init(self, shapes: Evaluation) -> PointState:
        check_names("TopK", [self.output], shapes)
        check_clauses(self.clauses, shapes)
        return no_points(self.k, 1, shapes)

    def update(self, state: PointState, chunk: Chunk) -> PointState:
        value = chunk.outputs[self.output] if self.output in chunk.outputs else chunk.inputs[self.output]
        signed = -value if self.largest else value
        key = jnp.where(admitted(self.clauses, chunk, self.output), signed, jnp.inf)
        found, last, number = jnp.min(key), state.keys[-1, 0], state.number[-1]

        def look_up(_: None) -> PointState:
            best, place = jax.lax.top_k(-key, min(self.k, key.shape[0]))  # of equals the lower place comes first
            fresh = points_at(chunk, -best[:, None], place, best > -jnp.inf, state)
            return self.merge(state, fresh)

        better = (found < last) | ((found == last) & (chunk.first < number) & (found < jnp.inf))
        return jax.lax.cond(better, look_up, lambda _: state, None)

    def merge(self, a: PointState, b: PointState) -> PointState:
        return jax.tree_util.tree_map(lambda leaf: leaf[: self.k], in_order(joined(a, b)))

    def result(self, state: PointState) -> PointTable:
        return table_of(state)
