"""The first points of every stratum as rows: a sample to look at, at fixed memory."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .reducer import Chunk, Evaluation, Reducer


class RowState(eqx.Module):
    """Columns [inputs and outputs, limit], which rows are filled, and the columns' names."""

    columns: jax.Array
    filled: jax.Array
    inputs: tuple[str, ...] = eqx.field(static=True)
    outputs: tuple[str, ...] = eqx.field(static=True)


class Rows(Reducer):
    """Inputs and scalar outputs of the first points of chunk 0 of each stratum, `limit` at most (and one chunk)."""

    limit: int = eqx.field(static=True, default=256)
    in_place: ClassVar[bool] = True

    def init(self, shapes: Evaluation) -> RowState:
        size = min(self.limit, *(value.shape[0] for value in shapes.outputs.values()))
        outputs = tuple(name for name, value in shapes.outputs.items() if value.ndim == 1)
        columns = jnp.full((len(shapes.inputs) + len(outputs), size), jnp.nan, jnp.float64)
        return RowState(columns, jnp.zeros(size, bool), tuple(shapes.inputs), outputs)

    def update(self, state: RowState, chunk: Chunk) -> RowState:
        size = state.filled.shape[0]

        def fresh(state: RowState) -> RowState:
            columns = [chunk.inputs[name] for name in state.inputs] + [chunk.outputs[name] for name in state.outputs]
            filled = jnp.ones(size, bool) if chunk.valid is None else chunk.valid[:size]
            rows = jnp.stack([column[:size].astype(jnp.float64) for column in columns])
            return RowState(rows, filled, state.inputs, state.outputs)

        return jax.lax.cond(chunk.chunk == 0, fresh, lambda state: state, state)

    def merge(self, a: RowState, b: RowState) -> RowState:
        """The rows that either has: within one stratum only one of the two has seen chunk 0."""
        return jax.tree_util.tree_map(lambda x, y: jnp.where(a.filled, x, y), a, b)

    def result(self, state: RowState) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The filled rows as ({input: [k]}, {output: [k]})."""
        columns = list(np.asarray(state.columns)[:, np.asarray(state.filled)])
        return dict(zip(state.inputs, columns)), dict(zip(state.outputs, columns[len(state.inputs) :]))
