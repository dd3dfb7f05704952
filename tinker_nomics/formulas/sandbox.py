"""Sandboxes: what it costs to run the rollouts' code, on Tinker and on own GPUs alike."""

from __future__ import annotations

from ..config import Number, Sandbox


def sandbox_cost(rollouts: Number, sandbox: Sandbox) -> Number:
    """rollouts seconds (cores core_rate + GiB memory_rate): USD.

    Args:
        rollouts: trajectories of the run.
        sandbox: seconds [s], cores, GiB, and the provider's rates [USD per core-second, per GiB-second]. `seconds` may
            be None where both rates are zero: such a provider takes no fee.

    Source: the public calculator's documentation page; rates from the provider's price page.
    """
    if sandbox.seconds is None:
        return 0.0 * rollouts
    rate = sandbox.cores * sandbox.price_per_core_second + sandbox.gib * sandbox.price_per_gib_second
    return rollouts * sandbox.seconds * rate
