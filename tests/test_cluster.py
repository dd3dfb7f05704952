"""Membership from flags and environments; two processes of the command joined by what Slurm sets; the whole command."""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tinker_nomics.cli.json_text import json_text
from tinker_nomics.cli.main import main
from tinker_nomics.cost_distribution.processes import Membership, first_node, membership
from tinker_nomics.errors import TinkerNomicsError

ROOT = Path(__file__).parents[1]
COMMAND = [
    "monte-carlo",
    "math_rl",
    "--model",
    "Qwen/Qwen3-8B",
    "--samples",
    "1e5",
    "--budget",
    "200",
    "--uncertain",
    "workload.length_growth=lognormal(1.1,1.5,3.0)",
    "--quiet",
    "--assumptions",
    "published",
]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("TINKER_NOMICS_CACHE", "off")


def test_alone_without_flags_or_variables():
    assert membership(environment={}) is None
    one = {"SLURM_PROCID": "0", "SLURM_JOB_ID": "7"}
    assert membership(environment={**one, "SLURM_NTASKS": "1", "SLURM_STEP_NODELIST": "a"}) is None
    # a batch script is one process of a job of many tasks; srun makes steps of them
    assert membership(environment={**one, "SLURM_NTASKS": "64", "SLURM_JOB_NODELIST": "a[1-64]"}) is None
    assert membership(environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) is None


def test_flags_and_variables():
    assert membership("a:1", 2, 4, {}) == Membership("a:1", 2, 4)
    jax = {"JAX_COORDINATOR_ADDRESS": "b:2", "JAX_PROCESS_ID": "1", "JAX_NUM_PROCESSES": "3"}
    assert membership(environment=jax) == Membership("b:2", 1, 3)
    assert membership("c:3", environment=jax) == Membership("c:3", 1, 3)
    job = {"JAX_COORDINATOR_ADDRESS": "run-0.run:61000", "JOB_COMPLETION_INDEX": "5", "JAX_NUM_PROCESSES": "8"}
    assert membership(environment=job) == Membership("run-0.run:61000", 5, 8)
    slurm = {"SLURM_NTASKS": "64", "SLURM_PROCID": "7", "SLURM_JOB_ID": "8200"}
    slurm["SLURM_STEP_NODELIST"] = "gpu[003-010,12]"
    assert membership(environment=slurm) == Membership("gpu003:61008", 7, 64)
    assert membership(environment={**slurm, "SLURM_STEP_NUM_TASKS": "8"}) == Membership("gpu003:61008", 7, 8)


def test_node_lists():
    firsts = {"a1": "a1", "a1,b2": "a1", "n[01-04]": "n01", "n[7,9].x,m": "n7.x", "127.0.0.1": "127.0.0.1"}
    for nodes, first in firsts.items():
        assert first_node(nodes) == first


def test_incomplete_membership_is_named():
    for given, words in (
        (("a:1", None, None), "missing here: --process-id, --processes"),
        ((None, None, 2), "missing here: --coordinator, --process-id"),
        (("a", 0, 2), "write HOST:PORT"),
        (("a:1", 2, 2), "numbers run from 0"),
    ):
        with pytest.raises(TinkerNomicsError, match=words):
            membership(*given, environment={})
    with pytest.raises(TinkerNomicsError, match="JAX_PROCESS_ID = 'x'"):
        membership("a:1", None, 2, {"JAX_PROCESS_ID": "x"})


JOIN = "import sys; from tinker_nomics.cost_distribution.processes import Membership, join; "
JOIN += "join(Membership(sys.argv[1], int(sys.argv[2]), 2), True, float(sys.argv[3]))"


def test_who_waits_in_vain_says_so():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        running = {
            words: subprocess.Popen(
                [sys.executable, "-c", JOIN, address, rank, patience],
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
            )
            for address, rank, patience, words in (
                (f"127.0.0.1:{port}", "1", "1", "within 1 s (Connection refused); start 2 together"),
                (f"127.0.0.1:{port}", "0", "60", "cannot listen at"),
            )
        }
        for words, process in running.items():
            _, text = process.communicate(timeout=60)
            assert process.returncode and words in text and f"127.0.0.1:{port}" in text, text


