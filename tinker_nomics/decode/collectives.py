"""Collectives of a tensor-parallel step: how far chips are apart, what an all-reduce costs."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..hardware.arrays import ChipArrays
from ..hardware.chip import Topology

MOST_CHIPS = 16384
"""The widest machine whose torus and mesh shapes are tabulated."""

_ONE_SHOT = (Topology.ALL_TO_ALL, Topology.PAIR, Topology.HOST)


@cache
def cubic_factors(dimensions: int) -> np.ndarray:
    """The most cubic factorization of every n up to `MOST_CHIPS`: smallest sum, then smallest longest side.

    Args:
        dimensions: 2 or 3.

    Returns:
        Whole numbers d_1 <= d_2 (<= d_3) with product n, shape [MOST_CHIPS + 1, dimensions]; row 0 is zero.
    """
    best = np.zeros((MOST_CHIPS + 1, dimensions), dtype=np.int64)
    score = np.full(MOST_CHIPS + 1, np.iinfo(np.int64).max)
    firsts = range(1, round(MOST_CHIPS ** (1 / 3)) + 1) if dimensions == 3 else (1,)
    for a in firsts:
        b = a
        while a * b * b <= MOST_CHIPS:
            c = np.arange(b, MOST_CHIPS // (a * b) + 1)
            n = a * b * c
            value = (a + b + c) * (MOST_CHIPS + 1) + c
            better = value < score[n]
            score[n[better]] = value[better]
            best[n[better]] = np.stack([np.full_like(c, a), np.full_like(c, b), c], axis=1)[better][:, 3 - dimensions :]
            b += 1
    return best


@cache
def hops_table() -> np.ndarray:
    """Fewest hops between the farthest chips, by topology code and width, shape [topologies, MOST_CHIPS + 1].

    1 for all_to_all and pair, floor(n/2) for a ring, sum of floor(d_i/2) for a torus, sum of d_i - 1 for a mesh,
    2 through the host, 0 where chips are not joined.
    """
    n = np.arange(MOST_CHIPS + 1)
    rows = {
        Topology.ALL_TO_ALL: np.ones_like(n),
        Topology.RING: n // 2,
        Topology.TORUS2D: (cubic_factors(2) // 2).sum(axis=1),
        Topology.TORUS3D: (cubic_factors(3) // 2).sum(axis=1),
        Topology.MESH2D: (cubic_factors(2) - 1).sum(axis=1),
        Topology.PAIR: np.ones_like(n),
        Topology.HOST: np.full_like(n, 2),
        Topology.NONE: np.zeros_like(n),
    }
    return np.stack([rows[topology] for topology in Topology]).astype(np.int32)


def is_topology(topology: Any, *members: Topology) -> Any:
    """1.0 where the code `topology` is one of `members`, else 0.0."""
    hit = topology == float(members[0].code)
    for member in members[1:]:
        hit = hit | (topology == float(member.code))
    return jnp.where(hit, 1.0, 0.0)


def hops_min(topology: Any, count: Any) -> Any:
    """Fewest hops between the farthest of `count` chips; 0 where the topology is undeclared (code -1).

    **Kinks:** piecewise constant in `count`; its gradient is zero.
    """
    code = jnp.clip(jnp.asarray(topology).astype(int), 0, len(Topology) - 1)
    width = jnp.clip(jnp.round(count).astype(int), 0, MOST_CHIPS)
    return jnp.where(topology >= 0.0, 1.0 * jnp.asarray(hops_table())[code, width], 0.0)


def _over(numerator: Any, rate: Any) -> Any:
    """numerator / rate, and 0 where the rate is 0 (undeclared), with finite gradients on both sides."""
    safe = jnp.where(rate > 0.0, rate, 1.0)
    return jnp.where(rate > 0.0, numerator / safe, 0.0)


def chip_rate(chip: ChipArrays, count: Any) -> Any:
    """What one of `count` chips can send to the others of its machine [B/s]; 0 where undeclared.

    Where every peer has a link of its own, n chips use n - 1 of them: two MI300X have 64 GB/s, not 448.

    **Kinks:** where the sum over peers meets the rate of the chip.
    """
    peers = jnp.where(count > 1.0, count - 1.0, 1.0) * chip.peer_bandwidth
    own_links = chip.peer_bandwidth_declared * is_topology(chip.topology, Topology.ALL_TO_ALL, Topology.PAIR) > 0.0
    only_peers = own_links & ((chip.link_bandwidth_declared == 0.0) | (chip.link_bandwidth >= peers))
    return jnp.where(only_peers, peers, chip.link_bandwidth)


def least_seconds(chip: ChipArrays, count: Any, payload: Any) -> Any:
    """The least time of an all-reduce of `payload` bytes over `count` chips [s]; every undeclared term counts zero.

    $$hops_{min}\\, latency + 2\\,\\frac{n-1}{n}\\,\\frac{payload}{rate}$$

    A measured latency is what one implementation reached, which the next may beat: it counts zero here.
    """
    joined = jnp.where(count > 1.0, 1.0, 0.0)
    wire = 2.0 * (count - 1.0) / count * _over(payload, chip_rate(chip, count))
    latency = chip.link_latency * (1.0 - chip.link_latency_measured)
    return joined * (hops_min(chip.topology, count) * latency + wire)


def laid_out_seconds(chip: ChipArrays, count: Any, payload: Any) -> Any:
    """The predicted time of an all-reduce of `payload` bytes over `count` chips [s].

    One shot (all_to_all, pair, host): $hops\\, latency + (n-1)\\, payload / rate$, or $payload / peer\\ rate$
    where peers have links of their own, and no less than the chip takes to send what any all-reduce sends. Ring, torus
    and mesh: $2\\, hops\\, latency + 2 (n-1)/n\\, payload / rate$.

    **Kinks:** where the links to all peers together exceed what the chip can send.
    """
    joined = jnp.where(count > 1.0, 1.0, 0.0)
    hops = hops_min(chip.topology, count) * chip.link_latency
    own_links = chip.peer_bandwidth_declared * is_topology(chip.topology, Topology.ALL_TO_ALL, Topology.PAIR) > 0.0
    wire = 2.0 * (count - 1.0) / count * _over(payload, chip.link_bandwidth)
    to_each = _over(payload, chip.peer_bandwidth)
    to_each = jnp.where(to_each >= wire, to_each, wire)
    sent = jnp.where(own_links, to_each, (count - 1.0) * _over(payload, chip.link_bandwidth))
    return joined * jnp.where(is_topology(chip.topology, *_ONE_SHOT) > 0.0, hops + sent, 2.0 * hops + wire)


def rate_declared(chip: ChipArrays) -> Any:
    """1.0 where the rate that a prediction needs is declared: per chip, or per peer where each has its own link."""
    own = chip.peer_bandwidth_declared * is_topology(chip.topology, Topology.ALL_TO_ALL, Topology.PAIR)
    return jnp.where(own > 0.0, 1.0, chip.link_bandwidth_declared)
