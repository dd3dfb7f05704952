"""The screen of an estimate: what it prints adds up, says what was used, and warns of what a newcomer would miss."""

from __future__ import annotations

import re

import pytest

import tinker_nomics as tn
from tinker_nomics.cli.main import main
from tinker_nomics.notes import ends_at_cap, trajectory_notes
from tinker_nomics.quantities import show

DENSE = "Qwen/Qwen3-8B"


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("TINKER_NOMICS_CACHE", "off")


def _config(**more) -> tn.Config:
    return tn.Config.from_recipe("math_rl", **{"model": DENSE, "prices": "2026-01-05", **more})


def _hours(screen: str) -> list[float]:
    """The column of hours, the total last."""
    rows = screen.split("\n\n")[1].splitlines()
    return [float(match[1]) for row in rows if (match := re.search(r"(-?[\d.]+) h\b", row))]


@pytest.mark.parametrize("edition", ["published", "revised", "revised,-pool_split"])
@pytest.mark.parametrize("kind", ["sync", "partial", "stream_minibatch", "async"])
def test_the_hours_add_up_as_printed(edition, kind):
    overrides = {"workload.completion_tokens": 300}
    overrides |= {"schedule.max_steps_off_policy": 2} if kind == "async" else {}
    overrides |= {"schedule.minibatches": 4} if kind == "stream_minibatch" else {}
    screen = str(tn.estimate(_config(assumptions=edition, schedule=kind, overrides=overrides)))
    *parts, total = _hours(screen)
    assert sum(parts) == pytest.approx(total, abs=1e-9)
    overlaps = kind in ("async", "stream_minibatch")
    assert ("at the same time" in screen) == overlaps and ("one after the other" in screen) == overlaps
    assert max(map(len, screen.splitlines())) <= 100


def test_the_split_and_what_is_thrown_away_are_said():
    priced = tn.estimate(_config(overrides={"schedule.max_steps_off_policy": 2}))
    screen = " ".join(str(priced).split())
    share = priced.self_hosted.share
    assert f"{8 * share:.3g} of the 8 GPUs sample while {8 * (1 - share):.3g} train" in screen
    assert f"{priced.self_hosted.overlap_speedup:.2f} times as fast" in screen
    assert "10% of rollouts thrown away as too stale" in screen


def test_tokens_thrown_away_are_among_those_that_are_billed():
    known = {"schedule.max_steps_off_policy": 4, "schedule.rho": 5, "schedule.variation": 0.5}
    config = _config(overrides={**known, "workload.completion_tokens": 300})
    priced = tn.estimate(config)
    screen, share = str(priced), priced.staleness.discarded
    kept = priced.tokens
    for stream, cost, price in (("rollout", priced.tinker.rollout, config.prices.sample),
                                ("prefill", priced.tinker.prefill, config.prices.prefill)):  # fmt: skip
        tokens, usd = re.search(rf"^{stream} +([\d,]+) +\$([\d.]+)", screen, re.MULTILINE).groups()
        assert float(usd) == pytest.approx(float(tokens.replace(",", "")) * price / 1e6, abs=0.01), cost
    assert f"{kept.rollout / (1 - share):,.0f}" in screen
    assert f"{share:.0%} of all groups are thrown away as too stale" in " ".join(screen.split())
    thrown = share * (priced.tinker.rollout + priced.tinker.prefill)
    assert f"${thrown:,.2f} of the total" in " ".join(screen.split())


def test_what_the_engine_and_the_trainer_are_taken_to_be_is_said():
    words = "engine memory fraction 0.6 (48 GB of 80 GB), tensor parallel 1, "
    screen = " ".join(str(tn.estimate(_config())).split())
    assert words in screen and "s fixed a step" in screen
    asked = {"cluster.engine.memory_fraction": 0.5, "cluster.engine.tensor_parallel": 2}
    assert "engine memory fraction 0.5 (40 GB of 80 GB), tensor parallel 2, " in " ".join(
        str(tn.estimate(_config(overrides=asked))).split()
    )
    older = str(tn.estimate(_config(assumptions="published")))
    assert not any(word in older for word in ("memory fraction", "tensor parallel", "s fixed"))


def test_the_weights_are_told_of_engine_and_trainer():
    mixture = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-30B-A3B", prices="2026-01-05")
    priced = tn.estimate(mixture)
    engine = show(mixture.model.weight_bytes, "B")
    trainer = show(priced.memory.weights_bytes - mixture.model.weight_bytes, "B")
    screen = " ".join(str(priced).split())
    assert f"all copies: {engine} in an engine on {priced.memory.engine_gpus:g} GPU" in screen
    assert f"{trainer} in the trainer, beside" in screen
    assert "all copies)" in str(tn.estimate(_config(assumptions="published")))


