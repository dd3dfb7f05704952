"""A Pareto front: its points, the stairs that they make, and what else is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..outputs import UNITS
from .style import NEUTRAL, PALETTE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..streaming.pareto import Front

_TOLD = 6  # points with a number, told in the list beside the picture
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def pareto_figure(
    front: Front,
    x: str,
    y: str,
    *,
    by: str | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
    shade: str | None = None,
    describe: Sequence[str] = (),
    title: str = "",
) -> Figure:
    """The front in two of its outputs.

    Args:
        front: the result of a `Pareto` reducer that minimises x and y (and perhaps a third output).
        x, y: the outputs on the axes.
        by: an input or output that gives points their colour and mark.
        texts: {input: its texts}, of inputs that are choices and hold the places 0, 1, ... of them.
        shade: an output that gives points their shade, with a scale beside the picture: the third of three objectives.
            No stairs are drawn then, since a point above them may be less in it.
        describe: inputs that are told of the ends, and of points evenly between them.
        title: above the figure.
    """
    figure = new_figure(12.0, 6.5)
    axis = figure.subplots()
    columns = {**front.inputs, **front.outputs}
    order = np.argsort(columns[x], kind="stable")
    across, up = columns[x][order], columns[y][order]
    if shade is None:
        axis.step(across, np.minimum.accumulate(up), where="post", color=NEUTRAL, linewidth=1.2, zorder=1)
    level = columns[shade][order] if shade is not None else np.zeros(0)
    label = "" if shade is None else f"{shade} [{UNITS[shade]}]" if shade in UNITS else shade
    if shade is not None and len(np.unique(level)) == 1:  # a scale of one value would show what is not there
        axis.scatter(across, up, s=42, color=PALETTE[0], label=f"{label} = {level[0]:.6g} at all points", zorder=2)
        axis.legend(frameon=False, loc="upper right")
    elif shade is not None:
        dots = axis.scatter(across, up, s=42, c=level, cmap="viridis", zorder=2)
        figure.colorbar(dots, ax=axis, label=label)
    elif by is None:
        axis.scatter(across, up, s=42, color=PALETTE[0], zorder=2)
    else:
        values = columns[by][order]
        for index, value in enumerate(np.unique(values)):
            here = values == value
            name = _told(by, value, texts)
            axis.scatter(
                across[here],
                up[here],
                s=48,
                color=PALETTE[index % len(PALETTE)],
                edgecolor="white",
                linewidth=0.6,
                marker=_MARKS[index % len(_MARKS)],
                label=name,
                zorder=2,
            )
        axis.legend(title=by, frameon=False, loc="upper right")
    for place, (key, low) in ((axis.set_xlabel, (x, across)), (axis.set_ylabel, (y, up))):
        place(f"{key} [{UNITS[key]}]" if key in UNITS else key)
        if low.min(initial=np.inf) > 0 and low.max(initial=0) > 30 * low.min(initial=np.inf):
            (axis.set_xscale if key == x else axis.set_yscale)("log")
    if not len(across):
        text = "no point meets the conditions"
        axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", fontsize=14)
    if describe and len(across):
        lines = [[_told(name, value, texts) for value in front.inputs[name][order]] for name in describe]
        _tell(axis, across, up, describe, lines)
    more = "" if front.exact else f"; thinned: {front.dropped:,} points left out"
    axis.set_title(
        f"{title or f'{y} against {x}'} ({len(across)} points{more})", loc="left", fontsize=14, fontweight="bold"
    )
    tidy(axis, "both")
    return figure


def _told(name: str, value: float, texts: Mapping[str, Sequence[str]] | None) -> str:
    return texts[name][int(value)] if texts is not None and name in texts else f"{value:g}"


def _tell(axis: Any, x: np.ndarray, y: np.ndarray, describe: Sequence[str], columns: list[list[str]]) -> None:
    shown = np.unique(np.round(np.linspace(0, len(x) - 1, min(_TOLD, len(x)))).astype(int))
    heads = [name.split(".")[-1] for name in describe]
    widths = [max(len(head), *(len(column[place]) for place in shown)) for head, column in zip(heads, columns)]
    lines = ["   " + "  ".join(head.rjust(width) for head, width in zip(heads, widths))]
    for number, place in enumerate(shown, start=1):
        cells = [column[place].rjust(width) for column, width in zip(columns, widths)]
        lines.append(f"{number}: " + "  ".join(cells))
        axis.annotate(
            str(number),
            (x[place], y[place]),
            xytext=(-4, -14),
            textcoords="offset points",
            fontsize=10,
            fontweight="bold",
        )
    axis.text(
        0.985,
        0.6,
        "\n".join(lines),
        transform=axis.transAxes,
        ha="right",
        va="top",
        fontsize=10,
        family="monospace",
        bbox={"facecolor": "white", "edgecolor": "#BBBBBB", "pad": 6},
    )
