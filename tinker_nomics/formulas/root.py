"""Roots of monotone functions, inside a traced program: few evaluations, and never out of the bracket."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from ..config import Number


def bracketed_root(
    f: Callable[[Number], tuple[Number, Number]], low: Number, high: Number, start: Number, steps: int
) -> Number:
    """The root of a rising f in [low, high] by Newton's method, which bisects where a step would leave the bracket.

    No derivative goes through it: to carry one, the caller takes a further Newton step from here.

    Args:
        f: value and slope.
        low, high: the ends, with the shape of the result.
        start: inside.
        steps: evaluations of f.
    """

    def closer(_: int, state: tuple[Number, Number, Number]) -> tuple[Number, Number, Number]:
        x, low, high = state
        value, slope = f(x)
        above = value > 0
        low, high = jnp.where(above, low, x), jnp.where(above, x, high)
        rising = slope > 0
        step = x - value / jnp.where(rising, slope, 1.0)
        return jnp.where(rising & (step >= low) & (step <= high), step, (low + high) / 2), low, high

    found, _, _ = jax.lax.fori_loop(0, steps, closer, (start, low, high))
    return jax.lax.stop_gradient(found)
