"""The least and the greatest value of every output, and the inputs at which each was met."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .reducer import Chunk, Evaluation, Reducer, picked

NOWHERE = np.iinfo(np.int64).max


class ExtremeState(NamedTuple):
    """The least value of one signed output, the number of its point and the inputs there."""

    value: jax.Array
    number: jax.Array
    inputs: dict[str, jax.Array]


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

    def init(self, shapes: Evaluation) -> dict[str, tuple[ExtremeState, ExtremeState]]:
        nothing = ExtremeState(
            jnp.full((), jnp.inf, jnp.float64),
            jnp.full((), NOWHERE, jnp.int64),
            {name: jnp.full((), jnp.nan, jnp.float64) for name in shapes.inputs},
        )
        names = [name for name in picked(self.outputs, shapes) if shapes.outputs[name].ndim == 1]
        return {name: (nothing, nothing) for name in names}

    def update(
        self, state: dict[str, tuple[ExtremeState, ExtremeState]], chunk: Chunk
    ) -> dict[str, tuple[ExtremeState, ExtremeState]]:
        new = {}
        for name, (least, greatest) in state.items():
            value, usable = chunk.outputs[name], chunk.usable(name)
            new[name] = (
                _lower(least, jnp.where(usable, value, jnp.inf), chunk),
                _lower(greatest, jnp.where(usable, -value, jnp.inf), chunk),
            )
        return new

    def merge(
        self, a: dict[str, tuple[ExtremeState, ExtremeState]], b: dict[str, tuple[ExtremeState, ExtremeState]]
    ) -> dict[str, tuple[ExtremeState, ExtremeState]]:
        return {name: (_first(a[name][0], b[name][0]), _first(a[name][1], b[name][1])) for name in a}

    def result(self, state: dict[str, tuple[ExtremeState, ExtremeState]]) -> dict[str, tuple[Extreme, Extreme]]:
        return {name: (_seen(least, 1.0), _seen(greatest, -1.0)) for name, (least, greatest) in state.items()}


def _lower(state: ExtremeState, value: jax.Array, chunk: Chunk) -> ExtremeState:
    """The state after a chunk. Where the minimum is, is only looked up when it is a new one."""
    found = jnp.min(value)

    def look_up(_: None) -> ExtremeState:
        # the first place of the minimum; argmin is a reduction of pairs, several times slower on a CPU
        size = value.shape[0]
        place = jnp.min(jnp.where(value == found, jnp.arange(size), size - 1))
        inputs = {name: chunk.inputs[name][place].astype(jnp.float64) for name in state.inputs}
        return _first(state, ExtremeState(found, chunk.first + place, inputs))

    better = (found < state.value) | ((found == state.value) & (chunk.first < state.number) & (found < jnp.inf))
    return jax.lax.cond(better, look_up, lambda _: state, None)


def _first(a: ExtremeState, b: ExtremeState) -> ExtremeState:
    """The lower of two; the earlier point where they are equal."""
    take = (b.value < a.value) | ((b.value == a.value) & (b.number < a.number))
    return jax.tree_util.tree_map(lambda x, y: jnp.where(take, y, x), a, b)


def _seen(state: ExtremeState, sign: float) -> Extreme:
    number = int(state.number)
    if number == NOWHERE:
        return Extreme(float("nan"), -1, {})
    inputs = {name: float(value) for name, value in state.inputs.items()}
    return Extreme(sign * float(state.value), number, inputs)
