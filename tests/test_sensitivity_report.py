"""The sensitivity report: slopes against differences, both sides of every kink, ranges with sources, flips and switches."""

from __future__ import annotations

import numpy as np
import pytest
from hand_config import hand_config

import tinker_nomics as tn
from tinker_nomics.config import get
from tinker_nomics.cost_sensitivity.figures import tornado_data
from tinker_nomics.declared_ranges import spans
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.parameters import registry
from tinker_nomics.report_outputs import OUTPUTS


@pytest.fixture(scope="module")
def config():
    return tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", assumptions="published")


@pytest.fixture(scope="module")
def report(config):
    return tn.sensitivity(config)


def outputs(config):
    estimate = tn.estimate(config)
    return np.array([estimate[name] for name in OUTPUTS])


def test_every_present_parameter_has_a_row(config, report):
    rows = report.to_dict()["parameters"]
    assert list(rows) == [path for path in registry() if get(config, path) is not None]
    expected = {
        "value",
        "unit",
        "derivative",
        "elasticity",
        "left",
        "right",
        "one_more",
        "low",
        "high",
        "swing",
        "flips_at",
    }
    assert all(expected <= set(row) for row in rows.values())


def test_derivatives_against_central_differences(config, report):
    for path, row in report.parameters.items():
        value = row.value
        parameter = registry()[path]
        step = 1e-5 * abs(value)
        if step == 0 or parameter.kind == "integer" or value + step > parameter.high or value - step < parameter.low:
            continue
        up, down = (outputs(tn.replace(config, {path: value + side * step})) for side in (1, -1))
        scale = np.abs(outputs(config)) / value
        difference = (up - down) / (2 * step)
        found = np.array([row.derivative[name] for name in OUTPUTS])
        np.testing.assert_allclose(found, difference, rtol=1e-6, atol=1e-9 * scale.max())


def test_length_and_group_by_hand(report):
    tokens, group = (report.parameters[f"workload.{name}"] for name in ("completion_tokens", "rollouts_per_prompt"))
    # 64 x 16 x 180 rollouts x growth 1.25 x (sample + train) $0.8 per million tokens
    assert tokens.derivative["tinker.total"] == pytest.approx(64 * 16 * 180 * 1.25 * 0.8e-6, rel=1e-12)
    assert group.one_more["tinker.total"] == pytest.approx(99.16416 / 16, rel=1e-9)
    assert group.elasticity["tinker.total"] == pytest.approx(1.0, rel=1e-12)
    assert "d$/dL against d$/dG" in report.table()


def test_elasticities_of_a_product_are_one(report):
    for path in ("workload.steps", "workload.recipe_multiplier"):
        row = report.parameters[path]
        for name in ("tinker.total", "self_hosted.total", "difference.total"):
            assert row.elasticity[name] == pytest.approx(1.0, rel=1e-12)


def test_an_input_that_is_not_used_has_exactly_zero(report):
    for path in (
        "model.kv_bytes_per_token",
        "model.lora_parameters_per_rank",
        "prices.storage",
        "cluster.chip.memory_bytes",
    ):
        assert set(report.parameters[path].derivative.values()) == {0.0}


def crossover():
    """The roof's crossover exactly: memory and compute sides of decode are equal."""
    config = hand_config()
    margin = tn.estimate(config).branches["decode_roof"]
    rate = config.cluster.chip.matrix_rate + margin * 2 * config.model.active_parameters
    return tn.replace(config, {"cluster.chip.matrix_rate": rate})


def test_both_sides_of_the_roof():
    config = crossover()
    row = tn.sensitivity(config).parameters["cluster.chip.bandwidth"]
    assert row.left["self_hosted.hours"] < 0
    assert row.right["self_hosted.hours"] == pytest.approx(0.0, abs=1e-25)
    slower = tn.replace(config, {"cluster.chip.bandwidth": config.cluster.chip.bandwidth * (1 - 1e-6)})
    step = config.cluster.chip.bandwidth * 1e-6
    difference = (outputs(config)[2] - outputs(slower)[2]) / step
    assert row.left["self_hosted.hours"] == pytest.approx(difference, rel=1e-4)
    assert "|" in tn.sensitivity(config).table()


