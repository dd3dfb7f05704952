"""`tinker-nomics catalog KIND [TEXT ...]`: the rows of the catalog with their sources."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from .json_text import json_text

if TYPE_CHECKING:
    from ..catalog.listing import Listing

NAME = "catalog"
HELP = "chips, models, prices, recipes and more, each row with its source, date and status"
KINDS = {
    "chips": "GPUs and other chips: bandwidth, memory, matrix rate",
    "models": "models with their architecture and parameters",
    "prices": "Tinker's price lists, dated, USD per million tokens",
    "recipes": "the cookbook's runs and what they state",
    "rents": "offers of GPUs for rent, USD an hour",
    "sandboxes": "where rollouts run their code, and its fees",
    "runs": "reported training runs, for comparison",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "kind",
        nargs="?",
        choices=tuple(KINDS),
        metavar="KIND",
        help=f"what to list: {', '.join(KINDS)}; none lists these",
    )
    parser.add_argument("text", nargs="*", default=[], metavar="TEXT", help="words that each must stand in a row")
    parser.add_argument("--date", metavar="DATE", help="for prices: the day whose list is in force, e.g. 2026-07-17")
    parser.add_argument("--json", action="store_true", help="the rows as JSON")
    parser.add_argument("--toml", action="store_true",
                        help="the one chip, model or price row of that name as a file of your own begins, for --chip, "
                             "--model or --prices")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Print the rows, or the kinds of row."""
    if args.kind is None:
        print(_kinds(args))
        return 0
    if args.toml:
        from ..catalog.own_rows import own_row

        print(own_row(args.kind, args.text, args.date), end="")
        return 0
    from ..catalog.listing import listing
    from .text_table import table

    found = listing(args.kind, args.text, args.date)
    if args.json:
        print(json_text([dict(zip(found.header, row, strict=True)) for row in found.rows], indent=1))
        return 0
    header, rows, notes = _noted(found)
    print(table(rows, header, found.align))
    print("\n" + "\n".join(_wrapped(f"{number:>4} ", note) for number, note in enumerate(notes, 1)))
    print("\nstatus: V read in the source, S read in a secondary text, D derived from rows that are V or S")
    if args.kind == "rents":
        from ..catalog.rent_table import RULE

        print(f"counts: whether the row is one of those that a chip's rent without a date is taken of: {RULE}")
    return 0


def _kinds(args: argparse.Namespace) -> str:
    if args.json or args.toml or args.date is not None:
        from ..errors import TinkerNomicsError, listed

        raise TinkerNomicsError(f"catalog: name what to list: {listed(KINDS)}")
    from .text_table import table

    return table([[kind, text] for kind, text in KINDS.items()]) + "\n\ntry: tinker-nomics catalog chips h100"


def _noted(found: Listing) -> tuple[list[str], list[list[str]], list[str]]:
    """The listing with numbers in the place of sources and remarks, and these, each once: rows then fit a screen."""
    last = found.header.index("source")  # the source, then the remark, then nothing
    numbers: dict[str, int] = {}
    rows = []
    for row in found.rows:
        said = [text for text in row[last:] if text not in ("", "-")]
        rows.append([*row[:last], ", ".join(str(numbers.setdefault(text, len(numbers) + 1)) for text in said)])
    return [*found.header[:last], "notes"], rows, list(numbers)


def _wrapped(number: str, note: str) -> str:
    return textwrap.fill(note, 100, initial_indent=number, subsequent_indent=" " * len(number), break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip
