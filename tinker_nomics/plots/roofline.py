"""The roofline of a decode step: what its stages could attain on a machine, by FLOP per byte moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..decode.stages import StageKind
from .decode_words import set_notes, set_title
from .style import HIGH, NEUTRAL, PALETTE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..decode.pricing import DecodeCost
    from ..decode.step import DecodeStep


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
    set_title(figure, title)
    work = work_by_kind(step, cost)
    if not work:
        words = "no roof: the step does no arithmetic, or no bandwidth and no matrix rate are declared"
        axes.text(0.5, 0.5, words, ha="center", transform=axes.transAxes)
        return figure
    _draw_roofs(axes, cost, [one.intensity for one in work])
    largest = max(one.moved for one in work)
    sizes = [40 + 500 * one.moved / largest for one in work]
    x, y = [one.intensity for one in work], [one.attainable for one in work]
    axes.scatter(x, y, s=sizes, color=PALETTE[4], alpha=0.6, edgecolor="black", linewidth=0.6, zorder=3)
    _label_kinds(axes, work)
    whole = cost.flops / cost.moved_bytes
    floor = cost.flops / cost.floor
    axes.plot(whole, floor, "D", color=HIGH, markersize=9, zorder=4, label="whole step at the floor")
    if cost.prediction is not None:
        predicted = cost.flops / cost.prediction
        axes.plot(whole, predicted, "v", color=HIGH, markersize=9, zorder=4, label="whole step as predicted")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(top=axes.get_ylim()[1] * 3.0)
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
    """Names beside the circles; kinds that lie together share one label."""
    groups: list[list[KindWork]] = []
    for one in work:
        last = groups[-1][0] if groups else None
        near = last is not None and one.intensity <= 1.15 * last.intensity
        if last is not None and near and 0.5 < one.attainable / last.attainable < 2.0:
            groups[-1].append(one)
        else:
            groups.append([one])
    leader = {"arrowstyle": "-", "color": NEUTRAL, "linewidth": 0.8}
    level = 0
    for i, group in enumerate(groups):
        # neighbours climb, so that no leader crosses a name; after a gap the ladder starts again
        level = level + 1 if i and group[0].intensity < 2.5 * groups[i - 1][-1].intensity else 0
        names = ", ".join(one.kind.value for one in group)
        place = (-40, 22 + 24 * level)
        at = (group[-1].intensity, group[-1].attainable)
        axes.annotate(names, at, place, textcoords="offset points", ha="right", fontsize=9, arrowprops=leader)


def _si(value: float) -> str:
    power = min(max(int(np.log10(value) // 3), 0), 6)
    return f"{value / 1e3**power:.3g} {('', 'k', 'M', 'G', 'T', 'P', 'E')[power]}"
