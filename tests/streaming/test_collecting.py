"""Every output kept, on one, two and three devices and by two processes: the same bits."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hand_config import hand_config
from streaming.collect_program import AXES, everything, reduced

import tinker_nomics as tn

TESTS = Path(__file__).parents[1]
PROGRAM = Path(__file__).parent / "collect_program.py"


def _start(target: Path, rank: int, ranks: int, port: int, devices: int) -> subprocess.Popen:
    flags = f"--xla_force_host_platform_device_count={devices}"
    path = os.pathsep.join([str(TESTS.parent), str(TESTS), str(PROGRAM.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(PROGRAM), str(target), *map(str, (rank, ranks, port))]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, dict[str, np.ndarray]]:
    folder = tmp_path_factory.mktemp("collected")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = [_start(folder / "devices", 0, 1, 0, 3)]
    running += [_start(folder / f"process{rank}", rank, 2, port, 1) for rank in range(2)]
    for process in running:
        _, text = process.communicate(timeout=180)
        assert process.returncode == 0, text
    return {path.stem: dict(np.load(path)) for path in folder.glob("*.npz")}


def test_any_number_of_devices_and_processes_gives_the_same_bits(found):
    alone, counts = everything(None)
    assert counts == [1, 1] and alone["host_fixed"] == 7.0 and alone["host_a"].shape == (4000,)
    layouts = [name for name in found if not name.endswith(("sweep", "reduced"))]
    assert len(layouts) == 7
    for layout in layouts:
        assert found[layout].keys() == alone.keys()
        for name, values in alone.items():
            np.testing.assert_array_equal(found[layout][name], values, err_msg=f"{layout} {name}")


def test_a_sweep_too(found):
    batch = tn.sweep(hand_config(), AXES, outputs=["self_hosted.total", "tinker.total"])
    for layout in ("devices_sweep", "process0_sweep", "process1_sweep"):
        for name in batch.outputs:
            np.testing.assert_array_equal(found[layout][name], batch[name], err_msg=f"{layout} {name}")


def test_a_reduced_grid_too(found):
    alone = reduced()
    assert len(alone["['top'].number"]) == 50 and len(alone["['front'].number"]) > 10
    for layout in ("devices_reduced", "process0_reduced", "process1_reduced"):
        assert found[layout].keys() == alone.keys()
        for name, values in alone.items():
            if values.dtype.kind in "iU" or (layout.startswith("process") and not name.endswith(".mean")):
                np.testing.assert_array_equal(found[layout][name], values, err_msg=f"{layout} {name}")
            else:  # a program for several devices is another one, whose last bits may differ
                np.testing.assert_allclose(found[layout][name], values, rtol=1e-12, err_msg=f"{layout} {name}")
