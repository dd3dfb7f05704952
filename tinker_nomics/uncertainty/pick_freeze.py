"""The reducer behind Sobol' indices: sums over pairs of samples that share some of their inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..streaming.moments import MomentState, merge_moments
from ..streaming.reducer import Chunk, Evaluation, Reducer


class PairState(NamedTuple):
    """Centred sums of one output over complete rows (all evaluations of the row finite).

    a, b: moments of f(A), f(B). changes: moments of f(AB_i) - f(A) [d]. with_b: sum of (f(B) - mean)(change - mean)
    [d]. squares: sum of the squared changes [d]. crossed: sum of centred f(AB_i) f(BA_j) [d, d] and a_b that of f(A)
    f(B); ab, ba: moments of f(AB_i), f(BA_j) [d]; empty where no second-order indices are asked for. bad: values not
    finite.
    """

    a: MomentState
    b: MomentState
    changes: MomentState
    with_b: jax.Array
    squares: jax.Array
    ab: MomentState
    ba: MomentState
    crossed: jax.Array
    a_b: jax.Array
    bad: jax.Array


def _rows(value: jax.Array) -> jax.Array:
    """The k rows of n of an output of size [n, k]."""
    return value.reshape(value.shape[::-1])


def _complete_rows(y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Which points [n] have all their values finite, and the values with those of all others zeroed."""
    used = jnp.all(jnp.isfinite(y), axis=0)
    return used, jnp.where(used[None, :], y, 0.0)


def _moments(value: jax.Array, used: jax.Array) -> MomentState:
    """Moments over the last axis where `used` [n]."""
    count = jnp.sum(used, dtype=jnp.int64)
    mask = used.reshape((1,) * (value.ndim - 1) + used.shape)
    mean = jnp.sum(jnp.where(mask, value, 0.0), axis=-1) / jnp.where(count > 0, count, 1)
    squares = jnp.sum(jnp.where(mask, jnp.square(value - mean[..., None]), 0.0), axis=-1)
    return MomentState(jnp.broadcast_to(count, mean.shape), mean, squares)


def _joint(
    sums: tuple[jax.Array, jax.Array], x: tuple[MomentState, MomentState], y: Any, outer: bool = False
) -> jax.Array:
    """The centred sum of products of two sets: each set's own plus what the difference of their means adds."""
    (first, second), (xa, xb), (ya, yb) = sums, x, y
    count = xa.count.reshape(-1)[0] + xb.count.reshape(-1)[0]
    weight = xa.count.reshape(-1)[0] * (xb.count.reshape(-1)[0] / jnp.where(count > 0, count, 1))
    dx, dy = xb.mean - xa.mean, yb.mean - ya.mean
    product = dx[:, None] * dy[None, :] if outer else dx * dy
    return first + second + product * weight


class PickFreeze(Reducer):
    """Sums for first-order, total and, where asked, second-order indices.

    The outputs have size [n, k] and hold k rows of n, one after the other: f(A), f(B), f(AB_1) ... f(AB_d) and, for
    second order, f(BA_1) ... f(BA_d), where AB_i is A with its i-th input taken from B.

    Args:
        dimensions: d.
        second_order: whether the columns BA are there.
    """

    dimensions: int = eqx.field(static=True)
    second_order: bool = eqx.field(static=True, default=False)

    def init(self, shapes: Evaluation) -> dict[str, PairState]:
        d, cross = self.dimensions, self.dimensions if self.second_order else 0

        def empty(shape: tuple[int, ...]) -> MomentState:
            return MomentState(jnp.zeros(shape, jnp.int64), jnp.zeros(shape), jnp.zeros(shape))

        state = PairState(
            empty(()), empty(()), empty((d,)), jnp.zeros(d), jnp.zeros(d), empty((cross,)), empty((cross,)),
            jnp.zeros((cross, cross)), jnp.zeros(()), jnp.zeros((), jnp.int64),
        )  # fmt: skip
        return {name: state for name in shapes.outputs}

    def update(self, state: dict[str, PairState], chunk: Chunk) -> dict[str, PairState]:
        return {name: self._add(old, self._sums(_rows(chunk.outputs[name]))) for name, old in state.items()}

    def _sums(self, y: jax.Array) -> PairState:
        d = self.dimensions
        bad = jnp.sum(~jnp.isfinite(y), dtype=jnp.int64)
        used, y = jax.lax.cond(bad > 0, _complete_rows, lambda y: (jnp.ones(y.shape[1], bool), y), y)
        a, b = _moments(y[0], used), _moments(y[1], used)
        change = y[2 : 2 + d] - y[:1]
        changes = _moments(change, used)
        from_b = jnp.where(used, y[1] - b.mean, 0.0)
        with_b = jnp.sum(from_b[None, :] * (change - changes.mean[:, None]), axis=1)
        cross = d if self.second_order else 0
        centred_a = jnp.where(used, y[0] - a.mean, 0.0)
        ab, ba = y[2 : 2 + cross], y[2 + d : 2 + d + cross]
        of_ab, of_ba = _moments(ab, used), _moments(ba, used)
        left = jnp.where(used[None, :], ab - of_ab.mean[:, None], 0.0)
        right = jnp.where(used[None, :], ba - of_ba.mean[:, None], 0.0)
        return PairState(
            a,
            b,
            changes,
            with_b,
            jnp.sum(jnp.square(change), axis=1),
            of_ab,
            of_ba,
            left @ right.T,
            jnp.sum(centred_a * from_b),
            bad,
        )

    def _add(self, x: PairState, y: PairState) -> PairState:
        a, b, changes = merge_moments(x.a, y.a), merge_moments(x.b, y.b), merge_moments(x.changes, y.changes)
        return PairState(
            a,
            b,
            changes,
            _joint(
                (x.with_b, y.with_b),
                (_repeated(x.b, self.dimensions), _repeated(y.b, self.dimensions)),
                (x.changes, y.changes),
            ),
            x.squares + y.squares,
            merge_moments(x.ab, y.ab),
            merge_moments(x.ba, y.ba),
            _joint((x.crossed, y.crossed), (x.ab, y.ab), (x.ba, y.ba), outer=True) if self.second_order else x.crossed,
            _joint((x.a_b, y.a_b), (x.a, y.a), (x.b, y.b)),
            x.bad + y.bad,
        )

    def merge(self, a: dict[str, PairState], b: dict[str, PairState]) -> dict[str, PairState]:
        return {name: self._add(a[name], b[name]) for name in a}

    def result(self, state: dict[str, PairState]) -> dict[str, PairState]:
        return state


def _repeated(moments: MomentState, count: int) -> MomentState:
    """Scalar moments as [count]."""
    return MomentState(*(jnp.broadcast_to(leaf, (count,)) for leaf in moments))
