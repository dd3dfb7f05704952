"""An explanation as text: the waterfall, then each deviation's evidence."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..cli.text_table import table
from ..errors import listed
from ..totals_text import prices_of

if TYPE_CHECKING:
    from .explaining import Explanation

WIDTH = 100
_COLUMN = 74  # letters of a deviation on a line
_SIDES = ("tinker.total", "self_hosted.total")


def cents(lines: Sequence[float], start: float, end: float) -> list[int]:
    """The lines in whole cents, such that the rounded start, the lines and the rounded end add up as printed.

    What rounding leaves over goes, a cent each, to the lines that were rounded the furthest.
    """
    exact = np.array(lines) * 100
    whole = np.round(exact)
    left = int(round(end * 100) - round(start * 100) - whole.sum())
    order = np.argsort((whole - exact) * np.sign(left or 1), kind="stable")
    for place in range(abs(left)):
        whole[order[place % len(order)]] += np.sign(left)
    return [int(value) for value in whole]


def amounts_of(explanation: Explanation) -> list[list[int]]:
    """What each line adds to either total, in whole cents that add up as printed."""
    return [
        cents(
            [line.tinker if side == _SIDES[0] else line.own for line in explanation.lines],
            explanation.start[side],
            explanation.end[side],
        )
        for side in _SIDES
    ]


def explanation_text(explanation: Explanation) -> str:
    """One line per deviation with what it adds to either total; below, why."""
    sides = _SIDES
    amounts = amounts_of(explanation)
    at = f"at {prices_of(explanation.config)}"
    paged = "dated_prices" not in explanation.left_out
    start = "the page's own prices" if paged else at
    rows = [["", f"published, {start}", *(_usd(round(explanation.start[side] * 100)) for side in sides)]]
    for line, *added in zip(explanation.lines, *amounts, strict=True):
        what = f"{line.deviation.title}: {line.deviation.revised}"
        rows.append([f"{line.deviation.number}", what, *(_signed(value) for value in added)])
    rows.append(
        [
            "",
            "revised" + (" without " + listed(explanation.left_out) if explanation.left_out else ""),
            *(_usd(round(explanation.end[side] * 100)) for side in sides),
        ]
    )
    parts = [table(_folded(rows), ["#", "deviation", "Tinker", "own GPUs"], "rlrr")]
    parts.append(_ranges(explanation, at, start))
    between = f"The published edition {at}: Tinker ${explanation.published[sides[0]]:,.2f}, own GPUs "
    between += f"${explanation.published[sides[1]]:,.2f}.\n"
    parts.append(
        (between if paged else "")
        + "Each line is the mean effect over every order in which the deviations can be made (Shapley)."
    )
    parts += [_wrapped(f"{switch} is left out: {why}") for switch, why in explanation.left_out.items()]
    parts.append(
        "\n".join(
            _wrapped(
                f"{line.deviation.number:2d} {line.deviation.switch}: {line.deviation.evidence} [{line.deviation.source}]"
            )
            for line in explanation.lines
        )
    )
    return "\n\n".join(parts)


def _folded(rows: list[list[str]]) -> list[list[str]]:
    """The rows, with a deviation that is longer than its column going on beneath."""
    found = []
    for number, what, *rest in rows:
        first, *more = textwrap.wrap(what, _COLUMN, subsequent_indent="  ")
        found += [[number, first, *rest], *(["", line, "", ""] for line in more)]
    return found


def _ranges(explanation: Explanation, at: str, start: str) -> str:
    names = {"start": f"published, {start}", "published": f"published, {at}", "end": f"revised, {at}"}
    if at == start:
        del names["start"]
    lines = [
        f"  {title}: {ranged.in_words()}" for name, title in names.items() for ranged in (explanation.ranges[name],)
    ]
    return "\n".join(["Range of the totals", *map(_wrapped, lines)])


def _usd(amount: int) -> str:
    return f"${amount / 100:,.2f}"


def _signed(amount: int) -> str:
    return "-" if amount == 0 else f"{'+' if amount > 0 else '-'}${abs(amount) / 100:,.2f}"


def _wrapped(line: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)
