"""The text that `tinker-nomics decode` prints: a table of machines, the reasons in words, where the time goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..decode.dollars import usd_per_million_tokens
from ..decode.pricing import Bind, DecodeCost
from .decode_arguments import bytes_text, count_text, si
from .text_table import table

if TYPE_CHECKING:
    from ..decode.step import DecodeStep

_HEADER = ["chip", "chips", "precision", "floor ms", "predicted ms", "binds", "tokens/s", "USD/M tokens", "notes"]


def screen(title: str, header: Any, context: int, step: DecodeStep, points: Sequence[Any], stages: bool) -> str:
    """One context on one screen.

    Args:
        title: the checkpoint's name.
        header: its header.
        context: tokens attended per sequence.
        step: its decode step.
        points: per machine a `DecodeCost`, or the machine and its refusal.
        stages: whether to tell where the time goes.
    """
    notes: list[str] = []
    rows = [_row(point, notes) for point in points]
    costs = [point for point in points if isinstance(point, DecodeCost)]
    lines = [_summary(title, header, context, step), "", table(rows, _HEADER, "lrlrrlrrl")]
    lines += [""] + [f"[{i + 1}] {note}" for i, note in enumerate(notes)]
    bounds = []
    if any(cost.prediction is None for cost in costs):
        bounds.append("<= and >= are bounds that follow from the floor, which no implementation beats.")
    bounds.append("Time is of one decode step: one token of every sequence, in the steady state, without the prompt.")
    lines += bounds
    if stages:
        for cost in costs:
            lines += ["", stage_text(cost)]
    return "\n".join(lines) + "\n"


def _summary(title: str, header: Any, context: int, step: DecodeStep) -> str:
    figures = step.to_dict()
    state = f", {bytes_text(figures['state_bytes'])} of state" if figures["state_bytes"] else ""
    sequences = float(step.stage_payload[-1]) / 8.0 if step.stages[-1].collective == "argmax" else 1.0
    several = f" x {sequences:g} sequences" if sequences != 1.0 else ""
    flops = sum(value for name, value in figures.items() if name.endswith("_flops"))
    return "\n".join([
        f"{title} ({header.architecture}): {count_text(figures['parameters'])} parameters, "
        f"{bytes_text(figures['weight_bytes'])}",
        f"context {context:,}{several}: cache holds {bytes_text(figures['kv_bytes_reserved'])}{state}",
        f"one step reads {bytes_text(figures['weight_bytes_read'])} of weights and "
        f"{bytes_text(figures['kv_bytes_read'])} of cache, and computes {si(flops)}FLOP",
    ])  # fmt: skip


def _row(point: Any, notes: list[str]) -> list[str]:
    if not isinstance(point, DecodeCost):
        machine, refusal = point
        return [
            machine.chip.id,
            str(machine.count),
            "-",
            "-",
            "-",
            "-",
            "-",
            "-",
            f"cannot run {_marks(refusal.reasons, notes)}",
        ]
    bound = point.prediction is None
    rate = f"{point.tokens_per_second:,.0f}" if point.tokens_per_second >= 100 else f"{point.tokens_per_second:.3g}"
    reasons = list(point.refusal.reasons) if point.refusal is not None else []
    if point.machine.rent is None:
        dollars = "-"
        reasons.append(f"no rent of {point.machine.chip.id} is known (--rent gives one)")
    else:
        dollars = f"{'>= ' if bound else ''}{usd_per_million_tokens(point):.3g}"
    return [
        point.machine.chip.id,
        str(point.machine.count),
        point.precision,
        _ms(point.floor),
        "-" if point.prediction is None else _ms(point.prediction),
        str(point.binds.value if point.prediction_binds is None else point.prediction_binds.value),
        f"{'<= ' if bound else ''}{rate}",
        dollars,
        _marks([*reasons, *point.notes], notes),
    ]


def _marks(reasons: Sequence[str], notes: list[str]) -> str:
    for reason in reasons:
        if reason not in notes:
            notes.append(reason)
    return "".join(f"[{notes.index(reason) + 1}]" for reason in reasons)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}"


def stage_text(cost: DecodeCost) -> str:
    """Where the time goes: milliseconds by kind of stage and term, undeclared terms at zero."""
    from ..plots.decode_stages import stage_seconds

    seconds = stage_seconds(cost) * 1e3
    total = seconds.sum()
    kinds = list(dict.fromkeys(stage.stage.kind for stage in cost.stages))
    rows = []
    for kind in kinds:
        chosen = [i for i, stage in enumerate(cost.stages) if stage.stage.kind is kind]
        part = seconds[chosen].sum(axis=0)
        share = f"{part.sum() / total:.1%}" if total > 0.0 else "-"
        rows.append([kind.value, str(len(chosen)), *(f"{x:.4g}" for x in part), f"{part.sum():.4g}", share])
    whole = seconds.sum(axis=0)
    rows.append(
        ["all", str(len(cost.stages)), *(f"{x:.4g}" for x in whole), f"{total:.4g}", "100.0%" if total else "-"]
    )
    names = [bind.value for bind in Bind]
    head = f"{cost.machine.count} x {cost.machine.chip.id}: ms by kind of stage, on the fullest chip's share"
    return head + "\n" + table(rows, ["stage", "count", *names, "ms", "share"], "lrrrrrrr")
