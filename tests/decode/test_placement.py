"""Tiers filled fastest first, classes hottest first, against a greedy fill in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hand_steps import hand_chip
from hypothesis import given, settings
from hypothesis import strategies as st

from tinker_nomics.boundary import x64
from tinker_nomics.decode.placement import heat_key, place
from tinker_nomics.decode.stages import HeldClass
from tinker_nomics.hardware import Machine, Tier, TierKind


def greedy(held: list[float], moved: list[float], tiers: list[Tier], count: int) -> np.ndarray:
    """The share of each class in each tier, filled one class after the other."""

    def digits(c: int) -> float:
        return float(f"{moved[c] / held[c]:.2e}") if held[c] and moved[c] else -1.0

    free = [tier.capacity * count if tier.resident else 0.0 for tier in tiers]
    share = np.zeros((len(held), len(tiers)))
    for c in sorted(range(len(held)), key=lambda c: -digits(c)):
        left = held[c]
        for t in sorted(range(len(tiers)), key=lambda t: -(tiers[t].bandwidth or 0.0)):
            taken = min(left, free[t])
            free[t] -= taken
            left -= taken
            share[c, t] = taken / held[c] if held[c] else 0.0
    return share


def placed(held: list[float], moved: list[float], tiers: list[Tier], count: int = 1):
    machine = Machine(hand_chip(tiers=tuple(tiers)), count).arrays()
    with x64():
        placement = place(np.array(held), np.array(moved), machine)
        return np.asarray(placement.fraction), np.asarray(placement.seconds_per_byte), placement


three_tiers = [Tier(TierKind.SRAM, 1e9, 2e13), Tier(TierKind.HBM, 10e9, 1e12), Tier(TierKind.DDR, 100e9, 1e11)]


def test_three_tiers_by_hand() -> None:
    """Experts (cold) reach the slow tier; the state (read and written) takes the fast one first."""
    held = [4e9, 20e9, 0.0, 1e9, 0.0, 2e9, 0.5e9]
    moved = [4e9, 1e9, 0.0, 1e9, 0.0, 2e9, 1e9]
    fraction, per_byte, placement = placed(held, moved, three_tiers)
    # state 0.5 in SRAM; matrices 0.5 + 3.5; head and cache in HBM; experts: 3.5 left in HBM, 16.5 in DDR
    expected = np.zeros((7, 3))
    expected[6] = [1, 0, 0]
    expected[0] = [0.125, 0.875, 0]
    expected[3] = [0, 1, 0]
    expected[5] = [0, 1, 0]
    expected[1] = [0, 3.5 / 20, 16.5 / 20]
    assert fraction[:, :3] == pytest.approx(expected, abs=1e-12)
    assert per_byte[1] == pytest.approx(3.5 / 20 / 1e12 + 16.5 / 20 / 1e11, rel=1e-12)
    assert (float(placement.needed), float(placement.had)) == (27.5e9, 111e9)


amounts = st.one_of(st.just(0.0), st.floats(1e3, 1e11))


@settings(max_examples=60, deadline=None)
@given(
    held=st.lists(amounts, min_size=7, max_size=7),
    heat=st.lists(st.sampled_from([1.0, 1.0, 0.999, 0.25, 2.0, 0.031]), min_size=7, max_size=7),
    count=st.integers(1, 9),
)
def test_the_overlap_of_intervals_is_the_greedy_fill(held: list[float], heat: list[float], count: int) -> None:
    moved = [size * ratio for size, ratio in zip(held, heat, strict=True)]
    fraction, _, _ = placed(held, moved, three_tiers, count)
    total = sum(held)
    tolerance = 1e-12 + 1e-14 * total / min([size for size in held if size] or [1.0])
    assert fraction[:, :3] == pytest.approx(greedy(held, moved, three_tiers, count), abs=tolerance)


def test_a_tier_that_is_not_resident_holds_nothing() -> None:
    cache = Tier(TierKind.SRAM, 50e9, 1e14, resident=False)
    fraction, _, placement = placed([1e9] * 7, [1e9] * 7, [cache, Tier(TierKind.HBM, 80e9, 1e12)])
    assert np.all(fraction[:, 0] == 0.0) and float(placement.had) == 80e9


def test_a_tier_without_bandwidth_keeps_its_place_and_counts_zero() -> None:
    tiers = [Tier(TierKind.SRAM, 1e9, None), Tier(TierKind.HBM, 10e9, 1e12)]
    held = [4e9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    fraction, per_byte, _ = placed(held, held, tiers)
    assert fraction[0, :2] == pytest.approx([0.25, 0.75])
    assert per_byte[0] == pytest.approx(0.75 / 1e12)


def test_a_hairs_breadth_does_not_reorder_classes() -> None:
    with x64():
        keys = np.asarray(heat_key(np.array([1.0, 1.002, 0.9996, 1.006, 0.99, 0.0]), np.ones(6)))
    assert keys[0] == keys[1] == keys[2]
    assert keys[3] > keys[0] > keys[4] > keys[5]


def test_what_does_not_fit_is_left_out_and_said() -> None:
    held = [0.0] * 7
    held[HeldClass.routed_experts.index] = 222e9
    fraction, _, placement = placed(held, held, three_tiers)
    assert fraction.sum() == pytest.approx(0.5)
    assert float(placement.needed) > float(placement.had)
