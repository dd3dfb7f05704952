"""`tinker-nomics estimate`: one run priced, on one screen."""

from __future__ import annotations

import argparse
import json

from .config_arguments import add_config_arguments, config_from


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a run, and --json."""
    add_config_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print every number, with units, as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the estimate."""
    config = config_from(args)
    from .compilation_cache import use_compilation_cache

    use_compilation_cache()
    from ..cost_model import estimate
    from ..outputs import UNITS, by_path

    priced = estimate(config)
    if args.json:
        document = priced.to_dict() | {
            "units": {name: UNITS[name] for name in by_path(priced)},
            "choices": dict(config.provenance.choices) | {"assumptions": config.assumptions.edition},
            "notes": list(priced.notes),
        }
        print(json.dumps(document, indent=2))
        return 0
    from .estimate_text import screen

    print(screen(config, priced))
    return 0
