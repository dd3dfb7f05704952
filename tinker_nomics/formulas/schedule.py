"""How rollouts and training overlap. Hours and shares.

Source: the public calculator's documentation page (published edition).
"""

from __future__ import annotations

import jax.numpy as jnp

from ..config import Number, Schedule


def abort_rate(schedule: Schedule) -> tuple[Number, dict[str, Number]]:
    """0.20/k for k >= 2, else 0: share of sampled tokens that are thrown away as too stale.

    Returns:
        The share, and the margin `abort_threshold` = k - 2.

    **Kinks:** jumps from 0 to 0.10 at k = 2.
    """
    k = schedule.max_steps_off_policy
    stale = k >= 2
    return jnp.where(stale, 0.20 / jnp.where(stale, k, 2.0), 0.0), {"abort_threshold": k - 2}


def abort_multiplier(rate: Number) -> Number:
    """1/(1 - abort_rate): tokens sampled for each token kept."""
    return 1 / (1 - rate)


def overlapped_hours(rollout: Number, train: Number, schedule: Schedule) -> tuple[Number, dict[str, Number]]:
    """rollout + train at k = 0; max(rollout, train) from k = 1 on, and for stream_minibatch.

    Args:
        rollout, train: hours of the two phases.

    Returns:
        Hours of the run, and the margins `overlap_threshold` = k - 1 and `longer_phase` = rollout - train.

    **Kinks:** jumps at k = 1; where overlapped, the two phases' equality (the slope there is the rollout's).
    """
    k = schedule.max_steps_off_policy
    longer = jnp.where(rollout >= train, rollout, train)
    overlapped = longer if schedule.kind == "stream_minibatch" else jnp.where(k >= 1, longer, rollout + train)
    return overlapped, {"overlap_threshold": k - 1, "longer_phase": rollout - train}


def overlap_speedup(rollout: Number, train: Number, hours: Number) -> Number:
    """(rollout + train)/hours: how much faster than one phase after the other; 1 to 2."""
    return (rollout + train) / hours
