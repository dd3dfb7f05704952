"""`tinker-nomics decode`: what one decoded token of a checkpoint costs, per chip and width."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, Any

from ..errors import Problem, TinkerNomicsError
from .decode_arguments import (
    add_deployment_arguments,
    add_file_argument,
    counts_of,
    deployment_document,
    deployment_from,
    header_of,
    title_of,
)
from .decode_machines import RentedChip, machines_of, rented_chips
from .json_text import json_text

if TYPE_CHECKING:
    from ..decode.pricing import DecodeCost
    from ..decode.refusal import DecodeRefusal
    from ..decode.step import DecodeStep
    from ..hardware.chip import Machine
    from .decode_text import Priced

_EXAMPLES = """
examples:
  tinker-nomics decode model.gguf --chip h100-sxm,m3-max,groq-lpu1 --tp 1,2,4,8
  tinker-nomics decode model.gguf --chip h100-sxm --context 32k --kv q8_0 --stages
  tinker-nomics decode model.gguf --chip h100-sxm,mi300x --tp 1,8 --plot prices.png

a chip of your own, mine.toml (leave out what you do not know; bf16, fp16, fp8, int8, fp4; more tiers in a row):
  id = "mine"
  tiers = [{kind = "HBM", capacity = "96 GB", bandwidth = "4 TB/s"}]
  matrix_rates = {bf16 = "400 TFLOP/s"}
  stage_overhead = "2 us"
  rent = "2.50 USD/h"
  link = {bandwidth_per_chip = "450 GB/s", latency = "1 us", topology = "all_to_all", domain = 8}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, the deployment, the machines, and what to print."""
    from ..catalog.rent_table import RULE

    rule = textwrap.fill(f"A rent of the catalog is {RULE}; --rent-date moves the date.", 100)
    parser.epilog = f"{rule}\n{_EXAMPLES}"
    add_file_argument(parser)
    parser.add_argument(
        "--chip", default="h100-sxm", metavar="A,B", help="chips of the catalog, TOML files, or all (h100-sxm)"
    )
    parser.add_argument("--tp", default="1", metavar="N,M", help="chips per machine, tensor-parallel (1)")
    parser.add_argument("--context", default="4096", metavar="N,M", help="tokens attended per sequence: 32k, 1M (4096)")
    add_deployment_arguments(parser)
    parser.add_argument(
        "--precision",
        default="bf16",
        help="of matrix arithmetic: bf16, fp16, fp8, int8, fp4, or best: the widest that a chip declares (bf16)",
    )
    parser.add_argument(
        "--rent", metavar="USD", help="USD per chip-hour, e.g. 2.50 (a TOML chip's own, else the catalog's newest)"
    )
    parser.add_argument("--rent-date", metavar="DAY", help="the catalog's rent on a day: 2026-09-25 (the newest)")
    parser.add_argument("--provider", metavar="NAME", help="whose rent of the catalog (the median over providers)")
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
    elif args.picture is not None:
        raise TinkerNomicsError(str(Problem("--picture", args.picture, "goes with --plot FILE", "Name a file.")))
    contexts = counts_of(args.context, "--context", "4096, 128k or 1M")
    chips = rented_chips(args.chip, args.rent, args.rent_date, args.provider)
    machines = machines_of(chips, args.tp)
    deployments = [deployment_from(args, float(context)) for context in contexts]
    header = header_of(args.file)
    use_compilation_cache()
    from ..decode.accounting import decode_step
    from .decode_text import Priced, screen

    priced = []
    for deployment in deployments:
        step = decode_step(header, deployment)
        points = [price_point(step, machine, args.precision) for machine in machines]
        priced.append(Priced(title_of(header, args.file), header, deployment, step, points))
    if args.json:
        print(json_text(as_document(priced, chips, args.stages)))
    else:
        for one in priced:
            print(screen(one, chips, args.stages))
    if args.plot is not None:
        from .decode_pictures import draw

        draw(args, priced)
    return 0 if any(one.costs for one in priced) else 1


def price_point(step: DecodeStep, machine: Machine, precision: str) -> DecodeCost | tuple[Machine, DecodeRefusal]:
    """The price, or the machine and why it cannot run the step."""
    from ..decode.pricing import price
    from ..decode.refusal import DecodeRefusal

    try:
        return price(step, machine, precision)
    except DecodeRefusal as refusal:
        return machine, refusal


def as_document(priced: list[Priced], chips: list[RentedChip], stages: bool) -> dict[str, Any]:
    """Everything as JSON values: seconds, bytes, FLOP, USD."""
    from ..decode.dollars import usd_per_million_tokens

    rents = {rented.chip.id: rented for rented in chips}

    def point(cost: Any) -> dict[str, Any]:
        if isinstance(cost, tuple):
            machine, refusal = cost
            return {"chip": machine.chip.id, "count": machine.count, "floor_s": None, "prediction_s": None,
                    "cannot_run": list(refusal.reasons)}  # fmt: skip
        told = cost.to_dict()
        if not stages:
            del told["stages"]
        rent = cost.machine.rent
        return told | {
            "usd_per_chip_hour": rent,
            "usd_per_chip_hour_from": rents[cost.machine.chip.id].origin,
            "usd_per_chip_hour_source": rents[cost.machine.chip.id].source or None,
            "usd_per_million_tokens": usd_per_million_tokens(cost)
            if rent is not None and cost.basis is not None
            else None,
        }

    first = priced[0]
    return {
        "name": first.title,
        "architecture": first.header.architecture,
        "contexts": [
            {
                "context": int(one.deployment.context),
                "sequences": one.deployment.sequences,
                "deployment": deployment_document(one.deployment),
                "step": one.step.to_dict(),
                "notes": list(one.step.notes),
                "points": [point(cost) for cost in one.points],
            }
            for one in priced
        ],
    }
