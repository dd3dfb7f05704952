"""Every printed total says its edition, the date of its prices and its range, wherever it is printed."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest
from hand_config import hand_config

import tinker_nomics as tn
from tinker_nomics.cli.main import main
from tinker_nomics.cost_sensitivity.estimate_range import TOTALS, estimate_with_range
from tinker_nomics.totals_text import edition_and_prices, headline, range_in_words, standing

RUN = ["math_rl", "--model", "Qwen3-8B", "--prices", "2026-01-05", "--assumptions", "published"]


@pytest.fixture(scope="module")
def config():
    return tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", assumptions="published")


@pytest.fixture(scope="module")
def ranged(config):
    return estimate_with_range(config)


def _says_all(text: str, ranged) -> bool:
    words = ("edition published", "2026-01-05", "P10", "P90")
    ends = [
        f"${ends[name]:,.2f}" for ends in (ranged.low, ranged.high) for name in ("tinker.total", "self_hosted.total")
    ]
    flat = " ".join(text.split())
    return all(word in flat for word in (*words, *ends))


def test_the_words(config, ranged):
    assert standing(config) == "edition published, prices of 2026-01-05"
    assert range_in_words({}, {}, 0).startswith("no range")
    assert "1 declared uncertainty: own GPUs $1.00 to $2.00" in range_in_words(
        {"self_hosted.total": 1.0}, {"self_hosted.total": 2.0}, 1
    )
    own = tn.replace(config, {"prices.sample": 1.0})
    assert standing(own) == "edition published, prices of 2026-01-05 but for prices.sample"
    all_own = tn.replace(own, {"prices.prefill": 1.0, "prices.train": 1.0})
    assert standing(all_own) == "edition published, prices of your own"
    assert edition_and_prices("revised", "") == "edition revised, prices of your own"  # a file without a date
    totals = {name: ranged.estimate[name] for name in TOTALS}
    text = headline(config, totals, ranged.low, ranged.high, len(ranged.varied))
    assert text.startswith("Tinker $99.16; 8 x h100-sxm $") and _says_all(text, ranged)


def test_an_estimate_prints_the_screen_of_the_command_line(config, ranged, capsys, monkeypatch):
    monkeypatch.setenv("TINKER_NOMICS_CACHE", "off")
    priced = tn.estimate(config)
    assert main(["estimate", *RUN]) == 0
    screen = capsys.readouterr().out
    # the command line names the edition as an argument, the notes are the same
    assert str(priced).strip() == screen.strip() and _says_all(screen, ranged)
    assert _says_all(priced.headline(), ranged) and priced.headline().startswith("Tinker $99.16; 8 x h100-sxm $")


def test_an_estimate_of_no_single_run_prints_as_it_is_represented(config):
    priced = tn.estimate(config)
    doubled = jax.tree.map(lambda leaf: np.array([leaf, leaf]), priced)
    assert str(doubled) == repr(doubled)
    traced = tn.cost_model.evaluate(config)
    assert traced.run is None and str(traced) == repr(traced)
    with pytest.raises(tn.TinkerNomicsError, match="no run"):
        traced.headline()


def test_estimates_of_several_runs_keep_one_structure(config):
    runs = [tn.estimate(config), tn.estimate(tn.replace(config, {"cluster.price_per_gpu_hour": 1.0}))]
    assert runs[0].run == runs[1].run and hash(runs[0].run) == hash(runs[1].run)
    both = jax.tree.map(lambda a, b: a + b, runs[0], tn.estimate(config))
    assert both.tinker.total == 2 * runs[0].tinker.total


def test_a_sensitivity_report_says_all(config, ranged):
    report = tn.sensitivity(config)
    assert _says_all(str(report), ranged) and str(report) == report.table()
    assert _says_all(repr(report), ranged)
    document = report.to_dict()
    for name in TOTALS:
        assert document["range"][name]["p10"] == pytest.approx(ranged.low[name], rel=1e-9)
        assert document["range"][name]["p90"] == pytest.approx(ranged.high[name], rel=1e-9)
    assert document["run"]["price_list"] == "2026-01-05" and document["run"]["assumptions"] == "published"
    assert set(document["varied"]) == set(ranged.varied)
    title = report.tornado("tinker.total")._suptitle.get_text()
    low, high = (f"${ends['tinker.total']:,.2f}" for ends in (ranged.low, ranged.high))
    assert f"edition published, prices of 2026-01-05; P10-P90 {low} to {high}" in title
    assert low in report.spider("tinker.total").axes[0].get_title(loc="left")


def test_distributions_of_ones_own_make_the_range(config):
    given = {"workload.length_growth": tn.Uniform(1.4999, 1.5001)}
    report = tn.sensitivity(config, distributions=given)
    assert report.high["tinker.total"] - report.low["tinker.total"] < 0.02


def test_a_report_without_any_range_says_so():
    report = tn.sensitivity(tn.replace(hand_config(), {"workload.length_growth": 1.0}))
    assert "P10-P90 over" in str(report) and "prices of your own" in str(report)


GROWTH = "workload.length_growth"


def test_a_value_of_the_callers_own_is_held(config):
    own = tn.replace(config, {GROWTH: 1.0})
    ranged = estimate_with_range(own)
    assert GROWTH not in ranged.varied and ranged.held == (GROWTH,)
    total = ranged.estimate.tinker.total
    assert ranged.low["tinker.total"] == pytest.approx(total) == ranged.high["tinker.total"]
    words = f"; {GROWTH} as given: Tinker ${total:,.2f} throughout, own GPUs $"
    screen, line = (" ".join(text.split()) for text in (str(tn.estimate(own)), tn.estimate(own).headline()))
    assert words in screen and words in line
    report = tn.sensitivity(own)
    assert words in " ".join(report.table().split()) and report.held == (GROWTH,)
    # the bar keeps its declared range
    bar = report.parameters[GROWTH]
    assert bar.swing and bar.swing["tinker.total"] > 10 and (bar.low, bar.high) == pytest.approx((1.1, 3.0))
    drawn = tn.monte_carlo(own, samples=1 << 12, progress=False)
    assert GROWTH not in drawn.about["uncertain"] and f"; {GROWTH} as given\n" in drawn.table()
    assert (
        GROWTH
        in tn.monte_carlo(own, {GROWTH: tn.Uniform(1.0, 2.0)}, samples=1 << 12, progress=False).about["uncertain"]
    )


def test_a_rent_of_the_callers_own_is_held():
    run = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-10-07", assumptions="published")
    own = tn.replace(run, {"cluster.price_per_gpu_hour": 2.0})
    assert estimate_with_range(own).held == ("cluster.price_per_gpu_hour",)
    assert "cluster.price_per_gpu_hour" not in tn.sensitivity(own).spans


def test_nothing_left_to_vary_is_refused_by_name(config):
    own = tn.replace(config, {path: tn.config.get(config, path) for path in estimate_with_range(config).varied})
    assert "no range: nothing else uncertain" in str(tn.estimate(own))
    with pytest.raises(tn.TinkerNomicsError, match=f"this run gives .*{GROWTH}.* itself"):
        tn.monte_carlo(own, samples=1 << 10)


def test_a_total_beyond_its_own_range_is_said_in_words():
    ends = ({"tinker.total": 2.0}, {"tinker.total": 3.0})
    assert "the run's own $1.00 for Tinker lies below that" in range_in_words(*ends, 1, totals={"tinker.total": 1.0})
    assert "the run's own $4.00 for Tinker lies above that" in range_in_words(*ends, 1, totals={"tinker.total": 4.0})
    assert "lies" not in range_in_words(*ends, 1, totals={"tinker.total": 2.5})


def test_a_total_without_discarded_groups_says_so_wherever_it_is_printed():
    asked = {"schedule.max_steps_off_policy": 4.0, "workload.completion_tokens": 300.0}
    run = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-10-07", overrides=asked)
    priced = tn.estimate(run)
    assert priced.headline().startswith(f"Tinker ${priced.tinker.total:,.2f} without discarded groups; ")
    report = tn.sensitivity(run)
    texts = (str(priced), priced.headline(), report.table())
    assert all("Tinker without discarded groups $" in " ".join(text.split()) for text in texts)
    assert "without discarded groups" in report.tornado("tinker.total")._suptitle.get_text()
    drawn = tn.monte_carlo(run, samples=1 << 12, progress=False)
    assert "Tinker without discarded groups\n" in drawn.table()
    assert "without discarded groups" in drawn.title("tinker.total")
    known = tn.replace(run, {"schedule.rho": 5.0, "schedule.variation": 0.5})
    assert "without discarded groups" not in str(tn.estimate(known))


def test_an_explanation_says_all_of_both_editions(config):
    explained = tn.explain(config)
    text = str(explained)
    assert text == explained.table()
    assert len(repr(explained)) < 250 and "prices of 2026-01-05" in repr(explained)
    for name, ends in explained.ranges.items():
        assert set(ends.low) == set(TOTALS), name
        assert f"Tinker ${ends.low['tinker.total']:,.2f}" in " ".join(text.split())
    document = json.loads(json.dumps(explained.to_dict()))
    assert set(document["range"]) == {"start", "published", "end"}
    assert document["choices"]["price_list"] == "2026-01-05"
    title = explained.plot()._suptitle.get_text()
    assert "2026-01-05" in title and "P10-P90, published: Tinker $" in title


def test_a_monte_carlo_says_all(config):
    drawn = tn.monte_carlo(config, samples=1 << 14, progress=False)
    assert str(drawn) == drawn.table()
    first, second = drawn.table().splitlines()[:2]
    assert first == "math_rl on Qwen/Qwen3-8B, 8 x h100-sxm"
    assert second == "edition published, prices of 2026-01-05; 3 uncertain inputs"
    ends = (drawn.quantile("self_hosted.total", p) for p in (0.1, 0.9))
    low, high = (f"${end:,.2f}" for end in ends)
    title = f"{first}: self_hosted.total under uncertainty\nedition published, prices of 2026-01-05; P10-P90 {low} to {high}"
    assert drawn.title("self_hosted.total") == title
    assert "P10" in drawn.table() and "P90" in drawn.table()
    assert repr(drawn).endswith("edition published, prices of 2026-01-05)") and len(repr(drawn)) < 200
