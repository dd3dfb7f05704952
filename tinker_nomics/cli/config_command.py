"""`tinker-nomics config`: the effective configuration of a run."""

from __future__ import annotations

import argparse

from .config_arguments import add_config_arguments, config_from


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a run, and where to write it."""
    add_config_arguments(parser)
    parser.add_argument("--out", metavar="RUN.TOML", help="write it there instead of printing it")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def run(args: argparse.Namespace) -> int:
    """Print or write the TOML; `--config` reads it back."""
    text = config_from(args).to_toml()
    if args.out is None:
        print(text, end="")
        return 0
    from ..files import write_text

    print(f"wrote {write_text(args.out, text, args.force)}")
    return 0
