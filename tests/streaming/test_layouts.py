"""One, two and five devices, two processes on the loopback, a tree of five: the same integers, the same extremes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from streaming.layout_program import save, whole_run

from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming.devices import bounds, layout_of, share

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "layout_program.py"


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _start(what: str, target: object, *numbers: int, devices: int = 1) -> subprocess.Popen:
    flags = f"--xla_force_host_platform_device_count={devices}" if devices > 1 else ""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(PROGRAM), what, str(target), *map(str, numbers)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def _ended(process: subprocess.Popen) -> None:
    _, text = process.communicate(timeout=120)
    assert process.returncode == 0, text


@pytest.fixture(scope="module")
def layouts(tmp_path_factory) -> dict[str, dict[str, np.ndarray]]:
    folder, port = tmp_path_factory.mktemp("layouts"), _port()
    running = [_start("devices", folder / "devices", devices=5)]
    running += [_start("process", folder / f"process{rank}", rank, 2, port) for rank in range(2)]
    save(folder / "one", whole_run())
    for process in running:
        _ended(process)
    return {path.stem: dict(np.load(path)) for path in folder.glob("*.npz")}


def test_a_grid_has_the_same_bits_on_two_devices(tmp_path):
    _ended(_start("grid", tmp_path / "grid", devices=2))
    one, two = (dict(np.load(tmp_path / f"grid_{count}.npz")) for count in (1, 2))
    assert one.keys() == two.keys() and len(one) > 10
    for name, leaf in one.items():
        np.testing.assert_array_equal(two[name], leaf, err_msg=name)


def test_every_layout_gives_the_same_integers_and_extremes(layouts):
    assert len(layouts) == 8
    for layout, found in layouts.items():
        for name, leaf in layouts["one"].items():
            if leaf.dtype == np.float64 and "moments" in name:
                np.testing.assert_allclose(found[name], leaf, rtol=1e-12, err_msg=f"{layout} {name}")
            else:
                np.testing.assert_array_equal(found[name], leaf, err_msg=f"{layout} {name}")


def test_all_processes_return_the_same_bits(layouts):
    tree = "devices_tree0"
    for first, second in (("process0", "process1"), (tree, "devices_tree3"), (tree, "devices_tree4")):
        for name, leaf in layouts[first].items():
            np.testing.assert_array_equal(layouts[second][name], leaf)


def test_processes_with_different_seeds_are_refused(tmp_path):
    port = _port()
    running = [_start("different", tmp_path / "x", rank, 2, port) for rank in range(2)]
    for process in running:
        _, text = process.communicate(timeout=120)
        assert process.returncode != 0 and "processes [1] were started with another configuration" in text


def test_shares_cover_every_chunk_once():
    for size, ranks in ((10, 3), (2, 5), (64, 64), (1, 1)):
        parts = [share(range(7, 7 + size), rank, ranks) for rank in range(ranks)]
        assert [number for part in parts for number in part] == list(range(7, 7 + size))
        first, stop = bounds(7, 7 + size, ranks)
        assert first.tolist() == [part.start for part in parts] and stop.tolist() == [part.stop for part in parts]


def test_a_mesh_without_own_devices_is_refused():
    with pytest.raises(TinkerNomicsError, match="no device of process 0"):
        layout_of([])
