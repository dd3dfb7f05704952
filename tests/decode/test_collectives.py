"""Distances and times of collectives against brute force and against the formulas written out in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hand_steps import hand_chip, hand_link

from tinker_nomics.boundary import x64
from tinker_nomics.decode.collectives import (
    cubic_factors,
    hops_min,
    hops_table,
    laid_out_seconds,
    least_seconds,
)
from tinker_nomics.hardware import Link, Topology


def brute_factors(n: int, dimensions: int) -> tuple[int, ...]:
    if dimensions == 2:
        found = [(a, n // a) for a in range(1, math.isqrt(n) + 1) if n % a == 0]
    else:
        pairs = [(a, b) for a in range(1, n + 1) if n % a == 0 for b in range(a, n + 1) if (n // a) % b == 0]
        found = [(a, b, n // a // b) for a, b in pairs if n // a // b >= b]
    return min(found, key=lambda sides: (sum(sides), sides[-1]))


@pytest.mark.parametrize("dimensions", [2, 3])
def test_factors_are_the_most_cubic(dimensions: int) -> None:
    table = cubic_factors(dimensions)
    for n in [*range(1, 130), 256, 512, 1000]:
        assert tuple(table[n]) == brute_factors(n, dimensions)
    assert np.array_equal(table[1:].prod(axis=1), np.arange(1, len(table)))


@pytest.mark.parametrize(
    ("topology", "width", "hops"),
    [
        (Topology.ALL_TO_ALL, 8, 1), (Topology.RING, 8, 4), (Topology.RING, 7, 3), (Topology.TORUS2D, 16, 4),
        (Topology.TORUS2D, 256, 16), (Topology.TORUS3D, 64, 6), (Topology.TORUS3D, 8, 3), (Topology.MESH2D, 16, 6),
        (Topology.MESH2D, 12, 5), (Topology.PAIR, 2, 1), (Topology.HOST, 4, 2),
    ],
)  # fmt: skip
def test_hops(topology: Topology, width: int, hops: int) -> None:
    assert hops_table()[topology.code, width] == hops
    assert float(hops_min(float(topology.code), float(width))) == hops


def test_hops_of_an_undeclared_topology_count_zero() -> None:
    assert float(hops_min(-1.0, 8.0)) == 0.0


def seconds(link: Link, count: int, payload: float) -> tuple[float, float]:
    chip = hand_chip(link=link).arrays()
    with x64():
        return (
            float(least_seconds(chip, np.float64(count), np.float64(payload))),
            float(laid_out_seconds(chip, np.float64(count), np.float64(payload))),
        )


def test_one_shot_all_to_all() -> None:
    least, laid_out = seconds(hand_link(), 8, 8192.0)
    assert least == pytest.approx(1e-6 + 2 * 7 / 8 * 8192 / 4e11, rel=1e-12)
    assert laid_out == pytest.approx(1e-6 + 7 * 8192 / 4e11, rel=1e-12)


def test_peers_with_links_of_their_own() -> None:
    """MI300X: 448 GB/s is seven peers of 64 each, so two chips have 64 GB/s between them."""
    mesh = hand_link(bandwidth=448e9, peer=64e9)
    for count in (2, 4, 8):
        least, laid_out = seconds(mesh, count, 16384.0)
        rate = 64e9 * (count - 1)
        assert least == pytest.approx(1e-6 + 2 * (count - 1) / count * 16384 / rate, rel=1e-12)
        assert laid_out == pytest.approx(1e-6 + 16384 / 64e9, rel=1e-12)


@pytest.mark.parametrize("topology", [Topology.RING, Topology.TORUS2D, Topology.TORUS3D, Topology.MESH2D])
def test_ring_and_torus(topology: Topology) -> None:
    hops = hops_table()[topology.code, 16]
    least, laid_out = seconds(hand_link(topology), 16, 1e6)
    wire = 2 * 15 / 16 * 1e6 / 4e11
    assert least == pytest.approx(hops * 1e-6 + wire, rel=1e-12)
    assert laid_out == pytest.approx(2 * hops * 1e-6 + wire, rel=1e-12)


def test_one_chip_has_no_collective() -> None:
    assert seconds(hand_link(), 1, 1e6) == (0.0, 0.0)


def test_undeclared_terms_count_zero() -> None:
    assert seconds(Link(), 8, 1e6) == (0.0, 0.0)
    least, _ = seconds(hand_link(latency=None), 8, 1e6)
    assert least == pytest.approx(2 * 7 / 8 * 1e6 / 4e11, rel=1e-12)


def test_a_measured_latency_is_no_part_of_the_floor() -> None:
    link = Link(bandwidth_per_chip=4e11, latency=8e-6, topology=Topology.ALL_TO_ALL, latency_declared_by="measured")
    least, laid_out = seconds(link, 8, 8192.0)
    assert least == pytest.approx(2 * 7 / 8 * 8192 / 4e11, rel=1e-12)
    assert laid_out == pytest.approx(8e-6 + 7 * 8192 / 4e11, rel=1e-12)


@pytest.mark.parametrize("topology", [t for t in Topology if t not in (Topology.PAIR, Topology.NONE)])
@pytest.mark.parametrize(("bandwidth", "peer"), [(4e11, None), (448e9, 64e9), (64e9, 64e9), (1e11, 9e10)])
def test_a_layout_is_never_faster_than_the_least(topology: Topology, bandwidth: float, peer: float | None) -> None:
    """Also where a chip cannot feed all the links that it has to its peers."""
    for count in (2, 3, 8, 64):
        for payload in (8.0, 1e6):
            least, laid_out = seconds(hand_link(topology, bandwidth, peer=peer), count, payload)
            assert laid_out >= least * (1.0 - 1e-12)
