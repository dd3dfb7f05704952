"""What an import starts and what it does not, and which way the imports of the package run."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tinker_nomics

ROOT = Path(tinker_nomics.__file__).parent
# lower rungs never import higher ones
DRIVERS = ("sweeps", "cost_sensitivity", "cost_distribution", "explanations")
LAYERS = {
    "formulas": ("cost_model", "cost_parts", *DRIVERS, "catalog", "cli", "plots", "streaming", "uncertainty"),
    "streaming": ("config", "cost_model", "cost_parts", "outputs", *DRIVERS, "catalog", "cli", "plots", "decode"),
    "uncertainty": ("config", "cost_model", "cost_parts", "outputs", *DRIVERS, "catalog", "cli", "decode"),
    "decode": ("config", "cost_model", "cost_parts", "outputs", *DRIVERS, "cli", "uncertainty", "streaming"),
    "catalog": ("config", "cost_model", "cost_parts", "outputs", *DRIVERS, "cli", "plots", "uncertainty", "streaming"),
    "hardware": ("config", "cost_model", "outputs", *DRIVERS, "cli", "plots", "uncertainty", "streaming", "decode"),
    "plots": ("cli", "catalog"),
    "cost_parts": ("cost_model", *DRIVERS, "catalog", "cli", "plots", "streaming", "uncertainty"),
    "cost_model": (*DRIVERS, "catalog", "cli", "plots", "streaming", "uncertainty"),
}


def _modules() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = _modules()


def _imports(name: str, top_level_only: bool) -> set[str]:
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" and name else name.split(".")[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded: set[int] = set()
    for node in ast.walk(tree):
        skip = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if skip or (top_level_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            guarded |= {id(inner) for inner in ast.walk(node)}
    found = set()
    for node in ast.walk(tree):
        if id(node) in guarded or not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1]
        target = ".".join([*base, *(node.module.split(".") if node.module else [])])
        found |= {target} if node.module else set()
        found |= {f"{target}.{alias.name}".strip(".") for alias in node.names}
    return {target for target in found if target in MODULES and target}


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_run_one_way(layer):
    wrong = [
        f"{name} imports {target}"
        for name in MODULES
        if name == layer or name.startswith(layer + ".")
        for target in _imports(name, top_level_only=False)
        if any(target == above or target.startswith(above + ".") for above in LAYERS[layer])
    ]
    assert wrong == []


def test_no_cycles():
    graph = {name: _imports(name, top_level_only=True) for name in MODULES}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for target in graph[name]:
                visit(target, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_no_submodule_bears_a_public_functions_name():
    for name in tinker_nomics._PUBLIC:
        assert name not in MODULES


def _python(code: str) -> str:
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_importing_starts_nothing():
    heavy = "[m for m in ('jax', 'matplotlib', 'equinox', 'gguf', 'scipy', 'numpy') if m in sys.modules]"
    assert _python(f"import sys, tinker_nomics; print({heavy})") == "[]"


def test_using_the_model_starts_no_backend_before_a_call():
    code = "import tinker_nomics as tn; tn.Config, tn.estimate, tn.sweep; import jax._src.xla_bridge as b; print(b._backends)"
    assert _python(code) == "{}"


def test_every_public_name_exists():
    assert _python("import tinker_nomics as tn; print([n for n in tn.__all__ if getattr(tn, n) is None])") == "[]"


def test_second_access_is_still_the_function():
    code = "import tinker_nomics as tn; tn.sensitivity; tn.sensitivity; import tinker_nomics.cost_model, tinker_nomics.decode"
    assert (
        _python(code + "; print(callable(tn.sensitivity), callable(tn.estimate), callable(tn.price))")
        == "True True True"
    )
