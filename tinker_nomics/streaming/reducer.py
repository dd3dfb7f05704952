"""What a reducer is: a small Module that folds chunks of evaluations into a state and merges states exactly."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..errors import TinkerNomicsError, listed

_LISTED = 12  # names that an error lists


class Evaluation(NamedTuple):
    """What a model returns for one chunk of n points: arrays whose first axis is the point.

    Args:
        outputs: {name: [n] or [n, ...]}.
        inputs: {name: [n]}, the values behind them; empty where no reducer asks for them.
    """

    outputs: dict[str, jax.Array]
    inputs: dict[str, jax.Array] = {}  # noqa: RUF012 (a default that nobody writes to)


class Chunk(NamedTuple):
    """One evaluated chunk, as a reducer sees it.

    Args:
        outputs: {name: [n] or [n, ...]}.
        inputs: {name: [n]}.
        first: global number of the chunk's first point (int64 scalar); point i has number first + i.
        chunk: number of the chunk within its stratum (int64 scalar).
        valid: bool [n], False for places of a ragged last chunk that hold no point; None where all are points.
    """

    outputs: dict[str, jax.Array]
    inputs: dict[str, jax.Array]
    first: jax.Array
    chunk: jax.Array
    valid: jax.Array | None

    def usable(self, name: str) -> jax.Array:
        """bool [n, ...]: where the output is a finite number of a point that exists."""
        value = self.outputs[name]
        finite = jnp.isfinite(value)
        if self.valid is None:
            return finite
        return finite & self.valid.reshape(self.valid.shape + (1,) * (value.ndim - 1))

    def all_usable(self, names: Iterable[str]) -> jax.Array:
        """Whether `usable` is certain to be True everywhere: then sums need no mask, which takes a third of the time.

        A sum that is finite has only finite terms; one that overflows says False of finite ones.
        """
        if self.valid is not None:
            return jnp.asarray(False)
        return jnp.isfinite(sum((jnp.sum(self.outputs[name]) for name in names), jnp.zeros((), jnp.float64)))


class Reducer(eqx.Module):
    """Base of the reducers. All fields are static; states are pytrees of float64, int64 and bool arrays.

    `update` and `merge` are traced. Merging is exact for counts and extremes, and as good as adding the chunks one by
    one for moments; it is associative and commutative (to rounding), so any layout of the work gives the same answer.

    Attributes:
        in_place: the engine does not make `update` a stage of its own (`stages.py`), because a stage's results are
            copied: right where the state is large, or where `update` makes a stage of its passes over the points.
    """

    in_place: ClassVar[bool] = False

    def init(self, shapes: Evaluation) -> Any:
        """The state before the first chunk; `shapes` holds the model's shapes and dtypes (jax.ShapeDtypeStruct)."""
        raise TypeError(f"{type(self).__name__} defines no init")

    def update(self, state: Any, chunk: Chunk) -> Any:
        """The state after one more chunk (traced)."""
        raise TypeError(f"{type(self).__name__} defines no update")

    def merge(self, a: Any, b: Any) -> Any:
        """The state of two disjoint sets of chunks (traced, or called on NumPy arrays in float64)."""
        raise TypeError(f"{type(self).__name__} defines no merge")

    def result(self, state: Any) -> Any:
        """What the state says, as NumPy arrays and Python numbers."""
        raise TypeError(f"{type(self).__name__} defines no result")


def picked(outputs: tuple[str, ...] | None, shapes: Evaluation) -> tuple[str, ...]:
    """The outputs that a reducer follows: those named, or all.

    Raises:
        TinkerNomicsError: one that the model does not have.
    """
    if outputs is None:
        return tuple(shapes.outputs)
    for name in outputs:
        if name not in shapes.outputs:
            raise TinkerNomicsError(f"no output {name!r}; {some_of(str(name), shapes.outputs)}")
    return outputs


def some_of(name: str, known: Iterable[str]) -> str:
    """What there is instead of a name, in words: all of it, or the nearest where that is more than a line."""
    names = sorted(known)
    if len(names) <= _LISTED:
        return f"there are {listed(names)}"
    return f"the nearest of {len(names)} are {listed(difflib.get_close_matches(name, names, 3, 0.0))}"
