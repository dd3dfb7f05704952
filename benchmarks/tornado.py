"""The tornado of every recipe of the catalog, with the time that each takes.

    python benchmarks/tornado.py [--out out/tornado] [--force]

Tinker's bill, own GPUs minus Tinker, on eight H100 at the newest price list. What a recipe does not state is set to the
stand-ins below and printed beside its name; they are no facts, so those pictures are for their shape. The first report
traces and compiles; every further recipe of the same structure only computes, and its time is the one to quote.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

import tinker_nomics as tn
from tinker_nomics.cli.text_table import table
from tinker_nomics.plots.style import save

STAND_INS = {
    "workload.prompt_tokens": 400.0,
    "workload.steps": 100.0,
    "workload.turns": 2.0,
    "workload.observation_tokens": 200.0,
    "sandbox.seconds": 5.0,
}
OUTPUTS = ("tinker.total", "difference.total")


def configuration(recipe: str) -> tuple[tn.Config, list[str]]:
    """The recipe's configuration, and the paths that a stand-in had to fill."""
    try:
        return tn.Config.from_recipe(recipe, assumptions="published"), []
    except tn.ConfigError as error:
        filled = [problem.path for problem in error.problems]
        given = {path: STAND_INS[path] for path in filled}
        return tn.Config.from_recipe(recipe, assumptions="published", overrides=given), filled


def main() -> None:
    """Draw all of them and print the table of times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/tornado"), help="folder for the pictures")
    parser.add_argument("--force", action="store_true", help="replace pictures that are there")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rows, times = [], []
    for recipe in tn.catalog.recipes():
        config, filled = configuration(recipe.name)
        started = time.perf_counter()
        report = tn.sensitivity(config)
        computed = time.perf_counter()
        for output in OUTPUTS:
            save(report.tornado(output), args.out / f"{recipe.name}.{output}.png", args.force)
        drawn = time.perf_counter()
        times.append(1e3 * (computed - started))
        rows.append(
            [
                recipe.name,
                f"${report.outputs['tinker.total']:,.2f}",
                f"${report.outputs['self_hosted.total']:,.2f}",
                f"{times[-1]:.1f} ms",
                f"{1e3 * (drawn - computed):.0f} ms",
                ", ".join(filled),
            ]
        )
    print(f"{len(rows)} recipes, {len(OUTPUTS)} pictures each, in {args.out}\n")
    print(table(rows, ["recipe", "Tinker", "8 x H100", "report", "pictures", "stand-ins for"], "lrrrrl"))
    print(
        f"\nthe first report holds the compilation ({times[0]:.0f} ms), and so does the first of each further structure (a "
        f"fee, an absent adapter); the median of all is {median(times):.1f} ms"
    )


if __name__ == "__main__":
    main()
