"""Why a point has no prediction, or no price at all: one bit per reason, and the sentence that a user reads for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..hardware.chip import Chip, Machine


@dataclass(frozen=True)
class Reason:
    """One reason, worth 2**`bit` in a reason code.

    Args:
        bit: its place in the code.
        name: a short name, as tables and CSV files print it.
        words: what it means.
        refuses_all: True where the machine cannot run the step, so that there is no floor either; False where a term of
            the prediction is undeclared.
    """

    bit: int
    name: str
    words: str
    refuses_all: bool = False

    @property
    def code(self) -> int:
        return 1 << self.bit


REASONS: tuple[Reason, ...] = (
    Reason(0, "tier bandwidth", "a resident memory tier has no declared bandwidth"),
    Reason(1, "matrix rate", "the chip has no declared dense matrix rate at this precision"),
    Reason(2, "link topology", "how the chips are joined (link topology) is not declared"),
    Reason(3, "link bandwidth", "the rate of the chip-to-chip link is not declared"),
    Reason(4, "link latency", "the latency of the chip-to-chip link is not declared"),
    Reason(5, "stage overhead", "the overhead per dependent stage is not declared"),
    Reason(6, "memory capacity", "the machine is too small for the checkpoint and its cache", refuses_all=True),
    Reason(7, "width beyond the work", "the width exceeds the parts of the widest stage", refuses_all=True),
    Reason(8, "width beyond the link domain", "the width exceeds the chips that the link joins", refuses_all=True),
    Reason(9, "width without a link", "chips of this kind are not joined at this width", refuses_all=True),
)
(
    TIER_BANDWIDTH,
    MATRIX_RATE,
    LINK_TOPOLOGY,
    LINK_BANDWIDTH,
    LINK_LATENCY,
    STAGE_OVERHEAD,
    MEMORY_CAPACITY,
    BEYOND_WORK,
    BEYOND_DOMAIN,
    NOT_JOINED,
) = REASONS
REFUSES_ALL_CODE = sum(reason.code for reason in REASONS if reason.refuses_all)


def reasons_of(code: float) -> tuple[Reason, ...]:
    """The reasons in a code, in the order of their bits."""
    return tuple(reason for reason in REASONS if int(code) & reason.code)


def is_refused(code: float) -> bool:
    """Whether a code's reasons leave no price at all."""
    return bool(int(code) & REFUSES_ALL_CODE)


def undeclared_words(code: float) -> str:
    """Why nothing bounds the time of a step: "bandwidth undeclared", and with it a missing matrix rate."""
    pairs = ((TIER_BANDWIDTH, "bandwidth undeclared"), (MATRIX_RATE, "matrix rate undeclared"))
    missing = [words for reason, words in pairs if int(code) & reason.code]
    return ", ".join(missing) or "nothing that bounds the time is declared"


def bytes_in_words(count: float) -> str:
    """Bytes with a decimal unit: 15.01 GB."""
    if count < 1e3:
        return f"{count:.0f} B"
    power = min(int(math.log10(count) // 3), 5)
    return f"{count / 1e3**power:.4g} {('B', 'kB', 'MB', 'GB', 'TB', 'PB')[power]}"


def sentence(
    reason: Reason, machine: Machine, precision: str, needed: float, had: float, widest: float, enough: str = ""
) -> str:
    """What `reason` means on this machine, and what to declare or change.

    Args:
        reason: a member of `REASONS`.
        machine: the machine that was priced.
        precision: the precision of its matrix arithmetic.
        needed, had: resident bytes of the step and of the machine [B].
        widest: the most chips that the widest stage can be cut across.
        enough: what is said of a machine that would do, to follow the bytes needed and had.
    """
    chip = machine.chip
    name = chip.id
    if reason is TIER_BANDWIDTH:
        silent = ", ".join(t.kind.value for t in chip.tiers if t.resident and t.bandwidth is None)
        return f"the bandwidth of {name}'s {silent} (tier bandwidth) is not declared"
    if reason is MATRIX_RATE:
        declared = ", ".join(p for p, rate in chip.matrix_rates.items() if rate is not None) or "none"
        return f"{name} declares no dense {precision} matrix rate (matrix rate; declared: {declared})"
    if reason is LINK_TOPOLOGY and chip.link is not None and chip.link.topology is not None:
        from .collectives import MOST_CHIPS

        return f"how far {machine.count} {name} chips are apart (link topology) is tabulated up to {MOST_CHIPS} only"
    if reason is LINK_TOPOLOGY:
        return f"how {name} chips are joined (link topology) is not declared"
    if reason is LINK_BANDWIDTH:
        return f"the rate of {name}'s chip-to-chip link (link bandwidth) is not declared"
    if reason is LINK_LATENCY:
        hint = _measured_hint(chip, machine.count)
        return f"the latency of {name}'s chip-to-chip link (link latency) is not declared{hint}"
    if reason is STAGE_OVERHEAD:
        return f"what one dependent kernel costs on {name} beyond its work (stage overhead) is not declared"
    if reason is MEMORY_CAPACITY:
        return (
            f"memory capacity: {needed:.0f} bytes ({bytes_in_words(needed)}) are needed and "
            f"{machine.count} x {name} have {had:.0f} bytes ({bytes_in_words(had)}){enough}"
        )
    if reason is BEYOND_WORK:
        return f"a width of {machine.count} exceeds the {widest:.0f} parts that the widest stage can be cut into"
    if reason is BEYOND_DOMAIN:
        domain = chip.link.domain if chip.link is not None else None
        link = chip.link.name if chip.link is not None and chip.link.name else "link"
        return (
            f"a width of {machine.count} exceeds the link domain of {domain} chips that {name}'s {link} joins; "
            "no outer link is declared"
        )
    return f"{machine.count} {name} chips are not joined: {_joined(chip)}"


def _joined(chip: Chip) -> str:
    topology = chip.link.topology.value if chip.link is not None and chip.link.topology is not None else "none"
    return "its link joins a pair" if topology == "pair" else "it has no chip-to-chip link"


def _measured_hint(chip: Chip, count: int) -> str:
    measured = [row for row in chip.all_reduce_times if row.width == count]
    if not measured:
        return ""
    row = min(measured, key=lambda row: row.payload)
    microseconds = f"{row.seconds * 1e6:.3g} us"
    return f" (an all-reduce of {row.payload:.0f} bytes over {count} was measured at {microseconds}: {row.source.text})"
