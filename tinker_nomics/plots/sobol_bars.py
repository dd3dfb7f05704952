"""Sobol' indices as bars with their 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..uncertainty.study import half_width
from .style import PALETTE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..uncertainty.variance_indices import SobolIndices


def sobol_figure(result: SobolIndices, *, output: str | None = None, title: str = "", limit: int = 15) -> Figure:
    """First-order and total index of each input, largest total first, with 95 % intervals from the replicates.

    Args:
        result: of `sobol_indices`. output: the one to draw; may be left out where there is one.
        title: above the figure. limit: inputs shown.
    """
    output = result.outputs[0] if output is None else output
    s1, e1, st, et = (result.of(x, output) for x in (result.s1, result.s1_error, result.st, result.st_error))
    ranked = sorted(result.names, key=lambda name: -np.nan_to_num(st[name]))
    names = ranked[:limit]
    figure = new_figure(12.0, 1.8 + 0.55 * max(2, len(names)))
    axis = figure.subplots()
    rows = np.arange(len(names))
    reach = 0.0
    for values, errors, offset, colour, label in (
        (st, et, -0.19, PALETTE[5], "total (ST): alone and with others"),
        (s1, e1, 0.19, PALETTE[0], "first order (S1): alone"),
    ):
        heights = np.array([max(0.0, values[name]) for name in names])
        half = np.array([half_width(errors[name], result.replicates) for name in names])
        axis.barh(rows + offset, heights, 0.36, color=colour, label=label, zorder=2)
        axis.errorbar(
            heights, rows + offset, xerr=half, fmt="none", ecolor="black", elinewidth=1.1, capsize=3, zorder=3
        )
        for row, height, width in zip(rows, heights, np.nan_to_num(half)):
            text = f"{height:.3f} ± {width:.3f}"
            axis.annotate(text, (height + width, row + offset), xytext=(5, 0), textcoords="offset points",
                          va="center", fontsize=9)  # fmt: skip
            reach = max(reach, height + width)
    axis.set_yticks(rows, names)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlim(0.0, 1.15 * max(reach, 0.1))
    more = f"; {len(ranked) - len(names)} more inputs not shown" if len(ranked) > len(names) else ""
    axis.set_xlabel(
        f"share of the variance of {output or 'the output'}\n(95 % intervals from {result.replicates} scrambles, "
        f"{result.samples:,} samples{more})"
    )
    axis.set_title(title, loc="left", fontsize=14, fontweight="bold", parse_math=False)
    axis.legend(loc="lower right", frameon=False)
    tidy(axis)
    axis.tick_params(axis="y", length=0)
    return figure
