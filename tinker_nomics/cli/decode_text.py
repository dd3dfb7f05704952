"""The text that `tinker-nomics decode` prints: a table of machines, the reasons in words, where the time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..catalog.rent_table import SHORT_RULE
from ..decode.architecture_rules import rules_of
from ..decode.dollars import usd_per_million_tokens
from ..decode.pricing import Bind, DecodeCost
from ..decode.reasons import reasons_of
from ..decode.stages import StageKind
from ..printable import printable
from .decode_figures import bytes_text, count_text, digits, si, tokens_text
from .text_table import table

if TYPE_CHECKING:
    from ..decode.deployment import Deployment
    from ..decode.gguf_header import GgufHeader
    from ..decode.refusal import DecodeRefusal
    from ..decode.step import DecodeStep
    from ..hardware.chip import Machine
    from .decode_machines import RentedChip

_HEADER = ["chip", "chips", "precision", "floor ms", "predicted ms", "binds", "tokens/s", "USD/M tokens", "notes"]

_MOST_TOLD = 24
"""With more machines than this, reasons are told by their kind and not chip by chip."""
_LAYOUT = "the machine as a whole holds the step, but not laid out this way: replicated parts have to be cut otherwise"


@dataclass(frozen=True)
class Priced:
    """One checkpoint at one context, on every machine.

    Args:
        title: the checkpoint's name.
        header: its header.
        deployment: how it is deployed.
        step: its decode step.
        points: per machine a `DecodeCost`, or the machine and its refusal.
    """

    title: str
    header: GgufHeader
    deployment: Deployment
    step: DecodeStep
    points: Sequence[DecodeCost | tuple[Machine, DecodeRefusal]]

    @property
    def costs(self) -> list[DecodeCost]:
        """The machines that can run it."""
        return [point for point in self.points if isinstance(point, DecodeCost)]

    def subject(self, context: bool = True) -> str:
        """What is priced, in a line: the name, the context if wanted, and whatever is not as by default."""
        held = self.deployment
        types = dict.fromkeys((held.k_type.lower(), held.v_type.lower()))
        parts = [
            self.title,
            f"context {held.context:,.0f}" if context else "",
            f"{tokens_text(held.sequences)} sequences" if held.sequences != 1.0 else "",
            f"cache {'/'.join(types)}" if tuple(types) != ("f16",) else "",
            f"weights {held.weight_type.name}" if held.weight_type is not None else "",
        ]
        return ", ".join(part for part in parts if part)


def screen(priced: Priced, chips: Sequence[RentedChip], stages: bool) -> str:
    """One context on one screen.

    Args:
        priced: the prices.
        chips: the chips with their rents.
        stages: whether to tell where the time goes.
    """
    notes: list[str] = []
    brief = len(priced.points) > _MOST_TOLD
    origins = {rented.chip.id: rented.origin for rented in chips}
    rows = [_row(point, origins, notes, brief) for point in priced.points]
    lines = [_summary(priced), "", table(rows, _HEADER, "lrlrrlrrl"), ""]
    lines += [f"[{i + 1}] {note}" for i, note in enumerate(notes)]
    lines += _legend(priced, chips, brief)
    if stages:
        for cost in priced.costs:
            lines += ["", stage_text(cost)]
    return "\n".join(lines) + "\n"


def _summary(priced: Priced) -> str:
    figures, held = priced.step.to_dict(), priced.deployment
    state = f", {bytes_text(figures['state_bytes'])} of state" if figures["state_bytes"] else ""
    if state and held.rs_seq:
        state += f" with {held.rs_seq:.0f} more kept to roll back to"
    current = figures["state_bytes"] / (1.0 + held.rs_seq)
    moved = f", reads and writes {bytes_text(current)} of state" if current else ""
    several = f" x {tokens_text(held.sequences)} sequences" if held.sequences != 1.0 else ""
    flops = sum(value for name, value in figures.items() if name.endswith("_flops"))
    trained = priced.header.arch("context_length")
    beyond = isinstance(trained, int) and held.context > trained > 0
    return "\n".join([
        f"{priced.title} ({printable(priced.header.architecture or '')}): {count_text(figures['parameters'])} parameters, "
        f"{bytes_text(figures['weight_bytes'])}",
        f"context {held.context:,.0f}{several}: cache holds {bytes_text(figures['kv_bytes_reserved'])}{state}"
        + (f"; the model was trained for {trained:,} tokens" if beyond else ""),
        f"one step reads {bytes_text(figures['weight_bytes_read'])} of weights and "
        f"{bytes_text(figures['kv_bytes_read'])} of cache{moved}, and computes {si(flops)}FLOP",
        *(f"note: {note}" for note in priced.step.notes),
    ])  # fmt: skip


def _chunk(architecture: str | None) -> float:
    """Tokens of a chunk where the architecture attends in chunks [tokens]; else 0."""
    rule = rules_of(architecture).window if architecture is not None else None
    return float(rule.fixed or rule.window or 0) if rule is not None and rule.chunked else 0.0


def _legend(priced: Priced, chips: Sequence[RentedChip], brief: bool) -> list[str]:
    costs, sequences = priced.costs, priced.deployment.sequences
    lines = []
    if any(cost.basis is None for cost in costs):
        lines.append("no bound: nothing that would bound the time of the step there is declared.")
    if any(cost.basis == "floor" for cost in costs):
        lines.append("<= and >= are bounds that follow from the floor, which no implementation beats.")
    lines.append("Time is of one decode step: one token of every sequence, in the steady state, without the prompt.")
    lines.append("binds: what the prediction is mostly spent on; where there is none, the largest sum of the floor.")
    chunk = _chunk(priced.header.architecture)
    if chunk and priced.deployment.context > chunk:
        lines.append(f"The step is of a token at the end of a chunk of {chunk:,.0f}, which attends to all of it.")
    if sequences != 1.0:
        lines.append(f"tokens/s and USD count the tokens of all {tokens_text(sequences)} sequences together.")
    run = {cost.machine.chip.id for cost in costs}
    rents = [f"{c.chip.id} {c.rent:g} ({c.origin})" for c in chips if c.rent is not None and c.chip.id in run]
    told = "the catalog's, which --json tells" if brief and len(chips) > 1 else ", ".join(rents)
    if any(" providers, " in rent for rent in rents):
        lines.append(f"A median of rents is {SHORT_RULE}.")
    asked = "; --rent-date, --provider or --rent take another" if all("as given" not in rent for rent in rents) else ""
    return lines + ([f"USD per chip-hour: {told}{asked}."] if rents else [])


def _row(point: Any, origins: Mapping[str, str], notes: list[str], brief: bool) -> list[str]:
    """One machine; `brief` tells its reasons by their kind, so that many machines share few notes."""
    if not isinstance(point, DecodeCost):
        machine, refusal = point
        why = [reason.words for reason in reasons_of(refusal.code) if reason.refuses_all] if brief else refusal.reasons
        return [machine.chip.id, f"{machine.count:,}", *"------", f"cannot run {_marks(why, notes)}"]
    bound, chip = point.prediction is None, point.machine.chip.id
    floor, rate = point.floor, point.tokens_per_second
    reasons = list(point.refusal.reasons) if point.refusal is not None else []
    further = [note for note in point.notes if note not in point.step_notes]  # told of the step, above
    if brief:
        reasons = [reason.words for reason in reasons_of(point.refusal.code)] if point.refusal is not None else []
        further = [_LAYOUT] if further else []
    if point.machine.rent is None:
        dollars = "-"
        reasons.append(f"{'no rent of the chip is known' if brief else origins[chip]} (--rent gives one)")
    elif point.basis is None:
        dollars = "no bound"
    else:
        dollars = f"{'>= ' if bound else ''}{digits(usd_per_million_tokens(point), 3)}"
    return [
        chip,
        f"{point.machine.count:,}",
        point.precision,
        "no bound" if floor is None else digits(floor * 1e3),
        "-" if point.prediction is None else digits(point.prediction * 1e3),
        "-" if point.basis is None else (point.prediction_binds or point.binds).value,
        "no bound" if rate is None else f"{'<= ' if bound else ''}{digits(rate, 3)}",
        dollars,
        _marks([*reasons, *further], notes),
    ]


def _marks(reasons: Sequence[str], notes: list[str]) -> str:
    for reason in reasons:
        if reason not in notes:
            notes.append(reason)
    return "".join(f"[{number}]" for number in sorted(notes.index(reason) + 1 for reason in reasons))


def stage_text(cost: DecodeCost) -> str:
    """Where the time goes: microseconds by kind of stage and term, undeclared terms at zero."""
    from ..plots.decode_stages import stage_seconds

    seconds = stage_seconds(cost) * 1e6
    total = seconds.sum()

    def row(name: str, chosen: list[int]) -> list[str]:
        part = seconds[chosen].sum(axis=0)
        share = f"{part.sum() / total:.1%}" if total > 0.0 else "-"
        return [name, str(len(chosen)), *(digits(float(x)) for x in part), digits(float(part.sum())), share]

    kinds = {kind: [i for i, one in enumerate(cost.stages) if one.stage.kind is kind] for kind in StageKind}
    rows = [row(kind.value, chosen) for kind, chosen in kinds.items() if chosen]
    rows.append(row("all", list(range(len(cost.stages)))))
    names = [bind.value for bind in Bind]
    head = f"{cost.machine.count} x {cost.machine.chip.id}: microseconds by kind of stage, on the fullest chip's share"
    lines = [head, table(rows, ["stage", "count", *names, "us", "share"], "lrrrrrrr")]
    hidden = cost.hidden_terms
    for term, longer in ((Bind.COMPUTE, Bind.MEMORY), (Bind.MEMORY, Bind.COMPUTE)):
        if hidden[term] > 0.0:
            lines.append(
                f"A stage takes the longer of memory and compute: {digits(hidden[term] * 1e6)} us of {term.value} pass while "
                f"{longer.value} binds, and count nothing."
            )
    if cost.refusal is not None:
        lines.append("No prediction: what is not declared counts nothing here, so the step takes longer than this sum.")
    return "\n".join(lines)
