"""`tinker-nomics sensitivity`: what moves the cost of a run, as a table and as a tornado."""

from __future__ import annotations

import argparse

from .config_arguments import add_config_arguments, config_from
from .json_text import json_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a run, the output, the picture."""
    add_config_arguments(parser)
    group = parser.add_argument_group("report")
    group.add_argument(
        "--output",
        metavar="NAME",
        help="rank by and show this alone: tinker.total, self_hosted.total, self_hosted.hours, "
        "difference.total (own minus Tinker); default: both costs, tinker.total in pictures",
    )
    group.add_argument("--plot", metavar="FILE", help="write the tornado there (PNG, SVG or PDF)")
    group.add_argument("--spider", metavar="FILE", help="write the spider plot there")
    group.add_argument("--range", metavar="10%", help="move uncertainties without a declared range by this share")
    group.add_argument("--json", action="store_true", help="print every number as JSON")
    group.add_argument("--force", action="store_true", help="replace existing files")


def run(args: argparse.Namespace) -> int:
    """Print the report and write its pictures."""
    from ..files import refuse_clashes
    from ..plots.style import check_format, save

    refuse_clashes((path and check_format(path) for path in (args.plot, args.spider)), args.force)
    from ..report_outputs import check_output

    output = check_output(args.output or "tinker.total")
    config = config_from(args)
    from .compilation_cache import use_compilation_cache

    use_compilation_cache()
    from ..cost_sensitivity.report import sensitivity

    report = sensitivity(config, range=args.range)
    drawn = [
        (path, draw) for path, draw in ((args.plot, report.tornado), (args.spider, report.spider)) if path is not None
    ]
    for path, draw in drawn:  # before anything is printed: who reads the first lines only still gets the pictures
        save(draw(output), path, args.force)
    print(json_text(report.to_dict()) if args.json else report.table(args.output))
    for path, _ in drawn if not args.json else ():
        print(f"\nwrote {path}")
    return 0
