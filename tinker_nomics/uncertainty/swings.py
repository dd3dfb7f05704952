"""Tornado: how far each input alone moves each output, over the same quantiles of every input's own range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .errors import UncertaintyError, unknown_name
from .model import SCALAR, Model
from .roots import Bracket, Crossing, brackets, refine
from .study import (
    Distributions,
    Evaluate,
    Function,
    centre,
    evaluate_table,
    one_at_a_time,
    output_names,
    prepare,
    stacked,
)
from .text import columns, number

_POINTS = 33  # of each input, the two ends included


@dataclass(frozen=True)
class Bar:
    """One input's effect on one output, all other inputs at their centre.

    Attributes:
        name: the input. x, y: its values, rising, and the output there [n].
        at_low, at_high: the output at the two ends. least, greatest: over all points.
        monotone: whether the output only rises or only falls along the points.
        flips: where the decision output crosses its target. switches: {branch: where its margin crosses zero}.
        labels: how the two ends are written; empty for the plain numbers.
        unit: of the input.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    flips: tuple[Crossing, ...] = ()
    switches: dict[str, tuple[Crossing, ...]] = field(default_factory=dict)
    labels: tuple[str, str] = ("", "")
    unit: str = ""

    @property
    def low(self) -> float:
        return float(self.x[0])

    @property
    def high(self) -> float:
        return float(self.x[-1])

    @property
    def at_low(self) -> float:
        return float(self.y[0])

    @property
    def at_high(self) -> float:
        return float(self.y[-1])

    @property
    def least(self) -> float:
        return float(np.min(self.y))

    @property
    def greatest(self) -> float:
        return float(np.max(self.y))

    @property
    def swing(self) -> float:
        return self.greatest - self.least

    @property
    def monotone(self) -> bool:
        steps = np.diff(self.y)
        noise = 1e-12 * np.max(np.abs(self.y), initial=0.0)
        return bool(np.all(steps >= -noise) or np.all(steps <= noise))

    def output_at(self, x: float) -> float:
        """The output at a value of the input, read off the points."""
        return float(np.interp(x, self.x, self.y))

    def end(self, high: bool) -> str:
        """The value at one end as it is written beside the bar."""
        if self.labels[high]:
            return self.labels[high]
        text = number(self.high if high else self.low)
        return f"{text} {self.unit}" if self.unit and self.unit != "1" else text


@dataclass(frozen=True)
class Tornado:
    """Bars of every output, largest swing first.

    Attributes:
        base: {output: value} with every input at its centre.
        bars: {output: bars}.
        kind: "uncertainties" (quantiles of distributions) or "levers" (steps that one may choose).
        range_label: what the ends of all bars are, e.g. "P10 to P90".
        undeclared: inputs that have no range and hence no bar.
        decision: the output whose sign is the decision, if any; threshold: the value it is held against.
    """

    base: dict[str, float]
    bars: dict[str, tuple[Bar, ...]]
    kind: str
    range_label: str
    undeclared: tuple[str, ...]
    centre: dict[str, float]
    decision: str | None = None
    threshold: float = 0.0

    def of(self, output: str | None = None) -> tuple[Bar, ...]:
        """The bars of one output (of the only one, where there is one)."""
        if output is None and len(self.bars) == 1:
            return next(iter(self.bars.values()))
        if output not in self.bars:
            raise unknown_name("output", str(output), self.bars)
        return self.bars[output]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        return {
            "kind": self.kind,
            "range": self.range_label,
            "base": dict(self.base),
            "undeclared": list(self.undeclared),
            "bars": {
                output: [
                    {
                        "name": bar.name,
                        "low": bar.low,
                        "high": bar.high,
                        "at_low": bar.at_low,
                        "at_high": bar.at_high,
                        "least": bar.least,
                        "greatest": bar.greatest,
                        "swing": bar.swing,
                        "monotone": bar.monotone,
                        "flips": [c.value for c in bar.flips],
                        "switches": {branch: [c.value for c in cs] for branch, cs in bar.switches.items()},
                    }
                    for bar in bars
                ]
                for output, bars in self.bars.items()
            },
        }

    def table(self, output: str | None = None) -> str:
        """A text table of one output, or of all."""
        texts = []
        for name in [output] if output is not None else list(self.bars):
            rows = [
                [
                    bar.name + ("" if bar.monotone else " *"),
                    bar.end(False),
                    bar.end(True),
                    number(bar.at_low),
                    number(bar.at_high),
                    number(bar.swing),
                    ", ".join(number(c.value) for c in bar.flips),
                ]
                for bar in self.of(name)
            ]
            head = [f"{name or 'input'} ({self.range_label})", "low", "high", "at low", "at high", "swing", "flips at"]
            texts.append(columns(head, rows) + f"\nbase {number(self.base[name])}")
        if any(not bar.monotone for bars in self.bars.values() for bar in bars):
            texts.append("* not monotone: the swing includes points inside the range")
        if self.undeclared:
            texts.append(f"without a declared range: {', '.join(self.undeclared)}")
        return "\n\n".join(texts)


