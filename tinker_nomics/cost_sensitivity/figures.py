"""The report's lines as the tornado and spider that the plots draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..outputs import UNITS
from ..parameters import registry
from ..quantities import show
from ..totals_text import DISCARDED, leaves_discards_out, span, standing
from ..uncertainty.percentile_lines import Spider
from ..uncertainty.swings import Bar, Tornado
from .parameter_lines import POINTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .report import SensitivityReport

_LABELS = {
    "uncertainty": ("uncertainties", "P10 to P90 of each declared range"),
    "lever": ("levers", "one natural step"),
}


def tornado_data(report: SensitivityReport, role: str) -> Tornado:
    """The bars of one role ("uncertainty" or "lever") for every output, widest swing first; bars of no swing left out."""
    kind, label = _LABELS[role]
    paths = [path for path, span in report.spans.items() if span.role == role]
    bars: dict[str, tuple[Bar, ...]] = {}
    for output in report.outputs:
        row = [_bar(report, path, output) for path in paths if report.lines[path].swing(output) > 0]
        if role == "lever":
            row += _choice_bars(report, output)
        bars[output] = tuple(sorted((bar for bar in row if bar.swing > 0), key=lambda bar: -bar.swing))
    undeclared = report.undeclared if role == "uncertainty" else ()
    centre = {path: report.parameters[path].value for path in paths}
    return Tornado(dict(report.outputs), bars, kind, label, undeclared, centre, "difference.total")


def _bar(report: SensitivityReport, path: str, output: str) -> Bar:
    line, unit = report.lines[path], registry()[path].unit
    ends = (_end(line.x[0], unit), _end(line.x[-1], unit))
    return Bar(path, line.x, line.outputs[output], line.flips, line.switches, labels=ends, unit=unit)


def _end(value: float, unit: str) -> str:
    """A value at the end of a bar: "$2.85/h", "1 step", "1,024 tokens"."""
    value = float(value)
    if unit.startswith("USD") or unit in ("B", "B/s", "FLOP/s", "s"):
        return show(value, unit)
    text = f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"
    if unit == "1":
        return text
    return f"{text} {unit.removesuffix('s') if text == '1' else unit}"


def _choice_bars(report: SensitivityReport, output: str) -> list[Bar]:
    """A bar per choice between the catalog's next row down and up, with their names at its ends."""
    found = []
    for choice in ("chip", "model"):
        sides = {row.side: row for row in report.choices if row.choice == choice and output in row.outputs}
        if not sides:
            continue
        here = report.outputs[output]
        values = [sides[side].outputs[output] if side in sides else here for side in (-1, 1)]
        low, high = (_short(sides[side].name) if side in sides else "as chosen" for side in (-1, 1))
        found.append(
            Bar(choice, np.array([-1.0, 0.0, 1.0]), np.array([values[0], here, values[1]]), labels=(low, high))
        )
    return found


def _short(name: str, length: int = 22) -> str:
    """A catalog row's name as it fits beside a bar: without the part before the slash, cut at `length` letters."""
    name = name.split("/")[-1]
    return name if len(name) <= length else name[: length - 1] + "…"


def tornado_of(report: SensitivityReport, output: str) -> Figure:
    """The two panels of one output."""
    from ..plots.tornado import tornado_figure

    choices = report.config.provenance.choices
    name = choices.get("recipe") or "a run of your own"
    model = choices.get("model") or "a model of your own"
    chip = choices.get("chip") or "a GPU of your own"
    title = f"What moves {output} of {name} on {model}, {report.config.cluster.gpus:g} x {chip}\n{_standing(report, output)}"
    panels = [tornado_data(report, role) for role in ("uncertainty", "lever")]
    return tornado_figure(*panels, output=output, title=title, unit=UNITS[output])


def spider_of(report: SensitivityReport, output: str, limit: int) -> Figure:
    """One output along the percentiles of every declared distribution."""
    from ..errors import TinkerNomicsError
    from ..plots.spider import spider_figure

    drawn = {path: span.distribution for path, span in report.spans.items() if span.distribution is not None}
    # whole numbers and separate values have no line of percentiles
    drawn = [path for path in drawn if len(report.lines[path].x) == POINTS and registry()[path].kind != "integer"]
    if not drawn:
        raise TinkerNomicsError(
            "no uncertain parameter of this run has a declared distribution: there is no line to draw"
        )
    moving = [path for path in drawn if report.lines[path].swing(output) > 0] or drawn
    lines = {name: {path: report.lines[path].outputs[name] for path in moving} for name in report.outputs}
    values = {path: report.lines[path].x for path in moving}
    spider = Spider(np.linspace(10.0, 90.0, POINTS), values, lines, dict(report.outputs))
    return spider_figure(
        spider,
        output=output,
        title=f"{output} along each input's own range\n{_standing(report, output)}",
        unit=UNITS[output],
        limit=limit,
    )


def _standing(report: SensitivityReport, output: str) -> str:
    """What the base of a picture stands for: edition, price date, and its range where all uncertainties vary."""
    if output not in report.low:
        return f"{standing(report.config)}; no range is declared"
    part = f" {DISCARDED}" if output == "tinker.total" and leaves_discards_out(report.config) else ""
    ends = span(report.low[output], report.high[output], UNITS[output])
    return f"{standing(report.config)}; P10-P90{part} {ends}"
