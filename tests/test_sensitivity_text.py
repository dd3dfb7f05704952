"""The sensitivity report as people read it: what is ranked, what is marked, what is drawn; bad ranges refused."""

from __future__ import annotations

import numpy as np
import pytest
from hand_config import hand_config

import tinker_nomics as tn
from tinker_nomics.cost_sensitivity.figures import tornado_data
from tinker_nomics.cost_sensitivity.local_model import reach
from tinker_nomics.parameters import registry
from tinker_nomics.plots.axis_numbers import written
from tinker_nomics.report_outputs import OUTPUTS


@pytest.fixture(scope="module")
def config():
    return tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", assumptions="published")


@pytest.fixture(scope="module")
def report(config):
    return tn.sensitivity(config)


def _column(text: str, title: str, column: int) -> list[str]:
    """First cells of the rows under a title, down to the next empty line."""
    lines = text.split("\n\n")
    block = next(part for part in lines if part.startswith(title)).splitlines()[3:]
    return [line.split()[column] for line in block]


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_table_of_one_output_ranks_by_it(report, output):
    text = report.table(output)
    names = _column(text, "levers", 0)
    swings = [report.parameters[name].swing[output] for name in names]
    assert names and swings == sorted(swings, reverse=True) and min(swings) > 0
    assert output in text and "at low" in text
    assert "workload.completion_tokens" in names


def test_a_table_of_an_output_that_is_none_is_refused(report):
    with pytest.raises(tn.TinkerNomicsError, match=r"tinker\.total"):
        report.table("tinker.totl")


def test_the_break_even_rent_is_where_both_cost_the_same(config, report):
    rent = report.break_even_rent
    assert rent is not None
    level = tn.estimate(tn.replace(config, {"cluster.price_per_gpu_hour": rent}))
    assert level.self_hosted.total == pytest.approx(level.tinker.total, rel=1e-9)
    assert report.to_dict()["break_even_rent"] == rent and f"at a rent of ${rent:.2f}/h" in report.table()


@pytest.mark.parametrize("edition", ["published", "revised"])
def test_the_bill_of_own_gpus_is_linear_in_the_rent(edition):
    config = tn.Config.from_recipe("math_rl", assumptions=edition)
    bills = [
        tn.estimate(tn.replace(config, {"cluster.price_per_gpu_hour": rent})).self_hosted.total
        for rent in (1.0, 2.0, 9.0)
    ]
    assert bills[2] - bills[1] == pytest.approx(7 * (bills[1] - bills[0]), rel=1e-9)


def test_no_rent_where_tinker_costs_nothing():
    free = tn.replace(hand_config(), {f"prices.{name}": 0.0 for name in ("prefill", "sample", "train")})
    report = tn.sensitivity(free)
    assert report.break_even_rent is None and "no rent makes own GPUs as cheap" in report.table()


def test_what_moves_both_sides_alike_has_no_swing_in_the_difference():
    fee = tn.replace(
        hand_config(), {"sandbox.seconds": 600, "sandbox.price_per_core_second": 4e-5, "sandbox.cores": 1.0}
    )
    report = tn.sensitivity(fee, distributions={"sandbox.seconds": tn.Uniform(1.0, 1000.0)})
    assert report.parameters["sandbox.seconds"].swing["tinker.total"] > 0
    assert report.parameters["sandbox.seconds"].swing["difference.total"] == 0.0
    assert "sandbox.seconds" not in report.table("difference.total").split("levers")[0].split("uncertainties")[1]
    bars = tornado_data(report, "uncertainty").of("difference.total")
    assert "sandbox.seconds" not in [bar.name for bar in bars]


def test_a_value_outside_its_declared_range_is_marked(config):
    given = {"workload.length_growth": tn.Uniform(2.0, 3.0)}
    assert "^ the value lies outside" in tn.sensitivity(config, distributions=given).table()
    inside = {"workload.length_growth": tn.Uniform(1.0, 3.0), "cluster.rollout_efficiency": tn.Uniform(0.4, 0.6),
              "cluster.mfu": tn.Uniform(0.05, 0.2)}  # fmt: skip
    assert "^" not in tn.sensitivity(config, distributions=inside).table()


