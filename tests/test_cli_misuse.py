"""The command line used wrongly, or in two ways at once: one clear error, and never a silent choice."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tinker_nomics.cli.main import main

MATH = ["math_rl", "--model", "Qwen3-8B", "--prices", "2026-01-05", "--assumptions", "published"]
OWN = ["--assumptions", "published", "--model", "Qwen3-8B", "--prices", "2026-01-05", "--workload.prompts-per-step", "64",
       "--workload.rollouts-per-prompt", "16", "--workload.completion-tokens", "512", "--workload.prompt-tokens", "200",
       "--workload.steps", "180"]  # fmt: skip


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("TINKER_NOMICS_CACHE", "off")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gpus", "4", "--gpus", "8"], "--gpus is given twice, '4' and '8'"),
        (["--gpus", "4", "--cluster.gpus", "8"], "cluster.gpus is given twice, by --cluster.gpus 8 and by --gpus 4"),
        (["--gpus", "4", "--set", "cluster.gpus=8"], "by --set cluster.gpus=8 and by --gpus 4"),
        (["--set", "workload.steps=1", "--set", "workload.steps=2"], "workload.steps is given twice"),
        (["--set", "workload.rollouts-per-prompt=1", "--workload.rollouts-per-prompt", "2"], "is given twice"),
        (["--schedule", "sync", "--set", "schedule.kind=async"], "schedule.kind is given twice"),
        (["--model", "Qwen3-32B"], "--model is given twice"),
        (["--chip", ""], "--chip: nothing stands after it"),
        (["--config", " "], "--config: nothing stands after it"),
    ],
)
def test_two_answers_to_one_question_and_none_are_refused(capsys, arguments, words):
    assert main(["estimate", *MATH, *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and captured.out == ""


def test_the_same_answer_twice_is_no_fault(capsys):
    same = ["--gpus", "8", "--gpus", "8", "--set", "cluster.gpus=8", "--cluster.gpus", "8", "--schedule", "sync", "--set",
            "schedule.kind=sync"]  # fmt: skip
    assert main(["estimate", *MATH, *same, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tinker"]["total"] == pytest.approx(99.16416, rel=1e-12)


def test_a_run_of_ones_own_needs_no_recipe(capsys):
    assert main(["estimate", *OWN, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tinker"]["total"] == pytest.approx(99.16416, rel=1e-12)
    assert main(["estimate", *OWN[:-2]]) == 2
    assert "workload.steps = None: it is missing" in capsys.readouterr().err


def test_another_chip_than_the_files_is_priced_as_itself(capsys, tmp_path):
    run = str(tmp_path / "run.toml")
    assert main(["config", *MATH, "--out", run]) == 0
    capsys.readouterr()
    for arguments in (["--config", run], MATH):
        assert main(["estimate", *arguments, "--chip", "b200", "--json"]) == 0
    told = capsys.readouterr().out.split("\n}\n")
    first, second = (json.loads(part + "\n}") for part in told[:2])
    assert first == second
