"""The tornado: uncertainties above, levers below, never ranked together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..quantities import show
from ..uncertainty.text import number
from .axis_numbers import plain_numbers
from .style import HIGH, LOW, NEUTRAL, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..uncertainty.bars import Bar, Tornado

_BAR, _ROW = 0.62, 0.42  # height of a bar in rows; inches per row


def tornado_figure(
    uncertainties: Tornado | None,
    levers: Tornado | None = None,
    *,
    output: str | None = None,
    title: str = "",
    unit: str = "",
    limit: int = 12,
) -> Figure:
    """Bars of one output, largest swing first, in one panel per kind.

    Colours say whether the input is low or high; both ends carry the input's value; `*` marks a bar that is not
    monotone, with a thin line to what lies inside its range; a diamond marks where the decision flips and a small tick
    where a branch of the model switches; inputs without a declared range are listed below.

    Args:
        uncertainties, levers: results of `tornado` and `levers`; either may be None, not both.
        output: the output to draw; may be left out where there is one.
        title: above the figure. unit: of the output.
        limit: bars per panel; the rest are counted in a line.
    """
    panels = [part for part in (uncertainties, levers) if part is not None]
    shown = [part.of(output)[:limit] for part in panels]
    heights = [max(2, len(bars)) for bars in shown]
    figure = new_figure(12.0, 1.9 + sum(_ROW * height + 0.75 for height in heights))
    axes = figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0]
    name = output or next(iter(panels[0].bars))
    axes[-1].set_xlabel(f"{name or 'output'}{f' [{unit}]' if unit else ''}")
    for panel, bars, axis in zip(panels, shown, axes):
        _panel(axis, panel, bars, name, unit, len(panel.of(output)) - len(bars))
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold", parse_math=False)
    _legend(figure, [bar for bars in shown for bar in bars])
    return figure


def _panel(axis: Axes, panel: Tornado, bars: tuple[Bar, ...], output: str, unit: str, left_out: int) -> None:
    base = panel.base[output]
    span = _limits(axis, bars, base)
    for row, bar in enumerate(bars):
        _draw(axis, row, bar, base, span)
    axis.axvline(base, color="black", linewidth=1.2, zorder=3)
    axis.set_yticks(range(len(bars)), [bar.name + ("" if bar.monotone else " *") for bar in bars])
    axis.set_ylim(len(bars) - 0.4, -0.9)
    axis.annotate(
        f"base {show(base, unit) if unit else number(base)}",
        (base, -0.9),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=9,
        annotation_clip=False,
    )
    kind = {"uncertainties": "Uncertainties", "levers": "Levers"}[panel.kind]
    axis.set_title(f"{kind}: {panel.range_label}", loc="left", fontsize=11, pad=16)
    notes = []
    if left_out:
        notes.append(f"{left_out} more with smaller swings")
    notes += [f"{bar.name} is not finite at {bar.nonfinite} of {len(bar.y)} points" for bar in bars if bar.nonfinite]
    if notes or panel.undeclared:
        room = 160 - max((len(bar.name) for bar in bars), default=0)  # letters beside the names of the inputs
        axis.annotate(
            _note("; ".join(notes), panel.undeclared, room),
            (0.0, 0.0),
            xytext=(0, -38 if axis.get_xlabel() else -24),  # below the label of the axis, where there is one
            xycoords="axes fraction",
            textcoords="offset points",
            ha="left",
            va="top",
            fontsize=8.5,
            color=NEUTRAL,
        )
    tidy(axis)
    plain_numbers(axis.xaxis)
    axis.tick_params(axis="y", length=0)


def _limits(axis: Axes, bars: tuple[Bar, ...], base: float) -> float:
    """Set the limits so that the values beside the bars have room; returns the width."""
    finite = [float(v) for bar in bars for v in bar.y[np.isfinite(bar.y)]]
    low, high = min([base, *finite]), max([base, *finite])
    width = (high - low) or abs(base) or 1.0
    # in pixels, of 1200: what the names leave, and the longest value beside a bar
    left = 1180 - 8.5 * max((len(bar.name) for bar in bars), default=0)
    label = 10 + 7.3 * max((len(bar.end(high)) for bar in bars for high in (False, True)), default=0)
    room = max(0.14, label / max(left - 2 * label, label)) * width
    axis.set_xlim(low - room, high + room)
    return width


def _draw(axis: Axes, row: int, bar: Bar, base: float, span: float) -> None:
    ends = ((False, bar.at_low, LOW), (True, bar.at_high, HIGH))
    # both ends on one side of the base: the longer one first, so that the shorter one stays visible on it
    same_side = (bar.at_low - base) * (bar.at_high - base) > 0
    for order, (_, value, colour) in enumerate(sorted(ends, key=lambda end: -abs(end[1] - base))):
        height = _BAR if not (same_side and order) else 0.5 * _BAR
        axis.barh(row, value - base, height, left=base, color=colour, zorder=2)
    if not bar.monotone:
        axis.plot(
            [bar.least, bar.greatest], [row, row], color="black", linewidth=1.0, zorder=4, marker="|", markersize=9
        )
    marked = [bar.output_at(crossing.value) for crossing in bar.flips]
    labels = [(value, bar.end(high), colour, base > other if value == base and other != base else high)
              for (high, value, colour), (_, other, _) in zip(ends, ends[::-1])]  # fmt: skip
    if same_side:
        outer = max(bar.at_low, bar.at_high, key=lambda value: abs(value - base))
        # one long label: on the side of the bar, or across the base, whichever leaves more room for it
        left, right_edge = axis.get_xlim()
        rooms = (outer - left, right_edge - base) if outer < base else (base - left, right_edge - outer)
        side = rooms[1] > rooms[0]
        labels = [
            (outer if side == (outer > base) else base, f"low {bar.end(False)}, high {bar.end(True)}", NEUTRAL, side)
        ]
    for value, text, colour, right in labels:
        right = right if value == base else value > base
        outer = value
        if not bar.monotone:
            outer = max(value, bar.greatest) if right else min(value, bar.least)
        gap = 9 if any(abs(outer - mark) < 0.01 * span for mark in marked) else 4  # past a diamond at the very end
        axis.annotate(
            text,
            (outer, row),
            xytext=(gap if right else -gap, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize=9,
            color=colour,
        )
    for crossing in bar.flips:
        axis.plot(
            bar.output_at(crossing.value),
            row,
            marker="D",
            markersize=7,
            color="white",
            markeredgecolor="black",
            zorder=6,
        )
    for crossings in bar.switches.values():
        for crossing in crossings:
            x = bar.output_at(crossing.value)
            axis.plot([x, x], [row - 0.45, row - 0.2], color="black", linewidth=1.6, zorder=5)


def _legend(figure: Figure, bars: list[Bar]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Patch | Line2D] = [Patch(color=LOW, label="input low"), Patch(color=HIGH, label="input high")]
    if any(bar.flips for bar in bars):
        style = {"marker": "D", "markersize": 7, "markerfacecolor": "white", "markeredgecolor": "black"}
        handles.append(Line2D([], [], linestyle="", label="decision flips", **style))
    if any(bar.switches for bar in bars):
        handles.append(
            Line2D(
                [], [], linestyle="", marker="|", markersize=9, color="black", label="a branch of the model switches"
            )
        )
    if any(not bar.monotone for bar in bars):
        handles.append(Line2D([], [], color="black", linewidth=1.0, label="* not monotone: reach inside the range"))
    figure.legend(handles=handles, loc="outside lower left", ncols=len(handles), frameon=False, fontsize=9)


def _note(text: str, undeclared: tuple[str, ...], width: int, most: int = 3) -> str:
    """`text` and the inputs without a range, in at most `most` lines; those that do not fit are counted."""
    from textwrap import wrap

    lines: list[str] = []
    for shown in range(len(undeclared), -1, -1):
        names = list(undeclared[:shown]) + ([f"{len(undeclared) - shown} more"] if shown < len(undeclared) else [])
        parts = [part for part in (text, "no declared range: " + ", ".join(names) if names else "") if part]
        lines = wrap("; ".join(parts), width)
        if len(lines) <= most:
            break
    return "\n".join(lines)