def test_two_processes_by_slurms_variables_print_what_one_prints(tmp_path, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*COMMAND, "--json", "--out", str(tmp_path / "whole.npz"), "--coordinator", f"127.0.0.1:{port}"]
    slurm = {"SLURM_NTASKS": "2", "SLURM_JOB_ID": "1", "SLURM_STEP_NODELIST": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    slurm["JAX_PLATFORMS"] = "cpu"
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tinker_nomics", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**os.environ, **slurm, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)},
        )
        for rank in range(2)
    ]  # fmt: skip
    ended = [process.communicate(timeout=180) for process in running]
    assert [process.returncode for process in running] == [0, 0], ended
    assert ended[1][0] == ""  # only the first process prints
    shared = json.loads(ended[0][0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["whole.npz"]
    assert main([*COMMAND, "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    for name, figures in alone["outputs"].items():
        assert shared["outputs"][name]["quantiles"] == figures["quantiles"]
        assert shared["outputs"][name]["mean"] == pytest.approx(figures["mean"], rel=1e-12)
    assert shared["events"] == alone["events"] and shared["samples"] == alone["samples"]
    assert main(["merge", str(tmp_path / "whole.npz"), "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["outputs"] == shared["outputs"] and read["about"]["hash"] == alone["about"]["hash"]


def test_parts_pictures_and_table_by_command(tmp_path, capsys):
    for part in range(2):
        assert main([*COMMAND, "--chunks", f"{part}/2", "--out", str(tmp_path / f"part{part}.npz")]) == 0
    files = {"--plot": "a.png", "--histogram": "b.svg", "--csv": "c.csv"}
    pictures = [word for flag, name in files.items() for word in (flag, str(tmp_path / name))]
    parts = [str(tmp_path / f"part{part}.npz") for part in (1, 0)]
    assert main(["merge", *parts, "--out", str(tmp_path / "whole.npz"), *pictures]) == 0
    out = capsys.readouterr().out
    assert "tinker.total [USD]" in out and "P(tinker.total > 200) = 0.10" in out and "wrote" in out
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("a.png", "b.svg", "c.csv", "whole.npz"))
    assert main(["merge", parts[0]]) == 2
    assert "no file holds the chunks 0:" in capsys.readouterr().err
    assert main([*COMMAND, "--fan", str(tmp_path / "fan.png"), "--out", parts[0]]) == 2
    assert "exists and is left as it is" in capsys.readouterr().err
    assert main([*COMMAND, "--fan", str(tmp_path / "fan.png")]) == 0 and (tmp_path / "fan.png").exists()


@pytest.mark.parametrize(
    "flags,words",
    [
        (["--samples", "0"], "samples = 0"),
        (["--chunks", "9:1"], "chunks = '9:1'"),
        (["--out", "x.txt"], "ends in .npz"),
        (["--plot", "x.gif"], "a picture ends in"),
        (["--processes", "2"], "missing here: --coordinator"),
        (["--process-id", "1"], "--process-id 1: it says nothing by itself"),
        (["--resume"], "--resume: name the file"),
        (["--samples", "1e16"], "at most 9,007,199,254,740,991"),
        (["--budget", "much"], "is not a number"),
    ],
)
def test_bad_flags_are_named(flags, words, capsys):
    assert main([*COMMAND, *flags]) == 2
    assert words in capsys.readouterr().err


COUNTS = "import sys; from tinker_nomics.cost_distribution.processes import Membership, join; "
COUNTS += "join(Membership(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])), True)"


def test_processes_that_disagree_how_many_they_are_are_refused():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    running = [
        subprocess.Popen([sys.executable, "-c", COUNTS, address, rank, count], stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"})
        for rank, count in (("0", "2"), ("1", "3"))
    ]  # fmt: skip
    for process in running:
        _, text = process.communicate(timeout=120)
        assert process.returncode and "process 0 by --processes 2, process 1 by --processes 3" in text, text


def test_a_budget_given_to_merge(tmp_path, capsys):
    assert main([*COMMAND, "--out", str(tmp_path / "a.npz")]) == 0
    assert main(["merge", str(tmp_path / "a.npz"), "--budget", "300 USD"]) == 0
    out = capsys.readouterr().out
    assert "P(tinker.total > 300) = " in out and "P(tinker.total > 200) = " in out


def test_json_has_no_nan(capsys):
    assert main([*COMMAND, "--samples", "64", "--replicates", "1", "--json"]) == 0

    def refuse(name: str) -> None:
        raise AssertionError(name)

    told = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert told["outputs"]["tinker.total"]["mean_error"] is None
    assert json_text({"a": [math.inf, 1.5, (math.nan,)]}, 0).split() == [
        "{",
        '"a":',
        "[",
        "null,",
        "1.5,",
        "[",
        "null",
        "]",
        "]",
        "}",
    ]


def test_ctrl_c_before_the_command_has_begun(monkeypatch, capsys):
    def stopped(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tinker_nomics.cli.main.import_module", stopped)
    assert main(COMMAND) == 130 and capsys.readouterr().err == "tinker-nomics: stopped\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_under_standard_output_is_named():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "tinker_nomics", "catalog", "chips"], stdout=full, text=True,
                              stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == 2 and "standard output cannot be written to: No space left" in done.stderr
