"""The errors that a user of the package can meet: each says what is wrong, where, what is allowed and what to do."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

_LONG = 160  # letters of a value that a message shows


class TinkerNomicsError(ValueError):
    """Base of every error that this package raises on purpose."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with one place of an input.

    Args:
        path: where (a parameter path, a key, a row).
        value: what stood there, as given.
        allowed: what may stand there, with its unit.
        hint: what to do about it; empty where `allowed` says it all.
    """

    path: str
    value: object
    allowed: str
    hint: str = ""

    def __str__(self) -> str:
        stop = "" if self.allowed.endswith((".", "?", "!")) else "."
        tail = f" {self.hint}" if self.hint else ""
        return f"{self.path} = {shown(self.value)}: {self.allowed}{stop}{tail}"


class ConfigError(TinkerNomicsError):
    """Everything that is wrong with one configuration, at once, in `problems`."""

    def __init__(self, problems: Iterable[Problem], what: str = "this configuration"):
        self.problems = tuple(problems)
        count = len(self.problems)
        noun = "problem" if count == 1 else "problems"
        # a problem may itself be a list of problems, of a file that was read on the way
        lines = "\n".join("  - " + str(problem).replace("\n", "\n  ") for problem in self.problems)
        super().__init__(f"{what} has {count} {noun}:\n{lines}")


def shown(value: object) -> str:
    """`value` as a message shows it: paths and dates as people write them, and no more than a line of anything."""
    try:
        if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
            value = value.item()  # type: ignore[attr-defined]  # a scalar, as the plain number that it is
        text = repr(str(value) if isinstance(value, PurePath | datetime.date) else value)
    except ValueError:  # a whole number of so many digits that Python refuses to write it
        return "a number of thousands of digits"
    return text if len(text) <= _LONG else text[:_LONG] + "..."


def listed(names: Iterable[str]) -> str:
    """The names as a phrase: "a, b and c"."""
    names = list(names)
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]
