"""The spider: an output along the percentiles of each input's own range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .axis_numbers import plain_numbers
from .label_places import LEADER, spaced
from .style import PALETTE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..uncertainty.percentile_lines import Spider

_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))


def spider_figure(
    result: Spider, *, output: str | None = None, title: str = "", unit: str = "", limit: int = 7
) -> Figure:
    """At most `limit` lines (7 at most), those that swing most, each named at its right end.

    Args:
        result: of `spider`. output: the one to draw; may be left out where there is one.
        title: above the figure. unit: of the output.
    """
    lines = {label: y for label, y in result.of(output, min(limit, 7)).items() if np.isfinite(y).any()}
    name = output or next(iter(result.lines))
    figure = new_figure(12.0, 6.5)
    axis = figure.subplots()
    colours = [colour for colour in PALETTE if colour != "#F0E442"]  # yellow on white is hard to see
    for index, (label, y) in enumerate(lines.items()):
        axis.plot(result.percentiles, y, color=colours[index], linestyle=_DASHES[index], linewidth=2.2, label=label)
    axis.axhline(result.base[name], color="black", linewidth=0.8)
    axis.annotate("base", (0.0, result.base[name]), xytext=(3, 3), xycoords=axis.get_yaxis_transform(),
                  textcoords="offset points", ha="left", va="bottom", fontsize=9)  # fmt: skip
    _name_ends(axis, result.percentiles, lines, colours)
    first, last = result.percentiles[0], result.percentiles[-1]
    marks = [mark for mark in (5, 10, 25, 50, 75, 90, 95) if first <= mark <= last]
    axis.set_xticks(marks, [f"P{mark}" for mark in marks])
    axis.set_xlim(first - 5, last + 1)
    axis.set_xlabel("percentile of each input's own distribution")
    axis.set_ylabel(f"{name or 'output'}{f' [{unit}]' if unit else ''}")
    axis.set_title(title, loc="left", fontsize=14, fontweight="bold", parse_math=False)
    tidy(axis, "both")
    plain_numbers(axis.yaxis)
    return figure


def _name_ends(axis: Axes, x: np.ndarray, lines: dict[str, np.ndarray], colours: list[str]) -> None:
    """The lines' names beside their right ends, moved apart where they would overlap."""
    seen = [np.flatnonzero(np.isfinite(line)) for line in lines.values()]
    last = [places[-1] for places in seen]
    ends = np.array([line[place] for line, place in zip(lines.values(), last)])
    low, high = axis.get_ylim()
    for index, (name, place) in enumerate(zip(lines, spaced(ends, 0.045 * (high - low), high))):
        holes = len(x) - len(seen[index])
        axis.annotate(
            name + (f" (not finite at {holes} of {len(x)} points)" if holes else ""),
            (x[last[index]], ends[index]),
            xytext=(1.012, place),
            textcoords=axis.get_yaxis_transform(),
            va="center",
            fontsize=10,
            color=colours[index],
            arrowprops={**LEADER, "color": colours[index]},
            annotation_clip=False,
        )
