"""Count, mean and variance of every output, centred and merged exactly."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .reducer import Chunk, Evaluation, Reducer, picked
from .stages import stage


class MomentState(NamedTuple):
    """Points counted (int64), their mean and their sum of squared deviations from it, each [...]."""

    count: jax.Array
    mean: jax.Array
    squares: jax.Array


class MomentResult(NamedTuple):
    """count, mean and variance (divided by the count) of one output; NaN where nothing was counted."""

    count: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


class Moments(Reducer):
    """Mean and variance of each output over its finite values.

    Two sets merge by n = n_a + n_b, mean = mean_a + d n_b / n, squares = squares_a + squares_b + d^2 n_a n_b / n with
    d = mean_b - mean_a. Source: Chan, Golub and LeVeque, The American Statistician 37 (1983) 242.

    Args:
        outputs: the outputs to follow, all when None.
    """

    outputs: tuple[str, ...] | None = eqx.field(static=True, default=None)
    in_place: ClassVar[bool] = True

    def init(self, shapes: Evaluation) -> dict[str, MomentState]:
        states = {}
        for name in picked(self.outputs, shapes):
            shape = shapes.outputs[name].shape[1:]
            zero = jnp.zeros(shape, jnp.float64)
            states[name] = MomentState(jnp.zeros(shape, jnp.int64), zero, zero)
        return states

    def update(self, state: dict[str, MomentState], chunk: Chunk) -> dict[str, MomentState]:
        def own(chunk: Chunk) -> dict[str, MomentState]:
            def plain(_: None) -> dict[str, MomentState]:
                return {name: _moments(chunk.outputs[name], None) for name in state}

            def masked(_: None) -> dict[str, MomentState]:
                return {name: chunk_moments(chunk, name) for name in state}

            return jax.lax.cond(chunk.all_usable(state), plain, masked, None)

        return self.merge(state, stage(chunk.first, own, chunk))

    def merge(self, a: dict[str, MomentState], b: dict[str, MomentState]) -> dict[str, MomentState]:
        return {name: merge_moments(a[name], b[name]) for name in a}

    def result(self, state: dict[str, MomentState]) -> dict[str, MomentResult]:
        results = {}
        for name, part in state.items():
            count, mean, squares = (np.asarray(leaf) for leaf in part)
            some = count > 0
            variance = np.where(some, squares / np.maximum(count, 1), np.nan)
            results[name] = MomentResult(count, np.where(some, mean, np.nan), variance)
        return results


def chunk_moments(chunk: Chunk, name: str) -> MomentState:
    """The moments of one chunk alone: the mean first, then the squares about it."""
    return _moments(chunk.outputs[name], chunk.usable(name))


def _moments(value: jax.Array, usable: jax.Array | None) -> MomentState:
    """Those of the usable places of `value` [n, ...], all of them where None."""
    if usable is None:
        count = jnp.full(value.shape[1:], value.shape[0], jnp.int64)
        kept = lambda term: term  # noqa: E731
    else:
        count = jnp.sum(usable, axis=0, dtype=jnp.int64)
        kept = lambda term: jnp.where(usable, term, 0.0)  # noqa: E731
    mean = jnp.sum(kept(value), axis=0) / jnp.where(count > 0, count, 1).astype(jnp.float64)
    squares = jnp.sum(kept(jnp.square(value - jnp.expand_dims(mean, 0))), axis=0)
    return MomentState(count, mean, squares)


def merge_moments(a: MomentState, b: MomentState) -> MomentState:
    """The moments of both sets together."""
    count = a.count + b.count
    share = b.count / jnp.where(count > 0, count, 1)
    step = b.mean - a.mean
    squares = a.squares + b.squares + step * step * (a.count * share)
    return MomentState(count, a.mean + step * share, squares)
