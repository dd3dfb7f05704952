"""Rollouts and training on own GPUs at once: how to split the pool, and what that gains. Shares, seconds.

The published edition takes the longer of two phases that each have ALL the GPUs. A pool that is split gives rollouts
phi and training 1 - phi of them: measured at equal GPU count that gains 0.73x to 1.73x (NeMo RL), not 1.7x.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from ..config import Number
from .root import bracketed_root

STEPS = 9  # of Newton's method, which a kink delays
EDGE = 14.0  # of the logit of a share: shares from 8e-7 to 1 - 8e-7


def best_share(rollout: Number, train: Number, gain: Number = 1.0) -> Number:
    """phi* = (R/eta)/(R/eta + T): share of the pool for rollouts at which both sides take equally long.

    Where R and T scale with 1/GPUs the step then takes R/eta + T: as long as one after the other, so the gain of an
    asynchronous run is eta alone, plus what an uneven split loses.

    Args:
        rollout, train: seconds of each phase on the whole pool.
        gain: eta, efficiency of asynchronous rollouts over synchronous ones.
    """
    effective = rollout / gain
    return effective / (effective + train)


def split_seconds(rollout: Number, train: Number, share: Number, gain: Number = 1.0) -> tuple[Number, Number]:
    """max(R/(phi eta), T/(1 - phi)): seconds of a step on a split pool, and the margin: rollout side - training side.

    **Kinks:** at phi*.
    """
    left, right = rollout / (share * gain), train / (1 - share)
    return jnp.where(left >= right, left, right), left - right


def balanced_share(rollout: Callable[[Number], Number], train: Callable[[Number], Number], like: Number) -> Number:
    """phi at which rollout(phi) = train(1 - phi), for phases that do not simply scale with 1/GPUs.

    The share of GPUs changes the batch per GPU, and with it the decode speed and the MFU; so the optimum is the root,
    by Newton's method in the logit of the share; one more step carries the derivatives. GPUs are divided as if they were
    not whole.

    Args:
        rollout: seconds of the rollouts on that share of the pool; falling.
        train: seconds of training on that share of the pool; falling.
        like: zero with the shape of the result.
    """

    def lead(logit: Number) -> Number:
        """By how much training takes longer, as a logarithm: rises with the share of the rollouts."""
        share, rest = jax.nn.sigmoid(logit), jax.nn.sigmoid(-logit)
        return jnp.log(train(rest) / rollout(share))

    def with_slope(logit: Number) -> tuple[Number, Number]:
        return jax.jvp(lead, (logit,), (jnp.ones_like(logit),))

    logit = bracketed_root(with_slope, like - EDGE, like + EDGE, like, STEPS)
    value, slope = with_slope(logit)
    return jax.nn.sigmoid(logit - value / jax.lax.stop_gradient(slope))


def stream_minibatch_seconds(
    rollout: Number, train: Number, tail: Number, minibatches: Number
) -> tuple[Number, Number]:
    """R + T - min(T (1 - 1/m), tail): on-policy pipelining, which trains on groups that are done while the last ones
    run.

    It stays on-policy (k = 0) and hides training behind the tail of the rollouts, no more: the last of m minibatches
    can start only when its groups are done.

    Args:
        rollout, train: seconds of each phase on the whole pool.
        tail: seconds of the rollout phase that a full batch would not need.
        minibatches: m, >= 1.

    Returns:
        Seconds, and the margin: what could be hidden - the tail.

    **Kinks:** where both are equal.

    Source: the public cookbook's StreamMinibatch configuration.
    """
    hideable = train * (1 - 1 / minibatches)
    hidden = jnp.where(hideable <= tail, hideable, tail)
    return rollout + train - hidden, hideable - tail
