"""`tinker-nomics decode`: what one decoded token of a checkpoint costs, per chip and width."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .decode_arguments import (
    add_deployment_arguments,
    add_file_argument,
    counts_of,
    deployment_from,
    names_of,
    title_of,
)

if TYPE_CHECKING:
    from ..decode.pricing import DecodeCost
    from ..decode.refusal import DecodeRefusal
    from ..decode.step import DecodeStep
    from ..hardware import Chip, Machine

_EXAMPLES = """
examples:
  tinker-nomics decode model.gguf --chip h100-sxm,m3-max,groq-lpu1 --tp 1,2,4,8
  tinker-nomics decode model.gguf --chip h100-sxm --context 32k --kv q8_0 --stages
  tinker-nomics decode model.gguf --chip h100-sxm,mi300x --tp 1,8 --plot prices.png
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, the deployment, the machines, and what to print."""
    parser.epilog = _EXAMPLES
    add_file_argument(parser)
    parser.add_argument(
        "--chip", default="h100-sxm", metavar="A,B", help="chips of the catalog, or TOML files (h100-sxm)"
    )
    parser.add_argument("--tp", default="1", metavar="N,M", help="chips per machine, tensor-parallel (1)")
    parser.add_argument("--context", default="4096", metavar="N,M", help="tokens attended per sequence (4096)")
    add_deployment_arguments(parser)
    parser.add_argument(
        "--precision", default="bf16", help="of matrix arithmetic: bf16, fp16, fp8, int8, fp4, best (bf16)"
    )
    parser.add_argument("--rent", type=float, metavar="USD", help="USD per chip-hour (the catalog's newest)")
    parser.add_argument("--stages", action="store_true", help="print where the time goes, by kind of stage")
    parser.add_argument("--json", action="store_true", help="print every number as JSON; with --stages every stage too")
    parser.add_argument("--plot", metavar="FILE", help="draw to a PNG, SVG or PDF file")
    parser.add_argument(
        "--picture", choices=("grid", "stages", "roofline"), help="what --plot draws (grid; stages with --stages)"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def run(args: argparse.Namespace) -> int:
    """Price FILE on every chip and width; 0 where some machine can run it, 1 where none can."""
    from .compilation_cache import use_compilation_cache

    if args.plot is not None:
        from ..files import refuse_existing
        from ..plots.style import check_format

        refuse_existing(check_format(args.plot), args.force)
    widths, contexts = counts_of(args.tp, "--tp"), counts_of(args.context, "--context")
    chips = [chip_named(name) for name in names_of(args.chip, "--chip")]
    from ..decode.gguf_source import read_header

    header = read_header(args.file)
    use_compilation_cache()
    from ..decode.accounting import decode_step
    from .decode_text import screen

    steps = [decode_step(header, deployment_from(args, float(context))) for context in contexts]
    priced = [
        (
            context,
            step,
            [price_point(step, machine, args.precision) for machine in machines_of(chips, widths, args.rent)],
        )
        for context, step in zip(contexts, steps, strict=True)
    ]
    title = title_of(header, args.file)
    if args.json:
        print(json.dumps(as_document(title, header, priced, args.stages), indent=2, allow_nan=False))
    else:
        for context, step, points in priced:
            print(screen(title, header, context, step, points, args.stages))
    if args.plot is not None:
        draw(args, title, chips, widths, priced)
    return 0 if any(isinstance(cost, tuple) is False for _, _, points in priced for cost in points) else 1


def chip_named(name: str) -> Chip:
    """A chip of the catalog, or of a TOML file where `name` ends in .toml."""
    if name.endswith(".toml"):
        from pathlib import Path

        from ..hardware import Chip

        return Chip.from_toml(Path(name))
    from .. import catalog

    return catalog.chip(name)


def machines_of(chips: list[Chip], widths: list[int], rent: float | None) -> list[Machine]:
    """Every chip at every width, at the rent given or the catalog's newest."""
    from ..decode.dollars import known_rent
    from ..hardware import Machine

    rents = {chip.id: known_rent(chip.id)[0] if rent is None else rent for chip in chips}
    return [Machine(chip, width, rents[chip.id]) for chip in chips for width in widths]


def price_point(step: DecodeStep, machine: Machine, precision: str) -> DecodeCost | tuple[Machine, DecodeRefusal]:
    """The price, or the machine and why it cannot run the step."""
    from ..decode.pricing import price
    from ..decode.refusal import DecodeRefusal

    try:
        return price(step, machine, precision)
    except DecodeRefusal as refusal:
        return machine, refusal


def as_document(title: str, header: Any, priced: list[tuple], stages: bool) -> dict[str, Any]:
    """Everything as JSON values: seconds, bytes, FLOP, USD."""
    from ..decode.dollars import usd_per_million_tokens

    def point(cost: Any) -> dict[str, Any]:
        if isinstance(cost, tuple):
            machine, refusal = cost
            return {"chip": machine.chip.id, "count": machine.count, "floor_s": None, "prediction_s": None,
                    "cannot_run": list(refusal.reasons)}  # fmt: skip
        told = cost.to_dict()
        if not stages:
            del told["stages"]
        rented = cost.machine.rent is not None
        return told | {"usd_per_million_tokens": usd_per_million_tokens(cost) if rented else None}

    return {
        "name": title,
        "architecture": header.architecture,
        "contexts": [
            {"context": context, "step": step.to_dict(), "points": [point(cost) for cost in points]}
            for context, step, points in priced
        ],
    }


def draw(args: argparse.Namespace, title: str, chips: list[Chip], widths: list[int], priced: list[tuple]) -> None:
    """Draw the picture that was asked for, of the first context."""
    import sys

    from ..errors import TinkerNomicsError
    from ..plots.style import save

    context, step, points = priced[0]
    kind = args.picture or ("stages" if args.stages else "grid")
    where = f"{title}, context {context:,}"
    if kind == "grid":
        from ..decode.grid import price_grid
        from ..plots.decode_grid import draw_grid

        rents = {} if args.rent is None else {chip.id: args.rent for chip in chips}
        table = price_grid(step, chips, widths, [float(context)], precision=args.precision, rents=rents)
        figure = draw_grid(table.sel(context=float(context)), f"{where}, {args.precision}")
    else:
        costs = [cost for cost in points if not isinstance(cost, tuple)]
        if not costs:
            raise TinkerNomicsError(f"--picture {kind}: no machine here can run {title}, so there is nothing to draw")
        cost = costs[0]
        where = f"{where}, on {cost.machine.count} x {cost.machine.chip.id}, {cost.precision}"
        from ..plots.decode_stages import draw_stages
        from ..plots.roofline import draw_roofline

        figure = draw_stages(cost, where) if kind == "stages" else draw_roofline(step, cost, where)
    path = save(figure, args.plot, args.force)
    print(f"drawn: {path}", file=sys.stderr)
