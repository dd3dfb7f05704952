"""The Pareto front of two or three outputs: points that no other point beats in all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import TinkerNomicsError
from .constraints import admitted, check_clauses, check_names, column, parse_constraints
from .counts import Clause
from .extremes import NOWHERE
from .reducer import Chunk, Evaluation, Reducer
from .top_k import PointState, in_order, joined, no_points, points_at, table_of

_BATCH = 256  # candidates that join the front at a time
_PAGE = 4096  # candidates that are held against the whole front at a time
_SENTINELS = 32  # members of the front that every point of a chunk is held against first


class FrontState(NamedTuple):
    """The points of the front in order of their keys, and how many were dropped for lack of room."""

    points: PointState
    dropped: jax.Array


class Front(NamedTuple):
    """The front, by its first output.

    Attributes:
        number, inputs, outputs: the points, as in `PointTable`.
        dropped: points that had to be left out for lack of room.
        exact: whether the front is whole, which is dropped == 0.
    """

    number: np.ndarray
    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]
    dropped: int
    exact: bool


class Pareto(Reducer):
    """Points that no other admitted point equals or beats in every objective, and beats in one.

    The front of a union is the front of the parts' fronts, so merging is exact; of points with equal objectives the
    earliest by number stays. Memory is `capacity` points. Where the front is larger, it is thinned evenly along its
    first objective, both ends kept: `dropped` counts what that cost, and `exact` is then False. Each point shown is
    still a real one, but a dropped one may beat it, and another layout of the work may show other points; take a
    larger capacity, or constraints.

    Args:
        minimise: two or three outputs (or inputs) to be small; with `maximise`, two or three together.
        maximise: those to be large.
        where: comparisons that all must hold.
        capacity: points kept at most.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    signs: tuple[float, ...] = eqx.field(static=True)
    clauses: tuple[Clause, ...] = eqx.field(static=True)
    capacity: int = eqx.field(static=True)

    def __init__(
        self,
        minimise: Iterable[str],
        maximise: Iterable[str] = (),
        where: str | Iterable[str] = (),
        capacity: int = 1024,
    ):
        small, large = (tuple([part] if isinstance(part, str) else part) for part in (minimise, maximise))
        self.names, self.signs = small + large, (1.0,) * len(small) + (-1.0,) * len(large)
        if len(self.names) not in (2, 3) or len(set(self.names)) < len(self.names):
            raise TinkerNomicsError(f"Pareto: {self.names!r} must be two or three different outputs")
        if capacity < 2 or int(capacity) != capacity:
            raise TinkerNomicsError(f"Pareto: capacity = {capacity!r} must be a whole number >= 2")
        self.capacity = int(capacity)
        self.clauses = parse_constraints(where if isinstance(where, str) else list(where))

    def init(self, shapes: Evaluation) -> FrontState:
        check_names("Pareto", self.names, shapes)
        check_clauses(self.clauses, shapes)
        return FrontState(no_points(self.capacity, len(self.names), shapes), jnp.zeros((), jnp.int64))

    def update(self, state: FrontState, chunk: Chunk) -> FrontState:
        good = admitted(self.clauses, chunk, *self.names)
        signed = [column(chunk, name).astype(jnp.float64) * sign for name, sign in zip(self.names, self.signs)]
        keys = [jnp.where(good, key, jnp.inf) for key in signed]
        size = good.shape[0]
        numbers = chunk.first + jnp.arange(size)
        batch = min(_BATCH, size)

        def sift(points: PointState, alive: jax.Array) -> jax.Array:
            """Candidates that no sentinel beats: most fall here, at a few comparisons each."""
            filled = jnp.sum(points.number != NOWHERE)
            which = jnp.arange(_SENTINELS) * jnp.where(filled > 0, filled - 1, 0) // (_SENTINELS - 1)
            for index in range(_SENTINELS):
                guard, as_good = points.keys[which[index]], True
                better = points.number[which[index]] < numbers  # of equals the earlier one stays
                for axis, key in enumerate(keys):
                    as_good, better = as_good & (guard[axis] <= key), better | (guard[axis] < key)
                alive = alive & ~(as_good & better)
            return alive

        page_size = min(_PAGE, size)

        def beaten(points: PointState, columns: list[jax.Array], number: jax.Array) -> jax.Array:
            """Candidates that some member of the whole front beats."""

            def one(index: jax.Array, found: jax.Array) -> jax.Array:
                as_good, better = True, points.number[index] < number
                for axis, key in enumerate(columns):
                    as_good, better = (
                        as_good & (points.keys[index, axis] <= key),
                        better | (points.keys[index, axis] < key),
                    )
                return found | (as_good & better)

            return jax.lax.fori_loop(0, jnp.sum(points.number != NOWHERE), one, jnp.zeros(number.shape, bool))

        def admit(carry: tuple[FrontState, jax.Array]) -> tuple[FrontState, jax.Array]:
            """A page of the candidates: those that the front beats fall, the others join it in batches."""
            front, alive = carry
            place = jnp.nonzero(alive, size=page_size, fill_value=size)[0]
            alive = alive.at[place].set(False, mode="drop")
            inside = jnp.where(place < size, place, 0)
            columns, number = [key[inside] for key in keys], numbers[inside]

            def join(inner: tuple[FrontState, jax.Array]) -> tuple[FrontState, jax.Array]:
                front, open_ = inner
                chosen = jnp.nonzero(open_, size=batch, fill_value=page_size)[0]
                found, at = chosen < page_size, jnp.where(chosen < page_size, chosen, 0)
                open_ = open_.at[chosen].set(False, mode="drop")
                fresh = points_at(chunk, jnp.stack([key[at] for key in columns], 1), inside[at], found, front.points)
                front = self._thinned(joined(front.points, fresh), front.dropped)
                return front, open_ & ~beaten(front.points, columns, number)

            start = (front, (place < size) & ~beaten(front.points, columns, number))
            front, _ = jax.lax.while_loop(lambda inner: jnp.any(inner[1]), join, start)
            return front, sift(front.points, alive)

        start = (state, sift(state.points, good))
        return jax.lax.while_loop(lambda carry: jnp.any(carry[1]), admit, start)[0]

    def merge(self, a: FrontState, b: FrontState) -> FrontState:
        return self._thinned(joined(a.points, b.points), a.dropped + b.dropped)

    def _thinned(self, points: PointState, dropped: jax.Array) -> FrontState:
        """The front of some points, at most `capacity` of them."""
        kept = _front(points)
        points = in_order(
            points._replace(
                keys=jnp.where(kept[:, None], points.keys, jnp.inf), number=jnp.where(kept, points.number, NOWHERE)
            )
        )
        count, rank = jnp.sum(kept), jnp.arange(self.capacity)
        even = rank * jnp.where(count > 1, count - 1, 0) // (self.capacity - 1)
        place = jnp.where(count > self.capacity, even, rank)
        points = jax.tree_util.tree_map(lambda leaf: leaf[place], points)
        empty = points.number == NOWHERE
        inputs, outputs = (
            {name: jnp.where(empty, jnp.nan, value) for name, value in part.items()}
            for part in (points.inputs, points.outputs)
        )
        lost = jnp.where(count > self.capacity, count - self.capacity, 0)
        return FrontState(points._replace(inputs=inputs, outputs=outputs), dropped + lost)

    def result(self, state: FrontState) -> Front:
        dropped = int(state.dropped)
        return Front(*table_of(state.points), dropped, dropped == 0)


def _front(points: PointState) -> jax.Array:
    """bool [k]: points that no other one beats; of equals the first by number."""
    keys, number = points.keys, points.number
    as_good, better = True, False
    for axis in range(keys.shape[1]):
        other, own = keys[:, axis][None, :], keys[:, axis][:, None]
        as_good, better = as_good & (other <= own), better | (other < own)
    earlier = number[None, :] < number[:, None]
    return (number != NOWHERE) & ~jnp.any(as_good & (better | earlier), axis=1)
