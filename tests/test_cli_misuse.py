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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--uncertain", "cluster.mfu=uniform(0,2)"], "gives values from"),
        (["--uncertain", "cluster.mfu=normal(0.1,0.3)"], "gives values from"),
        (["--uncertain", "cluster.mfu=uniform(0.1,0.3)", "--uncertain", "cluster.mfu=uniform(0.1,0.2)"], "given twice"),
        (["--uncertain", "cluster.mfu=normal(0.1,0.3,0.05)"], "normal takes"),
        (["--samples", "1e30"], "at most 9,007,199,254,740,991"),
        (["--samples", "1M"], "1000000 or 1e6, not 1M"),
    ],
)
def test_uncertain_inputs_out_of_bounds_or_given_twice(capsys, arguments, words):
    assert main(["sobol", *MATH, *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_normal_input_takes_ends(capsys):
    arguments = [
        "--uncertain",
        "cluster.mfu=normal(0.1,0.3,0.05,0.5)",
        "--samples",
        "1024",
        "--output",
        "self_hosted.total",
    ]
    assert main(["sobol", *MATH, *arguments]) == 0
    assert "cluster.mfu  " in capsys.readouterr().out


def test_the_output_asked_for_is_what_the_table_shows(capsys):
    assert main(["sensitivity", *MATH, "--output", "difference.total"]) == 0
    text = capsys.readouterr().out
    assert "difference.total  elasticity" in text and "at low" in text


@pytest.mark.parametrize("command", ["sensitivity", "sobol"])
def test_pictures_are_written_though_nobody_reads_the_text(tmp_path, command):
    plots = [
        "--plot",
        str(tmp_path / "a.svg"),
        *(["--spider", str(tmp_path / "b.svg")] if command == "sensitivity" else []),
    ]
    more = ["--samples", "1024"] if command == "sobol" else []
    code = "import sys; from tinker_nomics.cli.main import main; sys.exit(main(sys.argv[1:]))"
    ran = [sys.executable, "-c", code, command, *MATH, *plots, *more]
    with subprocess.Popen(ran, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.wait() == 0 and process.stderr.read() == b""
    assert len(list(tmp_path.iterdir())) == len(plots) // 2


@pytest.mark.parametrize("arguments", [["--help"], ["catalog", "chips"], ["config", *MATH]])
def test_a_reader_that_stops_at_once_is_no_error(arguments):
    code = "import sys; from tinker_nomics.cli.main import main; sys.exit(main(sys.argv[1:]))"
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.wait() == 0 and process.stderr.read() == b""


def test_a_cost_that_is_no_number_is_no_estimate(capsys):
    assert main(["estimate", *MATH, "--cluster.price-per-gpu-hour", "1e308", "--json"]) == 2
    captured = capsys.readouterr()
    assert "too large to be a number" in captured.err and captured.out == ""


def test_two_pictures_of_one_name_are_refused(capsys, tmp_path):
    name = str(tmp_path / "a.png")
    assert main(["sensitivity", *MATH, "--plot", name, "--spider", name, "--force"]) == 2
    assert "twice" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
