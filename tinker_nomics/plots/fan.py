"""The fan chart: bands of quantiles of something that grows along steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .label_places import LEADER, spaced
from .style import PALETTE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAND_QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)


def fan_figure(
    steps: Sequence[float] | np.ndarray,
    quantiles: Mapping[float, Sequence[float] | np.ndarray],
    *,
    title: str = "",
    xlabel: str = "training step",
    ylabel: str = "",
    budget: float | None = None,
) -> Figure:
    """Nested bands between the quantiles p and 1 - p, darker inwards, with the median as a line.

    Args:
        steps: the x axis [n].
        quantiles: {p: values [n]}, symmetric about 0.5, with 0.5 among them.
        title, xlabel, ylabel: texts.
        budget: a horizontal line, where given.

    Raises:
        ValueError: no median, or a quantile without its counterpart.
    """
    places = sorted(quantiles)
    lower = [p for p in places if p < 0.5]
    partner = {p: next((q for q in places if abs(p + q - 1.0) < 1e-9), None) for p in lower}
    if 0.5 not in quantiles or any(q is None for q in partner.values()) or len(places) != 2 * len(lower) + 1:
        raise ValueError(f"quantiles {places}: a fan needs 0.5 and pairs p, 1 - p, such as 0.1, 0.5, 0.9")
    x = np.asarray(steps, dtype=float)
    figure = new_figure(12.0, 6.0)
    axis = figure.subplots()
    alphas = np.linspace(0.22, 0.6, max(1, len(lower)))
    for p, alpha in zip(lower, alphas):
        q = partner[p]
        assert q is not None
        label = f"P{100 * p:g} to P{100 * q:g}"
        axis.fill_between(x, quantiles[p], quantiles[q], color=PALETTE[5], alpha=alpha, linewidth=0, label=label)
        for place in (p, q):
            axis.plot(x, np.asarray(quantiles[place]), color=PALETTE[0], linewidth=0.6)
    middle = np.asarray(quantiles[0.5])
    axis.plot(x, middle, color=PALETTE[0], linewidth=2.4, label="median")
    if budget is not None:
        axis.axhline(budget, color=PALETTE[1], linewidth=1.5, linestyle="--")
    axis.set_xlim(x[0], x[-1])
    low, high = axis.get_ylim()
    rising = middle[-1] >= middle[0]
    if budget is not None:
        # away from the legend, which stands at the left, above what rises and below what falls
        left = (budget < 0.5 * (low + high)) == rising
        axis.annotate(
            "budget", (x[0] if left else x[-1], budget), xytext=(4 if left else -4, 4), textcoords="offset points",
            ha="left" if left else "right", color=PALETTE[1],
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
        )  # fmt: skip
    ends = np.array([np.asarray(quantiles[p])[-1] for p in places])
    for p, end, height in zip(places, ends, spaced(ends, 0.032 * (high - low), high)):
        axis.annotate(
            f"P{100 * p:g}",
            (x[-1], end),
            xytext=(1.012, height),
            textcoords=axis.get_yaxis_transform(),
            va="center",
            fontsize=9,
            fontweight="bold" if p == 0.5 else "normal",
            color=PALETTE[0],
            arrowprops={**LEADER, "color": PALETTE[0]},
            annotation_clip=False,
        )
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    axis.set_title(title, loc="left", fontsize=14, fontweight="bold", parse_math=False)
    axis.legend(loc="upper left" if rising else "lower left", frameon=False)
    tidy(axis, "both")
    return figure
