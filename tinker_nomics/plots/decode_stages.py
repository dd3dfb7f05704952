"""Where the time of one token goes: along the chain of dependent stages, and by kind of stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..decode.pricing import Bind
from ..decode.reasons import undeclared_words
from ..decode.stages import StageKind
from .decode_words import set_notes, set_title
from .style import NEUTRAL, PALETTE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..decode.pricing import DecodeCost

_TERMS = ("memory", "compute", "collective", "overhead")
_COLORS = dict(zip(_TERMS, (PALETTE[0], PALETTE[4], PALETTE[2], PALETTE[3]), strict=True))


def stage_seconds(cost: DecodeCost) -> np.ndarray:
    """Seconds of every stage by the term they are spent on: memory or compute, whichever is longer, then the others.

    Returns:
        Shape [stages, 4], in the order memory, compute, collective, overhead.
    """
    rows = np.array([[s.memory, s.compute, s.collective, s.overhead] for s in cost.stages])
    streams = rows[:, 0] >= rows[:, 1]
    rows[:, 0] *= streams
    rows[:, 1] *= ~streams
    return rows


def draw_stages(cost: DecodeCost, title: str = "") -> Figure:
    """Time along the chain, summed up, above; time by kind of stage below. Undeclared terms are drawn as nothing.

    Args:
        cost: what `price` returned.
        title: what is priced.
    """
    seconds = stage_seconds(cost) * 1e3
    if not seconds.any():
        return _nothing_known(cost, title)
    kinds = [kind for kind in StageKind if any(s.stage.kind is kind for s in cost.stages)]
    figure = new_figure(12.0, 5.6 + 0.26 * len(kinds))
    upper, lower = figure.subplots(2, 1, height_ratios=[3.0, 0.8 + 0.27 * len(kinds)])
    tidy(upper, "y")
    tidy(lower, "x")
    used = [i for i in range(4) if seconds[:, i].sum() > 0.0]
    walked = np.concatenate([np.zeros((1, 4)), np.cumsum(seconds, axis=0)])
    places = np.arange(len(walked))
    base = np.zeros(len(walked))
    for i in used:
        upper.fill_between(places, base, base + walked[:, i], color=_COLORS[_TERMS[i]], label=_TERMS[i], linewidth=0)
        base = base + walked[:, i]
    upper.set_xlim(0, places[-1])
    upper.set_ylim(0, base[-1] * 1.08 if base[-1] > 0.0 else 1.0)
    if cost.floor:
        upper.axhline(cost.floor * 1e3, color=NEUTRAL, linestyle="--", linewidth=1)
        upper.text(places[-1] * 0.005, cost.floor * 1e3, f"floor {cost.floor * 1e3:.4g} ms", va="bottom", color=NEUTRAL)
    upper.set_ylabel("time so far [ms]")
    upper.set_xlabel("stages walked, in order of dependence")
    figure.legend(*upper.get_legend_handles_labels(), loc="outside upper right", ncols=4, frameon=False)

    y = np.arange(len(kinds))
    totals = np.array([seconds[[s.stage.kind is kind for s in cost.stages]].sum(axis=0) for kind in kinds])
    left = np.zeros(len(kinds))
    for i in used:
        lower.barh(y, totals[:, i], left=left, color=_COLORS[_TERMS[i]], height=0.7)
        left += totals[:, i]
    for place, (kind, total) in enumerate(zip(kinds, left, strict=True)):
        count = sum(s.stage.kind is kind for s in cost.stages)
        share = f"{total / left.sum():.1%}" if left.sum() > 0.0 else ""
        lower.text(total, place, f"  {share} in {count} stage{'s' if count > 1 else ''}", va="center", fontsize=9)
    lower.set_yticks(y, [kind.value for kind in kinds])
    lower.invert_yaxis()
    lower.set_xlim(0, max(left.max() * 1.18, 1e-12))
    lower.set_xlabel("time by kind of stage [ms]")
    set_title(figure, title)
    hidden = cost.hidden_terms
    notes = [
        f"{hidden[term] * 1e3:.3g} ms of {term.value} pass while {longer.value} binds, and are not drawn"
        for term, longer in ((Bind.COMPUTE, Bind.MEMORY), (Bind.MEMORY, Bind.COMPUTE))
        if hidden[term] > 0.0
    ]
    if cost.refusal is not None:
        reasons = "; ".join(cost.refusal.reasons)
        notes.append(f"no prediction, and what is not declared is drawn as nothing: {reasons}")
    set_notes(figure, notes)
    return figure


def _nothing_known(cost: DecodeCost, title: str) -> Figure:
    """In the place of a chain without a single second in it: why."""
    figure = new_figure(12.0, 3.0)
    axes = figure.add_subplot()
    axes.set_axis_off()
    words = "the step does nothing that takes time"
    if cost.refusal is not None:
        words = f"no bound: {undeclared_words(cost.refusal.code)}"
    axes.text(0.5, 0.5, words, ha="center", transform=axes.transAxes)
    set_title(figure, title)
    set_notes(figure, [] if cost.refusal is None else ["; ".join(cost.refusal.reasons)])
    return figure
