"""Ctrl-C while a module is loaded, and elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tinker_nomics.cli.early_interrupt import ending_at_once

ROOT = Path(__file__).parents[1]


def test_in_the_middle_of_an_import_the_program_ends_in_words(tmp_path):
    (tmp_path / "interrupted.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt:\n    print('swallowed')\n"
    )
    code = "from tinker_nomics.cli.early_interrupt import ending_at_once\n"
    code += "with ending_at_once('ended'):\n    import interrupted\n    print('went on')\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ended\n")


def test_elsewhere_it_is_a_keyboard_interrupt_and_afterwards_as_before():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), ending_at_once("ended"):
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ending_at_once("ended"):
            os.kill(os.getpid(), signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
