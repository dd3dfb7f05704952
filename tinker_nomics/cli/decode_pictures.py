"""The picture that `tinker-nomics decode --plot` draws of what was priced."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from ..decode.pricing import DecodeCost
from ..errors import TinkerNomicsError
from ..plots.decode_grid import MOST_ROWS, PriceRow, draw_rows
from ..plots.decode_stages import draw_stages
from ..plots.roofline import draw_roofline
from ..plots.style import save
from .decode_figures import context_label
from .decode_text import Priced


def draw(args: argparse.Namespace, priced: Sequence[Priced]) -> None:
    """Draw what was asked for: the grid of everything, or the first machine that can run it at the first context."""
    kind, first, told = args.picture or ("stages" if args.stages else "grid"), priced[0], ""
    if kind == "grid":
        figure = draw_rows(grid_rows(priced), f"{first.subject(context=len(priced) == 1)}, {args.precision}")
    else:
        if not first.costs:
            raise TinkerNomicsError(
                f"--picture {kind}: no machine here can run {first.title}, so there is nothing to draw"
            )
        cost = first.costs[0]
        where = f"{cost.machine.count} x {cost.machine.chip.id}"
        title = f"{first.subject()}, on {where}, {cost.precision}"
        figure = draw_stages(cost, title) if kind == "stages" else draw_roofline(first.step, cost, title)
        others = len(first.points) * len(priced) - 1
        if others:
            told = f" (of {where} at context {first.deployment.context:,.0f} alone; {others} more were priced)"
    rows = len(first.points) * len(priced)
    if kind == "grid" and rows > MOST_ROWS:
        told = f" (the first {MOST_ROWS} of {rows} rows: name fewer chips, widths or contexts)"
    path = save(figure, args.plot, args.force)
    print(f"drawn: {path}{told}", file=sys.stderr)


def grid_rows(priced: Sequence[Priced]) -> list[PriceRow]:
    """A row of the picture for every machine and, where there are several, context."""
    several = len(priced) > 1
    return [
        _row(one.points[i], f"  {context_label(one.deployment.context)}" if several else "")
        for i in range(len(priced[0].points))
        for one in priced
    ]


def _row(point: Any, context: str) -> PriceRow:
    machine = point.machine if isinstance(point, DecodeCost) else point[0]
    label = f"{machine.chip.id}  x{machine.count}{context}"
    if not isinstance(point, DecodeCost):
        return PriceRow(machine.chip.id, label, None, None, None, point[1].code)
    code = 0 if point.refusal is None else point.refusal.code
    return PriceRow(machine.chip.id, label, point.floor, point.prediction, point.tokens_per_second, code)
