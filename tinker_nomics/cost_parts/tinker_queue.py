"""Tinker's asynchronous queue: which runs have one, and what it throws away of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..assumptions import Assumptions, either, may_be_on
from ..config import Config, Number
from ..formulas.staleness_queue import discarded_share
from ..outputs import Staleness

RHO = (0.1, 2.0)  # training time over a group's time: Tinker's is not known
VARIATION = (0.3, 1.5)  # coefficient of variation of group times, within what the closed form was held to


def queue_discards(config: Config, switches: Assumptions) -> tuple[Staleness, dict[str, Number]]:
    """The discarded share of the run, and its range where rho or the variation is not given.

    A synchronous run and an on-policy pipeline discard nothing. With schedule.kind "auto" a run has a queue from k = 1
    on; with "async" also at k = 0, the queue's worst setting.

    Returns:
        A Staleness whose abort_rate is still to be set; all None where the assumption is off.

    **Kinks:** jumps at k = 1 with "auto"; where nothing is discarded (margin `discarded_zero`).
    """
    if not may_be_on(switches.staleness_queue):
        return Staleness(0.0), {}
    schedule = config.schedule

    def share(rho: Number, variation: Number) -> Number:
        return either(switches.staleness_queue, lambda: 0.0, lambda: _share(config, rho, variation))

    if schedule.kind not in ("auto", "async"):
        return Staleness(0.0, 0.0, 0.0, 0.0), {}
    known = schedule.rho is not None and schedule.variation is not None
    branches: dict[str, Number] = {}
    if schedule.kind == "auto":
        branches["async_threshold"] = schedule.max_steps_off_policy - 1
    if known:
        discarded = share(schedule.rho, schedule.variation)
        return Staleness(0.0, discarded, discarded, discarded), {**branches, "discarded_zero": discarded}
    rho = RHO if schedule.rho is None else (schedule.rho, schedule.rho)
    variation = VARIATION if schedule.variation is None else (schedule.variation, schedule.variation)
    ends = jax.vmap(share)(jnp.stack(rho), jnp.stack(variation))
    return Staleness(0.0, 0.0 * ends[0], ends[0], ends[1]), branches


def _share(config: Config, rho: Number, variation: Number) -> Number:
    k = config.schedule.max_steps_off_policy
    share = discarded_share(rho, k, config.workload.prompts_per_step, variation)
    return jnp.where(k >= 1, share, 0.0) if config.schedule.kind == "auto" else share
