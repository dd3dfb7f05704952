"""Monte Carlo of a run against closed forms, its files, its parts and its refusals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hand_config import hand_config

import tinker_nomics as tn
from tinker_nomics.cost_distribution.fan import cost_fan
from tinker_nomics.cost_distribution.length_path import read_lengths
from tinker_nomics.cost_distribution.parts import merge_parts
from tinker_nomics.cost_distribution.result import CostDistribution
from tinker_nomics.cost_distribution.simulation import monte_carlo
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.files import OutputExistsError
from tinker_nomics.streaming.chunk_range import chunk_range
from tinker_nomics.streaming.state_files import StateFileError

GROWTH = tn.LogNormal.from_quantiles(p10=1.1, p50=1.5, p90=3.0)
UNCERTAIN = {"workload.length_growth": GROWTH, "cluster.price_per_gpu_hour": tn.Triangular(2.0, 2.95, 6.0)}
SAMPLES, REPLICATES = 2**15, 4


def sample(**more) -> CostDistribution:
    arguments = {"samples": SAMPLES, "seed": 0, "replicates": REPLICATES, "budget": 80.0} | more
    return monte_carlo(hand_config(), arguments.pop("uncertain", UNCERTAIN), **arguments)


def bill(growth: float) -> float:
    return tn.estimate(tn.replace(hand_config(), {"workload.length_growth": growth}))["tinker.total"]


@pytest.fixture(scope="module")
def result() -> CostDistribution:
    return sample()


def test_the_bill_over_uncertain_growth_has_its_closed_form(result):
    slope = bill(2.0) - bill(1.0)  # one turn: the bill is linear in growth
    assert result.mean["tinker.total"] == pytest.approx(bill(1.0) + slope * (GROWTH.mean - 1.0), rel=1e-3)
    for p in (0.05, 0.1, 0.5, 0.9, 0.95):
        assert result.quantile("tinker.total", p) == pytest.approx(bill(GROWTH.quantile(p)), rel=2e-3)
        assert 0 < result.quantile_error("tinker.total", p) < 0.01 * result.quantile("tinker.total", p)
    limit = 1.0 + (80.0 - bill(1.0)) / slope
    assert result.probability("tinker.total > 80") == pytest.approx(1.0 - GROWTH.cdf(limit), abs=3e-4)
    assert result.std["tinker.total"] > 0 and result.samples == SAMPLES and result.complete


def test_the_difference_is_tracked_whatever_was_asked_for():
    result = sample(outputs=["tinker.total"], budget=None)
    assert list(result.mean) == ["tinker.total", "difference.total"]
    chance = result.probability("difference.total < 0")
    assert 0 <= chance <= 1 and "difference.total < 0" in result.events


def test_units_and_table(result):
    assert result.units["self_hosted.hours"] == "h" and "tinker.total [USD]" in result.table()
    document = result.to_dict()
    assert document["about"]["provenance"]["parameters"]["cluster.gpus"] == 8.0
    assert document["units"]["tinker.total"] == "USD" and document["chunks"] == [0, REPLICATES]


def test_files_hold_everything(result, tmp_path):
    path = result.to_npz(tmp_path / "whole.npz")
    again = CostDistribution.from_npz(path)
    assert {**again.to_dict(), "seconds": 0} == {**result.to_dict(), "seconds": 0}
    assert again.probability("tinker.total > 70.5") == result.probability("tinker.total > 70.5")
    with pytest.raises(OutputExistsError):
        result.to_npz(path)
    lines = result.to_csv(tmp_path / "table.csv").read_text().splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith("output,unit"))
    assert lines[0].startswith('# program = "tinker_nomics') and any(line.startswith("# seed = 0") for line in lines)
    name, unit, mean = lines[header + 1].split(",")[:3]
    assert (name, unit, float(mean)) == ("tinker.total", "USD", result.mean["tinker.total"])
    assert any(line.startswith('"tinker.total > 80",') for line in lines)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    for part in range(3):
        sample(samples=2**16, chunks=f"{part}/3", out=folder / f"part{part}.npz")
    return folder


def same(one: CostDistribution, two: CostDistribution) -> None:
    for name, part in one.parts.items():
        other = two.part(name)
        assert part.count == other.count and part.least == other.least and part.greatest == other.greatest
        assert one.mean[name] == pytest.approx(two.mean[name], rel=1e-12)
        for p in (0.01, 0.5, 0.99):
            assert part.quantile(p) == other.quantile(p) and part.quantile_error(p) == other.quantile_error(p)
    assert one.events == two.events


def test_parts_make_the_whole(parts):
    whole, merged = sample(samples=2**16), merge_parts([parts / f"part{k}.npz" for k in (2, 0, 1)])
    same(whole, merged)
    assert merged.samples == 2**16 and merged.about == whole.about


def test_parts_that_do_not_fit_are_named(parts, tmp_path):
    files = [parts / f"part{k}.npz" for k in range(3)]
    with pytest.raises(StateFileError, match=r"no file holds the chunks 2:5 of 0:8.*--chunks 2:5"):
        merge_parts([files[0], files[2]])
    with pytest.raises(StateFileError, match=r"part1.npz \(chunks 2:5\) and .*extra.npz \(chunks 4:8\) overlap"):
        sample(samples=2**16, chunks="4:8", out=tmp_path / "extra.npz")
        merge_parts([*files, tmp_path / "extra.npz"])
    with pytest.raises(StateFileError, match=r"foreign.npz: part of another run .*seed = 1 against 0"):
        sample(samples=2**16, chunks="2:5", seed=1, out=tmp_path / "foreign.npz")
        merge_parts([files[0], tmp_path / "foreign.npz", files[2]])
    with pytest.raises(StateFileError, match="there is no file"):
        merge_parts([files[0], tmp_path / "gone.npz"])
    with pytest.raises(StateFileError, match="no part is given"):
        merge_parts([])


def test_a_changed_run_is_not_resumed(parts, tmp_path):
    path = tmp_path / "part.npz"
    path.write_bytes((parts / "part1.npz").read_bytes())
    for change, words in (
        ({"seed": 5}, "seed = 0 against 5"),
        ({"budget": 90.0}, "budget = 80.0 against 90.0"),
        ({"uncertain": {**UNCERTAIN, "workload.length_growth": tn.Uniform(1, 2)}}, "uncertain.workload.length_growth"),
        ({"chunks": "0:5"}, "chunks 2:5 and this run for 0:5"),
    ):
        with pytest.raises(StateFileError, match=words):
            sample(**{"samples": 2**16, "chunks": "2:5", "out": path, "resume": True} | change)
    with pytest.raises(OutputExistsError):
        sample(samples=2**16, chunks="2:5", out=path)
    resumed = sample(samples=2**16, chunks="2:5", out=path, resume=True)  # finished already: nothing is computed
    same(resumed, CostDistribution.from_npz(parts / "part1.npz"))


def test_chunk_ranges():
    assert chunk_range(None, 64) == range(64) and chunk_range("3/64", 128) == range(6, 8)
    assert chunk_range("5:9", 64) == range(5, 9) and chunk_range(range(2), 64) == range(2)
    for bad in ("5", "a:b", "9:5", "0:65", "4/4", "-1/4", range(0, 8, 2)):
        with pytest.raises(TinkerNomicsError, match="chunks = "):
            chunk_range(bad, 64)


def test_a_measured_path_takes_the_place_of_growth(tmp_path):
    config = hand_config()
    lengths = np.linspace(512.0, 512.0 * 1.5, 180)
    exact = 512.0 * (1 + (1.5 - 1) * (np.arange(180) + 0.5) / 180)
    rent = {"cluster.price_per_gpu_hour": UNCERTAIN["cluster.price_per_gpu_hour"]}
    found = monte_carlo(config, rent, samples=2**10, lengths=exact)
    assert found.mean["tinker.total"] == pytest.approx(tn.estimate(config)["tinker.total"], rel=1e-12)
    path = tmp_path / "lengths.csv"
    path.write_text("step,tokens\n" + "".join(f"{s + 1},{value!r}\n" for s, value in enumerate(exact.tolist())))
    np.testing.assert_array_equal(read_lengths(path), exact)
    assert monte_carlo(config, rent, samples=2**10, lengths=path).mean == found.mean
    with pytest.raises(tn.ConfigError, match=r"length_growth.*takes its place|length_growth.*fixes it"):
        monte_carlo(config, UNCERTAIN, samples=2**10, lengths=lengths)
    with pytest.raises(tn.ConfigError, match="length_growth"):
        monte_carlo(tn.replace(config, {"workload.length_growth": 2.0}), rent, samples=2**10, lengths=lengths)
    with pytest.raises(tn.ConfigError, match="the path of lengths has 3 steps"):
        monte_carlo(config, rent, samples=2**10, lengths=[1.0, 2.0, 3.0])
    for text, words in (("1\n2\nx\n", "line 3"), ("", "one mean length"), ("1\n-2\n", "step 2 is -2")):
        path.write_text(text)
        with pytest.raises(TinkerNomicsError, match=words):
            read_lengths(path)
    with pytest.raises(TinkerNomicsError, match="no file"):
        read_lengths(tmp_path / "nothing.csv")


def test_a_fan_ends_at_the_whole_bill():
    growth = {"workload.length_growth": GROWTH}
    fan = cost_fan(hand_config(), growth)
    assert fan.steps[0] == 1 and fan.steps[-1] == 180 and fan.samples == 2**14
    for p, values in fan.quantiles.items():
        assert values[-1] == pytest.approx(bill(GROWTH.quantile(p)), rel=1e-3) and (np.diff(values) > 0).all()
    # up to step s lengths grew by (growth - 1) s / 180
    half = int(np.searchsorted(fan.steps, 90))
    step = fan.steps[half]
    cut = tn.replace(hand_config(), {"workload.steps": step, "workload.length_growth": 1 + 0.5 * step / 180})
    assert fan.quantiles[0.5][half] == pytest.approx(tn.estimate(cut)["tinker.total"], rel=1e-3)
    flat = cost_fan(hand_config(), {"cluster.mfu": tn.Uniform(0.1, 0.2)}, lengths=np.full(180, 512.0))
    np.testing.assert_allclose(flat.quantiles[0.5] / flat.steps, bill(1.0) / 180, rtol=1e-12)
    with pytest.raises(TinkerNomicsError, match="does not add up"):
        cost_fan(hand_config(), growth, "memory.min_gpus")


def test_bad_requests_are_named():
    for change, words in (
        ({"uncertain": {"workload.growth": GROWTH}}, "no parameter; the nearest"),
        ({"uncertain": {"cluster.mfu": tn.Normal(0.1, 0.2)}}, r"mfu.*gives values from -.*Truncated"),
        ({"uncertain": {}}, "no uncertain input"),
        ({"samples": 0}, "samples = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"outputs": ["tinker.totale"]}, "nearest is tinker.total"),
        ({"events": ["tinker.total >"]}, "no comparison"),
        ({"events": ["nothing > 1"]}, "no output 'nothing'"),
        ({"budget": math.nan}, "budget = nan"),
    ):
        with pytest.raises(TinkerNomicsError, match=words):
            sample(**change)


def test_integers_are_sampled_as_integers():
    result = sample(uncertain={"workload.rollouts_per_prompt": tn.Uniform(14, 18)}, samples=2**12)
    inputs, _ = result.rows
    assert set(inputs["workload.rollouts_per_prompt"]) == {14.0, 15.0, 16.0, 17.0, 18.0}


def test_a_part_says_that_it_is_one(parts, result, tmp_path):
    part = CostDistribution.from_npz(parts / "part1.npz")
    words = "part: chunks 2:5 of 0:8"
    assert (
        part.which_part == part.to_dict()["part"] == words
        and words in part.table()
        and words in part.title("tinker.total")
    )
    assert f"# {words}\n" in part.to_csv(tmp_path / "part.csv").read_text()
    begun = CostDistribution.from_npz(parts / "part0.npz")  # two chunks, of one replicate of four
    assert f"{begun.samples:,} samples in {begun.begun} replicate" in begun.table() and begun.begun < REPLICATES
    assert "nan" not in begun.table()
    assert result.which_part is None and "part" not in result.table() and result.begun == REPLICATES
    early = replace(part, complete=False)
    assert early.which_part == "part: stopped early after 3 chunks; the whole run has 8"


def test_a_budget_asked_afterwards_is_answered_by_the_histogram(result):
    asked = result.with_budget(90)
    assert asked.budget == 90.0 and result.budget == 80.0 and asked.about == result.about
    exact = sample(budget=90.0)
    for side in ("tinker.total", "self_hosted.total"):
        name = f"{side} > 90"
        assert asked.events[name][0] == pytest.approx(exact.events[name][0], abs=2e-3) and name not in result.events
    assert result.with_budget(80.0).events == result.events  # counted by the run: exact
    with pytest.raises(TinkerNomicsError, match="a number of USD"):
        result.with_budget(math.nan)


def test_more_replicates_than_memory_are_refused_before_anything_is_allocated():
    with pytest.raises(TinkerNomicsError, match=r"replicates = 1,000,000: .* takes [\d,.]+ GB, and this machine has"):
        sample(replicates=1_000_000)