def test_many_rollouts_apiece_are_written_in_full():
    one = _config(gpus=1, overrides={"workload.completion_tokens": 300})
    assert "get 1,024 of them apiece" in " ".join(str(tn.estimate(one)).split())


def test_the_cache_is_told_by_replica():
    roomy = " ".join(str(tn.estimate(_config())).split())
    assert "for all 1,024 rollouts of a step; 8 replicas of the engine, 1 GPU each, get 128 of them apiece" in roomy
    tight = " ".join(str(tn.estimate(_config(overrides={"cluster.engine.sequences": 50}))).split())
    assert "run up to 50 at a time, so that they take turns" in tight


def test_the_spread_of_lengths_is_named_only_where_it_is_used():
    capped, below = _config(), _config(overrides={"workload.completion_tokens": 300})
    assert ends_at_cap(capped) and not ends_at_cap(below)
    assert "all rollouts equally long" in " ".join(str(tn.estimate(capped)).split())
    assert "p99/p50 of lengths 10" in " ".join(str(tn.estimate(below)).split())
    growing = _config(overrides={"workload.completion_tokens": 450})
    assert ends_at_cap(growing)
    assert any("450, growing x1.5, is 562 in the mean of the run" in note for note in tn.estimate(growing).notes)
    partial = str(tn.estimate(_config(schedule="partial", overrides={"workload.completion_tokens": 300})))
    assert "p99/p50" not in partial


HARBOR = ["harbor_rl", "--prices", "2026-10-07", "--gpus", "80", "--sandbox", "none"]
MORE = ["--workload.prompt-tokens", "1000", "--workload.steps", "100"]


def test_a_trajectory_beyond_the_recipes_cap_is_told_with_figures(capsys):
    assert main(["config", *HARBOR, *MORE]) == 0
    said = capsys.readouterr().err
    # 1000 + 10 turns of 8192 x 1.25 and 9 observations of 750
    assert "ends a trajectory at 32,768 tokens, and the mean one here has 110,150" in said and "3.36 times" in said
    short = tn.Config.from_recipe(
        "harbor_rl",
        prices="2026-10-07",
        gpus=80,
        sandbox="none",
        overrides={"workload.prompt_tokens": 1000, "workload.steps": 100, "workload.completion_tokens": 350},
    )
    assert trajectory_notes(short) == []


def test_all_that_a_recipe_lacks_and_what_does_not_fit_is_one_error(capsys):
    assert main(["estimate", "harbor_rl", "--prices", "2026-10-07"]) == 2
    said = capsys.readouterr().err
    assert "4 problems" in said
    for words in (
        "workload.prompt_tokens",
        "workload.steps",
        "sandbox.seconds",
        "cluster.gpus = 8.0",
        "Take --gpus 64",
    ):
        assert words in said
    assert main(["config", *HARBOR[:-4], *MORE, "--gpus", "64", "--sandbox", "none"]) == 0


@pytest.mark.parametrize(
    ("schedule", "gpus", "words"),
    [
        (
            {"schedule.max_steps_off_policy": 2},
            2,
            "Take --gpus 3 or more .the engine takes 1, the trainer 2, side by side",
        ),
        ({}, 1, "Take --gpus 2 or more .the engine takes 1, the trainer 2"),
        ({"schedule.max_steps_off_policy": 2, "schedule.rollout_share": 0.5}, 2, "Take --gpus 4 or more"),
    ],
)
def test_a_trainer_that_does_not_fit_says_how_many_gpus_to_ask_for(schedule, gpus, words):
    with pytest.raises(tn.ConfigError, match=words) as caught:
        _config(training="full", gpus=gpus, overrides=schedule)
    asked = float(re.search(r"--gpus (\d+)", str(caught.value))[1])
    assert _config(training="full", gpus=asked, overrides=schedule).cluster.gpus == asked


def test_a_whole_number_that_switches_a_branch_changes_what_its_step_changes():
    config = _config(overrides={"schedule.max_steps_off_policy": 1})
    report = tn.sensitivity(config)
    switch = next(row for row in report.branches if row.branch == "abort_threshold")
    assert switch.path == "schedule.max_steps_off_policy" and switch.step == (1.0, 2.0)
    one_more = report.parameters["schedule.max_steps_off_policy"].one_more
    assert switch.jump["self_hosted.total"] == pytest.approx(one_more["self_hosted.total"], rel=1e-12)
    assert "the step from 1 to 2 changes: self_hosted.total" in " ".join(report.table().split())
    rest = [row for row in report.branches if row.step is None]
    assert rest and all(row.path is None or "." in row.path for row in rest)


def test_a_retired_model_names_a_price_file_as_a_way_out(capsys):
    assert main(["estimate", "math_rl", "--model", "Qwen3-30B-A3B", "--prices", "2026-10-07"]) == 2
    said = capsys.readouterr().err
    assert "no longer serves" in said and "--prices FILE" in said
