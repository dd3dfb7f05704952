"""Which of several outputs is the least, and how often: over all points or by group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import TinkerNomicsError
from .constraints import admitted, check_clauses, check_names, column, parse_constraints
from .counts import Clause
from .groups import By, group_axes, group_codes, group_shape
from .reducer import Chunk, Evaluation, Reducer


class WinnerTable(NamedTuple):
    """By group: how often each output was the least of all, and how often two or more shared the least.

    Attributes:
        by: {input: values} of the groups; empty where there is one group.
        wins: {output: int64 of the groups' shape}; ties are not in them.
        ties: int64 of the groups' shape.
    """

    by: dict[str, tuple[float | str, ...]]
    wins: dict[str, np.ndarray]
    ties: np.ndarray


class Winners(Reducer):
    """How often each of some outputs is the least: of "tinker.total" and "self_hosted.total", which side is cheaper.

    Args:
        outputs: two or more outputs to compare; a point counts where all of them are finite.
        by: {input: values} as in `Groups`, or None for all points together.
        where: comparisons that all must hold.
    """

    outputs: tuple[str, ...] = eqx.field(static=True)
    by: By = eqx.field(static=True)
    clauses: tuple[Clause, ...] = eqx.field(static=True)

    def __init__(
        self, outputs: Iterable[str], by: Mapping[str, Sequence[Any]] | None = None, where: str | Iterable[str] = ()
    ):
        self.outputs = tuple(outputs)
        if len(self.outputs) < 2 or len(set(self.outputs)) < len(self.outputs):
            raise TinkerNomicsError(f"Winners: {self.outputs!r} must be two or more different outputs")
        self.by = group_axes(by) if by is not None else ()
        self.clauses = parse_constraints(where if isinstance(where, str) else list(where))

    def init(self, shapes: Evaluation) -> jax.Array:
        check_names("Winners", [*self.outputs, *(name for name, _ in self.by)], shapes)
        check_clauses(self.clauses, shapes)
        return jnp.zeros((len(self.outputs) + 1, math.prod(group_shape(self.by))), jnp.int64)

    def update(self, state: jax.Array, chunk: Chunk) -> jax.Array:
        good = admitted(self.clauses, chunk, *self.outputs, *(name for name, _ in self.by))
        values = [column(chunk, name) for name in self.outputs]
        least = values[0]
        for value in values[1:]:
            least = jnp.where(value < least, value, least)
        at_least = [(value == least).astype(jnp.int32) for value in values]
        shared = sum(at_least[1:], at_least[0]) > 1
        rows = [*((one > 0) & ~shared & good for one in at_least), shared & good]
        if not self.by:
            return state + jnp.stack([jnp.sum(row, dtype=jnp.int64) for row in rows])[:, None]
        code = group_codes(self.by, chunk)
        return jnp.stack([old.at[code].add(row.astype(jnp.int64)) for old, row in zip(state, rows)])

    def merge(self, a: jax.Array, b: jax.Array) -> jax.Array:
        return a + b

    def result(self, state: jax.Array) -> WinnerTable:
        counts = np.asarray(state).reshape(len(self.outputs) + 1, *group_shape(self.by))
        return WinnerTable(dict(self.by), dict(zip(self.outputs, counts)), counts[-1])
