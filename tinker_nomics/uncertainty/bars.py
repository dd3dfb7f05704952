"""Bars of a tornado: what one input alone does to one output, and all of them by output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import UncertaintyError, unknown_name
from .roots import Crossing
from .text import columns, number


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
    def nonfinite(self) -> int:
        """Points at which the output is NaN or infinite."""
        return int(np.sum(~np.isfinite(self.y)))

    @property
    def monotone(self) -> bool:
        y = self.y[np.isfinite(self.y)]
        steps, noise = np.diff(y), 1e-12 * np.max(np.abs(y), initial=0.0)
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
        if output is None:
            raise UncertaintyError(f"output: there are {', '.join(self.bars)}; name one")
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
        for name, bars in self.bars.items():
            bad = [f"{bar.name} ({bar.nonfinite} of {len(bar.y)})" for bar in bars if bar.nonfinite]
            if bad and output in (None, name):
                texts.append(f"{name or 'the output'} is not finite at points along {', '.join(bad)}")
        if self.undeclared:
            texts.append(f"without a declared range: {', '.join(self.undeclared)}")
        return "\n\n".join(texts)
