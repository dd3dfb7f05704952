"""The report's lines as the tornado and spider that the plots draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .outputs import UNITS
from .parameters import registry
from .uncertainty.percentile_lines import Spider
from .uncertainty.swings import Bar, Tornado

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .sensitivity_report import SensitivityReport

_LABELS = {"uncertainty": ("uncertainties", "P10 to P90 of each declared range"), "lever": ("levers", "one natural step")}


def tornado_data(report: SensitivityReport, role: str) -> Tornado:
    """The bars of one role ("uncertainty" or "lever") for every output, widest swing first; bars of no swing left out."""
    kind, label = _LABELS[role]
    paths = [path for path, span in report.spans.items() if span.role == role]
    bars: dict[str, tuple[Bar, ...]] = {}
    for output in report.outputs:
        row = [_bar(report, path, output) for path in paths]
        if role == "lever":
            row += _choice_bars(report, output)
        bars[output] = tuple(sorted((bar for bar in row if bar.swing > 0), key=lambda bar: -bar.swing))
    undeclared = report.undeclared if role == "uncertainty" else ()
    centre = {path: report.parameters[path].value for path in paths}
    return Tornado(dict(report.outputs), bars, kind, label, undeclared, centre, "difference.total")


def _bar(report: SensitivityReport, path: str, output: str) -> Bar:
    line, unit = report.lines[path], registry()[path].unit
    return Bar(path, line.x, line.outputs[output], line.flips, line.switches, unit=unit)


def _choice_bars(report: SensitivityReport, output: str) -> list[Bar]:
    """A bar per choice between the catalog's next row down and up, with their names at its ends."""
    found = []
    for choice in ("chip", "model"):
        sides = {row.side: row for row in report.choices if row.choice == choice}
        if not sides:
            continue
        here = report.outputs[output]
        values = [sides[side].outputs[output] if side in sides else here for side in (-1, 1)]
        low, high = (_short(sides[side].name) if side in sides else "as chosen" for side in (-1, 1))
        found.append(Bar(choice, np.array([-1.0, 0.0, 1.0]), np.array([values[0], here, values[1]]), labels=(low, high)))
    return found


def _short(name: str, length: int = 22) -> str:
    """A catalog row's name as it fits beside a bar: without the part before the slash, cut at `length` letters."""
    name = name.split("/")[-1]
    return name if len(name) <= length else name[: length - 1] + "…"


def tornado_of(report: SensitivityReport, output: str) -> Figure:
    """The two panels of one output."""
    from .plots.tornado import tornado_figure

    choices = report.config.provenance.choices
    name = choices.get("recipe") or "a run of your own"
    title = f"What moves {output} of {name} on {choices.get('model')}, {report.config.cluster.gpus:g} x {choices.get('chip')}"
    panels = [tornado_data(report, role) for role in ("uncertainty", "lever")]
    return tornado_figure(*panels, output=output, title=title, unit=UNITS[output])


def spider_of(report: SensitivityReport, output: str, limit: int) -> Figure:
    """One output along the percentiles of every declared distribution."""
    from .errors import TinkerNomicsError
    from .plots.spider import spider_figure

    drawn = {path: span.distribution for path, span in report.spans.items() if span.distribution is not None}
    whole = [path for path in drawn if registry()[path].kind == "integer"]
    for path in whole:
        del drawn[path]
    if not drawn:
        raise TinkerNomicsError("no uncertain parameter of this run has a declared distribution: there is no line to draw")
    percentiles = np.linspace(10.0, 90.0, len(next(iter(report.lines[path].x for path in drawn))))
    lines = {name: {path: report.lines[path].outputs[name] for path in drawn} for name in report.outputs}
    values = {path: report.lines[path].x for path in drawn}
    spider = Spider(percentiles, values, lines, dict(report.outputs))
    return spider_figure(spider, output=output, title=f"{output} along each input's own range", unit=UNITS[output], limit=limit)
