"""An estimate with its range: the same numbers as `estimate`, and the quantiles of a large random sample."""

from __future__ import annotations

import numpy as np
import pytest
from hand_config import hand_config

import tinker_nomics as tn
from tinker_nomics.cost_sensitivity.estimate_range import TOTALS, estimate_with_range, kronecker, range_of
from tinker_nomics.declared_ranges import declared_distributions
from tinker_nomics.outputs import by_path
from tinker_nomics.totals_text import ends, span


@pytest.mark.parametrize("assumptions", ["published", "revised"])
def test_it_is_the_estimate(assumptions):
    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-10-07", assumptions=assumptions)
    alone, ranged = by_path(tn.estimate(config)), estimate_with_range(config)
    for name, value in by_path(ranged.estimate).items():
        # margins that cancel are rounding, and nothing more
        assert value == pytest.approx(alone[name], rel=1e-9, abs=1e-6 if name.startswith("branches") else 1e-9), name
    assert ranged.estimate.notes == tn.estimate(config).notes


def test_the_range_is_that_of_a_large_sample():
    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-10-07", assumptions="published")
    ranged = estimate_with_range(config)
    rng = np.random.default_rng(0)
    drawn = {
        path: np.array([d.quantile(u) for u in rng.random(20_000)])
        for path, d in declared_distributions(config).items()
    }
    assert set(drawn) == set(ranged.varied)
    sample = tn.sweep(config, drawn, mode="zip")
    for name in TOTALS:
        low, high = np.quantile(sample[name], [0.1, 0.9])
        assert ranged.low[name] == pytest.approx(low, abs=0.08 * (high - low))
        assert ranged.high[name] == pytest.approx(high, abs=0.08 * (high - low))


@pytest.mark.parametrize("k", [0, 4])
def test_the_range_is_that_of_a_million_samples(k):
    run = {"schedule.max_steps_off_policy": k, "workload.completion_tokens": 300}
    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-10-07", overrides=run)
    ranged, sample = estimate_with_range(config), tn.monte_carlo(config, samples=1_000_000, progress=False)
    for name in TOTALS:
        for p, found in ((0.1, ranged.low), (0.9, ranged.high)):
            assert found[name] == pytest.approx(sample.quantile(name, p), rel=0.005), (name, p)


def test_what_the_other_edition_reads_is_not_varied():
    chosen = {"model": "Qwen/Qwen3-8B", "prices": "2026-10-07"}
    published = estimate_with_range(tn.Config.from_recipe("math_rl", assumptions="published", **chosen)).varied
    revised = estimate_with_range(tn.Config.from_recipe("math_rl", assumptions="revised", **chosen)).varied
    assert "cluster.mfu" in published and "cluster.mfu" not in revised
    assert "cluster.trainer.mfu_dense" in revised and "cluster.trainer.mfu_moe" not in revised
    assert not [path for path in published if path.startswith(("cluster.engine", "cluster.trainer"))]


def test_nothing_uncertain_gives_no_range():
    config = tn.replace(hand_config(), {})
    assert estimate_with_range(config).varied == ("workload.length_growth", "cluster.rollout_efficiency")


def test_the_points_fill_the_cube():
    points = kronecker(256, 3)
    assert points.shape == (256, 3) and (points > 0).all() and (points < 1).all()
    assert np.abs(points.mean(axis=0) - 0.5).max() < 0.02
    cells = np.unique((points * 4).astype(int), axis=0)
    assert len(cells) > 60  # of 64


def test_a_draw_that_does_not_fit_is_dearer_than_all_that_do():
    column = np.arange(101.0)
    assert range_of({"x": column}) == ({"x": 10.0}, {"x": 90.0})
    few, many = column.copy(), column.copy()
    few[[3, 50]], many[20:60] = np.nan, np.inf
    low, high = range_of({"few": few, "many": many})
    assert 10 < low["few"] < 12 and 91 <= high["few"] <= 93 and low["many"] == 10.0 and high["many"] == np.inf
    assert span(low["many"], high["many"], "USD") == "$10.00 to more than fits on the GPUs"
    assert ends(low, high)["many"] == {"p10": 10.0, "p90": None}
    assert range_of({"x": np.empty(0)}) == ({}, {})


def test_long_rollouts_that_outgrow_a_chip_leave_the_range_a_number():
    long = {"workload.prompt_tokens": 1000, "workload.steps": 100}
    config = tn.Config.from_recipe("harbor_rl", prices="2026-10-07", gpus=80, sandbox="none", overrides=long)
    ranged = estimate_with_range(config)
    assert all(np.isfinite(value) for value in (*ranged.low.values(), *ranged.high.values()))
    assert ranged.low["self_hosted.total"] < ranged.estimate.self_hosted.total < ranged.high["self_hosted.total"]
    assert "nan" not in str(ranged.estimate)
