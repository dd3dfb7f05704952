"""The script that holds the catalog to a released cookbook: it notices a wrong number and counts the right ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).resolve().parents[1] / "analysis" / "cookbook_check.py"
    spec = importlib.util.spec_from_file_location("cookbook_check", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = """
_LORA_PARAMS_PER_RANK_BY_COMPONENT: dict[str, dict[str, int]] = {
    "Qwen/Qwen3-8B": {"mlp": 1_769_472, "attn": 958_464, "unembed": 156_032},
    "Qwen/Qwen3-32B": {"mlp": 1, "attn": 2_490_368, "unembed": 157_056},
    "moonshotai/Kimi-K3.1-Pro": {"mlp": 1, "attn": 1, "unembed": 1},
    "someone/Else": {"mlp": 1, "attn": 1, "unembed": 1},
}
"""


def test_models_are_compared_part_by_part(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "tinker_cookbook").mkdir()
    (tmp_path / "tinker_cookbook" / "hyperparam_utils.py").write_text(TABLE)
    verdicts = dict(script.check_models(script.Cookbook(tmp_path)))
    assert verdicts["Qwen/Qwen3-8B"] == "exact"
    assert verdicts["Qwen/Qwen3-32B"].startswith("DIFFERS: geometry")
    assert verdicts["moonshotai/Kimi-K3.1-Pro"].startswith("no architecture")
    assert verdicts["someone/Else"] == "DIFFERS: not in the catalog"


def test_numbers_come_from_fields_keywords_dicts_and_commands(script: ModuleType) -> None:
    python = 'class C:\n    max_tokens: int = 5\nf(batch_size=128)\nd = {"lora_rank": 32, "flag": True}\n'
    assert script.numbers(python) == {"max_tokens": {5.0}, "batch_size": {128.0}, "lora_rank": {32.0}}
    readme = "Run:\n\n    python -m train group_size=16 model=Qwen \\\n        max_tokens=512\n"
    assert script.numbers(readme) == {"group_size": {16.0}, "max_tokens": {512.0}}


def test_a_cookbook_without_the_table_is_refused(script: ModuleType) -> None:
    with pytest.raises(SystemExit, match="no _LORA_PARAMS"):
        script.lora_table("x = 1\n")
