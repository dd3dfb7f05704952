"""Holds the catalog to a released Tinker Cookbook: LoRA parameters by model, and the defaults of its recipes.

    python analysis/cookbook_check.py tinker_cookbook-0.6.1-py3-none-any.whl

Reads the package's files as text (a wheel, or a folder that holds tinker_cookbook/); nothing of it is imported or run.
Prints one line per model and per recipe value, and exits with 1 where any differs.
"""

from __future__ import annotations

import argparse
import ast
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tinker_nomics import catalog

TABLE = "_LORA_PARAMS_PER_RANK_BY_COMPONENT"
# our parameter -> names that the scripts give it
NAMES = {
    "workload.prompts_per_step": ("groups_per_batch", "batch_size"),
    "workload.rollouts_per_prompt": ("group_size", "train_group_size", "rl_group_size"),
    "workload.completion_tokens": ("max_tokens", "rl_max_tokens"),
    "workload.turns": ("max_turns",),
    "lora.rank": ("lora_rank",),
}


class Cookbook:
    """The files of a wheel or of a folder, as text."""

    def __init__(self, path: Path):
        self._wheel = zipfile.ZipFile(path) if path.is_file() else None
        self._folder = path

    def text(self, name: str) -> str:
        """The file `name`, counted from the folder that holds tinker_cookbook/."""
        if self._wheel is not None:
            return self._wheel.read(name).decode("utf-8")
        return (self._folder / name).read_text(encoding="utf-8")


def lora_table(source: str) -> dict[str, dict[str, int]]:
    """The dict literal of LoRA parameters per rank in hyperparam_utils.py."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == TABLE:
            assert node.value is not None
            return ast.literal_eval(node.value)
    raise SystemExit(f"no {TABLE} in this cookbook")


def numbers(source: str) -> dict[str, set[float]]:
    """Every number that a script or a README gives a name: fields, keywords, dict items, `name=value` in commands."""
    found: dict[str, set[float]] = {}

    def note(name: str, value: object) -> None:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found.setdefault(name, set()).add(float(value))

    try:
        tree = ast.parse(source)
    except SyntaxError:  # a README: commands are lines of name=value
        for word in source.replace("\\", " ").split():
            name, _, value = word.partition("=")
            if value.replace(".", "", 1).isdigit():
                note(name, float(value))
        return found
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and isinstance(node.value, ast.Constant)
        ):
            note(node.target.id, node.value.value)
        elif isinstance(node, ast.keyword) and node.arg and isinstance(node.value, ast.Constant):
            note(node.arg, node.value.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                    note(str(key.value), value.value)
    return found


def check_models(book: Cookbook) -> Iterator[tuple[str, str]]:
    """(model, verdict) for every id of the cookbook's table."""
    ours = {row.id: row for row in catalog.models()}
    for name, parts in lora_table(book.text("tinker_cookbook/hyperparam_utils.py")).items():
        row = ours.get(name)
        if row is None:
            yield name, "DIFFERS: not in the catalog"
        elif row.architecture is None:
            yield name, "no architecture; the table's own numbers are used"
        elif row.architecture.lora_components != parts:
            yield name, f"DIFFERS: geometry {row.architecture.lora_components}, table {parts}"
        else:
            yield name, "exact"


def check_recipes(book: Cookbook) -> Iterator[tuple[str, str]]:
    """(recipe and parameter, verdict) for every value that is a default or stands in a README."""
    for recipe in catalog.recipes():
        file = recipe.source.split(" ", 2)[2]
        script = str(Path(file).with_name("train.py")) if file.endswith("README.md") else file
        texts = [book.text(file)]
        if file.endswith("README.md") and "distillation" not in file:
            texts += [book.text(script), book.text(str(Path(file).parent / "code_env.py")) if "code_rl" in file else ""]
        elif "distillation/README" in file:
            texts.append(book.text("tinker_cookbook/recipes/distillation/on_policy_distillation.py"))
        elif "code_rl" in file:
            texts.append(book.text("tinker_cookbook/recipes/code_rl/code_env.py"))
        texts.append(book.text("tinker_cookbook/rl/train.py"))
        stated: dict[str, set[float]] = {}
        for text in texts:
            for name, values in numbers(text).items():
                stated.setdefault(name, set()).update(values)
        for path, names in NAMES.items():
            value = recipe.values.get(path)
            if value is None or " over " in recipe.labels[path] or "2 players" in recipe.labels[path]:
                continue
            if (path == "workload.turns" and value == 1) or " and " in recipe.labels[path].split(", a cap")[0]:
                continue
            seen = sorted(set().union(*(stated.get(name, set()) for name in names)))
            yield f"{recipe.name} {path} = {value:g}", "stated" if value in seen else f"DIFFERS: stated are {seen}"


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cookbook", type=Path, help="a wheel, or a folder that holds tinker_cookbook/")
    book = Cookbook(parser.parse_args().cookbook)
    lines = [*check_models(book), *check_recipes(book)]
    width = max(len(name) for name, _ in lines)
    for name, verdict in lines:
        print(f"{name.ljust(width)}  {verdict}")
    wrong = sum(verdict.startswith("DIFFERS") for _, verdict in lines)
    exact = sum(verdict == "exact" for _, verdict in lines)
    print(f"\n{exact} geometries reproduce the cookbook's LoRA parameters exactly; {wrong} lines differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
