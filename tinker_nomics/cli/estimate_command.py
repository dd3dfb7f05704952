"""`tinker-nomics estimate`: one run priced, on one screen."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import TinkerNomicsError
from .config_arguments import add_config_arguments, config_from
from .json_text import json_text

if TYPE_CHECKING:
    from ..config import Config
    from ..explanations.explaining import Explanation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a run, and how to print it."""
    add_config_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print every number, with units, as JSON")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print what each deviation of the revised edition does to the totals, with its evidence",
    )
    parser.add_argument("--plot", metavar="FILE", help="with --explain: the waterfall as a picture (PNG, SVG, PDF)")
    parser.add_argument("--force", action="store_true", help="replace an existing picture")


def run(args: argparse.Namespace) -> int:
    """Print the estimate, or the explanation."""
    if args.plot is not None:
        from ..plots.style import check_format

        if not args.explain:
            raise TinkerNomicsError("--plot draws the waterfall of --explain; give both")
        check_format(args.plot)
    config = config_from(args)
    from .compilation_cache import use_compilation_cache

    use_compilation_cache()
    if args.explain:
        return _explain(args, config)
    from ..cost_sensitivity.engine_widths import width_notes
    from ..cost_sensitivity.estimate_range import estimate_with_range
    from ..outputs import UNITS, by_path
    from ..totals_text import ends

    ranged = estimate_with_range(config)
    priced = ranged.estimate
    if args.json:
        document = priced.to_dict() | {
            "range": ends(ranged.low, ranged.high),
            "varied": list(ranged.varied),
            "held": list(ranged.held),
            "units": {name: UNITS[name] for name in by_path(priced)},
            "choices": dict(config.provenance.choices) | {"assumptions": config.assumptions.edition},
            "notes": [*priced.notes, *width_notes(config, priced)],
        }
        print(json_text(document))
        return 0
    from .estimate_text import screen

    print(screen(config, ranged))
    return 0


def _explain(args: argparse.Namespace, config: Config) -> int:
    from ..explanations.explaining import explain

    explanation: Explanation = explain(config)
    print(json_text(explanation.to_dict()) if args.json else explanation.table())
    if args.plot is not None:
        from ..plots.style import save

        written = save(explanation.plot(), args.plot, args.force)
        if not args.json:
            print(f"\nwrote {written}")
    return 0