def test_switches_carry_units_and_whole_numbers_do_not_jump_by_their_slope(report):
    text = report.table()
    assert "cluster.chip.matrix_rate = " in text and "TFLOP/s" in text.split("branches of the model")[1]
    weights = next(row for row in report.branches if row.branch == "weights_fit")
    assert weights.path == "cluster.gpus" and set(weights.jump.values()) == {0.0}
    overlap = next(row for row in report.branches if row.branch == "overlap_threshold")
    assert overlap.value == 1.0 and overlap.jump["self_hosted.hours"] < -0.1


def test_a_search_for_a_switch_stays_within_bounds():
    for path, parameter in registry().items():
        for value in (parameter.low + 0.5, 1.0, 8.0):
            if parameter.problem(value) is None:
                grid = reach(parameter, value)
                assert value in grid and all(parameter.problem(float(x)) is None for x in grid), path


@pytest.mark.parametrize(
    ("path", "distribution"),
    [
        ("cluster.mfu", tn.Uniform(0.5, 2.0)),
        ("cluster.mfu", tn.Normal(0.1, 0.1)),
        ("workload.turns", tn.Uniform(0.2, 3.0)),
    ],
)
def test_a_range_beyond_the_bounds_is_refused(config, path, distribution):
    with pytest.raises(tn.ConfigError, match=rf"{path}.*gives values from"):
        tn.sensitivity(config, distributions={path: distribution})


def test_separate_values_have_a_bar_and_no_line(config):
    given = {"cluster.mfu": tn.Discrete([0.1, 0.2, 0.3])}
    report = tn.sensitivity(config, distributions=given)
    assert "cluster.mfu" in [bar.name for bar in tornado_data(report, "uncertainty").of("self_hosted.total")]
    axis = report.spider("self_hosted.total").axes[0]
    assert [line.get_label() for line in axis.lines if "." in str(line.get_label())] == [
        "workload.length_growth", "cluster.rollout_efficiency"
    ]  # fmt: skip


def test_a_report_is_shown_in_a_line_and_equals_itself_only(config, report):
    assert repr(report).startswith("SensitivityReport(tinker.total $99.16") and len(repr(report)) < 350
    assert report == report and hash(report) == hash(report) and report != tn.sensitivity(config)


def test_ticks_are_written_out(report):
    assert [written(value) for value in (0.0, 1.25e6, -750.5, 0.25, 1e-3, 3e15)] == [
        "0", "1,250,000", "\u2212750.5", "0.25", "0.001", "3e+15"
    ]  # fmt: skip
    figure = report.tornado("difference.total")
    figure.canvas.draw()
    labels = [text.get_text() for axis in figure.axes for text in axis.get_xticklabels()]
    assert all(label and "e" not in label for label in labels)
    assert all(axis.xaxis.get_offset_text().get_text() == "" for axis in figure.axes)


def test_the_ends_of_bars_keep_whole_numbers(config):
    report = tn.sensitivity(
        tn.replace(config, {"workload.completion_tokens": 8192, "schedule.max_steps_off_policy": 1})
    )
    bars = {bar.name: bar for bar in tornado_data(report, "lever").of("self_hosted.total")}
    assert bars["workload.completion_tokens"].labels == ("4,096 tokens", "16,384 tokens")
    assert bars["schedule.max_steps_off_policy"].labels == ("0 steps", "2 steps")
    assert bars["workload.epochs"].labels[0] == "1 epoch"


