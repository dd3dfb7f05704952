"""`tinker-nomics merge`: parts of one Monte Carlo run, computed anywhere, as one result."""

from __future__ import annotations

import argparse

from .monte_carlo_command import add_result_arguments, check_files, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The parts, and what to do with the whole."""
    parser.add_argument(
        "parts",
        nargs="+",
        metavar="PART.npz",
        help="files of `monte-carlo --chunks A:B --out FILE`; or one whole result, to print it again",
    )
    group = parser.add_argument_group("result")
    group.add_argument("--out", metavar="FILE.npz", help="write the whole there")
    add_result_arguments(group)


def run(args: argparse.Namespace) -> int:
    """Merge, print, write; the budget is that of the parts."""
    from ..errors import TinkerNomicsError

    if args.budget is not None:
        raise TinkerNomicsError("--budget: give it to the runs of the parts, which count what exceeds it")
    check_files(args)
    from ..cost_distribution.parts import merge_parts

    result = merge_parts(args.parts)
    show(args, result)
    if args.out is not None:
        result.to_npz(args.out, args.force)
        if not args.json:
            print(f"wrote {args.out}")
    return 0
