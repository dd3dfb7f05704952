"""`sensitivity(config)`: what moves a run's cost, by how much, and where the choice between Tinker and own GPUs flips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .choice_levers import Alternative, alternatives
from .config import Config
from .declared_ranges import Span, check_distributions, spans
from .local_sensitivity import LocalModel, Switch, bisect, switches
from .parameters import registry
from .report_outputs import OUTPUTS, check_output
from .uncertainty import Distribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS = 33  # values between the two ends of a span; enough to see a bar that turns back


@dataclass(frozen=True)
class ParameterSensitivity:
    """Everything the report knows of one parameter; every mapping is keyed by output.

    Args:
        path, value, unit, role: as in the registry.
        derivative: slope by automatic differentiation, in the output's unit per unit of the parameter. For a whole number
            it is the slope of the relaxed model, in which half a GPU is possible.
        elasticity: derivative value / output, the relative change per relative change; None where the output is zero.
        left, right: slopes from below and above; they differ at a kink. None where that side is out of bounds.
        one_more: exact change for one more unit of a whole number; None for others and for outputs at a bound.
        low, high: ends of the range or step; None where none is declared.
        range_source: who declares it.
        swing: greatest minus least output over the range.
        at_low, at_high: outputs at the two ends.
        turns_back: outputs that do not move one way over the range.
        flips_at: the value nearest to the present one, within the range, at which the cheaper side changes; else None.
    """

    path: str
    value: float
    unit: str
    role: str
    derivative: dict[str, float]
    elasticity: dict[str, float | None]
    left: dict[str, float | None]
    right: dict[str, float | None]
    one_more: dict[str, float] | None
    low: float | None = None
    high: float | None = None
    range_source: str | None = None
    swing: dict[str, float] | None = None
    at_low: dict[str, float] | None = None
    at_high: dict[str, float] | None = None
    turns_back: tuple[str, ...] = ()
    flips_at: float | None = None


@dataclass(frozen=True)
class SensitivityReport:
    """The answer of `sensitivity`: outputs at the configuration, every parameter, the branches of the model.

    Args:
        config: the configuration.
        outputs: {output: value} there.
        parameters: {path: ParameterSensitivity}, in the registry's order.
        choices: what neighbouring rows of the catalog would do in place of the chosen model and chip.
        branches: the margin of every branch of the model and its nearest switch.
        undeclared: uncertainties for which no source declares a range: listed, never drawn at a made-up width.
    """

    config: Config
    outputs: dict[str, float]
    parameters: dict[str, ParameterSensitivity]
    choices: tuple[Alternative, ...]
    branches: tuple[Switch, ...]
    undeclared: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text: outputs, parameters by path, choices, branches, undeclared."""
        return {
            "outputs": dict(self.outputs),
            "parameters": {path: asdict(row) for path, row in self.parameters.items()},
            "choices": [asdict(row) for row in self.choices],
            "branches": {row.branch: asdict(row) for row in self.branches},
            "undeclared": list(self.undeclared),
        }

    def table(self) -> str:
        """The report as text for a terminal."""
        from .sensitivity_text import report_text

        return report_text(self)

    def tornado(self, output: str = "tinker.total") -> Figure:
        """Uncertainties above, levers below: one bar per parameter from the low to the high end of its range.

        Args:
            output: one of the report's outputs.
        """
        from .plots.sensitivity_figures import tornado_figure

        return tornado_figure(self, check_output(output))

    def spider(self, output: str = "tinker.total", lines: int = 7) -> Figure:
        """The output along each uncertain parameter's own range, as percentiles; the `lines` with the widest swing."""
        from .plots.sensitivity_figures import spider_figure

        return spider_figure(self, check_output(output), lines)

    def bars(self, output: str, role: str) -> list[ParameterSensitivity]:
        """The parameters of one role that move `output`, widest swing first."""
        rows = [row for row in self.parameters.values() if row.role == role and row.swing and row.swing[output] > 0]
        return sorted(rows, key=lambda row: row.swing[output] if row.swing else 0.0, reverse=True)


