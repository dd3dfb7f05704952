"""Chips and machines as arrays: what jit, vmap and grad take. Every leaf is a NumPy float64; nothing is None.

An optional figure is a pair: its value (0 where no document gives it) and `..._declared` (0 or 1). Machines stack by
`jax.tree.map(lambda *leaves: np.stack(leaves), *machines)`.
"""

from __future__ import annotations

import equinox as eqx
import numpy as np
from jax import Array

from .chip import MOST_TIERS, PRECISIONS, Chip, Machine

Leaf = np.ndarray | Array


class ChipArrays(eqx.Module):
    """One chip: T = 4 tiers (absent ones have capacity 0), R = the five precisions of `hardware.PRECISIONS`.

    Rates are B/s and FLOP/s, capacities bytes, times seconds, `rent` USD per chip-hour. `topology` is the code of
    `hardware.Topology`, -1 where undeclared; `link_domain` is 0 where undeclared; `streaming_fraction` is 1 where
    undeclared. `link_latency_measured` is 1 where the latency is a measurement, which a prediction may use and a floor
    may not.
    """

    tier_capacity: Leaf  # [T]
    tier_bandwidth: Leaf  # [T]
    tier_bandwidth_declared: Leaf  # [T]
    tier_resident: Leaf  # [T]
    matrix_rate: Leaf  # [R]
    matrix_rate_declared: Leaf  # [R]
    link_bandwidth: Leaf
    link_bandwidth_declared: Leaf
    peer_bandwidth: Leaf
    peer_bandwidth_declared: Leaf
    link_latency: Leaf
    link_latency_declared: Leaf
    link_latency_measured: Leaf
    topology: Leaf
    link_domain: Leaf
    stage_overhead: Leaf
    stage_overhead_declared: Leaf
    streaming_fraction: Leaf
    rent: Leaf
    rent_declared: Leaf


class MachineArrays(eqx.Module):
    """A number of identical chips."""

    chip: ChipArrays
    count: Leaf


def _scalar(value: float) -> np.ndarray:
    return np.asarray(value, dtype=np.float64)


def _pair(values: list[float | None]) -> tuple[np.ndarray, np.ndarray]:
    held = np.array([0.0 if value is None else value for value in values], dtype=np.float64)
    return held, np.array([0.0 if value is None else 1.0 for value in values], dtype=np.float64)


def _scalar_pair(value: float | None) -> tuple[np.ndarray, np.ndarray]:
    return _scalar(0.0 if value is None else value), _scalar(0.0 if value is None else 1.0)


def chip_arrays(chip: Chip, rent: float | None = None) -> ChipArrays:
    """`chip` as arrays; `rent` is USD per chip-hour, None where unknown."""
    missing: list[float | None] = [None] * (MOST_TIERS - len(chip.tiers))
    bandwidth, bandwidth_declared = _pair([tier.bandwidth for tier in chip.tiers] + missing)
    capacity, _ = _pair([tier.capacity for tier in chip.tiers] + missing)
    resident, _ = _pair([float(tier.resident) for tier in chip.tiers] + missing)
    rate, rate_declared = _pair([chip.matrix_rates[precision] for precision in PRECISIONS])
    link = chip.link
    link_bandwidth, link_bandwidth_declared = _scalar_pair(link and link.bandwidth_per_chip)
    peer_bandwidth, peer_bandwidth_declared = _scalar_pair(link and link.bandwidth_per_peer)
    latency, latency_declared = _scalar_pair(None if link is None else link.latency)
    measured = link is not None and link.latency is not None and link.latency_declared_by == "measured"
    overhead, overhead_declared = _scalar_pair(chip.stage_overhead)
    rent_value, rent_declared = _scalar_pair(rent)
    return ChipArrays(
        tier_capacity=capacity,
        tier_bandwidth=bandwidth,
        tier_bandwidth_declared=bandwidth_declared,
        tier_resident=resident,
        matrix_rate=rate,
        matrix_rate_declared=rate_declared,
        link_bandwidth=link_bandwidth,
        link_bandwidth_declared=link_bandwidth_declared,
        peer_bandwidth=peer_bandwidth,
        peer_bandwidth_declared=peer_bandwidth_declared,
        link_latency=latency,
        link_latency_declared=latency_declared,
        link_latency_measured=_scalar(float(measured)),
        topology=_scalar(-1.0 if link is None or link.topology is None else float(link.topology.code)),
        link_domain=_scalar(0.0 if link is None or link.domain is None else float(link.domain)),
        stage_overhead=overhead,
        stage_overhead_declared=overhead_declared,
        streaming_fraction=_scalar(1.0 if chip.streaming_fraction is None else chip.streaming_fraction),
        rent=rent_value,
        rent_declared=rent_declared,
    )


def machine_arrays(machine: Machine) -> MachineArrays:
    """`machine` as arrays."""
    return MachineArrays(chip=chip_arrays(machine.chip, machine.rent), count=_scalar(float(machine.count)))
