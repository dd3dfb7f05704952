"""What every study shares: where its figures go, and how its tables are printed."""

from __future__ import annotations

import argparse
from pathlib import Path


def study_arguments(description: str) -> argparse.ArgumentParser:
    """A parser with --out, the folder for figures, and --force."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for figures (default: out)")
    parser.add_argument("--force", action="store_true", help="replace figures that are there")
    return parser


def save_figure(figure, args: argparse.Namespace, name: str) -> None:
    """Write `figure` as PNG into the study's folder and say so."""
    from tinker_nomics.plots.style import save

    args.out.mkdir(parents=True, exist_ok=True)
    print(f"\nwrote {save(figure, args.out / name, args.force)}")
