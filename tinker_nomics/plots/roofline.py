"""The roofline of a decode step: what its stages could attain on a machine, by FLOP per byte moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..decode.pricing import Bind
from ..decode.stages import StageKind
from .style import HIGH, NEUTRAL, PALETTE, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..decode.pricing import DecodeCost
    from ..decode.step import DecodeStep


def work_by_kind(step: DecodeStep) -> dict[StageKind, tuple[float, float]]:
    """Bytes moved [B] and arithmetic [FLOP] of a step by kind of stage, kinds that do both."""
    attended = np.minimum(np.float64(step.context), np.asarray(step.part_window, dtype=np.float64))
    moved = np.asarray(step.part_bytes, np.float64) + np.asarray(step.part_bytes_per_token, np.float64) * attended
    flops = np.asarray(step.part_flops, np.float64) + np.asarray(step.part_flops_per_token, np.float64) * attended
    found: dict[StageKind, tuple[float, float]] = {}
    for kind in StageKind:
        of_kind = np.array([step.stages[stage].kind is kind for stage in step.part_stage])
        work = float(moved[of_kind].sum()), float(flops[of_kind].sum())
        if min(work) > 0.0:
            found[kind] = work
    return found


def draw_roofline(step: DecodeStep, cost: DecodeCost, title: str = "") -> Figure:
    """FLOP/s that the machine allows against FLOP per byte, with every kind of stage and the step as a whole on it.

    Args:
        step: the step that was priced.
        cost: its price; the roof is its machine's at its precision.
        title: what is priced.
    """
    chip, count = cost.machine.chip, cost.machine.count
    rate = chip.matrix_rates[cost.precision]
    tiers = [tier for tier in chip.tiers if tier.resident and tier.bandwidth is not None]
    work = work_by_kind(step)
    intensity = {kind: flops / moved for kind, (moved, flops) in work.items()}
    figure = new_figure(12.0, 6.4)
    axes = tidy(figure.add_subplot(), "both")
    fastest = max((tier.bandwidth or 0.0 for tier in tiers), default=0.0) * count
    if fastest == 0.0 or cost.floor == 0.0 or cost.moved_bytes == 0.0:
        axes.text(0.5, 0.5, "no memory bandwidth is declared: no roof", ha="center", transform=axes.transAxes)
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        return figure
    peak = rate * count if rate is not None else None
    ridge = peak / fastest if peak is not None else max(intensity.values(), default=1.0) * 30
    reach = [*intensity.values(), ridge]
    x = np.geomspace(min(reach) / 4, max(reach) * 4, 400)
    for i, tier in enumerate(sorted(tiers, key=lambda tier: -(tier.bandwidth or 0.0))):
        roof = (tier.bandwidth or 0.0) * count * x
        roof = roof if peak is None else np.minimum(roof, peak)
        label = f"{tier.kind.value} {_si((tier.bandwidth or 0.0) * count)}B/s"
        axes.plot(x, roof, color=PALETTE[(0, 5, 2, 3)[i % 4]], linewidth=2, label=label)
    if peak is not None:
        axes.text(x[-1], peak * 1.06, f"{cost.precision} {_si(peak)}FLOP/s", ha="right", va="bottom")
    streaming = cost.floor_terms[Bind.MEMORY]
    bandwidth = cost.moved_bytes / streaming if streaming > 0.0 else fastest
    largest = max(moved for moved, _ in work.values())
    for kind, value in sorted(intensity.items(), key=lambda item: item[1]):
        attained = bandwidth * value if peak is None else min(bandwidth * value, peak)
        size = 40 + 500 * work[kind][0] / largest
        axes.scatter(value, attained, s=size, color=PALETTE[4], alpha=0.6, edgecolor="black", linewidth=0.6, zorder=3)
    _label_kinds(axes, intensity, bandwidth, peak)
    whole = cost.flops / cost.moved_bytes
    if cost.flops > 0.0:
        axes.plot(
            whole, cost.flops / cost.floor, "D", color=HIGH, markersize=9, zorder=4, label="whole step at the floor"
        )
        if cost.prediction is not None:
            axes.plot(whole, cost.flops / cost.prediction, "v", color=HIGH, markersize=9, zorder=4,
                      label="whole step as predicted")  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("arithmetic intensity [FLOP per byte moved]")
    axes.set_ylabel("attainable [FLOP/s]")
    axes.legend(loc="lower right", frameon=False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    figure.supxlabel(
        "area of a circle: bytes that this kind of stage moves", x=0.01, ha="left", fontsize=9, color=NEUTRAL
    )
    return figure


def _label_kinds(axes, intensity: dict[StageKind, float], bandwidth: float, peak: float | None) -> None:
    """Names beside the circles; kinds within a factor of 1.15 share one label."""
    groups: list[list[StageKind]] = []
    for kind, value in sorted(intensity.items(), key=lambda item: item[1]):
        if groups and value <= intensity[groups[-1][0]] * 1.15:
            groups[-1].append(kind)
        else:
            groups.append([kind])
    for i, group in enumerate(groups):
        x = intensity[group[-1]]
        y = bandwidth * x if peak is None else min(bandwidth * x, peak)
        names = ", ".join(kind.value for kind in group)
        leader = {"arrowstyle": "-", "color": NEUTRAL, "linewidth": 0.8}
        place = (-40, 22 + 24 * i)
        axes.annotate(names, (x, y), place, textcoords="offset points", ha="right", fontsize=9, arrowprops=leader)


def _si(value: float) -> str:
    power = min(max(int(np.log10(value) // 3), 0), 6)
    return f"{value / 1e3**power:.3g} {('', 'k', 'M', 'G', 'T', 'P', 'E')[power]}"
