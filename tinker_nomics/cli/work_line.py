"""The line about the work of a large run: how much, how fast, which part of it, and how to go on."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..cost_distribution.result import CostDistribution
    from ..sweeps.grid_result import GridReduction


def rate(points: int, seconds: float) -> str:
    """Points per second, in a unit that leaves one to three digits before the point: "15.6 k/s"."""
    per_second = points / max(seconds, 1e-9)
    for size, unit in ((1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s")):
        if per_second >= size:
            return f"{per_second / size:.3g} {unit}"
    return f"{per_second:.3g} per second"


def tell_work(
    args: argparse.Namespace, found: CostDistribution | GridReduction, points: int, what: str, processes: int
) -> None:
    """Print the line on stderr, unless --quiet; the rate counts what was computed now, not what was kept before.

    Args:
        points: of the run so far, kept ones included.
        what: a point's name in the plural, "samples".
        processes: that shared the run.
    """
    if args.quiet:
        return
    first, stop = found.chunks
    fresh = points - found.resumed
    shared = f" on {processes} processes" if processes > 1 else ""
    text = f"{fresh:,} {what} in {found.seconds:.1f} s{shared}: {rate(fresh, found.seconds)}"
    if found.resumed:
        text += f"; {found.resumed:,} were done before"
    if processes > 1 and not found.complete:  # each has its own range
        text += f"; {stop - first:,} chunks of {found.total_chunks:,} are done, by each process of its own share"
    elif (first, stop) != (0, found.total_chunks):
        text += f"; chunks {first}:{stop} of 0:{found.total_chunks}, hash {found.about['hash']}"
    if not found.complete:
        text += "; stopped early" + (f": go on with --out {args.out} --resume" if args.out else "")
    print(text, file=sys.stderr)
