"""Kills at random moments, full disks, damaged files: a clear refusal or the same integers as an undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from streaming.fault_program import POINTS, REDUCERS, Model

from tinker_nomics import streaming as st
from tinker_nomics.files import OutputExistsError
from tinker_nomics.streaming.progress_file import ProgressFile
from tinker_nomics.streaming.state_files import StateFileError, differences, read_states, write_states
from tinker_nomics.uncertainty.sample_states import state_shapes

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "fault_program.py"
LIKE = state_shapes(REDUCERS, ["y"], ["a", "b"], POINTS.chunk_size, POINTS.strata)


def _start(path: Path, largest_file: int | None = None) -> subprocess.Popen:
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(path.parent / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    if largest_file is not None:
        cache = {}  # which would be cut off too
    limit = [] if largest_file is None else [str(largest_file)]
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(path), "0", *limit], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **cache},
    )  # fmt: skip


def _wait_for_progress(process: subprocess.Popen, path: Path, beyond: int) -> None:
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if path.exists() and read_states(path).next > beyond:
            return
        time.sleep(0.01)


@pytest.fixture(scope="module")
def truth():
    return st.run(POINTS, Model(), REDUCERS, progress=False).states


def _same_integers(found, truth) -> None:
    for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(found), jax.tree_util.tree_leaves(truth)):
        name = jax.tree_util.keystr(path)
        if "moments" in name and a.dtype == np.float64:
            np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(a, b, err_msg=name)


def test_killed_and_interrupted_runs_end_with_the_same_integers(tmp_path, truth):
    path, moments, done, kills = tmp_path / "run.npz", random.Random(5), 0, 0
    for signal_number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        process = _start(path)
        _wait_for_progress(process, path, done)
        time.sleep(moments.uniform(0.0, 0.4))
        process.send_signal(signal_number)
        text, _ = process.communicate(timeout=60)
        if signal_number == signal.SIGINT and process.returncode == 0:
            assert "False" in text or "True" in text, text  # a clean stop
        kept = read_states(path)  # whole at any moment
        assert kept.next > done or kept.complete
        done, kills = kept.next, kills + (process.returncode == -signal.SIGKILL)
        assert len(list(tmp_path.glob(".run.*"))) <= kills  # a killed write leaves a temporary file, nothing else does
    (tmp_path / ".run.0a_b1c2d.npz").write_bytes(b"half")  # as such a one does
    os.utime(tmp_path / ".run.0a_b1c2d.npz", (0, 0))
    text, _ = _start(path).communicate(timeout=120)
    assert "True" in text, text
    last = read_states(path)
    assert last.complete and kills >= 1
    assert not list(tmp_path.glob(".run.*"))  # the last write removes them
    _same_integers(last.states(LIKE), truth)


def test_a_full_disk_is_told_and_costs_nothing_that_was_kept(tmp_path):
    path = tmp_path / "run.npz"
    process = _start(path, largest_file=20_000)
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 2 and "cannot be written" in text and "start again: nothing" in text, text
    assert not list(tmp_path.iterdir())  # neither a half-written file nor a temporary one


@pytest.fixture(scope="module")
def whole(tmp_path_factory, truth) -> Path:
    path = tmp_path_factory.mktemp("whole") / "whole.npz"
    return write_states(path, truth, {"seed": 0}, (0, 8, 8), 1.5)


def test_states_come_back_bit_by_bit(whole, truth):
    file = read_states(whole)
    assert (file.about, file.first, file.next, file.stop, file.seconds) == ({"seed": 0}, 0, 8, 8, 1.5)
    for a, b in zip(jax.tree_util.tree_leaves(file.states(LIKE)), jax.tree_util.tree_leaves(truth)):
        assert a.dtype == b.dtype and np.array_equal(a, b)
    assert whole.stat().st_size < 1_000_000  # empty bins are not written


def test_any_truncation_is_refused(whole, tmp_path):
    data, path = whole.read_bytes(), tmp_path / "cut.npz"
    for share in (0.0, 0.01, 0.3, 0.7, 0.99, 1.0 - 1.0 / len(data)):
        path.write_bytes(data[: int(share * len(data))])
        with pytest.raises(StateFileError, match="truncated or damaged"):
            read_states(path)


def test_any_changed_byte_is_refused_or_harmless(whole, tmp_path):
    data, path, chance, refused = bytearray(whole.read_bytes()), tmp_path / "changed.npz", random.Random(1), 0
    truth = read_states(whole)
    for _ in range(60):
        place = chance.randrange(len(data))
        data[place] ^= 0x41
        path.write_bytes(data)
        try:
            found = read_states(path)
        except StateFileError:
            refused += 1
        else:  # a byte that carries nothing, such as a time stamp of the archive
            assert found._replace(leaves={}, path=whole) == truth._replace(leaves={})
            assert all(np.array_equal(found.leaves[name], leaf) for name, leaf in truth.leaves.items())
        data[place] ^= 0x41
    assert refused > 50


def test_a_swapped_array_is_found_by_the_checksum(whole, tmp_path):
    with np.load(whole) as file:
        arrays = dict(file)
    name = next(name for name in arrays if name.startswith("of:"))
    arrays[name] = arrays[name] + 1
    np.savez(tmp_path / "forged.npz", **arrays)
    with pytest.raises(StateFileError, match="checksum"):
        read_states(tmp_path / "forged.npz")
    np.savez(tmp_path / "other.npz", a=np.arange(3))
    with pytest.raises(StateFileError, match="not a part or result"):
        read_states(tmp_path / "other.npz")


def test_progress_of_another_run_is_refused(whole, tmp_path):
    with pytest.raises(StateFileError, match=r"another run.*seed = 0 against 1"):
        ProgressFile(whole, {"seed": 1}, LIKE, resume=True).begin(range(8))
    with pytest.raises(StateFileError, match="chunks 0:8 and this run for 0:9"):
        ProgressFile(whole, {"seed": 0}, LIKE, resume=True).begin(range(9))
    with pytest.raises(OutputExistsError):
        ProgressFile(whole, {"seed": 0}, LIKE)
    states, number = ProgressFile(whole, {"seed": 0}, LIKE, resume=True).begin(range(8))  # type: ignore[misc]
    assert number == 8 and set(states) == set(REDUCERS)
    assert ProgressFile(tmp_path / "new.npz", {"seed": 0}, LIKE, resume=True).begin(range(8)) is None
    other = {**LIKE, "extra": jax.ShapeDtypeStruct((4,), np.int64)}
    with pytest.raises(StateFileError, match=r"extra.*not what this version"):
        read_states(whole).states(other)


def test_differences_are_named():
    a, b = {"x": 1, "y": {"z": [1], "w": 2}}, {"x": 1, "y": {"z": [2], "w": 2}, "v": None, "u": 3}
    assert differences(a, b) == ["u = null against 3", "y.z = [1] against [2]"]
    long, other = list(range(40)), [*range(30), 3, *range(31, 40)]
    assert differences({"x": {"y": long}}, {"x": {"y": other}}) == ["x.y[30] = 30 against 3"]
    assert differences({"x": long}, {"x": long[1:]}) == ["x has 40 values against 39"]


def test_progress_of_another_number_of_processes_is_not_lost_unnoticed(whole, tmp_path):
    states = read_states(whole).states(LIKE)
    path = tmp_path / "run.npz"
    shares = {count: tmp_path / f"run.0-of-{count}.npz" for count in (2, 3)}
    write_states(shares[2], states, {"seed": 0}, (0, 4, 8), 1.0)
    for resumed, count in ((path, 1), (shares[3], 3)):
        with pytest.raises(StateFileError, match=rf"run.0-of-2.npz keeps .* of 2 processes, and this run has {count}"):
            ProgressFile(resumed, {"seed": 0}, LIKE, resume=True).begin(range(8))
    # of the same number of processes one may have died before it wrote anything
    assert ProgressFile(tmp_path / "run.1-of-2.npz", {"seed": 0}, LIKE, resume=True).begin(range(8)) is None
    shares[2].unlink()
    write_states(path, states, {"seed": 0}, (0, 4, 8), 1.0)
    with pytest.raises(StateFileError, match=r"run.npz keeps the progress of 1 process, and this run has 3"):
        ProgressFile(shares[3], {"seed": 0}, LIKE, resume=True).begin(range(8))
    write_states(path, states, {"seed": 0}, (0, 8, 8), 1.0, force=True)  # a finished one is done anew
    assert ProgressFile(shares[3], {"seed": 0}, LIKE, resume=True).begin(range(8)) is None


def test_a_file_of_another_kind_says_what_it_holds(whole, tmp_path):
    path = write_states(
        tmp_path / "grid.npz", read_states(whole).states(LIKE), {"kind": "grid-reduction"}, (0, 1, 8), 1.0
    )
    with pytest.raises(StateFileError, match="holds a reduced sweep, which this run cannot go on from"):
        ProgressFile(path, {"kind": "monte-carlo"}, LIKE, resume=True).begin(range(8))


def test_of_two_runs_into_one_file_the_second_to_write_is_refused(whole, tmp_path):
    """Whether the file was there before, and both may replace it, or not."""
    states = read_states(whole).states(LIKE)
    for name, there in (("new.npz", False), ("old.npz", True)):
        path = tmp_path / name
        if there:
            write_states(path, states, {"seed": 9}, (0, 8, 8), 1.0)
        one, two = (ProgressFile(path, {"seed": seed}, LIKE, force=there, every=0.0) for seed in (1, 2))
        for store in (one, two):
            assert store.begin(range(8)) is None
        one.keep(lambda: states, 4, False)
        for last in (False, True):
            with pytest.raises(OutputExistsError, match="another run"):
                two.keep(lambda: states, 8, last)
        one.keep(lambda: states, 8, True)
        assert read_states(path).about == {"seed": 1} and read_states(path).complete
    resumed, other = (ProgressFile(path, {"seed": 1}, LIKE, resume=True) for _ in range(2))
    for store in (resumed, other):
        store.begin(range(8))
    resumed.keep(lambda: states, 8, True)
    with pytest.raises(OutputExistsError, match="another run"):
        other.keep(lambda: states, 8, True)


def test_what_is_no_file_of_states_is_told_without_advice_on_pickles(tmp_path):
    (tmp_path / "a.npz").write_text("output,unit")
    with pytest.raises(StateFileError, match="not a part or result") as caught:
        read_states(tmp_path / "a.npz")
    assert "pickle" not in str(caught.value)
    np.savez(tmp_path / "points.npz", about=np.array("{}"))
    with pytest.raises(StateFileError, match="holds every point of a sweep"):
        read_states(tmp_path / "points.npz")
