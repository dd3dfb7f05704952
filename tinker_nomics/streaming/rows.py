"""The first points of every stratum as rows: a sample to look at, at fixed memory."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .reducer import Chunk, Evaluation, Reducer


class RowState(NamedTuple):
    """Columns [limit] by name and which rows are filled."""

    inputs: dict[str, jax.Array]
    outputs: dict[str, jax.Array]
    filled: jax.Array


class Rows(Reducer):
    """Inputs and scalar outputs of the first points of chunk 0 of each stratum, `limit` at most (and one chunk)."""

    limit: int = eqx.field(static=True, default=256)

    def init(self, shapes: Evaluation) -> RowState:
        size = min(self.limit, *(value.shape[0] for value in shapes.outputs.values()))
        column = jnp.full(size, jnp.nan, jnp.float64)
        return RowState(
            {name: column for name in shapes.inputs},
            {name: column for name, value in shapes.outputs.items() if value.ndim == 1},
            jnp.zeros(size, bool),
        )

    def update(self, state: RowState, chunk: Chunk) -> RowState:
        size = state.filled.shape[0]
        first = chunk.chunk == 0
        filled = jnp.ones(size, bool) if chunk.valid is None else chunk.valid[:size]
        new = RowState(
            {name: chunk.inputs[name][:size].astype(jnp.float64) for name in state.inputs},
            {name: chunk.outputs[name][:size] for name in state.outputs},
            filled,
        )
        return jax.tree_util.tree_map(lambda old, fresh: jnp.where(first, fresh, old), state, new)

    def merge(self, a: RowState, b: RowState) -> RowState:
        """The rows that either has: within one stratum only one of the two has seen chunk 0."""
        return jax.tree_util.tree_map(lambda x, y: jnp.where(a.filled, x, y), a, b)

    def result(self, state: RowState) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The filled rows as ({input: [k]}, {output: [k]})."""
        filled = np.asarray(state.filled)
        return tuple({name: np.asarray(c)[filled] for name, c in part.items()} for part in state[:2])  # type: ignore
