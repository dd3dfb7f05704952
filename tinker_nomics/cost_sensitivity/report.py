"""`sensitivity(config)`: what moves a run's cost, by how much, and where the choice between Tinker and own GPUs flips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import Config
from ..cost_distribution.bounds import refuse_out_of_bounds
from ..declared_ranges import HIGH, LOW, Span, check_distributions, declared_distributions, held, spans
from ..notes import notes_of
from ..outputs import UNITS
from ..parameters import registry
from ..plain_config import checked
from ..quantities import show
from ..report_outputs import OUTPUTS, check_output
from ..totals_text import ends, span, standing
from ..uncertainty import Distribution
from .choice_levers import Alternative, alternatives
from .estimate_range import drawn_rows, range_of
from .local_model import LocalModel, Switch, switches
from .parameter_lines import Line, flip_nearest, lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


@dataclass(frozen=True, eq=False, repr=False)
class SensitivityReport:
    """The answer of `sensitivity`: outputs at the configuration, every parameter, the branches of the model.

    Args:
        config: the configuration.
        outputs: {output: value} there.
        parameters: {path: ParameterSensitivity}, in the registry's order.
        choices: what neighbouring rows of the catalog would do in place of the chosen model and chip.
        branches: the margin of every branch of the model and its nearest switch.
        undeclared: uncertainties for which no source declares a range: listed, never drawn at a made-up width.
        lines: {path: the outputs along its range}, what the figures draw.
        spans: {path: its range or step}.
        low, high: {output: P10}, {output: P90} where all declared uncertainties vary at once; empty where none is.
        varied: those uncertainties.
        held: parameters with a declared range that the run gives itself, so that low and high do not vary them.
    """

    config: Config
    outputs: dict[str, float]
    parameters: dict[str, ParameterSensitivity]
    choices: tuple[Alternative, ...]
    branches: tuple[Switch, ...]
    undeclared: tuple[str, ...]
    lines: dict[str, Line]
    spans: dict[str, Span]
    low: dict[str, float]
    high: dict[str, float]
    varied: tuple[str, ...]
    held: tuple[str, ...] = ()

    def __repr__(self) -> str:
        costs = ", ".join(f"{name} {self._with_range(name)}" for name in self.outputs)
        return f"SensitivityReport({costs}; {standing(self.config)}; {len(self.parameters)} parameters)"

    def __str__(self) -> str:
        return self.table()

    def _with_range(self, output: str) -> str:
        unit = UNITS[output]
        text = show(self.outputs[output], unit)
        if output not in self.low:
            return text
        return f"{text} [P10-P90 {span(self.low[output], self.high[output], unit)}]"

    @property
    def break_even_rent(self) -> float | None:
        """The rent [USD/h] at which own GPUs cost what Tinker does, everything else as it is; None where no rent does.

        rent - difference / (d own / d rent): own cost is linear in the rent.
        """
        row = self.parameters["cluster.price_per_gpu_hour"]
        slope = row.derivative["difference.total"]
        rent = row.value - self.outputs["difference.total"] / slope if slope else -1.0
        return rent if rent > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text: outputs with their range, parameters by path, choices, branches, undeclared, the
        break-even rent, and the edition and the price list that they stand on."""
        return {
            "outputs": dict(self.outputs),
            "range": ends(self.low, self.high),
            "varied": list(self.varied),
            "held": list(self.held),
            "run": dict(self.config.provenance.choices) | {"assumptions": self.config.assumptions.edition},
            "notes": list(notes_of(self.config)),
            "parameters": {path: asdict(row) for path, row in self.parameters.items()},
            "choices": [asdict(row) for row in self.choices],
            "branches": {row.branch: asdict(row) for row in self.branches},
            "undeclared": list(self.undeclared),
            "break_even_rent": self.break_even_rent,
        }

    def table(self, output: str | None = None) -> str:
        """The report as text for a terminal.

        Args:
            output: one of the report's outputs, to rank by and to show alone; both costs side by side when None.
        """
        from .text import report_text

        return report_text(self, None if output is None else check_output(output))

    def tornado(self, output: str = "tinker.total") -> Figure:
        """Uncertainties above, levers below: one bar per parameter from the low to the high end of its range.

        Args:
            output: one of the report's outputs.
        """
        from .figures import tornado_of

        return tornado_of(self, check_output(output))

    def spider(self, output: str = "tinker.total", limit: int = 7) -> Figure:
        """The output along each uncertain parameter's own range, as percentiles; the `limit` with the widest swing."""
        from .figures import spider_of

        return spider_of(self, check_output(output), limit)


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
    model = LocalModel(checked(config, "sensitivity"))
    base, margins = model.outputs(model.base[None])
    middle, left, right = model.slopes()
    given = check_distributions({} if distributions is None else distributions)
    refuse_out_of_bounds(config, given, "this sensitivity report", (LOW, HIGH), absent=False)
    found, undeclared = spans(config, given, range)
    uncertain = declared_distributions(config, given)
    sample = model.outputs(drawn_rows(config, uncertain))[0] if uncertain else np.empty((0, len(OUTPUTS)))
    low, high = range_of(dict(zip(OUTPUTS, sample.T)))
    drawn = lines(model, found)
    rows = {}
    for index, path in enumerate(model.paths):
        slopes = (middle[index], left[index], right[index])
        rows[path] = _row(model, path, base[0], slopes, found.get(path), drawn.get(path))
    return SensitivityReport(
        config=config,
        outputs=_named(base[0]),
        parameters=rows,
        choices=alternatives(config, model),
        branches=tuple(switches(model, margins[0])),
        undeclared=tuple(path for path in undeclared if path not in found),
        lines=drawn,
        spans=found,
        low=low,
        high=high,
        varied=tuple(uncertain),
        held=held(config, uncertain),
    )


def _named(values: np.ndarray) -> dict[str, float]:
    return dict(zip(OUTPUTS, map(float, values)))


def _sided(values: np.ndarray) -> dict[str, float | None]:
    return {name: None if np.isnan(value) else float(value) for name, value in zip(OUTPUTS, values)}


def _row(
    model: LocalModel,
    path: str,
    base: np.ndarray,
    slopes: tuple[np.ndarray, ...],
    span: Span | None,
    line: Line | None,
) -> ParameterSensitivity:
    parameter, value = registry()[path], model.centre[path]
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
    if span is None or line is None:
        return ParameterSensitivity(**known)
    known |= {
        "role": span.role,
        "low": float(line.x[0]),
        "high": float(line.x[-1]),
        "range_source": span.source,
        "swing": {name: line.swing(name) for name in line.outputs},
        "at_low": {name: float(y[0]) for name, y in line.outputs.items()},
        "at_high": {name: float(y[-1]) for name, y in line.outputs.items()},
        "turns_back": tuple(name for name in line.outputs if line.turns_back(name)),
        "flips_at": flip_nearest(line, float(value), parameter.kind == "integer"),
    }
    return ParameterSensitivity(**known)
