"""Explanations: the lines are Shapley values, sum exactly, and stand on every machine-readable and printed form."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import tinker_nomics as tn
from tinker_nomics.assumptions import SWITCHES, Assumptions
from tinker_nomics.cli.main import main
from tinker_nomics.config import copy_with
from tinker_nomics.explanations.deviations import BY_SWITCH, DEVIATIONS
from tinker_nomics.explanations.explaining import SIDES, shapley
from tinker_nomics.explanations.explanation_text import cents

OVERRIDES = {
    "workload.completion_tokens": 300,
    "schedule.max_steps_off_policy": 2,
    "schedule.rho": 0.8,
    "schedule.variation": 0.5,
    "workload.turns": 3,
    "workload.observation_tokens": 100,
}


@pytest.fixture(scope="module")
def explanation():
    return tn.explain(tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-10-07", overrides=OVERRIDES))


def test_there_are_sixteen_deviations_and_a_switch_for_each():
    assert [deviation.number for deviation in DEVIATIONS] == list(range(1, 17))
    assert set(BY_SWITCH) == set(SWITCHES)
    assert all(deviation.evidence.endswith(".") and deviation.source for deviation in DEVIATIONS)


def test_shapley_values_are_means_over_all_orders():
    rng = np.random.default_rng(0)
    totals = rng.normal(size=(2**5, 2))
    shares = shapley(totals)
    for player in range(5):
        gains = []
        for order in itertools.permutations(range(5)):
            before = sum(1 << other for other in order[: order.index(player)])
            gains.append(totals[before | 1 << player] - totals[before])
        np.testing.assert_allclose(shares[player], np.mean(gains, axis=0), rtol=1e-12)


def test_the_lines_sum_exactly(explanation):
    for side, amounts in zip(
        SIDES, ([line.tinker for line in explanation.lines], [line.own for line in explanation.lines])
    ):
        assert explanation.start[side] + math.fsum(amounts) == pytest.approx(explanation.end[side], rel=1e-15, abs=0)


def test_ends_are_the_editions(explanation):
    config = explanation.config
    ends = {
        "start": Assumptions(dated_prices=False),
        "published": Assumptions(),
        "end": Assumptions.parse("revised"),
    }
    for name, assumptions in ends.items():
        estimate = tn.estimate(copy_with(config, {"assumptions": assumptions}))
        for side in SIDES:
            assert getattr(explanation, name)[side] == pytest.approx(estimate[side], rel=1e-10)


def test_tinkers_bill_hangs_on_five_deviations_only(explanation):
    moved = {line.deviation.number for line in explanation.lines if abs(line.tinker) > 1e-9}
    assert moved == {1, 2, 3, 4, 16}
    assert all(
        line.own == pytest.approx(0, abs=1e-9) for line in explanation.lines if line.deviation.number in (1, 4, 5)
    )


def test_cents_add_up_as_printed():
    rng = np.random.default_rng(3)
    for _ in range(200):
        start, lines = rng.uniform(0, 500), rng.normal(0, 20, 16)
        end = start + math.fsum(lines)
        shown = cents(lines, start, end)
        assert round(start * 100) + sum(shown) == round(end * 100)
        assert np.abs(np.array(shown) - lines * 100).max() < 1.5


def test_the_printed_waterfall_adds_up(explanation):
    rows = [line for line in explanation.table().split("\n\n")[0].splitlines() if "$" in line]
    amounts = [[part.replace("$", "").replace(",", "") for part in row.split()[-2:]] for row in rows]
    for column in (0, 1):
        numbers = [0.0 if parts[column] == "-" else float(parts[column]) for parts in amounts]
        assert round(math.fsum(numbers[:-1]) - numbers[-1], 6) == 0


def test_a_deviation_without_its_figure_is_left_out_by_name():
    config = tn.Config.from_recipe(
        "math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", overrides={"workload.turns": 3}, assumptions="published"
    )
    explained = tn.explain(config)
    assert set(explained.left_out) == {"cached_prefill"} and "2026-01-05" in explained.left_out["cached_prefill"]
    assert len(explained.lines) == 15 and "without cached_prefill" in explained.table()


def test_the_command_prints_and_draws_it(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TINKER_NOMICS_CACHE", "off")
    picture = tmp_path / "waterfall.png"
    run = ["estimate", "math_rl", "--model", "Qwen3-8B", "--prices", "2026-01-05"]
    assert main([*run, "--explain", "--plot", str(picture)]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 102 and "MFU of training" in text and "[arithmetic]" in text
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert main([*run, "--explain", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["lines"]) == 16 and document["lines"][0]["switch"] == "dated_prices"
    assert main([*run, "--plot", str(picture)]) == 2
    assert "--explain" in capsys.readouterr().err


def test_the_page_on_the_revised_edition_holds_what_is_computed():
    """The table of docs/revised.md: both ends, every line, and the ranges."""
    page = (Path(__file__).parents[1] / "docs" / "revised.md").read_text(encoding="utf-8")
    run = tn.Config.from_recipe(
        "math_rl", model="Qwen/Qwen3-8B", prices="2026-10-07", overrides={"workload.completion_tokens": 300}
    )
    explained = tn.explain(run)
    amounts = [
        cents([line.tinker if side == SIDES[0] else line.own for line in explained.lines],
              explained.start[side], explained.end[side])
        for side in SIDES
    ]  # fmt: skip
    cells = {row.split("|")[1].strip() or row.split("|")[2].strip(): row.split("|")[-3:-1] for row in page.splitlines()
             if row.startswith("| ") and row.count("|") == 8}  # fmt: skip
    for number, line in enumerate(explained.lines):
        printed = cells[str(line.deviation.number)]
        for text, column in zip(printed, amounts, strict=True):
            value = column[number]
            written = f"{'+' if value > 0 else '-'}${abs(value) / 100:,.2f}"
            assert text.strip() == written if value else text.strip() in ("", "0"), line.deviation.switch
    for name, totals in (("start", explained.start), ("end", explained.end)):
        assert [text.strip() for text in cells[name]] == [f"${totals[side]:,.2f}" for side in SIDES]
        ranged, flat = explained.ranges[name], " ".join(page.split())
        for side in SIDES:
            assert f"${ranged.low[side]:,.2f} to ${ranged.high[side]:,.2f}" in flat