def tornado(
    f: Function,
    distributions: Distributions,
    *,
    base: Any = None,
    outputs: Iterable[str] | None = None,
    quantiles: tuple[float, float] = (0.1, 0.9),
    range: str | None = None,
    decision: str | None = None,
    threshold: float = 0.0,
    branches: Iterable[str] = (),
    undeclared: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
) -> Tornado:
    """Swing of every output over the same quantiles of each input's distribution, one input at a time.

    Args:
        f, base: as in `monte_carlo`. The others stay at the base's values (at their medians without a base).
        distributions: {input: distribution}.
        outputs: the outputs that get bars; all but the branches when None.
        quantiles: the ends of all bars.
        range: another question: "10%" moves every input by 10 % of its centre, whatever its distribution says.
        decision: the output whose crossing of `threshold` is the decision; ticks mark where it flips.
        branches: outputs that are margins of the model's branches; ticks mark where they cross zero.
        undeclared: inputs without a range, listed and not drawn.
        units: {input: unit} for labels.

    Raises:
        UncertaintyError: quantiles that do not rise within (0, 1), an unknown output or path.
    """
    low, high = quantiles
    if not 0 < low < high < 1:
        raise UncertaintyError(f"quantiles = {quantiles!r}: must rise within (0, 1), such as (0.1, 0.9)")
    study = prepare(f, distributions, base)
    middle = centre(study)
    label = f"P{100 * low:g} to P{100 * high:g}"
    if range is None:
        p = np.linspace(low, high, _POINTS)
        ranges = {name: np.asarray(d.quantile(p)) for name, d in study.distributions.items()}
    else:
        share = _share(range)
        label = f"-{100 * share:g} % to +{100 * share:g} %, not from any distribution"
        ranges = {name: _around(name, value, share) for name, value in middle.items()}
    values = {name: (x, ("", "")) for name, x in ranges.items()}
    return _bars(
        study.model, middle, values, outputs, "uncertainties", label, decision, threshold, branches, undeclared, units
    )


def levers(
    f: Function,
    steps: Mapping[str, Sequence[Any]],
    *,
    base: Any = None,
    at: Mapping[str, float] | None = None,
    outputs: Iterable[str] | None = None,
    decision: str | None = None,
    threshold: float = 0.0,
    branches: Iterable[str] = (),
    undeclared: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
    label: str = "natural steps",
) -> Tornado:
    """Swing of every output when each lever is moved by its own natural step: a `Tornado` of kind "levers".

    Args:
        f, base, outputs, decision, threshold, branches, undeclared, units: as in `tornado`.
        steps: {input: (low, high)} or (low, high, low label, high label), values on either side of the centre.
        at: {input: value}, the centre, of all inputs where there is no base; the base's values when None.
    """
    model = Model(f, base)
    model.check_paths(steps)
    if not model.has_base and (at is None or any(name not in at for name in steps)):
        raise UncertaintyError("at: without a base give the centre of every lever, {input: value}")
    middle = {name: model.value(name) for name in steps} if model.has_base else {}
    middle |= {name: float(value) for name, value in (at or {}).items()}
    values = {}
    for name, step in steps.items():
        low, high, *labels = step
        if not float(low) < float(high):
            raise UncertaintyError(f"{name}: the step {low!r} to {high!r} must rise")
        values[name] = (np.array([low, high], dtype=np.float64), tuple(labels) if labels else ("", ""))
    return _bars(model, middle, values, outputs, "levers", label, decision, threshold, branches, undeclared, units)


def _share(text: str) -> float:
    try:
        share = float(text.rstrip().rstrip("%")) / 100.0
    except (AttributeError, ValueError):
        share = float("nan")
    if not 0 < share < 1:
        raise UncertaintyError(f"range = {text!r}: must be a share such as '10%'")
    return share


def _around(name: str, value: float, share: float) -> np.ndarray:
    if value == 0:
        raise UncertaintyError(f"{name} = 0: a share of it is no range; leave it out or declare a distribution")
    ends = sorted((value * (1 - share), value * (1 + share)))
    return np.linspace(ends[0], ends[1], _POINTS)


def _bars(
    model: Model,
    middle: dict[str, float],
    values: Mapping[str, tuple[np.ndarray, Any]],
    outputs: Iterable[str] | None,
    kind: str,
    label: str,
    decision: str | None,
    threshold: float,
    branches: Iterable[str],
    undeclared: Iterable[str],
    units: Mapping[str, str] | None,
) -> Tornado:
    known, branches = output_names(model, tuple(middle)), tuple(branches)
    wanted = tuple(name for name in known if name not in branches) if outputs is None else tuple(outputs)
    for name in (*wanted, *branches, *(() if decision is None else (decision,))):
        if name not in known:
            raise unknown_name("output", name, known)
    tables = [one_at_a_time(middle, name, x) for name, (x, _) in values.items()]
    tables.append(one_at_a_time(middle, next(iter(middle)), [middle[next(iter(middle))]]))
    evaluate = partial(evaluate_table, Evaluate(model))
    found = evaluate(stacked(tables))
    places = np.cumsum([0, *[len(x) for x, _ in values.values()]])
    cut = {n: slice(places[i], places[i + 1]) for i, n in enumerate(values)}
    watched = [(branch, 0.0) for branch in branches] + ([(decision, threshold)] if decision is not None else [])
    brackets_found: list[Bracket] = []
    for name, (x, _) in values.items():
        for output, target in watched:
            brackets_found += brackets(name, output, x, found[output][cut[name]], target)
    marks: dict[tuple[str, str], list[Crossing]] = {}
    for bracket, crossing in zip(brackets_found, refine(evaluate, middle, brackets_found)):
        marks.setdefault((bracket.name, bracket.output), []).append(crossing)
    bars = {}
    for output in wanted:
        row = [
            Bar(
                name,
                x,
                found[output][cut[name]],
                tuple(marks.get((name, decision or SCALAR), ())) if decision is not None else (),
                {branch: tuple(marks[name, branch]) for branch in branches if (name, branch) in marks},
                labels,
                (units or {}).get(name, ""),
            )
            for name, (x, labels) in values.items()
        ]
        bars[output] = tuple(sorted(row, key=lambda bar: -np.nan_to_num(bar.swing)))
    at_centre = {output: float(found[output][-1]) for output in known}
    return Tornado(at_centre, bars, kind, label, tuple(undeclared), dict(middle), decision, threshold)
