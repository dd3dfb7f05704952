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
    assert str(drawn) == drawn.table() and drawn.table().startswith("edition published, prices of 2026-01-05\n")
    assert "P10" in drawn.table() and "P90" in drawn.table()
    assert repr(drawn).endswith("edition published, prices of 2026-01-05)") and len(repr(drawn)) < 200
