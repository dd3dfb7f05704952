"""The least and the greatest value of every output, and the inputs at which each was met."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .reducer import Chunk, Evaluation, Reducer, picked
from .stages import stage

NOWHERE = np.iinfo(np.int64).max


class ExtremeState(eqx.Module):
    """Of every output the least value (row 0) and the greatest (row 1, negated), each with its point.

    One array for all of a kind: every array of a state costs each chunk a few copies.

    Attributes:
        value: [2, outputs]; infinite before the first point.
        number: of the points, int64 [2, outputs].
        inputs: there, [2, outputs, inputs].
        outputs, names: of the outputs and the inputs, in order.
    """

    value: jax.Array
    number: jax.Array
    inputs: jax.Array
    outputs: tuple[str, ...] = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)


class Extreme(NamedTuple):
    """A value, the number of the point that gave it, and that point's inputs; number -1 where there was none."""

    value: float
    number: int
    inputs: dict[str, float]


class Extremes(Reducer):
    """Minimum and maximum of each scalar output over its finite values; among equals the first point by number wins.

    Args:
        outputs: the outputs to follow, all when None.
    """

    outputs: tuple[str, ...] | None = eqx.field(static=True, default=None)
    in_place: ClassVar[bool] = True

    def init(self, shapes: Evaluation) -> ExtremeState:
        outputs = tuple(name for name in picked(self.outputs, shapes) if shapes.outputs[name].ndim == 1)
        shape = (2, len(outputs))
        return ExtremeState(
            jnp.full(shape, jnp.inf, jnp.float64),
            jnp.full(shape, NOWHERE, jnp.int64),
            jnp.full((*shape, len(shapes.inputs)), jnp.nan, jnp.float64),
            outputs,
            tuple(shapes.inputs),
        )

    def update(self, state: ExtremeState, chunk: Chunk) -> ExtremeState:
        """Where the extremes are is only looked up when one is new."""
        if not state.outputs:
            return state

        def signed(output: int, side: int) -> jax.Array:
            value, usable = chunk.outputs[state.outputs[output]], chunk.usable(state.outputs[output])
            return jnp.where(usable, value if side == 0 else -value, jnp.inf)

        def least(chunk: Chunk) -> jax.Array:
            values = [chunk.outputs[name] for name in state.outputs]

            def plain(_: None) -> jax.Array:
                return jnp.stack([jnp.stack([jnp.min(v) for v in values]), jnp.stack([-jnp.max(v) for v in values])])

            def masked(_: None) -> jax.Array:
                return jnp.stack([jnp.stack([jnp.min(signed(o, side)) for o in places]) for side in range(2)])

            return jax.lax.cond(chunk.all_usable(state.outputs), plain, masked, None)

        def look_up(state: ExtremeState) -> ExtremeState:
            number, inputs = state.number, state.inputs
            for side in range(2):
                for o in places:
                    value = signed(o, side)
                    # the first place of the minimum; argmin is a reduction of pairs, several times slower on a CPU
                    size = value.shape[0]
                    place = jnp.min(jnp.where(value == found[side, o], jnp.arange(size), size - 1))
                    at = [chunk.inputs[name][place].astype(jnp.float64) for name in state.names]
                    number = number.at[side, o].set(jnp.where(found[side, o] < jnp.inf, chunk.first + place, NOWHERE))
                    inputs = inputs.at[side, o].set(jnp.stack(at) if at else jnp.zeros(0))
            return _first(state, ExtremeState(found, number, inputs, state.outputs, state.names))

        places = range(len(state.outputs))
        found = stage(chunk.first, least, chunk)
        better = (found < state.value) | ((found == state.value) & (chunk.first < state.number) & (found < jnp.inf))
        return jax.lax.cond(jnp.any(better), look_up, lambda state: state, state)

    def merge(self, a: ExtremeState, b: ExtremeState) -> ExtremeState:
        return _first(a, b)

    def result(self, state: ExtremeState) -> dict[str, tuple[Extreme, Extreme]]:
        def seen(side: int, index: int) -> Extreme:
            number = int(state.number[side, index])
            if number == NOWHERE:
                return Extreme(float("nan"), -1, {})
            inputs = dict(zip(state.names, np.asarray(state.inputs[side, index]).tolist(), strict=True))
            return Extreme((1.0, -1.0)[side] * float(state.value[side, index]), number, inputs)

        return {name: (seen(0, index), seen(1, index)) for index, name in enumerate(state.outputs)}


def _first(a: ExtremeState, b: ExtremeState) -> ExtremeState:
    """The lower of two; the earlier point where they are equal."""
    take = (b.value < a.value) | ((b.value == a.value) & (b.number < a.number))

    def chosen(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(jnp.expand_dims(take, tuple(range(take.ndim, x.ndim))), y, x)

    return jax.tree_util.tree_map(chosen, a, b)
