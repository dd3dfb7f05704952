"""The command line as a user meets it: what it prints, how it refuses, what it starts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tinker_nomics.cli.main import COMMANDS, main

WORKED = [
    "math_rl",
    "--model",
    "Qwen3-8B",
    "--chip",
    "h100-sxm",
    "--gpus",
    "8",
    "--prices",
    "2026-01-05",
    "--assumptions",
    "published",
]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("TINKER_NOMICS_CACHE", "off")


def test_estimate_prints_one_screen(capsys):
    assert main(["estimate", *WORKED]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100 and len(text.splitlines()) < 40
    for words in (
        "117,964,800",
        "$99.16",
        "Own GPUs are cheaper",
        "2026-01-05",
        "published",
        "at least 2 GPUs",
        "174.6 MB",
    ):
        assert words in text


def test_the_revised_edition_fits_on_the_screen_too(capsys):
    run = [*WORKED[:-1], "revised", "--schedule.max-steps-off-policy", "2"]
    assert main(["estimate", *run]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100 and len(text.splitlines()) < 45
    for words in (
        "edition revised, prices of 2026-01-05; P10-P90",
        "rest of steps",
        "Stale groups are not in",
        "184.6 MB",
    ):
        assert words in text
    assert main(["estimate", *run, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (
        document["range"]["tinker.total"]["p10"]
        < document["tinker"]["total"]
        < document["range"]["tinker.total"]["p90"]
    )
    assert document["units"]["self_hosted.tail_hours"] == "h" and document["choices"]["assumptions"] == "revised"


def test_json_has_units(capsys):
    assert main(["estimate", *WORKED, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["tinker"]["total"] == pytest.approx(99.16416, rel=1e-12)
    assert document["units"]["self_hosted.hours"] == "h"


def test_any_parameter_is_a_flag_and_a_setting(capsys):
    assert main(["estimate", *WORKED, "--workload.rollouts-per-prompt", "32", "--json"]) == 0
    by_flag = json.loads(capsys.readouterr().out)
    assert main(["estimate", *WORKED, "--set", "workload.rollouts_per_prompt=32", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tinker"] == by_flag["tinker"]
    assert by_flag["tinker"]["total"] == pytest.approx(2 * 99.16416, rel=1e-12)


def test_config_is_read_back(capsys, tmp_path):
    run = tmp_path / "run.toml"
    assert main(["config", *WORKED, "--lora.rank", "64", "--out", str(run)]) == 0
    assert main(["config", *WORKED, "--out", str(run)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["estimate", "--config", str(run), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["lora"]["parameters"] == 64 * 2727936 and "overridden: lora.rank" in document["notes"]
    assert main(["estimate", "--config", str(run), "--lora.rank", "32", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lora"]["parameters"] == 32 * 2727936


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["estimate", "math_rl", "--workload.rollout-per-prompt", "3"], "--workload.rollouts-per-prompt"),
        (["estimat", "math_rl"], "estimate"),
        (["--versio"], "no flag"),
        (["estimate"], "name a recipe"),
        (["estimate", "math_rl", "--set", "workload.steps"], "PATH=VALUE"),
        (["estimate", "math_rl", "--set", "workload.stepz=3"], "workload.steps"),
        (["estimate", "math_rl", "--workload.steps", "-3", "--cluster.mfu", "2"], "2 problems"),
        (["estimate", "math_rl", "--prices", "2026-13-01"], "2026-13-01"),
        (["estimate", "math_rl", "--assumptions", "hopeful"], "published"),
        (["estimate", "--config", "nowhere.toml"], "no file"),
    ],
)
def test_bad_input_is_one_clear_error(capsys, arguments, words):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err and "Traceback" not in captured.err and captured.out == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_a_wrong_flag_start_no_jax(command):
    code = (
        "import sys; from tinker_nomics.cli.main import main; "
        f"status = main([{command!r}, sys.argv[1]]); "
        "print(status, [name for name in ('jax', 'matplotlib', 'numpy') if name in sys.modules], file=sys.stderr)"
    )
    for flag, status in (("--help", "0"), ("--no-such-flag", "2")):
        ran = subprocess.run([sys.executable, "-c", code, flag], capture_output=True, text=True, check=False)
        assert ran.stderr.strip().splitlines()[-1] == f"{status} []", ran.stderr


def test_top_help_and_version_name_every_command(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(command in text for command in COMMANDS)
    assert main(["--version"]) == 0


def test_a_reader_that_stops_reading_is_no_error():
    code = "import sys; from tinker_nomics.cli.main import main; sys.exit(main(['catalog', 'chips']))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.wait() == 0 and process.stderr.read() == b""


def test_monte_carlo_says_edition_and_price_date(capsys):
    assert main(["monte-carlo", *WORKED, "--samples", "1e3", "--assumptions", "published", "--quiet"]) == 0
    run, standing = capsys.readouterr().out.splitlines()[:2]
    assert run.startswith("math_rl on ") and standing.startswith("edition published, prices of 2026-01-05;")
