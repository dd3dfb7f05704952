"""Writing one table of `tinker_nomics/formulas/fitted.toml` and leaving the others as they are."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from tinker_nomics.files import write_text
from tinker_nomics.formulas.fitted import PATH

HEADER = "# Fitted coefficients. Written by the scripts that each table names; do not edit by hand.\n"


def write_table(
    name: str, about: Mapping[str, str | float], coefficients: Mapping[str, float], path: Path = PATH
) -> None:
    """Replace the table `name` of the file."""
    tables = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    tables[name] = {**about, "coefficients": dict(coefficients)}
    text = HEADER
    for table, entries in sorted(tables.items()):
        text += f"\n[{table}]\n"
        text += "".join(f"{key} = {_value(value)}\n" for key, value in entries.items() if key != "coefficients")
        text += f"\n[{table}.coefficients]\n"
        text += "".join(f"{key} = {_value(value)}\n" for key, value in entries["coefficients"].items())
    write_text(path, text, force=True)


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{value:.6g}" if isinstance(value, float) else str(value)
