"""Which side wins in each group of points: a map of shares over one or two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .style import PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..streaming.winners import WinnerTable


def group_winners_figure(table: WinnerTable, *, title: str = "", computed: np.ndarray | None = None) -> Figure:
    """A cell per group with the share of the points that the leading output wins, in that output's colour.

    Args:
        table: the result of a `Winners` reducer with one or two group axes.
        title: above the figure.
        computed: bool of the groups' shape, False where nothing of a group has been computed; all of it when None. A
            group of which points were computed and none counts says "none".

    Raises:
        ValueError: no group axis, or more than two.
    """
    if len(table.by) not in (1, 2):
        raise ValueError(f"a map needs one or two group axes, not {len(table.by)}")
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    (down, rows), (across, columns) = ([*table.by.items(), ("", ("",))])[:2]
    names = list(table.wins)
    shape = (len(rows), len(columns))
    wins = np.stack([table.wins[name].reshape(shape) for name in names])
    total = wins.sum(axis=0) + table.ties.reshape(shape)
    shares = np.where(total > 0, wins / np.maximum(total, 1), np.nan)
    leader = np.argmax(wins, axis=0)
    figure = new_figure(12.0, 2.2 + 0.55 * len(rows))
    axis = figure.subplots()
    picture = np.ones((*shape, 3))
    for row, column in np.ndindex(shape):
        if total[row, column] == 0:
            text = "none" if computed is None or computed.reshape(shape)[row, column] else "not computed"
        else:
            share, colour = shares[leader[row, column], row, column], PALETTE[leader[row, column] % len(PALETTE)]
            strength = 0.15 + 0.85 * (share - 1 / len(names)) / (1 - 1 / len(names))
            picture[row, column] = 1 - strength * (1 - np.array(to_rgb(colour)))
            text = f"{100 * share:.0f} %"
        dark = picture[row, column] @ (0.299, 0.587, 0.114) < 0.55
        axis.text(column, row, text, ha="center", va="center", fontsize=11, color="white" if dark else "black")
    axis.imshow(picture, aspect="auto")
    axis.set_xticks(range(shape[1]), [_written(value) for value in columns])
    axis.set_yticks(range(shape[0]), [_written(value) for value in rows])
    axis.set_xlabel(across)
    axis.set_ylabel(down)
    axis.set_xticks(np.arange(shape[1] + 1) - 0.5, minor=True)
    axis.set_yticks(np.arange(shape[0] + 1) - 0.5, minor=True)
    axis.grid(True, which="minor", color="white", linewidth=2)
    axis.tick_params(which="both", length=0)
    for side in axis.spines.values():
        side.set_visible(False)
    patches = [Patch(color=PALETTE[index % len(PALETTE)], label=f"{name} is least") for index, name in enumerate(names)]
    figure.legend(handles=patches, loc="outside lower left", ncols=len(names), frameon=False)
    axis.set_title(
        f"{title or 'which side is cheaper'} (share of {int(total.sum()):,} points)",
        loc="left",
        fontsize=14,
        fontweight="bold",
    )
    return figure


def _written(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
