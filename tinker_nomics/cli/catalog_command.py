"""`tinker-nomics catalog KIND [TEXT ...]`: the rows of the catalog with their sources."""

from __future__ import annotations

import argparse
import json

NAME = "catalog"
HELP = "chips, models, prices, recipes and more, each row with its source, date and status"
KINDS = ("chips", "models", "prices", "recipes", "rents", "sandboxes", "runs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("kind", choices=KINDS, help="what to list")
    parser.add_argument("text", nargs="*", help="words that each must stand in a row")
    parser.add_argument("--date", help="for prices: the day whose list is in force, e.g. 2026-07-17")
    parser.add_argument("--json", action="store_true", help="the rows as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the rows."""
    from ..catalog.listing import listing
    from .text_table import table

    found = listing(args.kind, args.text, args.date)
    if args.json:
        print(json.dumps([dict(zip(found.header, row, strict=True)) for row in found.rows], indent=1))
        return 0
    print(table([list(row) for row in found.rows], list(found.header), found.align))
    print("\nstatus: V read in the source, S read in a secondary text, D derived from rows that are V or S")
    return 0