def test_the_percentiles_of_a_spider_end_where_its_lines_do(report):
    figure = report.spider("tinker.total")
    axis = figure.axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["P10", "P25", "P50", "P75", "P90"]
    assert np.allclose(axis.get_xlim(), (5, 91))
    assert len(axis.lines) == 2  # growth, the one input that moves Tinker's bill, and the base


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"distributions": {"sandbox.seconds": tn.Uniform(1, 10)}},
            r"sandbox\.seconds = None: this run has no value to vary",
        ),
        ({"distributions": [1]}, "a mapping is expected"),
        ({"distributions": {3: tn.Uniform(1, 10)}}, "3'? is no parameter"),
        ({"distributions": {"cluster.mfu": 0.1}}, "is no distribution"),
        ({"range": 0.1}, "10%"),
        ({"range": 5}, "10%"),
    ],
)
def test_questions_asked_wrongly(config, arguments, words):
    with pytest.raises(tn.TinkerNomicsError, match=words):
        tn.sensitivity(config, **arguments)


@pytest.mark.parametrize("draw", ["tornado", "spider", "table"])
def test_an_output_that_is_no_name(report, draw):
    with pytest.raises(tn.TinkerNomicsError, match=r"no output 3; .*tinker\.total"):
        getattr(report, draw)(3)


def test_nothing_costs_the_same_as_nothing():
    prices = ("cluster.price_per_gpu_hour", "prices.prefill", "prices.sample", "prices.train")
    free = tn.replace(hand_config(), dict.fromkeys(prices, 0))
    assert "both cost the same" in tn.sensitivity(free).table()


@pytest.mark.parametrize("rent", [{}, {"cluster.price_per_gpu_hour": 20.0}])
@pytest.mark.parametrize("provider", [None, "RunPod secure"])
def test_a_neighbouring_row_is_what_a_sweep_over_it_says(rent, provider):
    config = tn.Config.from_recipe(
        "math_rl",
        model="Qwen/Qwen3-8B",
        prices="2026-10-07",
        assumptions="published",
        provider=provider,
        overrides=rent,
    )
    rows = tn.sensitivity(config).choices
    assert {row.choice for row in rows} == {"chip", "model"}
    for row in rows:
        batch = tn.sweep(config, {row.choice: [row.name]}, outputs=list(OUTPUTS))
        assert {name: pytest.approx(float(batch[name][0]), rel=1e-12) for name in OUTPUTS} == row.outputs, row.name


def test_a_neighbouring_row_that_own_gpus_refuse_has_no_figure_of_theirs():
    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-10-07")
    report = tn.sensitivity(config)
    (too_big,) = [row for row in report.choices if "weights" in row.refused]
    with pytest.raises(tn.ConfigError, match="do not fit"):
        tn.Config.from_recipe("math_rl", model=too_big.name, prices="2026-10-07")
    assert list(too_big.outputs) == ["tinker.total"] and "do not fit" in too_big.refused
    text = report.table()
    assert "refused" in text and f"own GPUs refuse {too_big.name}: the weights do not fit" in text
    assert "own GPUs refuse openai/gpt-oss-120b: the model's layers have windows of several widths" in text
    bars = {output: {bar.name for bar in tornado_data(report, "lever").of(output)} for output in OUTPUTS}
    assert "model" in bars["tinker.total"] and "model" not in bars["self_hosted.total"]


def test_rollouts_that_may_outgrow_a_chip_are_analysed_all_the_same():
    """At the far end of the declared growth one sequence's cache exceeds a chip: rare draws, told of and left out."""
    long = {"workload.prompt_tokens": 1000, "workload.steps": 100}
    config = tn.Config.from_recipe("harbor_rl", prices="2026-10-07", gpus=80, sandbox="none", overrides=long)
    text = tn.sensitivity(config).table()
    assert "nan" not in text and "does not fit on the GPUs" in " ".join(text.split())
    drawn = tn.monte_carlo(config, samples=1 << 12, progress=False)
    assert 0 < drawn.nonfinite["self_hosted.total"] < 0.01 * drawn.samples and drawn.nonfinite["tinker.total"] == 0
    with pytest.raises(tn.ConfigError, match="the cache of one sequence takes"):
        tn.monte_carlo(config, {"workload.length_growth": tn.Uniform(1.0, 40.0)}, samples=1 << 12, progress=False)
