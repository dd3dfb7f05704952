"""A waterfall: from one total to another, a bar per step, two totals side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .style import HIGH, LOW, NEUTRAL, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def waterfall_figure(
    rows: Sequence[tuple[str, float, float]],
    start: Sequence[float],
    end: Sequence[float],
    titles: Sequence[str] = ("Tinker", "own GPUs"),
    ends: Sequence[str] = ("published", "revised"),
    title: str = "",
) -> Figure:
    """Horizontal bars from `start` to `end`, one panel per total, labels shared.

    Args:
        rows: (label, what it adds to the first total, what it adds to the second) [USD].
        start, end: the two totals before and after [USD]; the rows sum to their differences.
        titles: of the panels.
        ends: names of the first and the last bar.
        title: above the figure.
    """
    labels = [ends[0], *(label for label, *_ in rows), ends[1]]
    figure = new_figure(12, 0.34 * len(labels) + 1.3 + 0.25 * len(title.splitlines()))
    panels = figure.subplots(1, 2, sharey=True)
    for column, axes in enumerate(panels):
        added = np.array([row[1 + column] for row in rows], dtype=np.float64)
        _panel(axes, added, start[column], end[column])
        axes.set_title(titles[column], loc="left", fontweight="bold")
        axes.set_xlabel("USD")
        tidy(axes)
    panels[0].set_yticks(range(len(labels)), labels)
    panels[0].invert_yaxis()
    for axes in panels:
        axes.tick_params(axis="y", length=0)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", parse_math=False)
    return figure


def _panel(axes: Axes, added: np.ndarray, start: float, end: float) -> None:
    before = start + np.concatenate([[0.0], np.cumsum(added)[:-1]]) if len(added) else np.array([])
    after = before + added
    places = list(range(1, len(added) + 1))
    last = len(added) + 1
    axes.barh([0, last], [start, end], color=NEUTRAL, height=0.62)
    axes.barh(places, added, left=before, color=[HIGH if value > 0 else LOW for value in added], height=0.62)
    levels = np.concatenate([[start], after])
    for place, level in enumerate(levels):
        axes.plot([level, level], [place - 0.31, place + 1.31], color=NEUTRAL, linewidth=0.8)
    furthest = max(start, end, *levels)
    axes.set_xlim(min(0.0, *levels) * 1.15, furthest * 1.22)
    pad = 0.008 * furthest
    for place, value in ((0, start), (last, end)):
        axes.text(value + pad, place, f"${value:,.2f}", va="center", fontweight="bold")
    for place, value, low, high in zip(places, added, before, after):
        # what rounds to nothing gets no number, only its place in the row
        text = "0" if abs(value) < 0.005 else f"{'+' if value > 0 else '-'}${abs(value):,.2f}"
        axes.text(max(low, high) + pad, place, text, va="center", color=NEUTRAL if text == "0" else "black")
