"""The errors that a user of the package can meet: each says what is wrong, where, what is allowed and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


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
        tail = f" {self.hint}" if self.hint else ""
        return f"{self.path} = {self.value!r}: {self.allowed}.{tail}"


class ConfigError(TinkerNomicsError):
    """Everything that is wrong with one configuration, at once, in `problems`."""

    def __init__(self, problems: Iterable[Problem], what: str = "this configuration"):
        self.problems = tuple(problems)
        count = len(self.problems)
        noun = "problem" if count == 1 else "problems"
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"{what} has {count} {noun}:\n{lines}")


def listed(names: Iterable[str]) -> str:
    """The names as a phrase: "a, b and c"."""
    names = list(names)
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]
