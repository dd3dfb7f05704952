"""The registry of parameters: one row per dotted path, read from `parameters.toml` without JAX."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .errors import Problem, TinkerNomicsError, listed
from .formulas.fitted import about, coefficients
from .quantities import parse_quantity


@dataclass(frozen=True)
class Condition:
    """When a declared range holds: the value at `path` lies in [low, high], is > above, is < below."""

    path: str
    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    below: float = math.inf

    def holds(self, value: float | None) -> bool:
        """Whether `value`, the value at `path`, meets the condition; an absent value does not."""
        return value is not None and self.low <= value <= self.high and self.above < value < self.below

    @property
    def in_words(self) -> str:
        """What the value has to be: "0", "above 0"."""
        if self.low == self.high:
            return f"{self.low:g}"
        ends = ((self.low, "at least"), (self.above, "above"), (self.high, "at most"), (self.below, "below"))
        return " and ".join(f"{words} {end:g}" for end, words in ends if math.isfinite(end))


@dataclass(frozen=True)
class DeclaredRange:
    """A range of an uncertain parameter that a source gives: a distribution's name and its figures."""

    distribution: str
    figures: Mapping[str, float]
    source: str
    condition: Condition | None


@dataclass(frozen=True)
class Parameter:
    """A row of the registry.

    Args:
        path: the dotted path, the parameter's one name everywhere.
        unit: the unit of its value, a spelling of `quantities.UNITS` or a plain noun.
        kind: "continuous" or "integer" (whole numbers, held as floats).
        low, high: bounds; `open_low` excludes `low` itself.
        default: the value where neither recipe, catalog nor caller gives one; None for none.
        optional: whether the value may be absent until a formula needs it.
        role: "lever" (chosen), "uncertainty" (happens to you) or "fact" (read from a document).
        step: a lever's natural step: "x2" or "+-1"; empty for others.
        ranges: the declared ranges, each with its source.
        switches: the assumptions that read it; empty where every edition does.
        absent: what it means, in words, where it is not given; empty where its switches cannot do without.
        unless: the assumptions that, all on, leave no formula to read it; empty for none.
        instead: the parameters that take its place where it is not read.
        schedules: the kinds of schedule that read it; empty where all do.
        training: the kind of training that reads it, "lora" or "full"; empty where both do.
        needs: the value of another parameter without which it is not read; None for none.
    """

    path: str
    unit: str
    kind: str
    low: float
    high: float
    open_low: bool
    default: float | None
    optional: bool
    role: str
    step: str
    symbol: str
    help: str
    ranges: tuple[DeclaredRange, ...]
    switches: tuple[str, ...] = ()
    absent: str = ""
    unless: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()
    training: str = ""
    needs: Condition | None = None

    def read_by(self, assumptions: Any) -> bool:
        """Whether an edition's formulas read it: one of its switches may be on, or one that replaces it off."""
        if self.unless and all(getattr(assumptions, name) is True for name in self.unless):
            return False
        return not self.switches or any(getattr(assumptions, name) is not False for name in self.switches)

    @property
    def allowed(self) -> str:
        """The allowed values in words, with their unit."""
        what = "a whole number" if self.kind == "integer" else "a number"
        unit = "" if self.unit == "1" else f" [{self.unit}]"
        if math.isfinite(self.high):
            return f"{what}{unit} in {'(' if self.open_low else '['}{self.low:g}, {self.high:g}] is allowed"
        return f"{what}{unit} {'>' if self.open_low else '>='} {self.low:g} is allowed"

    @property
    def flag(self) -> str:
        """The flag of the command line: --workload.rollouts-per-prompt."""
        return "--" + self.path.replace("_", "-")

    def parse(self, given: object) -> float | None:
        """`given` as a float in this parameter's unit; None stays None. Raises TinkerNomicsError for other units."""
        return None if given is None else parse_quantity(given, self.unit)

    def problem(self, value: float | None) -> Problem | None:
        """What is wrong with `value` for this parameter, or None where it is allowed."""
        if value is None:
            if self.optional:
                return None
            return Problem(self.path, None, f"it is missing, and {self.allowed}", f"Give {self.flag} ({self.help}).")
        below = value <= self.low if self.open_low else value < self.low
        if not math.isfinite(value) or below or value > self.high:
            return Problem(self.path, value, self.allowed)
        if self.kind == "integer" and value != round(value):
            return Problem(self.path, value, self.allowed)
        return None


@cache
def registry() -> Mapping[str, Parameter]:
    """Every parameter by its path, in the registry's order, which is the order of flat vectors too."""
    rows = tomllib.loads((Path(__file__).parent / "parameters.toml").read_text(encoding="utf-8"))
    return {path: _parameter(path, row) for path, row in rows.items()}


def _parameter(path: str, row: dict) -> Parameter:
    default = _fitted(row["fitted"])["p50"] if "fitted" in row else row.get("default")
    return Parameter(
        path=path,
        unit=row["unit"],
        kind=row["kind"],
        low=float(row.get("low", -math.inf)),
        high=float(row.get("high", math.inf)),
        open_low=row.get("open_low", False),
        default=None if default is None else float(default),
        optional=row.get("optional", False),
        role=row["role"],
        step=row.get("step", ""),
        symbol=row.get("symbol", ""),
        help=row["help"],
        ranges=tuple(_range(entry, row.get("fitted")) for entry in row.get("ranges", ())),
        switches=tuple(row.get("switches", ())),
        absent=row.get("absent", ""),
        unless=tuple(row.get("unless", ())),
        instead=tuple(row.get("instead", ())),
        schedules=tuple(row.get("schedules", ())),
        training=row.get("training", ""),
        needs=Condition(**row["needs"]) if "needs" in row else None,
    )


def _fitted(name: str) -> dict[str, float]:
    """P10, P50 and P90 of a fitted coefficient, named "table.coefficient"."""
    table, coefficient = name.split(".")
    spread = about(table)
    return {
        "p10": spread[f"{coefficient}_p10"],
        "p50": coefficients(table)[coefficient],
        "p90": spread[f"{coefficient}_p90"],
    }


def _range(entry: dict, fitted: str | None) -> DeclaredRange:
    words = {"distribution", "source", "condition"}
    figures = {name: float(value) for name, value in entry.items() if name not in words}
    if fitted is not None and not figures:
        figures = _fitted(fitted)
    condition = Condition(**entry["condition"]) if "condition" in entry else None
    return DeclaredRange(entry["distribution"], figures, entry["source"], condition)


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The `count` names most like `name`, best first; a dotted name is compared by its last part too."""
    names = list(names)

    def likeness(other: str) -> float:
        whole = difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()
        tail = difflib.SequenceMatcher(None, name.lower().split(".")[-1], other.lower().split(".")[-1]).ratio()
        return max(whole, tail)

    return sorted(names, key=likeness, reverse=True)[:count]


def canonical_path(path: str) -> str:
    """`path` as the registry spells it (hyphens are underscores), or an error that names the nearest three."""
    spelled = str(path).replace("-", "_")
    if spelled in registry():
        return spelled
    raise TinkerNomicsError(unknown_path(path))


def unknown_path(path: str) -> str:
    """The message for a path that the registry does not hold."""
    return f"{path!r} is no parameter; the nearest are {listed(nearest(str(path).replace('-', '_'), registry()))}"
