"""Machines one below the other: the floor, the prediction and the band between, for one checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..decode.reasons import REASONS, Reason, is_refused, reasons_of, undeclared_words
from .decode_words import set_notes, set_title
from .style import HIGH, LOW, NEUTRAL, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..decode.price_table import PriceTable

MOST_ROWS = 100  # 3,700 px high; more rows are a table's matter
_SPREAD = 1.12  # a span of times is at least this to either side, so that its ticks are few and round


@dataclass(frozen=True)
class PriceRow:
    """One row of the picture.

    Args:
        group: rows of one group stand together (a chip).
        label: what stands beside the row.
        floor, prediction: seconds of one step [s]; None where refused, or where nothing that bounds them is declared.
        tokens_per_second: of all sequences; an upper bound where there is only a floor.
        code: the reasons why there is no prediction or no price, as `reasons.reasons_of` spells them out.
    """

    group: str
    label: str
    floor: float | None
    prediction: float | None
    tokens_per_second: float | None
    code: int = 0


def rows_of(table: PriceTable) -> list[PriceRow]:
    """The rows of a `PriceTable` with axes chip and width."""
    if list(table.axes) != ["chip", "width"]:
        raise ValueError(f"axes are {list(table.axes)}: select one context, e.g. table.sel(context=4096)")
    return [
        PriceRow(
            row["chip"],
            f"{row['chip']}  x{row['width']}",
            row["floor"],
            row["prediction"],
            row["tokens_per_second"],
            row["reason"],
        )
        for row in table.rows()
    ]


def draw_grid(table: PriceTable, title: str = "") -> Figure:
    """One row per chip and width: floor, prediction and the band between, in milliseconds per step.

    Args:
        table: a `PriceTable` with axes chip and width (select one context first).
        title: what is priced.

    Returns:
        A Figure. A row without a prediction has its floor only; a machine that cannot run the step says why.
    """
    return draw_rows(rows_of(table), title)


def draw_rows(rows: Sequence[PriceRow], title: str = "") -> Figure:
    """The same of any rows; beyond 100 the rest is left out, and the picture says so."""
    drawn = rows[:MOST_ROWS]
    figure = new_figure(12.0, 1.9 + 0.34 * len(drawn) + 0.1 * len({row.group for row in drawn}))
    axes = tidy(figure.add_subplot())
    heights = _heights(drawn)
    shown = [1e3 * x for row in drawn for x in (row.floor, row.prediction) if x]
    low, high = (min(shown), max(shown)) if shown else (0.1, 10.0)
    low, high = min(low, high / _SPREAD), max(high, low * _SPREAD)
    codes = [row.code for row in drawn if not is_refused(row.code)]
    told = [reason for reason in REASONS if any(code & reason.code for code in codes)]
    letters = {reason: letter for reason, letter in zip(told, "abcdefghij", strict=False)}
    for row, y in zip(drawn, heights, strict=True):
        _draw_row(axes, row, y, low, high, letters)
    axes.set_yticks(heights, [row.label for row in drawn], parse_math=False)
    axes.set_ylim(max(heights) + 0.7, min(heights) - 0.7)
    _set_time_axis(axes, low / 1.25, high * (high / low) ** 0.3 * 1.6)
    if shown:
        axes.plot([], [], "|", color=LOW, markersize=11, markeredgewidth=3, label="floor: no implementation is faster")
    else:
        axes.xaxis.set_visible(False)  # no time is known, so an axis of times would mean nothing
    if any(row.prediction is not None for row in drawn):
        axes.plot([], [], "o", color=HIGH, label="prediction: the chain as laid out")
    if axes.get_legend_handles_labels()[0]:
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    set_title(figure, title)
    notes = []
    if told:
        words = ",  ".join(f"[{letter}] {reason.name}" for reason, letter in letters.items())
        notes.append(f"no prediction, because undeclared:  {words}")
    if len(rows) > len(drawn):
        notes.append(f"the first {len(drawn)} of {len(rows)} rows")
    set_notes(figure, notes)
    return figure


def _draw_row(axes: Axes, row: PriceRow, y: float, low: float, high: float, letters: Mapping[Reason, str]) -> None:
    """One row, where all times lie between `low` and `high` [ms]; `letters` mark the reasons that the notes spell out."""
    if row.floor is None:
        why = f"cannot run: {', '.join(reason.name for reason in reasons_of(row.code) if reason.refuses_all)}"
        if not is_refused(row.code):
            why = f"no bound: {undeclared_words(row.code)}"
        axes.text(low, y, f"  {why}", va="center", color=NEUTRAL, fontsize=9, style="italic")
        return
    floor = 1e3 * row.floor
    axes.plot(floor, y, "|", color=LOW, markersize=13, markeredgewidth=3)
    rate = row.tokens_per_second
    per_second = f"{rate:,.0f} tokens/s" if rate is not None and np.isfinite(rate) else ""
    if row.prediction is not None:
        prediction = 1e3 * row.prediction
        axes.barh(y, prediction - floor, left=floor, height=0.5, color=LOW, alpha=0.22, linewidth=0)
        axes.plot(prediction, y, "o", color=HIGH, markersize=7)
        axes.text(prediction, y, f"   {per_second}", va="center", fontsize=9)
        return
    marks = ",".join(letters[reason] for reason in reasons_of(row.code))
    head = floor * (high / low) ** 0.035
    axes.annotate("", (head, y), (floor, y), arrowprops={"arrowstyle": "->", "color": LOW})
    axes.text(head, y, f"  at most {per_second}; [{marks}]", va="center", fontsize=9)


def _set_time_axis(axes: Axes, low: float, high: float) -> None:
    """Milliseconds on a log scale, with a handful of round ticks whatever the span."""
    from matplotlib.ticker import FixedLocator, NullFormatter

    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator(_round_ticks(low, high)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("time of one decode step [ms, log scale]")


def _round_ticks(low: float, high: float) -> list[float]:
    """Five to twelve round numbers between `low` and `high`, as evenly on a log scale as such numbers are."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), tuple(np.arange(10, 100, 5) / 10)):
        ticks = [float(f"{step * 10.0**power:.6g}") for power in powers for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= 5:
            break
    return inside[:: -(-len(inside) // 12)]


def _heights(rows: Sequence[PriceRow]) -> list[float]:
    """Rows one apart, with a gap between groups."""
    heights, y = [], 0.0
    for i, row in enumerate(rows):
        y += 0.0 if i == 0 else 1.0 if row.group == rows[i - 1].group else 1.35
        heights.append(y)
    return heights
