"""A grid as points by number and the cost model at them: what a reduction runs over, without ever writing it out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..config import set_paths
from ..cost_model import evaluate
from ..outputs import by_path
from ..streaming.reducer import Evaluation
from .leaves import Part

_INNER = 1 << 30  # points of the last axes that 32-bit arithmetic numbers


class GridNumbers(eqx.Module):
    """The points of a grid by number, in chunks of consecutive ones: first number and how far each is from it."""

    shape: tuple[int, ...] = eqx.field(static=True)
    chunk_size: int = eqx.field(static=True)
    strata: int = eqx.field(static=True, default=1)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def stratum_chunks(self) -> int:
        return -(-self.size // self.chunk_size)

    def chunk(self, stratum: jax.Array, chunk: jax.Array) -> tuple[jax.Array, jax.Array]:
        return chunk * self.chunk_size, jnp.arange(self.chunk_size, dtype=jnp.int32)


class Places(eqx.Module):
    """Point numbers to places along every axis (int32 [n] each), with divisions by constants in 32 bits only."""

    shape: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, number: tuple[jax.Array, jax.Array]) -> list[jax.Array]:
        first, offset = number
        cut, inner = len(self.shape), 1
        while cut and inner * self.shape[cut - 1] <= _INNER:
            cut -= 1
            inner *= self.shape[cut]
        rest = (first % inner).astype(jnp.int32) + offset
        places: list[jax.Array] = []
        for length in reversed(self.shape[cut:]):
            places.insert(0, rest % length)
            rest = rest // length
        # what is left is carried into the axes before: beyond the last point for a grid that fits into 32 bits
        outer = first // inner + rest.astype(jnp.int64)
        for length in reversed(self.shape[:cut]):
            places.insert(0, (outer % length).astype(jnp.int32))
            outer = outer // length
        return places


class AxisValues(eqx.Module):
    """Places to {path: values [n]} of the axes: numbers as they are, texts as their places."""

    tables: dict[str, np.ndarray]
    order: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, places: list[jax.Array]) -> dict[str, jax.Array]:
        return {path: jnp.asarray(self.tables[path])[place] for path, place in zip(self.order, places)}


class GridModel(eqx.Module):
    """The cost model at places along the axes, and the axes' values as inputs; a leaf is looked up in its own table.

    The first axes of the grid are those that shape the formulas, each combination of which is a `Part` with a program
    of its own. A chunk holds consecutive points, so nearly all chunks lie in one part and run one program; one across a
    border runs those of the parts that it holds, and each point takes its own.
    """

    vectors: tuple[np.ndarray, ...]
    leaves: dict[str, np.ndarray]
    values: AxisValues
    structures: tuple[Any, ...] = eqx.field(static=True)
    shaping: tuple[int, ...] = eqx.field(static=True)
    outputs: tuple[str, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, cut: Sequence[Part], values: AxisValues, shaping: tuple[int, ...], outputs: Sequence[str]) -> GridModel:
        """The model of the parts of a grid; `outputs` that no part has are left out."""
        flat = [jax.tree_util.tree_flatten(part.config) for part in cut]
        vectors = tuple(np.array(leaves, np.float64) for leaves, _ in flat)
        structures = tuple(structure for _, structure in flat)
        model = cls(vectors, dict(cut[0].leaves), values, structures, shaping, tuple(outputs))
        places = [jax.ShapeDtypeStruct((1,), np.int32)] * len(values.order)
        known: set[str] = set()
        for index in range(len(cut)):
            known |= jax.eval_shape(partial(model.priced, index), places).keys()
        return replace(model, outputs=tuple(name for name in outputs if name in known))

    def priced(self, part: int, places: list[jax.Array]) -> dict[str, jax.Array]:
        """{output: [n]} by the program of one part; without what that part does not have."""
        config = jax.tree_util.tree_unflatten(self.structures[part], list(self.vectors[part]))
        leaves = {path: _taken(leaf, places) for path, leaf in self.leaves.items()}
        found = by_path(evaluate(set_paths(config, leaves)))
        return {name: jnp.broadcast_to(found[name], places[0].shape) for name in self.outputs if name in found}

    def __call__(self, places: list[jax.Array]) -> Evaluation:
        return Evaluation(self._outputs(places), self.values(places))

    def _outputs(self, places: list[jax.Array]) -> dict[str, jax.Array]:
        if len(self.vectors) == 1:
            return self.priced(0, places)
        count: Any = len(self.vectors)
        part: Any = 0
        for length, place in zip(self.shaping, places):
            part = part * length + place
        part = jnp.where(part < count, part, count - 1)  # beyond the last point
        programs = [self._program(index) for index in range(count)]

        def add(index: jax.Array, found: dict[str, jax.Array]) -> dict[str, jax.Array]:
            new = jax.lax.switch(index, programs, places)
            return {name: jnp.where(part == index, new[name], found[name]) for name in self.outputs}

        nothing = {name: jnp.full(places[0].shape, jnp.nan, jnp.float64) for name in self.outputs}
        return jax.lax.fori_loop(jnp.min(part), jnp.max(part) + 1, add, nothing)

    def _program(self, part: int) -> Callable[[list[jax.Array]], dict[str, jax.Array]]:
        def program(places: list[jax.Array]) -> dict[str, jax.Array]:
            found = self.priced(part, places)
            absent = jnp.full(places[0].shape, jnp.nan, jnp.float64)
            return {name: found.get(name, absent).astype(jnp.float64) for name in self.outputs}

        return program


def _taken(table: Any, places: list[jax.Array]) -> jax.Array:
    """The values of a table at places along those of its dimensions that are longer than 1."""
    flat: Any = 0
    for length, place in zip(table.shape, places):
        if length > 1:
            flat = flat * length + place
    values = jnp.asarray(table).reshape(-1)
    return values[0] if isinstance(flat, int) else values[flat]
