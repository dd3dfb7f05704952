"""The roofline of a decode step: what its stages could attain on a machine, by FLOP per byte moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..decode.reasons import undeclared_words
from ..decode.stages import StageKind
from .decode_words import set_notes, set_title
from .style import HIGH, NEUTRAL, PALETTE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..decode.pricing import DecodeCost
    from ..decode.step import DecodeStep

_STEP = 24  # points from one label of a ladder to the next
_HEIGHT = 340.0  # points of the axes' height, about
_GAP = 2.5  # a ratio of intensities beyond which labels stand clear of each other
_SAME_LEVEL = 5.0  # a ratio of rates within which kinds lie on one level


@dataclass(frozen=True)
class KindWork:
    """One kind of stage: bytes moved [B], arithmetic [FLOP], and the FLOP/s that the machine allows it."""

    kind: StageKind
    moved: float
    flops: float
    attainable: float

    @property
    def intensity(self) -> float:
        """FLOP per byte moved."""
        return self.flops / self.moved


def work_by_kind(step: DecodeStep, cost: DecodeCost) -> list[KindWork]:
    """Every kind of stage that moves and computes, least intense first.

    What a kind attains is its arithmetic over the longer of streaming its bytes, from the tiers that hold them, and
    computing, on even shares.
    """
    attended = np.minimum(np.float64(step.context), np.asarray(step.part_window, dtype=np.float64))
    moved = np.asarray(step.part_bytes, np.float64) + np.asarray(step.part_bytes_per_token, np.float64) * attended
    flops = np.asarray(step.part_flops, np.float64) + np.asarray(step.part_flops_per_token, np.float64) * attended
    count, chip = cost.machine.count, cost.machine.chip
    slowness = [1.0 / tier.bandwidth if tier.bandwidth is not None else 0.0 for tier in chip.tiers]
    per_byte = np.array([np.dot(row.tiers, slowness) for row in cost.placement]) / count
    seconds = moved * per_byte[np.asarray(step.part_class)]
    rate = chip.matrix_rates[cost.precision]
    found = []
    for kind in StageKind:
        of_kind = np.array([step.stages[stage].kind is kind for stage in step.part_stage])
        work, arithmetic, streaming = (float(column[of_kind].sum()) for column in (moved, flops, seconds))
        longest = max(streaming, arithmetic / rate / count if rate is not None else 0.0)
        if work > 0.0 and arithmetic > 0.0 and longest > 0.0:
            found.append(KindWork(kind, work, arithmetic, arithmetic / longest))
    return sorted(found, key=lambda one: one.intensity)


def draw_roofline(step: DecodeStep, cost: DecodeCost, title: str = "") -> Figure:
    """FLOP/s that the machine allows against FLOP per byte, with every kind of stage and the step as a whole on it.

    Args:
        step: the step that was priced.
        cost: its price; the roof is its machine's at its precision.
        title: what is priced.
    """
    figure = new_figure(12.0, 6.4)
    axes = tidy(figure.add_subplot(), "both")
    set_title(figure, title, 100)
    work = work_by_kind(step, cost)
    if not work:
        words = "no roof: the step does no arithmetic"
        if cost.refusal is not None and cost.floor is None:
            words = f"no bound: {undeclared_words(cost.refusal.code)}"
        axes.set_axis_off()
        axes.text(0.5, 0.5, words, ha="center", transform=axes.transAxes)
        return figure
    axes.set_xscale("log")
    axes.set_yscale("log")
    _draw_roofs(axes, cost, [one.intensity for one in work])
    largest = max(one.moved for one in work)
    sizes = [40 + 500 * one.moved / largest for one in work]
    x, y = [one.intensity for one in work], [one.attainable for one in work]
    axes.scatter(x, y, s=sizes, color=PALETTE[4], alpha=0.6, edgecolor="black", linewidth=0.6, zorder=3)
    whole = cost.flops / cost.moved_bytes
    if cost.floor:
        floor = cost.flops / cost.floor
        axes.plot(whole, floor, "D", color=HIGH, markersize=9, zorder=4, label="whole step at the floor")
    if cost.prediction is not None:
        predicted = cost.flops / cost.prediction
        axes.plot(whole, predicted, "v", color=HIGH, markersize=9, zorder=4, label="whole step as predicted")
    _label_kinds(axes, work)
    axes.set_xlabel("arithmetic intensity [FLOP per byte moved]")
    axes.set_ylabel("attainable [FLOP/s]")
    axes.legend(loc="lower right", frameon=False)
    notes = ["area of a circle: bytes that this kind of stage moves"]
    chip = cost.machine.chip
    if chip.matrix_rates[cost.precision] is None:
        notes.append(f"no roof of arithmetic: {chip.id} declares no dense {cost.precision} matrix rate")
    if cost.binds.value == "collective":
        notes.append("the step lies under the roofs because its collectives bind the floor")
    set_notes(figure, notes)
    return figure


def _draw_roofs(axes: Axes, cost: DecodeCost, intensities: list[float]) -> None:
    """One slope per tier with a bandwidth, under the matrix rate where it is declared."""
    chip, count = cost.machine.chip, cost.machine.count
    rate = chip.matrix_rates[cost.precision]
    peak = rate * count if rate is not None else None
    tiers = [(tier.bandwidth * count, tier.kind.value) for tier in chip.tiers if tier.resident and tier.bandwidth]
    tiers = sorted(tiers, reverse=True)
    ridge = [peak / tiers[0][0]] if peak is not None and tiers else [30.0 * max(intensities)]
    x = np.geomspace(min(intensities + ridge) / 4, max(intensities + ridge) * 4, 400)
    for i, (bandwidth, kind) in enumerate(tiers):
        roof = bandwidth * x if peak is None else np.minimum(bandwidth * x, peak)
        axes.plot(x, roof, color=PALETTE[(0, 5, 2, 3)[i]], linewidth=2, label=f"{kind} {_si(bandwidth)}B/s")
    if peak is not None:
        axes.text(x[-1], peak * 1.06, f"{cost.precision} {_si(peak)}FLOP/s", ha="right", va="bottom")


def _label_kinds(axes: Axes, work: list[KindWork]) -> None:
    """Names beside the circles, with room for them above; kinds that lie together share one label.

    Those that attain most are named above to the left, the others below to the right; neighbours climb, so that no
    leader crosses a name, and after a gap the ladder starts again.
    """
    leader = {"arrowstyle": "-", "color": NEUTRAL, "linewidth": 0.8}
    box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    most = max(one.attainable for one in work)
    upper = [one for one in work if one.attainable > most / _SAME_LEVEL]
    lower = [one for one in reversed(work) if one not in upper]
    room = {1: 0.0, -1: 0.0}
    for sign, kinds in ((1, upper), (-1, lower)):
        level, before = 0, 0.0
        for group in _groups(kinds):
            at = group[-1] if sign > 0 else group[0]
            gap = max(at.intensity, before) / min(at.intensity, before) if before else 0.0
            level = level + 1 if 0.0 < gap < _GAP else 0
            before = at.intensity
            place = (-40 * sign, (_STEP + _STEP * level) * sign)
            names = ", ".join(one.kind.value for one in group)
            side = "right" if sign > 0 else "left"
            axes.annotate(
                names, (at.intensity, at.attainable), place, textcoords="offset points", ha=side, fontsize=9,
                arrowprops=leader, bbox=box, zorder=5,
            )  # fmt: skip
            room[sign] = max(room[sign], _STEP * (level + 1.7) / _HEIGHT)
    low, high = axes.get_ylim()
    if lower:
        least = min(one.attainable for one in lower)
        low = min(low, least * (least / high) ** (room[-1] / (1.0 - room[-1])))
    axes.set_ylim(low, max(high, low * (most / low) ** (1.0 / (1.0 - room[1]))))


def _groups(work: list[KindWork]) -> list[list[KindWork]]:
    """Kinds that lie so close together that one label does for them."""
    groups: list[list[KindWork]] = []
    for one in work:
        last = groups[-1][0] if groups else None
        apart = max(one.intensity, last.intensity) / min(one.intensity, last.intensity) if last else np.inf
        if last is not None and apart <= 1.15 and 0.5 < one.attainable / last.attainable < 2.0:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _si(value: float) -> str:
    power = min(max(int(np.log10(value) // 3), 0), 6)
    return f"{value / 1e3**power:.3g} {('', 'k', 'M', 'G', 'T', 'P', 'E')[power]}"
