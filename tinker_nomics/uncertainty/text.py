"""Plain text tables of the analyses."""

from __future__ import annotations

import math
from collections.abc import Sequence


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under a header; the first column flush left, the others flush right."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]

    def written(line: Sequence[str]) -> str:
        cells = [cell.ljust(width) if not i else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))]
        return "  ".join(cells).rstrip()

    return "\n".join([written(lines[0]), "  ".join("-" * width for width in widths), *map(written, lines[1:])])


def number(value: float) -> str:
    """Four significant digits, grouped where large: 12,340 or 0.001234 or 1.2e-07."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        return f"{value:.3e}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def probability_in_words(share: float, error: float, percent: bool = False, samples: float = math.inf) -> str:
    """ "= 0.1631 +- 0.0002" or "= 16.31 % ± 0.02 %"; "> 0.9999" and "< 0.0001" where it is 1 or 0 to four digits.

    Of few samples no more is said than they tell: k of n below the last digit bound the share by (k + 3 + 2 sqrt(k)) / n,
    the rule of three where k = 0 and a little above the exact 95 % bound otherwise, and no error is told below 1 / n.
    """
    scale, digits, unit, sign = (100, 2, " %", "±") if percent else (1, 4, "", "+-")

    def written(value: float) -> str:
        return f"{scale * value:.{digits}f}{unit}"

    least = 1e-4
    few = min(share, 1 - share)
    if few < least / 2:
        hits = 0.0 if few == 0 else few * samples
        bound = min(1.0, max(least, (hits + 3 + 2 * math.sqrt(hits)) / samples)) if few * samples < math.inf else least
        return f"< {written(bound)}" if share < 0.5 else f"> {written(1 - bound)}"
    if error != error:
        return f"= {written(share)}"
    finest = max(least, 1 / samples)
    return f"= {written(share)} {sign} " + (written(error) if error >= finest / 2 else f"<{written(finest)}")


def estimate(value: float, half: float, digits: int = 3) -> str:
    """An estimate with its 95 % interval. A bare negative is never printed for what cannot be negative."""
    if value != value:
        return "-"
    shown = max(0.0, value)
    if half != half:
        return f"{shown:.{digits}f}"
    return f"{shown:.{digits}f} [{value - half:.{digits}f}, {value + half:.{digits}f}]"
