"""The command `sweep`: every point, or what is found in a grid; its files, parts, pictures, processes and refusals."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tinker_nomics as tn
from tinker_nomics.cli.axis_arguments import axes_from
from tinker_nomics.cli.main import main
from tinker_nomics.cost_distribution.result import CostDistribution
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming.state_files import StateFileError, read_states
from tinker_nomics.sweeps.grid_result import GridReduction, merge_grid_parts

ROOT = Path(__file__).parents[1]
RUN = ["sweep", "math_rl", "--model", "Qwen/Qwen3-8B", "--prices", "2026-01-05", "--assumptions", "published"]
AXES = ["--over", "chip=h100-sxm,b200", "--over", "schedule=sync,stream_minibatch", "--over", "gpus=range(8,64,8)"]
LENGTHS = ["--over", "workload.completion-tokens=log(100,4000,3000)"]
GRID = [*RUN, *AXES, *LENGTHS, "--quiet"]
REDUCED = ["--top", "3", "--pareto", "self_hosted.total,self_hosted.hours", "--by", "chip,schedule"]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("TINKER_NOMICS_CACHE", "off")


def _same(one: object, two: object, path: str = "") -> None:
    """Two documents: the same integers, texts and extremes; means to rounding."""
    if isinstance(one, dict):
        assert one.keys() == two.keys(), path
        for key in one:
            if key != "seconds":
                _same(one[key], two[key], f"{path}/{key}")
    elif isinstance(one, list):
        assert len(one) == len(two), path
        for place, (a, b) in enumerate(zip(one, two)):
            _same(a, b, f"{path}[{place}]")
    elif "mean" in path:
        assert one == pytest.approx(two, rel=1e-12), path
    else:
        assert one == two, path


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    files = {"--plot": "front.png", "--map": "map.svg", "--csv": "table.csv", "--out": "whole.npz"}
    written = [word for flag, name in files.items() for word in (flag, str(folder / name))]
    assert main([*GRID, *REDUCED, *written]) == 0
    assert all((folder / name).stat().st_size > 2000 for name in files.values())
    return folder


def test_axes_as_text():
    found = axes_from(["gpus=8, 16", "chip=h100-sxm", "cluster.mfu=linear(0.1,0.3,3)", "tp=range(1,8,1)"])
    assert found["cluster.gpus"] == ["8", "16"] and found["chip"] == ["h100-sxm"]
    assert found["cluster.mfu"] == pytest.approx([0.1, 0.2, 0.3]) and found["cluster.engine.tensor_parallel"][-1] == 8.0
    lengths = axes_from(["workload.completion-tokens=log(100,10000,5)"])["workload.completion_tokens"]
    assert (lengths[0], lengths[-1]) == (100.0, 10000.0)
    np.testing.assert_allclose(np.diff(np.log10(lengths)), 0.5)
    assert axes_from(["cluster.chip.memory_bytes=linear(40 GB,80 GB,2)"])["cluster.chip.memory_bytes"] == [40e9, 80e9]


@pytest.mark.parametrize(
    "text,words",
    [
        ("gpus", "write PATH=VALUES"),
        ("gpus=8,,16", "a value is empty"),
        ("gpu=8", "'gpu' is no parameter; the nearest are cluster.gpus"),
        ("cluster.mfu=lin(0,1,3)", r"no lin\(\); the nearest is linear"),
        ("cluster.mfu=linear(0,1)", "linear takes LOW, HIGH, COUNT"),
        ("cluster.mfu=log(0,1,3)", "log takes numbers above zero"),
        ("cluster.mfu=linear(0,much,3)", "'much' is not a number"),
        ("cluster.mfu=linear(0,1,0)", "COUNT is a whole number from 1"),
        ("cluster.mfu=range(1,0,1)", "LOW <= HIGH and a STEP above zero"),
        ("cluster.mfu=range(0,1,1e-9)", "1,000,000,001 values; 10,000,000 are allowed"),
        ("chip=range(1,2,3)", "chip takes names"),
    ],
)
def test_bad_axes_are_named(text, words):
    with pytest.raises(TinkerNomicsError, match=words):
        axes_from([text])


def test_no_axis_and_an_axis_twice():
    with pytest.raises(TinkerNomicsError, match="at least one axis"):
        axes_from([])
    with pytest.raises(TinkerNomicsError, match=r"cluster.gpus is given twice"):
        axes_from(["gpus=1", "cluster.gpus=2"])


def test_every_point_is_printed_and_written(tmp_path, capsys):
    files = ["--csv", str(tmp_path / "a.csv"), "--out", str(tmp_path / "a.npz")]
    assert main([*RUN, "--over", "chip=h100-sxm,b200", "--over", "gpus=8,16", *files]) == 0
    out = capsys.readouterr().out
    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", assumptions="published")
    batch = tn.sweep(config, {"chip": ["h100-sxm", "b200"], "cluster.gpus": [8, 16]})
    assert "edition published, prices of 2026-01-05" in out and f"{batch['self_hosted.total'][1, 0]:,.2f}" in out
    read = tn.Sweep.from_npz(tmp_path / "a.npz")
    np.testing.assert_array_equal(read["self_hosted.total"], batch["self_hosted.total"])
    assert main([*RUN, "--over", "gpus=8,16", "--over", "workload.steps=9,7", "--zip", "--json"]) == 0
    pairs = json.loads(capsys.readouterr().out)
    assert pairs["mode"] == "zip" and pairs["axes"] == {"cluster.gpus": [8.0, 16.0], "workload.steps": [9.0, 7.0]}


def test_what_is_found_is_printed_with_its_conditions(whole, capsys):
    assert main(["merge", str(whole / "whole.npz")]) == 0
    out = capsys.readouterr().out
    for words in (
        "96,000 configurations, schedule.kind[2] x chip[2] x cluster.gpus[8] x workload.completion_tokens[3000]",
        "edition published, prices of 2026-01-05",
        "least self_hosted.total",
        "Pareto front of self_hosted.total, self_hosted.hours",
        "own cheaper",
        "of configurations with memory.weights_fit == 1 and memory.kv_fits == 1",
    ):
        assert words in out


def test_the_file_holds_everything_by_name(whole, tmp_path):
    found = GridReduction.from_npz(whole / "whole.npz")
    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", assumptions="published")
    names = ["self_hosted.total", "memory.weights_fit", "memory.kv_fits"]
    batch = tn.sweep(config, found.axes, outputs=names)
    fits = (batch["memory.weights_fit"] == 1) & (batch["memory.kv_fits"] == 1)
    cost = np.where(fits, batch["self_hosted.total"], np.inf)
    order = np.argsort(cost.ravel(), kind="stable")[:3]
    assert found["top"].number.tolist() == order.tolist() and found.units["self_hosted.total"] == "USD"
    slow = found.sel({"schedule.kind": "sync", "chip": "b200"})["groups"]["self_hosted.total"]
    assert slow.least == pytest.approx(cost[0, 1].min(), rel=1e-14) and slow.count == fits[0, 1].sum()
    assert found.provenance["assumptions"] == "published" and found.provenance["choices"]["price_list"] == "2026-01-05"
    again = GridReduction.from_npz(found.to_npz(tmp_path / "again.npz"))
    _same(again.to_dict(), found.to_dict())
    with pytest.raises(StateFileError, match="holds 'grid-reduction', not a Monte Carlo run"):
        CostDistribution.from_npz(whole / "whole.npz")


def test_the_table_is_one_table(whole):
    lines = (whole / "table.csv").read_text().splitlines()
    notes = [line for line in lines if line.startswith("# ")]
    header, *rows = [line.split(",") for line in lines if not line.startswith("# ")]
    assert any(line.startswith('# provenance = {"assumptions": "published"') for line in notes)
    assert {len(row) for row in rows} == {len(header)} and "self_hosted.total [USD]" in header
    assert {row[0] for row in rows} == {"top", "front", "groups", "winners"}
    found = GridReduction.from_npz(whole / "whole.npz")
    first = dict(zip(header, next(row for row in rows if row[0] == "top")))
    assert float(first["self_hosted.total [USD]"]) == found["top"].outputs["self_hosted.total"][0]
    assert first["chip"] == found.at(found["top"].number[0])["chip"]
    sides = [dict(zip(header, row)) for row in rows if row[0] == "winners"]
    assert sum(int(row["points"]) for row in sides) == sum(w.sum() for w in found["winners"].wins.values())


def test_parts_are_the_whole(whole, tmp_path, capsys):
    parts = [tmp_path / f"part{part}.npz" for part in range(2)]
    for part, path in enumerate(parts):
        assert main([*GRID, *REDUCED, "--chunks", f"{part}/2", "--out", str(path)]) == 0
    merged = merge_grid_parts([parts[1], parts[0]])
    _same(merged.to_dict(), GridReduction.from_npz(whole / "whole.npz").to_dict())
    other = tmp_path / "other.npz"
    assert main([*GRID, *REDUCED[2:], "--top", "4", "--chunks", "1/2", "--out", str(other)]) == 0
    capsys.readouterr()
    for given, words in (
        ([parts[0]], "no file holds the chunks 1:2 of 0:2; compute them with --chunks 1:2"),
        ([*parts, parts[0]], "overlap"),
        ([parts[0], other], "part of another run"),
        ([parts[0], whole / "table.csv"], "is not a part or result"),
        ([whole / "whole.npz", "--plot", "never.gif"], "a picture ends in"),
        ([whole / "whole.npz", "--histogram", tmp_path / "a.png"], "these are parts of a sweep"),
    ):
        assert main(["merge", *map(str, given)]) == 2
        assert words in capsys.readouterr().err
    assert main([*GRID, *REDUCED[2:], "--top", "4", "--out", str(parts[0]), "--resume", "--chunks", "0/2"]) == 2
    assert "reducers.top.k = 3 against 4" in capsys.readouterr().err
    pictures = ["--plot", str(tmp_path / "f.png"), "--map", str(tmp_path / "m.png"), "--out", str(tmp_path / "w.npz")]
    assert main(["merge", *map(str, parts), *pictures]) == 0 and (tmp_path / "m.png").stat().st_size > 5000


@pytest.mark.parametrize(
    "flags,words",
    [
        (["--top", "0"], "k = 0 must be a whole number >= 1"),
        (["--top", "some"], "a whole number is expected"),
        (["--by", "chips"], "'chips' is no parameter"),
        (["--by", "model"], "--by model: it is no axis of this grid; --over names schedule.kind, chip"),
        (["--pareto", "self_hosted.total"], "must be two or three different outputs"),
        (["--pareto", "self_hosted.total,hours"], "no output 'hours'; the nearest is self_hosted.hours"),
        (["--top", "1", "--output", "self_hosted.totals"], "no output 'self_hosted.totals'; the nearest is"),
        (["--top", "1", "--where", "cheap"], "'cheap' is no comparison"),
        (["--top", "1", "--where", "cluster.watts < 3"], "there is no 'cluster.watts'"),
        (["--top", "1", "--zip"], "--zip: only a grid is reduced"),
        (["--plot", "x.png"], "--plot x.png: it draws what --pareto A,B finds"),
        (["--by", "chip,gpus,schedule", "--map", "x.png"], "a map has one or two axes"),
        (["--resume"], "--resume is for --top"),
        (["--winners", "--chunks", "3/2"], "chunks = '3/2'"),
        (["--winners", "--out", "x.csv"], "ends in .npz"),
        (["--winners", "--every", "-1"], "a time of 0 s or more"),
        (["--winners", "--every", "3 GB"], "3 GB"),
        (
            ["--process-id", "1", "--processes", "2", "--coordinator", "a:1"],
            "a sweep that keeps every point is not shared",
        ),
    ],
)
def test_bad_flags_are_named(flags, words, capsys):
    assert main([*RUN, *AXES, *flags]) == 2
    assert words in capsys.readouterr().err


def _start(command: list[str], **more: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **more}
    command = [sys.executable, "-m", "tinker_nomics", *command]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _shared(command: list[str], **more: str) -> list[tuple[int, str, str]]:
    """Status, output and errors of two processes as an indexed Kubernetes Job starts them."""
    job = {"JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{_port()}", "JAX_NUM_PROCESSES": "2", **more}
    running = [_start(command, JOB_COMPLETION_INDEX=str(rank), **job) for rank in range(2)]
    texts = [process.communicate(timeout=180) for process in running]
    return [(process.returncode, *text) for process, text in zip(running, texts)]


def test_two_processes_find_what_one_finds(whole, tmp_path):
    path = tmp_path / "shared.npz"
    (first, out, error), (second, nothing, _) = _shared([*GRID, *REDUCED, "--json", "--out", str(path)])
    assert (first, second, nothing) == (0, 0, ""), error
    alone = GridReduction.from_npz(whole / "whole.npz").to_dict()
    _same(json.loads(out), json.loads(json.dumps(alone)))
    assert [each.name for each in tmp_path.iterdir()] == ["shared.npz"]
    _same(GridReduction.from_npz(path).to_dict(), alone)


def test_a_damaged_share_stops_both_processes_in_words(tmp_path):
    (tmp_path / "shared.1-of-2.npz").write_bytes(b"PK rubbish")
    (first, _, error), (second, _, reason) = _shared(
        [*GRID, *REDUCED, "--resume", "--out", str(tmp_path / "shared.npz")]
    )
    assert first == 2 and "process 0 of 2 lost another one" in error and "with --resume" in error
    assert second == 2 and "process 1 of 2:" in reason and "truncated or damaged" in reason


def test_killed_at_random_moments_a_sweep_ends_with_the_same_integers(tmp_path):
    grid = [*RUN, *AXES, "--over", "workload.completion-tokens=log(100,4000,60000)", *REDUCED, "--quiet", "--json"]
    cache = {"TINKER_NOMICS_CACHE": str(tmp_path / "cache")}
    out, error = _start(grid, **cache).communicate(timeout=180)
    truth, path, chance, kills = json.loads(out), tmp_path / "killed.npz", random.Random(3), 0
    for _ in range(2):
        process = _start([*grid, "--out", str(path), "--resume", "--every", "0.05"], **cache)
        until = time.monotonic() + 60
        before = read_states(path).next if path.exists() else 0
        while process.poll() is None and time.monotonic() < until:
            if path.exists() and read_states(path).next > before:
                break
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.2))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        kills += process.returncode == -signal.SIGKILL
        assert not path.exists() or read_states(path).next > 0
    out, error = _start([*grid, "--out", str(path), "--resume"], **cache).communicate(timeout=180)
    assert kills, error
    _same(json.loads(out), truth)
    assert read_states(path).complete


def test_totals_are_printed_with_the_range_of_the_run_they_start_from(capsys):
    from tinker_nomics.cost_sensitivity.estimate_range import estimate_with_range

    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", assumptions="published")
    ranged = estimate_with_range(config)
    for more in ([], ["--top", "2"]):
        assert main([*RUN, "--over", "workload.steps=90,180,270", *more, "--quiet"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "edition published, prices of 2026-01-05" in said
        assert f"Tinker ${ranged.low['tinker.total']:,.2f} to ${ranged.high['tinker.total']:,.2f}" in said
        assert "(that is Tinker -" in said
    assert main([*RUN, "--over", "cluster.trainer.mfu-dense=0.1,0.2", "--quiet"]) == 2
    assert "cluster.mfu takes its place" in capsys.readouterr().err