def sensitivity(
    config: Config, *, distributions: Mapping[str, Distribution] | None = None, range: str | None = None
) -> SensitivityReport:
    """What moves the cost of a run: slopes, elasticities, swings, flips and branch switches.

    Args:
        config: the run.
        distributions: {path: distribution} of the caller's own, in place of the declared ones.
        range: e.g. "10%": moves uncertainties without a declared range by that share; a question of its own.

    Returns:
        A SensitivityReport over `tinker.total`, `self_hosted.total` [USD], `self_hosted.hours` [h] and
        `difference.total` (own minus Tinker) [USD].

    **Kinks:** slopes from both sides are given wherever they exist; where they differ, the derivative is the one that
    the formulas name. Jumps are taken apart and stand in `branches`.
    """
    model = LocalModel(config)
    base, margins = model.outputs(model.base[None])
    middle, left, right = model.slopes()
    found, undeclared = spans(config, check_distributions(distributions or {}), range)
    rows = {}
    for index, path in enumerate(model.paths):
        slopes = (middle[index], left[index], right[index])
        rows[path] = _row(model, path, model.base[index], base[0], slopes, found.get(path))
    return SensitivityReport(
        config=config,
        outputs=_named(base[0]),
        parameters=rows,
        choices=alternatives(config, model),
        branches=tuple(switches(model, margins[0])),
        undeclared=tuple(path for path in undeclared if path not in found),
    )


def _named(values: np.ndarray) -> dict[str, float]:
    return dict(zip(OUTPUTS, map(float, values)))


def _sided(values: np.ndarray) -> dict[str, float | None]:
    return {name: None if np.isnan(value) else float(value) for name, value in zip(OUTPUTS, values)}


def _row(
    model: LocalModel, path: str, value: float, base: np.ndarray, slopes: tuple[np.ndarray, ...], span: Span | None
) -> ParameterSensitivity:
    parameter = registry()[path]
    middle, left, right = slopes
    elasticity = {name: float(slope * value / y) if y != 0 else None for name, slope, y in zip(OUTPUTS, middle, base)}
    known: dict[str, Any] = {
        "path": path,
        "value": float(value),
        "unit": parameter.unit,
        "role": parameter.role,
        "derivative": _named(middle),
        "elasticity": elasticity,
        "left": _sided(left),
        "right": _sided(right),
        "one_more": None,
    }
    if parameter.kind == "integer" and value + 1 <= parameter.high:
        known["one_more"] = _named(model.outputs(model.rows(path, [value + 1]))[0][0] - base)
    if span is None:
        return ParameterSensitivity(**known)
    return ParameterSensitivity(**known | {"role": span.role} | _over(model, path, value, span))


def _over(model: LocalModel, path: str, value: float, span: Span) -> dict[str, Any]:
    """What a span does: its ends, the swing of each output, which turn back, where the decision flips."""
    points = span_points(span, registry()[path].kind == "integer")
    outputs, _ = model.outputs(model.rows(path, points))
    steps = np.diff(outputs, axis=0)
    scale = 1e-12 * np.abs(outputs).max(axis=0)
    turns = ((steps > scale).any(axis=0)) & ((steps < -scale).any(axis=0))
    return {
        "low": float(points[0]),
        "high": float(points[-1]),
        "range_source": span.source,
        "swing": _named(outputs.max(axis=0) - outputs.min(axis=0)),
        "at_low": _named(outputs[0]),
        "at_high": _named(outputs[-1]),
        "turns_back": tuple(name for name, turned in zip(OUTPUTS, turns) if turned),
        "flips_at": _flip(model, path, value, points, outputs[:, OUTPUTS.index("difference.total")]),
    }


def span_points(span: Span, whole: bool) -> np.ndarray:
    """Values from the low to the high end: at even quantiles of a distribution, evenly in value otherwise."""
    if span.distribution is not None:
        points = np.asarray(span.distribution.quantile(np.linspace(0.1, 0.9, _POINTS)))
    else:
        points = np.linspace(span.low, span.high, _POINTS)
    return np.unique(np.round(points)) if whole else np.unique(points)


def _flip(model: LocalModel, path: str, value: float, points: np.ndarray, difference: np.ndarray) -> float | None:
    """The point nearest to `value` at which own minus Tinker changes sign."""
    cheaper = difference < 0
    found = []
    for index in np.flatnonzero(cheaper[1:] != cheaper[:-1]):
        low, high = float(points[index]), float(points[index + 1])
        if registry()[path].kind == "integer":
            found.append(_whole_flip(model, path, low, high, value))
        else:
            column = OUTPUTS.index("difference.total")
            start = bool(cheaper[index])
            found.append(bisect(model, path, low, high, lambda outputs, _: (outputs[:, column] < 0) != start)[1])
    return min(found, key=lambda flip: abs(flip - value)) if found else None


def _whole_flip(model: LocalModel, path: str, low: float, high: float, value: float) -> float:
    """The whole number on the far side of a sign change, as seen from `value`."""
    column = OUTPUTS.index("difference.total")
    numbers = np.arange(low, high + 1) if value <= low else np.arange(high, low - 1, -1)
    cheaper = model.outputs(model.rows(path, numbers))[0][:, column] < 0
    return float(numbers[np.argmax(cheaper != cheaper[0])])

