"""Chips x widths: the floor, the prediction and the band between, for one checkpoint and context."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..decode.reasons import REASONS, reasons_of
from .style import HIGH, LOW, NEUTRAL, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..decode.price_table import PriceTable


def draw_grid(table: PriceTable, title: str = "") -> Figure:
    """One row per chip and width: floor, prediction and the band between, in milliseconds per token.

    Args:
        table: a `PriceTable` with axes chip and width (select one context first).
        title: what is priced.

    Returns:
        A Figure. A row without a prediction has its floor only; a machine that cannot run the step says why.
    """
    if list(table.axes) != ["chip", "width"]:
        raise ValueError(f"axes are {list(table.axes)}: select one context, e.g. table.sel(context=4096)")
    rows = [(chip, width) for chip in table.axes["chip"] for width in table.axes["width"]]
    figure = new_figure(12.0, 1.9 + 0.34 * len(rows) + 0.1 * len(table.axes["chip"]))
    axes = tidy(figure.add_subplot())
    heights = _heights(rows)
    flat = {name: table[name].reshape(-1) for name in ("floor", "prediction", "priced", "predicted", "reason")}
    tokens = table["tokens_per_second"].reshape(-1)
    shown = [1e3 * float(x) for name in ("floor", "prediction") for x in np.ma.compressed(flat[name]) if x > 0.0]
    low, high = (min(shown), max(shown)) if shown else (0.1, 10.0)
    seen: set[int] = set()
    for i, y in enumerate(heights):
        if not flat["priced"][i]:
            why = ", ".join(reason.name for reason in reasons_of(flat["reason"][i]) if reason.refuses_all)
            axes.text(low, y, f"  cannot run: {why}", va="center", color=NEUTRAL, fontsize=9, style="italic")
            continue
        floor = 1e3 * float(flat["floor"][i])
        axes.plot(floor, y, "|", color=LOW, markersize=13, markeredgewidth=3)
        per_second = f"{float(tokens[i]):,.0f} tokens/s" if tokens[i] is not np.ma.masked else ""
        if flat["predicted"][i]:
            prediction = 1e3 * float(flat["prediction"][i])
            axes.barh(y, prediction - floor, left=floor, height=0.5, color=LOW, alpha=0.22, linewidth=0)
            axes.plot(prediction, y, "o", color=HIGH, markersize=7)
            axes.text(prediction, y, f"   {per_second}", va="center", fontsize=9)
        else:
            code = int(flat["reason"][i])
            seen.add(code)
            marks = ",".join(str(reason.bit + 1) for reason in reasons_of(code))
            axes.annotate(
                "", (floor * (high / low) ** 0.035, y), (floor, y), arrowprops={"arrowstyle": "->", "color": LOW}
            )
            axes.text(floor * (high / low) ** 0.035, y, f"  at most {per_second}; [{marks}]", va="center", fontsize=9)
    axes.set_yticks(heights, [f"{chip}  x{width}" for chip, width in rows])
    axes.set_ylim(max(heights) + 0.7, min(heights) - 0.7)
    axes.set_xscale("log")
    axes.set_xlim(low / 1.25, high * (high / low) ** 0.3 * 1.6)
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300.0 * low else (1.0,)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("time of one decode step [ms, log scale]")
    axes.plot([], [], "|", color=LOW, markersize=11, markeredgewidth=3, label="floor: no implementation is faster")
    if np.any(flat["predicted"]):
        axes.plot([], [], "o", color=HIGH, label="prediction: the chain as laid out")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    told = [reason for reason in REASONS if not reason.refuses_all and any(code & reason.code for code in seen)]
    if told:
        notes = "    ".join(f"[{reason.bit + 1}] {reason.name}" for reason in told)
        figure.supxlabel(f"no prediction, because undeclared:  {notes}", x=0.01, ha="left", fontsize=9, color=NEUTRAL)
    return figure


def _heights(rows: list[tuple]) -> list[float]:
    """Rows one apart, with a gap between chips."""
    heights, y = [], 0.0
    for i, (chip, _) in enumerate(rows):
        y += 0.0 if i == 0 else 1.0 if chip == rows[i - 1][0] else 1.35
        heights.append(y)
    return heights
