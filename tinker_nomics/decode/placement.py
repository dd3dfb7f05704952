"""Which memory tier holds which class of bytes: fastest tier first, hottest class first."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..hardware.arrays import MachineArrays

_DIGIT_STEPS = 900.0  # three-digit numbers per power of ten


class PlacementArrays(eqx.Module):
    """Where the classes of one step lie on a machine.

    Args:
        fraction: the share of each class in each tier, shape [7, 4]; a class that is cut by the end of the last tier
            sums to less than one.
        seconds_per_byte: seconds that one moved byte of each class takes on one chip [s/B], shape [7].
        needed: resident bytes of the step [B].
        had: resident capacity of the machine [B].
    """

    fraction: Any
    seconds_per_byte: Any
    needed: Any
    had: Any


def heat_key(moved: Any, held: Any) -> Any:
    """An order of classes by bytes moved per byte held, compared to three digits: larger is hotter.

    The key is a whole number (900 per power of ten plus the three digits), so equal ratios compare equal exactly.

    **Kinks:** piecewise constant; its gradient is zero.
    """
    moved, held = jax.lax.stop_gradient(moved), jax.lax.stop_gradient(held)
    ratio = jnp.where(moved > 0.0, moved, 1.0) / jnp.where(held > 0.0, held, 1.0)
    power = jnp.floor(jnp.log10(ratio))
    digits = jnp.round(ratio * 10.0 ** (2.0 - power))
    return jnp.where(moved > 0.0, _DIGIT_STEPS * power + digits, -jnp.inf)


def _before(key: Any) -> Any:
    """[i, j] is 1.0 where item i comes before item j: the larger key first, ties in their order."""
    size = key.shape[0]
    earlier = np.arange(size)[:, None] < np.arange(size)[None, :]
    larger = key[:, None] > key[None, :]
    equal = key[:, None] == key[None, :]
    return jnp.where(larger | (equal & earlier), 1.0, 0.0)


def tier_key(machine: MachineArrays) -> Any:
    """An order of tiers by bandwidth: larger is faster.

    A tier without a bandwidth keeps its place in the chip's record, which lists fastest first: ahead of every tier that
    follows it there. It then counts zero in the floor without making a slower tier look faster than it is.
    """
    chip = machine.chip
    known = chip.tier_bandwidth_declared * chip.tier_resident
    bandwidth = jnp.where(known > 0.0, chip.tier_bandwidth, 0.0)
    size = bandwidth.shape[0]
    follows = np.arange(size)[None, :] > np.arange(size)[:, None]
    of_followers = jnp.max(jnp.where(follows, bandwidth[None, :], 0.0), axis=1)
    return jax.lax.stop_gradient(jnp.where(chip.tier_bandwidth_declared > 0.0, bandwidth, of_followers))


def place(held: Any, moved: Any, machine: MachineArrays) -> PlacementArrays:
    """Fill the resident tiers of a machine with the classes of a step.

    With classes laid end to end from the hottest and tiers end to end from the fastest, the share of class c in tier t
    is the overlap of their intervals over the bytes of c, and a moved byte of c takes
    $\\sum_t fraction_{c,t} / bandwidth_t$. The machine is filled as a whole: `count` chips hold `count` times a tier.

    Args:
        held: resident bytes by class [B], shape [7].
        moved: bytes of each class that one step moves [B], shape [7].
        machine: the machine.

    Returns:
        A `PlacementArrays`; a tier without a bandwidth counts zero seconds.

    **Kinks:** where the end of a class meets the end of a tier; the order of classes is piecewise constant.
    """
    # a class of a step made by hand may move bytes that it does not hold: one byte then stands for it
    size = jnp.where(held > 0.0, held, jnp.where(moved > 0.0, 1.0, 0.0))
    chip = machine.chip
    capacity = chip.tier_capacity * chip.tier_resident * machine.count
    class_start = jnp.sum(_before(heat_key(moved, size)) * size[:, None], axis=0)
    tier_start = jnp.sum(_before(tier_key(machine)) * capacity[:, None], axis=0)
    class_end, tier_end = (class_start + size)[:, None], (tier_start + capacity)[None, :]
    start = jnp.where(class_start[:, None] >= tier_start[None, :], class_start[:, None], tier_start[None, :])
    end = jnp.where(class_end <= tier_end, class_end, tier_end)
    overlap = jnp.where(end >= start, end - start, 0.0)
    fraction = jnp.where(size[:, None] > 0.0, overlap / jnp.where(size > 0.0, size, 1.0)[:, None], 0.0)

    streams = chip.tier_bandwidth_declared * chip.tier_resident * chip.tier_bandwidth > 0.0
    per_byte = jnp.where(streams, 1.0 / jnp.where(streams, chip.tier_bandwidth, 1.0), 0.0)
    return PlacementArrays(
        fraction=fraction,
        seconds_per_byte=jnp.sum(fraction * per_byte[None, :], axis=1),
        needed=jnp.sum(held),
        had=jnp.sum(capacity),
    )
