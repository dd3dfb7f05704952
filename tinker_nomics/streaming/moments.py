"""Count, mean and variance of every output, centred and merged exactly."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .reducer import Chunk, Evaluation, Reducer, picked


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

    def init(self, shapes: Evaluation) -> dict[str, MomentState]:
        states = {}
        for name in picked(self.outputs, shapes):
            shape = shapes.outputs[name].shape[1:]
            zero = jnp.zeros(shape, jnp.float64)
            states[name] = MomentState(jnp.zeros(shape, jnp.int64), zero, zero)
        return states

    def update(self, state: dict[str, MomentState], chunk: Chunk) -> dict[str, MomentState]:
        return {name: merge_moments(old, chunk_moments(chunk, name)) for name, old in state.items()}

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
    value, usable = chunk.outputs[name], chunk.usable(name)
    count = jnp.sum(usable, axis=0, dtype=jnp.int64)
    divisor = jnp.where(count > 0, count, 1).astype(jnp.float64)
    mean = jnp.sum(jnp.where(usable, value, 0.0), axis=0) / divisor
    squares = jnp.sum(jnp.where(usable, jnp.square(value - jnp.expand_dims(mean, 0)), 0.0), axis=0)
    return MomentState(count, mean, squares)


def merge_moments(a: MomentState, b: MomentState) -> MomentState:
    """The moments of both sets together."""
    count = a.count + b.count
    share = b.count / jnp.where(count > 0, count, 1)
    step = b.mean - a.mean
    squares = a.squares + b.squares + step * step * (a.count * share)
    return MomentState(count, a.mean + step * share, squares)
