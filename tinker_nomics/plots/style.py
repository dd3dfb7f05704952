"""The look that every figure shares: size, colours that colour-blind readers can tell apart, and whole files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import TinkerNomicsError
from ..files import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 100
# Okabe and Ito, "Color Universal Design" (2008): distinguishable under the common forms of colour blindness
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
LOW, HIGH, NEUTRAL, GRID = "#0072B2", "#D55E00", "#595959", "#D9D9D9"
_FORMATS = {".png", ".svg", ".pdf"}


def new_figure(width: float = 12.0, height: float = 6.0) -> Figure:
    """An empty figure of `width` x `height` inches at 100 dots per inch (12 inches are 1200 px)."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")


def tidy(axes: Axes, grid: str = "x") -> Axes:
    """Drop the box around `axes` and draw a light grid along `grid` ("x", "y" or "both")."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(True, axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    return axes


def check_format(path: str | Path) -> Path:
    """`path` where its ending names a format that can be drawn, else a clear error."""
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise TinkerNomicsError(f"{path}: a picture ends in {', '.join(sorted(_FORMATS))}; write e.g. {path.stem}.png")
    return path


def save(figure: Figure, path: str | Path, force: bool = False) -> Path:
    """Write `figure` to `path` (PNG, SVG or PDF by its ending), whole or not at all."""
    import matplotlib

    path = check_format(path)
    # text in an SVG stays text, and its ids do not change from run to run
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tinker_nomics"}),
        atomic_path(path, force) as temporary,
    ):
        figure.savefig(temporary, dpi=DPI)
    return path
