"""Every output along one parameter's range, with the values at which the decision flips and branches switch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..declared_ranges import HIGH, LOW, Span
from ..parameters import registry
from ..report_outputs import OUTPUTS
from ..uncertainty.roots import Crossing, brackets, refine
from ..uncertainty.study import one_at_a_time, stacked
from .local_model import TIE, LocalModel

DECISION = "difference.total"
_NOISE = 1e-12  # of the largest value: the rounding of an output that does not move
POINTS = 33  # values from one end of a span to the other; enough to see a bar that turns back


@dataclass(frozen=True)
class Line:
    """The outputs along one parameter, all others as they are.

    Args:
        x: values of the parameter, rising [n].
        outputs: {output: values [n]}.
        flips: where own minus Tinker changes sign.
        switches: {branch: where its margin changes sign}.
    """

    x: np.ndarray
    outputs: dict[str, np.ndarray]
    flips: tuple[Crossing, ...]
    switches: dict[str, tuple[Crossing, ...]]

    def swing(self, output: str) -> float:
        """The greatest less the least value of the output along x; what is rounding only is 0."""
        y = self.outputs[output]
        width = float(np.ptp(y))
        return width if width > _NOISE * np.abs(y).max() else 0.0

    def turns_back(self, output: str) -> bool:
        """Whether the output does not move one way along x."""
        y = self.outputs[output]
        steps, noise = np.diff(y), _NOISE * np.abs(y).max()
        return bool((steps > noise).any() and (steps < -noise).any())


def span_points(span: Span, whole: bool) -> np.ndarray:
    """Values from the low to the high end: at even quantiles of a distribution, evenly in value otherwise."""
    if span.distribution is not None:
        points = np.asarray(span.distribution.quantile(np.linspace(LOW, HIGH, POINTS)))
    else:
        points = np.linspace(span.low, span.high, POINTS)
    return np.unique(np.round(points)) if whole else np.unique(points)


def lines(model: LocalModel, spans: Mapping[str, Span]) -> dict[str, Line]:
    """The line of every parameter that has a span, from one evaluation of all of them."""
    if not spans:
        return {}
    points = {path: span_points(span, registry()[path].kind == "integer") for path, span in spans.items()}
    centre = model.centre
    found = model.table(stacked(one_at_a_time(centre, path, x) for path, x in points.items()))
    ends = np.cumsum([0, *(len(x) for x in points.values())])
    cuts = {path: slice(ends[i], ends[i + 1]) for i, path in enumerate(points)}
    bracketed = []
    for path, x in points.items():
        for output in (DECISION, *model.branches):
            y = found[output][cuts[path]]
            if output != DECISION and np.abs(y).max() <= TIE:
                continue
            bracketed += brackets(path, output, x, y, _threshold(output, y))
    marks: dict[tuple[str, str], list[Crossing]] = {}
    for bracket, crossing in zip(bracketed, refine(model.table, centre, bracketed)):
        marks.setdefault((bracket.name, bracket.output), []).append(crossing)
    return {
        path: Line(
            x,
            {output: found[output][cuts[path]] for output in OUTPUTS},
            tuple(marks.get((path, DECISION), ())),
            {branch: tuple(marks[path, branch]) for branch in model.branches if (path, branch) in marks},
        )
        for path, x in points.items()
    }


def _threshold(output: str, y: np.ndarray) -> float:
    """Zero; a hair below it for a margin, whose zero is on the upper side of its branch."""
    return 0.0 if output == DECISION else -1e-12 * float(np.abs(y).max())


def flip_nearest(line: Line, value: float, whole: bool) -> float | None:
    """The value nearest to `value` at which the cheaper side has changed; a whole number is the first one beyond."""
    if not line.flips:
        return None
    nearest = min((crossing.value for crossing in line.flips), key=lambda flip: abs(flip - value))
    if not whole:
        return nearest
    return float(np.ceil(nearest) if nearest > value else np.floor(nearest))
