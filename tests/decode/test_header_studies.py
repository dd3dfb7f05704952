"""The studies about headers: damage by chance, and speed beside gguf's reader."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from shared_folder import SHARED

ROOT = Path(__file__).resolve().parents[2]


def script(path: str) -> ModuleType:
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(f"script_{Path(path).stem}", ROOT / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("real", [False, True])
def test_only_gguf_error_escapes_damaged_headers(real: bool):
    if real and SHARED is None:
        pytest.skip("the specification folder is not beside this checkout")
    fuzzing = script("analysis/fuzz_headers.py")
    headers = fuzzing.seeds(SHARED / "ledgers" if real and SHARED else None, most=20)
    outcomes, slowest = fuzzing.fuzz(2500, 10**6, headers)
    assert outcomes.pop("accepted") > 100
    assert outcomes.pop("refused") > 1000
    assert not outcomes
    assert slowest < 2.0


def test_the_mutations_repeat_by_their_seed():
    fuzzing = script("analysis/fuzz_headers.py")
    headers = fuzzing.seeds(None)
    assert fuzzing.fuzz(50, 7, headers)[0] == fuzzing.fuzz(50, 7, headers)[0]


def test_the_benchmark_states_the_ratio(capsys):
    script("benchmarks/header.py").main(["--tokens", "30000", "--repeats", "3"])
    printed = capsys.readouterr().out
    ratio = re.search(r"ratio of times: (\d+)", printed)
    memory = re.search(r"tinker_nomics .* ([\d.]+) MB", printed)
    assert ratio is not None and int(ratio[1]) > 30  # 100 and more at 262,144 tokens
    assert memory is not None and float(memory[1]) < 60
