"""Reading the catalog's TOML tables, and a user's own rows with every problem in one error."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import Problem, TinkerNomicsError, listed
from ..quantities import parse_quantity
from ..reading import read_text
from .lookup import CatalogError


@cache
def packaged(name: str) -> dict[str, Any]:
    """The table `name` of the package, parsed once."""
    return tomllib.loads(resources.files("tinker_nomics.catalog").joinpath(name).read_text(encoding="utf-8"))


def users_own(given: str | os.PathLike[str], what: str) -> tuple[dict[str, Any], Path | None]:
    """A user's TOML row: its table, and the folder that paths within it start from.

    Args:
        given: a path, or the TOML text itself.
        what: "model" or "prices"; a file may hold the row under a table of that name.

    Raises:
        CatalogError: unreadable file or wrong TOML, with line and column.
    """
    text, folder, where = str(given), None, f"this {what} text"
    if isinstance(given, os.PathLike) or ("\n" not in text and "=" not in text):
        where = str(given)
        text = read_text(given, "the path of a TOML file", CatalogError)
        folder = Path(given).parent
    try:
        table = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"{where}: wrong TOML: {error}") from None
    inner = table.get(what)
    return (inner if isinstance(inner, dict) else table), folder


def quantity(
    table: Mapping[str, Any], key: str, unit: str, problems: list[Problem], needed: bool = False, positive: bool = False
) -> float | None:
    """The number at `key` in `unit`, or None; a problem is noted where it is missing, malformed or out of range."""
    given = table.get(key)
    if given is None:
        if needed:
            problems.append(Problem(key, None, f"is needed, in {unit}"))
        return None
    try:
        value = parse_quantity(given, unit)
    except TinkerNomicsError as error:
        problems.append(Problem(key, given, str(error)))
        return None
    if not (value > 0.0 if positive else value >= 0.0) or value == float("inf"):
        problems.append(Problem(key, given, f"a finite number {'>' if positive else '>='} 0 [{unit}]"))
        return None
    return value


def refuse_unknown(table: Mapping[str, Any], known: Iterable[str], problems: list[Problem]) -> None:
    """Note every key of `table` that is not `known`."""
    allowed = list(known)
    problems += [
        Problem(key, value, f"no such entry; known are {listed(allowed)}")
        for key, value in table.items()
        if key not in allowed
    ]
