"""`price_arrays` under jit, vmap and grad: slopes against finite differences, zero where a term does not bind."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hand_steps import LLAMA_8B, dense_step, hand_chip, hand_link, one_class
from hypothesis import given, settings
from hypothesis import strategies as st

from tinker_nomics import catalog
from tinker_nomics.boundary import x64
from tinker_nomics.decode.chain import merged_chain
from tinker_nomics.decode.chain_price import BEST, as_float64, price_arrays
from tinker_nomics.hardware import Machine, Tier, TierKind, Topology

SMALL = {**LLAMA_8B, "layers": 2, "vocabulary": 32000}
TIERS = (Tier(TierKind.SRAM, 0.3e9, 5e12), Tier(TierKind.HBM, 64e9, 1e12))
CHIP = hand_chip(tiers=TIERS, rate=3e14, overhead=1.3e-6, link=hand_link(), streaming_fraction=0.83)


def priced(step: Any, machine: Any, index: Any = 0) -> Any:
    with x64():
        return jax.tree.map(np.asarray, jax.jit(price_arrays)(as_float64(step), as_float64(machine), index))


def leaves(machine: Any) -> dict[str, np.ndarray]:
    paths = jax.tree_util.tree_flatten_with_path(machine)[0]
    return {jax.tree_util.keystr(path): leaf for path, leaf in paths}


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("output", ["floor", "prediction", "usd_prediction"])
def test_slopes_are_finite_differences(output: str, width: int) -> None:
    step = dense_step(**SMALL, context=5000)
    machine = Machine(CHIP, width, rent=2.0).arrays()
    continuous = {
        ".chip.tier_capacity", ".chip.tier_bandwidth", ".chip.matrix_rate", ".chip.link_bandwidth",
        ".chip.link_latency",
        ".chip.stage_overhead", ".chip.streaming_fraction", ".chip.rent",
    }  # fmt: skip
    value = jax.jit(lambda m: getattr(price_arrays(step, m, 0), output))
    with x64():
        slope = jax.jit(jax.grad(value))(machine)
    names = list(leaves(machine))
    flat, tree = jax.tree.flatten(machine)
    for position, name in enumerate(names):
        got = np.atleast_1d(np.asarray(jax.tree.leaves(slope)[position]))
        assert np.all(np.isfinite(got)), name
        if name not in continuous:
            continue
        for place in range(got.size):
            x = np.atleast_1d(flat[position])[place]
            if x == 0.0:
                continue
            h = 1e-6 * x
            ends = []
            for sign in (1.0, -1.0):
                moved = [np.array(leaf) for leaf in flat]
                moved[position].reshape(-1)[place] = x + sign * h
                with x64():
                    ends.append(float(value(jax.tree.unflatten(tree, moved))))
            assert got[place] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-9 * ends[0] / x), name


def test_slopes_in_the_step() -> None:
    step = dense_step(**SMALL, context=5000)
    machine = Machine(CHIP, 2).arrays()

    @jax.jit
    def seconds(context: Any) -> Any:
        return price_arrays(step.with_context(context), machine, 0).prediction

    with x64():
        slope = float(jax.jit(jax.grad(seconds))(np.float64(5000.0)))
        ends = [float(seconds(np.float64(5000.0 + sign))) for sign in (1.0, -1.0)]
        whole = jax.jit(jax.grad(lambda step: price_arrays(step, machine, 0).prediction))(step)
    assert slope == pytest.approx((ends[0] - ends[1]) / 2, rel=1e-6) and slope > 0.0
    assert all(np.all(np.isfinite(np.asarray(leaf))) for leaf in jax.tree.leaves(whole))


def floor_slope(step: Any, machine: Machine) -> tuple[np.ndarray, float]:
    with x64():
        slope = jax.jit(jax.grad(lambda m: price_arrays(step, m, 0).floor))(machine.arrays())
    return np.asarray(slope.chip.tier_bandwidth), float(slope.chip.link_latency)


def test_the_floor_does_not_move_with_a_bandwidth_that_does_not_bind() -> None:
    bytes_bound, _ = floor_slope(one_class(8e9, 1e9), Machine(hand_chip(2e12, rate=1e15)))
    assert bytes_bound[0] == pytest.approx(-8e9 / 2e12**2, rel=1e-12)
    assert np.all(bytes_bound[1:] == 0.0)
    flops_bound, _ = floor_slope(one_class(8e9, 1e15), Machine(hand_chip(2e12, rate=1e15)))
    assert np.all(flops_bound == 0.0)
    latency_bound, per_hop = floor_slope(dense_step(**SMALL), Machine(hand_chip(1e16, link=hand_link(latency=1e-3)), 4))
    assert np.all(latency_bound == 0.0) and per_hop == pytest.approx(5.0)


def test_no_leaf_is_a_nan_and_no_slope_is_infinite_where_all_is_undeclared() -> None:
    bare = Machine(hand_chip(None, rate=None, overhead=None), 8).arrays()
    step = dense_step(**SMALL, context=100)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(priced(step, bare)))
    for output in ("floor", "prediction"):
        with x64():
            slope = jax.jit(jax.grad(lambda m, o=output: getattr(price_arrays(step, m, 0), o)))(bare)
        assert all(np.all(np.isfinite(np.asarray(leaf))) for leaf in jax.tree.leaves(slope))


def test_every_slope_on_every_chip_is_finite() -> None:
    """All chips of the catalog, at one, two and eight: whatever they leave undeclared, no slope is a NaN."""
    step = dense_step(**SMALL, context=4096)
    machines = [Machine(chip, width, rent=1.0).arrays() for chip in catalog.chips() for width in (1, 2, 8)]
    stacked = jax.tree.map(lambda *rows: np.stack(rows), *machines)

    def sums(m: Any) -> Any:
        priced = price_arrays(step, m, BEST)
        return priced.floor + priced.prediction + priced.usd_prediction

    with x64():
        slopes = jax.jit(jax.vmap(jax.grad(sums)))(stacked)
    for name, leaf in leaves(slopes).items():
        assert np.all(np.isfinite(np.asarray(leaf))), name


def test_vmap_over_machines_and_contexts_is_a_loop() -> None:
    step = dense_step(**SMALL, context=4096)
    machines = [
        Machine(hand_chip(3e12, overhead=1e-6), 1),
        Machine(CHIP, 4, rent=3.0),
        Machine(hand_chip(None, rate=None, link=hand_link(Topology.RING, latency=None)), 16),
        Machine(hand_chip(1e12, 1e6), 1),
    ]
    contexts = np.array([0.0, 777.0, 8192.0])
    stacked = jax.tree.map(lambda *rows: np.stack(rows), *[machine.arrays() for machine in machines])
    inner = jax.vmap(lambda m, c: price_arrays(step.with_context(c), m, 0), in_axes=(None, 0))
    with x64():
        together = jax.tree.map(np.asarray, jax.jit(jax.vmap(inner, in_axes=(0, None)))(stacked, contexts))
    for i, machine in enumerate(machines):
        for j, context in enumerate(contexts):
            alone = priced(step.with_context(np.float64(context)), machine.arrays())
            for whole, one in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
                assert whole[i, j] == pytest.approx(one, rel=1e-13, abs=0)


def test_merged_stages_cost_what_they_cost_one_by_one() -> None:
    step = dense_step(**LLAMA_8B, context=3000)
    chain, stage_of = merged_chain(step)
    assert chain.count.sum() == len(step.stages) == len(stage_of) and len(chain.count) == 10
    one, other = priced(step, Machine(CHIP, 8).arrays()), priced(chain, Machine(CHIP, 8).arrays())
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert a == pytest.approx(b, rel=1e-12)


def test_one_trace_serves_every_machine_precision_and_context() -> None:
    traces = 0

    @jax.jit
    def counted(step: Any, machine: Any, index: Any) -> Any:
        nonlocal traces
        traces += 1
        return price_arrays(step, machine, index).floor

    step = as_float64(dense_step(**SMALL))
    with x64():
        for width, context, index in ((1, 10.0, 0), (2, 500.0, 1), (64, 1e5, BEST)):
            counted(step.with_context(np.float64(context)), as_float64(Machine(CHIP, width).arrays()), np.int64(index))
    assert traces == 1


def test_the_precision_may_be_traced() -> None:
    chip = hand_chip(matrix_rates={"fp16": 2e14, "fp8": 4e14})
    step, machine = one_class(1e9, 1e13), Machine(chip).arrays()
    with x64():
        indices = jnp.arange(-1, 5)
        costs = jax.jit(jax.vmap(lambda i: price_arrays(step, machine, i)))(indices)
        seconds, used = costs.floor_compute, costs.precision
    assert np.asarray(seconds) == pytest.approx([1e13 / 2e14, 0.0, 1e13 / 2e14, 1e13 / 4e14, 0.0, 0.0])
    assert np.asarray(used).tolist() == [1, 0, 1, 2, 3, 4]


def test_it_runs_in_single_precision_too() -> None:
    step, machine = dense_step(**SMALL, context=4096), Machine(CHIP, 4).arrays()
    single = jax.jit(price_arrays)(step, machine, 0)
    double = priced(step, machine)
    assert single.floor.dtype == jnp.float32
    assert float(single.prediction) == pytest.approx(float(double.prediction), rel=1e-5)
    assert bool(single.predicted) == bool(double.predicted)


rates = st.floats(1e11, 1e14)


@settings(max_examples=25)
@given(bandwidth=rates, factor=st.floats(1.0, 100.0), width=st.integers(1, 64), context=st.floats(0, 1e5))
def test_the_floor_never_falls_with_bytes_nor_rises_with_bandwidth(
    bandwidth: float, factor: float, width: int, context: float
) -> None:
    step = dense_step(**SMALL, context=context)
    machine = Machine(hand_chip(bandwidth, link=hand_link()), width)
    base = priced(step, machine.arrays())
    faster = priced(step, Machine(hand_chip(bandwidth * factor, link=hand_link()), width).arrays())
    fuller = priced(step.with_context(np.float64(context * factor)), machine.arrays())
    heavier = priced(eqx.tree_at(lambda s: s.part_bytes, step, step.part_bytes * factor), machine.arrays())
    assert faster.floor <= base.floor and fuller.floor >= base.floor and heavier.floor >= base.floor


@settings(max_examples=25)
@given(bandwidth=rates, rate=st.floats(1e13, 1e16), width=st.integers(1, 4000))
def test_memory_and_compute_never_rise_with_width(bandwidth: float, rate: float, width: int) -> None:
    step = dense_step(**SMALL, context=4096)
    chip = dataclasses.replace(CHIP, tiers=(TIERS[0], dataclasses.replace(TIERS[1], bandwidth=bandwidth)))
    chip = dataclasses.replace(chip, matrix_rates={"bf16": rate})
    one, other = (priced(step, Machine(chip, n).arrays()) for n in (width, width + 1))
    assert other.floor_memory <= one.floor_memory * (1 + 1e-12)
    assert other.floor_compute <= one.floor_compute
    assert other.prediction_overhead == one.prediction_overhead