def test_both_sides_of_equal_phases():
    config = tn.replace(hand_config(), {"schedule.max_steps_off_policy": 1})
    estimate = tn.estimate(config)
    mfu = config.cluster.mfu * estimate.self_hosted.train_hours / estimate.self_hosted.rollout_hours
    row = tn.sensitivity(tn.replace(config, {"cluster.mfu": min(mfu, 1.0)})).parameters["cluster.mfu"]
    assert row.elasticity["self_hosted.hours"] in (pytest.approx(0.0, abs=1e-9), pytest.approx(-1.0, rel=1e-9))
    assert row.left["self_hosted.hours"] * row.value < 0
    assert row.right["self_hosted.hours"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_slopes_are_finite_at_every_lag(k):
    report = tn.sensitivity(tn.replace(hand_config(), {"schedule.max_steps_off_policy": k}))
    for row in report.parameters.values():
        assert all(np.isfinite(value) for value in row.derivative.values())
        assert all(value is None or np.isfinite(value) for side in (row.left, row.right) for value in side.values())
    assert (report.parameters["schedule.max_steps_off_policy"].left["tinker.total"] is None) == (k == 0)


def test_the_jump_at_k_1_is_taken_apart(report, config):
    switch = next(row for row in report.branches if row.branch == "overlap_threshold")
    assert (switch.path, switch.value) == ("schedule.max_steps_off_policy", 1.0)
    after = outputs(tn.replace(config, {"schedule.max_steps_off_policy": 1}))
    assert switch.jump["self_hosted.total"] == pytest.approx((after - outputs(config))[1], rel=1e-12)
    assert report.parameters["schedule.max_steps_off_policy"].derivative["self_hosted.total"] == 0.0


def test_switches_lie_where_the_margin_changes_sign(report, config):
    for row in report.branches:
        if row.value is None or row.branch.endswith("_ceil") or registry()[row.path].kind == "integer":
            continue
        sides = [
            tn.estimate(tn.replace(config, {row.path: row.value * (1 + side * 1e-9)})).branches[row.branch] >= 0
            for side in (-1, 1)
        ]
        assert sides[0] != sides[1], row


def test_flips_are_where_both_cost_the_same(config):
    rent = config.cluster.price_per_gpu_hour * tn.estimate(config).tinker.total / tn.estimate(config).self_hosted.total
    given = {"cluster.price_per_gpu_hour": tn.Uniform(rent / 2, rent * 2)}
    row = tn.sensitivity(config, distributions=given).parameters["cluster.price_per_gpu_hour"]
    assert row.flips_at == pytest.approx(rent, rel=1e-9)
    few = tn.sensitivity(config).parameters["workload.length_growth"]
    assert few.flips_at is None and few.swing["tinker.total"] > 0


def test_ranges_run_from_p10_to_p90_and_name_their_source(report):
    row = report.parameters["workload.length_growth"]
    assert (row.low, row.high) == (pytest.approx(1.1, rel=1e-9), pytest.approx(3.0, rel=1e-9))
    assert "assumption" in row.range_source
    efficiency = report.parameters["cluster.rollout_efficiency"]
    assert (efficiency.low, efficiency.high) == (pytest.approx(0.32), pytest.approx(0.48))


def test_conditions_of_ranges_are_held(config):
    found, _ = spans(tn.replace(config, {"schedule.max_steps_off_policy": 1}))
    assert found["cluster.rollout_efficiency"].low == pytest.approx(0.52)
    assert "workload.failure_extra_turns" not in found
    found, _ = spans(tn.replace(config, {"workload.turns": 20}))
    assert (found["workload.turns"].low, found["workload.turns"].high) == (pytest.approx(18.7), pytest.approx(24.3))
    assert "workload.failure_extra_turns" in found


def test_undeclared_uncertainties_are_listed_and_moved_only_when_asked(config, report):
    assert "cluster.prefix_cache_hit_rate" in report.undeclared
    assert report.parameters["workload.turns_growth"].swing is None
    asked = tn.sensitivity(config, range="10%")
    row = asked.parameters["workload.turns_growth"]
    assert (row.low, row.high) == (pytest.approx(0.9), pytest.approx(1.1)) and "as asked" in row.range_source
    for wrong in ("10", "0%", "120%", "ten%"):
        with pytest.raises(TinkerNomicsError, match="10%"):
            tn.sensitivity(config, range=wrong)


def test_levers_and_uncertainties_are_never_one_ranking(report):
    uncertain, levers = (tornado_data(report, role) for role in ("uncertainty", "lever"))
    assert [bar.name for bar in uncertain.of("tinker.total")] == ["workload.length_growth"]
    names = [bar.name for bar in levers.of("tinker.total")]
    assert "workload.rollouts_per_prompt" in names and "model" in names and "workload.length_growth" not in names
    assert uncertain.undeclared == report.undeclared and levers.undeclared == ()
    assert report.parameters["workload.rollouts_per_prompt"].low == 8


def test_neighbouring_rows_of_the_catalog(report, config):
    chips = {row.side: row for row in report.choices if row.choice == "chip"}
    up = tn.Config.from_recipe(
        "math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", chip=chips[1].name, assumptions="published"
    )
    assert up.cluster.chip.bandwidth > config.cluster.chip.bandwidth
    assert chips[1].outputs["self_hosted.total"] == pytest.approx(tn.estimate(up).self_hosted.total, rel=1e-12)


def test_unknown_names_are_refused(config, report):
    with pytest.raises(TinkerNomicsError, match=r"workload\.steps"):
        tn.sensitivity(config, distributions={"workload.stepz": tn.Uniform(1, 2)})
    with pytest.raises(TinkerNomicsError, match="Uniform"):
        tn.sensitivity(config, distributions={"workload.steps": (1, 2)})
    with pytest.raises(TinkerNomicsError, match=r"difference\.total"):
        report.tornado(output="tinker.totals")


def test_the_decision_and_the_branches_are_marked_on_the_bars(config):
    ahead = tn.replace(config, {"cluster.price_per_gpu_hour": 8.0})
    report = tn.sensitivity(ahead)
    bars = {
        bar.name: bar for role in ("uncertainty", "lever") for bar in tornado_data(report, role).of("self_hosted.total")
    }
    assert "overlap_threshold" in bars["schedule.max_steps_off_policy"].switches
    flipped = [path for path, row in report.parameters.items() if row.flips_at is not None]
    assert flipped and all(len(bars[path].flips) > 0 for path in flipped if path in bars)
    for path in flipped:
        moved = tn.estimate(tn.replace(ahead, {path: report.parameters[path].flips_at}))
        assert (moved.difference.total < 0) != (
            report.outputs["difference.total"] < 0
        ) or moved.difference.total == pytest.approx(0, abs=1e-6)


def test_figures_are_drawn_for_every_output(report):
    for output in OUTPUTS:
        figure = report.tornado(output=output)
        assert len(figure.axes) == 2 and figure.get_size_inches()[0] * figure.dpi == 1200
    assert len(report.spider("self_hosted.total").axes) == 1
