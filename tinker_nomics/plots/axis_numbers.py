"""Numbers along an axis as people write them: 1,250,000, and not 1.25 with a power of ten in a corner."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axis import Axis

_LARGE, _SMALL = 1e12, 1e-6  # beyond these a power of ten is shorter


def written(value: float) -> str:
    """One tick's number, with every digit that tells it from its neighbours."""
    size = abs(value)
    if value == 0:
        return "0"
    if size >= _LARGE or size < _SMALL:
        return f"{value:.4g}".replace("-", "\u2212")
    text = f"{value:,.10f}".rstrip("0").rstrip(".")
    return text.replace("-", "\u2212")


def plain_numbers(axis: Axis) -> None:
    """Write the numbers of `axis` out, with commas between thousands."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: written(float(f"{value:.10g}"))))
