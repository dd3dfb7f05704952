"""Where an output crosses a value as one input moves: break-even points, decision flips, branch switches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .distribution_base import Distribution
from .errors import UncertaintyError, finite_number, unknown_name, whole_number
from .model import SCALAR, Model
from .study import Evaluate, Function, evaluate_table, one_at_a_time, output_names, stacked
from .text import number

_PARTS, _ROUNDS = 32, 6  # each round cuts a bracket into 32: 2^-30 of it after six


@dataclass(frozen=True)
class Crossing:
    """One value of the input at which the output meets the target.

    Attributes:
        value: of the input.
        rising: whether the output rises through the target with the input.
        jump: whether it jumps across it rather than passing through it.
    """

    value: float
    rising: bool
    jump: bool


@dataclass(frozen=True)
class Bracket:
    """An input, an output, and two neighbouring values of the input between which the output crosses the target."""

    name: str
    output: str
    low: float
    high: float
    y_low: float
    y_high: float
    target: float = 0.0


def brackets(name: str, output: str, x: np.ndarray, y: np.ndarray, target: float = 0.0) -> list[Bracket]:
    """The brackets of all sign changes of y - target along rising x [n]; a zero belongs to the step that reaches it."""
    found = []
    above = y - target > 0
    for k in range(len(x) - 1):
        if np.isfinite(y[k]) and np.isfinite(y[k + 1]) and above[k] != above[k + 1]:
            found.append(Bracket(name, output, float(x[k]), float(x[k + 1]), float(y[k]), float(y[k + 1]), target))
    return found


def refine(
    evaluate: Callable[[dict[str, np.ndarray]], Mapping[str, np.ndarray]],
    centre: Mapping[str, float],
    found: Sequence[Bracket],
) -> list[Crossing]:
    """The crossing inside each bracket, all brackets at once, to 1e-9 of its width.

    Args:
        evaluate: {output: [n]} at the rows {input: [n]} of a table.
        centre: the values of the inputs that do not move.
        found: the brackets.
    """
    current = list(found)
    for _ in range(_ROUNDS if current else 0):
        grids = [np.linspace(b.low, b.high, _PARTS + 1) for b in current]
        table = stacked(one_at_a_time(centre, b.name, grid) for b, grid in zip(current, grids))
        values = evaluate(table)
        for i, (b, grid) in enumerate(zip(current, grids)):
            y = values[b.output][i * (_PARTS + 1) : (i + 1) * (_PARTS + 1)]
            inner = brackets(b.name, b.output, grid, y, b.target)
            if inner:
                current[i] = inner[0]
    crossings = []
    for start, end in zip(found, current):
        gap = abs(end.y_high - end.y_low)
        jump = gap > 1e-4 * abs(start.y_high - start.y_low)
        value = 0.5 * (end.low + end.high)
        if not jump and gap > 0:  # between two points 1e-9 apart the output is a straight line
            value = end.low + (end.high - end.low) * (end.target - end.y_low) / (end.y_high - end.y_low)
        crossings.append(Crossing(float(value), end.y_high > end.y_low, bool(jump)))
    return crossings


@dataclass(frozen=True)
class BreakEven:
    """All values of one input in [low, high] at which the output crosses the target, rising.

    Attributes:
        crossings: the crossings found between neighbouring points of the scan.
        at_low, at_high: the output at the ends.
        nonfinite: points of the scan at which the output was NaN or infinite: no crossing is found beside them.
    """

    name: str
    output: str
    target: float
    low: float
    high: float
    at_low: float
    at_high: float
    crossings: tuple[Crossing, ...]
    nonfinite: int = 0

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(crossing.value for crossing in self.crossings)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        fields = ("name", "output", "target", "low", "high", "at_low", "at_high", "nonfinite")
        return {
            **{field: getattr(self, field) for field in fields},
            "crossings": [{"value": c.value, "rising": c.rising, "jump": c.jump} for c in self.crossings],
        }

    def table(self) -> str:
        """One line per crossing."""
        what = self.output or "the output"
        lines = [f"{what} is not finite at {self.nonfinite:,} of the points scanned"] if self.nonfinite else []
        if not self.crossings:
            end = self.at_low if np.isfinite(self.at_low) else self.at_high
            side = "crosses" if not np.isfinite(end) else "stays above" if end > self.target else "stays at or below"
            never = "nowhere " if side == "crosses" else ""
            lines.append(f"{what} {never}{side} {number(self.target)} for {self.name} in [{self.low:g}, {self.high:g}]")
        for c in self.crossings:
            how = "jumps" if c.jump else "passes"
            way = "upwards" if c.rising else "downwards"
            lines.append(f"{what} {how} {way} through {number(self.target)} at {self.name} = {c.value:.6g}")
        return "\n".join(lines)


def break_even(
    f: Function,
    name: str,
    low: float,
    high: float,
    *,
    base: Any = None,
    at: Mapping[str, Any] | None = None,
    output: str | None = None,
    target: float = 0.0,
    points: int = 257,
) -> BreakEven:
    """Every value of one input in [low, high] at which an output crosses `target`.

    The range is scanned at `points` values, evenly (by ratio where high > 100 low > 0); two crossings between
    neighbouring values cancel and are not seen.

    Args:
        f, base: as in `monte_carlo`.
        name: the input that moves.
        at: values of other inputs (or distributions for their medians); without a base, of all others.
        output: the output; may be left out where there is one.

    **Kinks:** a crossing by a jump is found at the jump and marked.
    """
    low, high = finite_number(f"{name}: low", low), finite_number(f"{name}: high", high)
    if not low < high:
        raise UncertaintyError(f"{name}: low = {low!r}, high = {high!r} must be low < high")
    target, points = finite_number("target", target), whole_number("points", points, 2)
    model = Model(f, base)
    others = dict(at or {})
    model.check_paths([name, *others])
    centre = {
        n: finite_number(n, v.median if isinstance(v, Distribution) else v) for n, v in others.items() if n != name
    }
    centre[name] = low
    output = _one_output(output_names(model, tuple(centre)), output)
    ratio = low > 0 and high > 100 * low
    x = np.geomspace(low, high, points) if ratio else np.linspace(low, high, points)
    evaluate = partial(evaluate_table, Evaluate(model))
    y = evaluate(one_at_a_time(centre, name, x))[output]
    crossings = refine(evaluate, centre, brackets(name, output, x, y, target))
    bad = int(np.sum(~np.isfinite(y)))
    if bad == points:
        raise UncertaintyError(f"{output or 'the output'} is not finite anywhere for {name} in [{low:g}, {high:g}]")
    return BreakEven(name, output, target, low, high, float(y[0]), float(y[-1]), tuple(crossings), bad)


def _one_output(known: Iterable[str], output: str | None) -> str:
    known = list(known)
    if output is None:
        if len(known) > 1:
            raise UncertaintyError(f"output: the function has {', '.join(known)}; name one")
        return known[0]
    if output not in known and not (output == SCALAR and len(known) == 1):
        raise unknown_name("output", output, known)
    return output
