"""`tinker-nomics merge`: parts of one run, computed anywhere, as one result."""

from __future__ import annotations

import argparse

from .monte_carlo_command import add_result_arguments, check_files, show

_OF_SAMPLES = ("histogram", "budget")  # flags that only a Monte Carlo run answers to
_OF_GRIDS = ("map",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The parts, and what to do with the whole."""
    parser.add_argument(
        "parts",
        nargs="+",
        metavar="PART.npz",
        help="files of `monte-carlo` or `sweep` with --chunks A:B --out FILE; or one whole result, to print it again",
    )
    group = parser.add_argument_group("result")
    group.add_argument("--out", metavar="FILE.npz", help="write the whole there")
    add_result_arguments(group)
    group.add_argument("--map", metavar="FILE", help="of a sweep: draw the cheaper side in each group there")


def run(args: argparse.Namespace) -> int:
    """Merge, print, write; groups and conditions are those of the parts, and the budget too where none is given here."""
    from ..errors import TinkerNomicsError
    from ..quantities import parse_quantity

    budget = None if args.budget is None else parse_quantity(args.budget, "USD")
    check_files(args)
    from ..streaming.part_files import kind_of
    from ..sweeps.grid_result import KIND, merge_grid_parts

    grid = kind_of(args.parts[0]) == KIND
    for flag in _OF_SAMPLES if grid else _OF_GRIDS:
        if getattr(args, flag) is not None:
            raise TinkerNomicsError(f"--{flag}: these are parts of a {'sweep' if grid else 'Monte Carlo run'}")
    if grid:
        from .sweep_command import refuse_missing, show_reduction

        result = merge_grid_parts(args.parts)
        refuse_missing(args, result)
        show_reduction(args, result)
    else:
        from ..cost_distribution.parts import merge_parts

        result = merge_parts(args.parts)
        show(args, result if budget is None else result.with_budget(budget))
    if args.out is not None:
        result.to_npz(args.out, args.force)
        if not args.json:
            print(f"wrote {args.out}")
    return 0
