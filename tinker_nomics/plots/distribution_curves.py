"""The distribution of a Monte Carlo output: exceedance curve and histogram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..uncertainty.text import number, probability_in_words
from .label_places import spaced
from .style import NEUTRAL, PALETTE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..uncertainty.simulation import MonteCarlo


_BEHIND = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}  # what keeps text legible on lines


def _names(result: MonteCarlo, outputs: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    if outputs is None:
        return (next(iter(result.parts)),)
    return (outputs,) if isinstance(outputs, str) else tuple(outputs)


def _footnote(result: MonteCarlo) -> str:
    early = "" if result.complete else ", stopped early"
    return f"{result.samples:,} samples in {result.begun} scrambles, seed {result.seed}{early}"


def exceedance_figure(
    result: MonteCarlo,
    *,
    outputs: str | tuple[str, ...] | list[str] | None = None,
    budget: float | None = None,
    title: str = "",
    unit: str = "",
) -> Figure:
    """P(Y > x) of one or more outputs; the chance of exceeding `budget` is written where it is given.

    Args:
        result: of `monte_carlo`. outputs: one name or several with the same unit; the first when None.
        title: above the figure. unit: of the outputs.
    """
    figure = new_figure(12.0, 6.0)
    axis = figure.subplots()
    ends, chances = [], []
    for index, output in enumerate(_names(result, outputs)):
        x, share = result.exceedance(output)
        part = result.part(output)
        line = axis.step(
            np.concatenate([[part.least.value], np.minimum(x, part.greatest.value)]),
            np.concatenate([[1.0], share]),
            where="post",
            color=PALETTE[index],
            linestyle=("-", "--", "-.", ":")[index % 4],
            linewidth=2.2,
            label=output or "output",
        )[0]
        ends.append((part.quantile(0.0005), part.quantile(0.998)))
        if budget is not None:
            chance, error = result.probability(f"{output} > {budget}"), result.probability_error(f"{output} > {budget}")
            words = probability_in_words(chance, error, percent=True, samples=part.count)
            text = f"P({output or 'output'} > {number(budget)}) {words}"
            axis.plot([budget], [chance], marker="o", color=line.get_color(), zorder=4)
            chances.append((chance, text, line.get_color()))
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    if budget is not None:
        low, high = min(low, budget), max(high, budget)
    pad = 0.03 * (high - low) or 1.0
    axis.set_xlim(low - pad, high + pad)
    axis.set_ylim(0.0, 1.02)
    if budget is not None:
        axis.axvline(budget, color=NEUTRAL, linewidth=1.0)
        right = budget < 0.5 * (low + high)
        # below curves that start at 1, above the axis, and apart from each other
        heights = spaced(np.array([max(chance, 0.03) for chance, *_ in chances]), 0.055, 0.94)
        for (_, text, colour), height in zip(chances, heights):
            axis.annotate(
                text, (budget, height), xytext=(10 if right else -10, 0), textcoords="offset points", color=colour,
                ha="left" if right else "right", va="center", bbox=_BEHIND, zorder=5,
            )  # fmt: skip
    axis.set_xlabel(f"x{f' [{unit}]' if unit else ''}        ({_footnote(result)})")
    axis.set_ylabel("P(output > x)")
    axis.set_title(title, loc="left", fontsize=14, fontweight="bold", parse_math=False)
    axis.legend(loc="upper right", frameon=False)
    tidy(axis, "both")
    return figure


def histogram_figure(
    result: MonteCarlo,
    *,
    output: str | None = None,
    bars: int = 80,
    title: str = "",
    unit: str = "",
    marks: Mapping[str, float] | None = None,
) -> Figure:
    """Share of the samples per bar between P0.05 and P99.5, with P10, median, P90 and the mean marked.

    Args:
        result: of `monte_carlo`. output: the one to draw; the first when None.
        bars: how many. title: above the figure. unit: of the output.
        marks: further vertical lines, {label: x}, e.g. a budget.
    """
    name = _names(result, output)[0]
    part = result.part(name)
    low, high = part.quantile(0.0005), part.quantile(0.995)
    if not high > low:
        low, high = low - 0.5, low + 0.5
    limits = np.linspace(low, high, bars + 1)
    shares = part.counts.bars(limits)
    figure = new_figure(12.0, 6.0)
    axis = figure.subplots()
    axis.bar(limits[:-1], shares, np.diff(limits), align="edge", color=PALETTE[5], edgecolor="white", linewidth=0.4)
    top = 1.22 * float(shares.max(initial=1e-12))
    lines = {"P10": part.quantile(0.1), "median": part.quantile(0.5), "mean": part.mean, "P90": part.quantile(0.9)}
    lines |= dict(marks or {})
    # a mark that lies a little beside the bars widens the picture; one far off is named in a corner
    width = high - low
    near = [x for x in (marks or {}).values() if low - width <= x <= high + width]
    low, high = min([low, *(x - 0.02 * width for x in near)]), max([high, *(x + 0.02 * width for x in near)])
    beyond = {label: lines.pop(label) for label, x in list(lines.items()) if not low <= x <= high}
    if beyond:
        text = ", ".join(f"{label} {number(x)}" for label, x in beyond.items())
        axis.annotate(f"outside the picture: {text}", (0.99, 0.5), xycoords="axes fraction", ha="right", fontsize=9)
    levels: list[float] = []
    for label, x in sorted(lines.items(), key=lambda item: item[1]):
        # labels nearer than a tenth of the width take turns on three lines
        level = next(k for k in range(len(levels) + 1) if k >= len(levels) or x - levels[k] > 0.11 * (high - low))
        levels[level : level + 1] = [x]
        axis.axvline(
            x, ymax=0.97 - 0.055 * level, color="black", linewidth=1.0, linestyle="--" if label == "mean" else "-"
        )
        axis.annotate(
            f"{label} {number(x)}",
            (x, (0.97 - 0.055 * level) * top),
            xytext=(4 if x < high - 0.1 * (high - low) else -4, -9),
            textcoords="offset points",
            ha="left" if x < high - 0.1 * (high - low) else "right",
            fontsize=9,
        )
    axis.set_ylim(0.0, top)
    axis.set_xlim(low, high)
    axis.set_xlabel(
        f"{name or 'output'}{f' [{unit}]' if unit else ''}        ({_footnote(result)}; P0.05 to P99.5 shown)"
    )
    axis.set_ylabel("share of the samples per bar")
    axis.set_title(title, loc="left", fontsize=14, fontweight="bold", parse_math=False)
    tidy(axis, "y")
    return figure
