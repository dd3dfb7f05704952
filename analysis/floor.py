"""Is the floor a floor, and how far above it do engines decode? 453 measured batch-1 rows against it, by chip.

    python analysis/floor.py [--ledgers FOLDER] [--out out] [--force]

--ledgers names a folder of header ledgers: rows of those models are then priced from them, mixtures of experts too.
Exit status 1 where a row beats the floor.

How tight the floor is, is told of dense models of 4 GB and more where a single GPU streams at any time: on one card, or
with layers on several cards, of which llama.cpp runs one after the other. The rows on one card are told apart too: there
19 of 45 are of the A100, of whose bandwidth llama.cpp reaches 31 to 40 % with an 8B model.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

import numpy as np
from floor_rows import FILE, LEDGER, MADE, REPORTED, Priced, dense_single_gpu, load_rows, price_rows
from study import save_figure, study_arguments

from tinker_nomics.cli.text_table import table
from tinker_nomics.plots.style import NEUTRAL, PALETTE, new_figure, tidy

TIGHT_CHIPS = {
    "A100": ("a100-40-sxm", "a100-80-sxm", "a100-80-pcie"),
    "RTX 4090": ("rtx4090",),
    "RTX 3090": ("rtx3090",),
    "RTX A6000": ("rtxa6000",),
}
BASES = (LEDGER, MADE, REPORTED, FILE)


def by_chip(priced: list[Priced]) -> dict[str, list[Priced]]:
    """Priced rows by chip, lowest median first."""
    groups: dict[str, list[Priced]] = defaultdict(list)
    for point in priced:
        if point.basis:
            groups[point.row.chip].append(point)
    return dict(sorted(groups.items(), key=lambda item: median(p.ratio for p in item[1])))


def draw(priced: list[Priced]):
    """Measured time over the floor, one line per chip."""
    groups = by_chip(priced)
    figure = new_figure(12.0, 1.6 + 0.27 * len(groups))
    axes = tidy(figure.add_subplot(), "x")
    jitter = np.random.default_rng(0)
    for basis, color in zip(BASES, (PALETTE[2], PALETTE[0], PALETTE[1], PALETTE[3]), strict=True):
        x = [p.ratio for points in groups.values() for p in points if p.basis == basis]
        y = [i for i, points in enumerate(groups.values()) for p in points if p.basis == basis]
        spread = np.array(y) + jitter.uniform(-0.22, 0.22, len(y))
        if x:
            axes.scatter(x, spread, s=16, color=color, alpha=0.65, linewidth=0, label=f"bytes: {basis}")
    for i, points in enumerate(groups.values()):
        axes.plot([median(p.ratio for p in points)] * 2, [i - 0.38, i + 0.38], color="black", linewidth=2)
    axes.plot([], [], color="black", linewidth=2, label="median")
    axes.axvline(1.0, color=NEUTRAL, linestyle="--", linewidth=1)
    axes.set_xscale("log")
    low = 0.8
    axes.set_xlim(low, max(p.ratio for points in groups.values() for p in points) * 1.15)
    axes.set_xticks([1, 1.5, 2, 3, 5, 10, 30, 100, 300], [f"{x:g}" for x in (1, 1.5, 2, 3, 5, 10, 30, 100, 300)])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(groups)), [f"{chip} ({len(points)})" for chip, points in groups.items()])
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.set_xlabel("measured time per token over the floor [log scale]; left of 1 the floor would be beaten")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=4, frameon=False)
    figure.suptitle("Measured batch-1 decode against the floor", x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def report(priced: list[Priced]) -> str:
    """Counts, ratios by chip, tightness, and what is not priced."""
    held = [p for p in priced if p.basis]
    beaten = [p for p in held if p.ratio < 1.0]
    counts = Counter(p.basis for p in held)
    parts = [
        f"{len(priced)} rows, {len(held)} priced: "
        + ", ".join(f"{counts[basis]} by {basis}" for basis in BASES if counts[basis])
        + f"; {len(priced) - len(held)} not priced.",
        f"{len(beaten)} beat the floor; the closest takes {min(p.ratio for p in held):.3f} times the floor.",
    ]
    parts += [f"  beaten: {p.row.chip} {p.row.model} {p.row.storage}: {p.ratio:.3f}" for p in beaten]
    rows = []
    for chip, points in by_chip(priced).items():
        ratios = [p.ratio for p in points]
        rows.append([chip, str(len(ratios)), f"{min(ratios):.2f}", f"{median(ratios):.2f}", f"{max(ratios):.2f}"])
    parts += ["", "measured / floor", table(rows, ["chip", "rows", "least", "median", "most"], "lrrrr")]
    columns = ["GPU", "rows", "median", "on one card", "median"]
    named = {**TIGHT_CHIPS, "together": tuple(chip for chips in TIGHT_CHIPS.values() for chip in chips)}
    rows = [
        [name, *_count_and_median(dense_single_gpu(priced, chips)),
         *_count_and_median(dense_single_gpu(priced, chips, ("one",)))]
        for name, chips in named.items()
    ]  # fmt: skip
    title = (
        "tightness: dense models of 4 GB and more, one GPU streaming at a time (one card, or layers on several in turn)"
    )
    parts += ["", title, table(rows, columns, "lrrrr")]
    why = Counter(p.why for p in priced if not p.basis)
    parts += ["", "not priced", table([[str(n), reason] for reason, n in why.most_common()], ["rows", "because"], "rl")]
    return "\n".join(parts)


def _count_and_median(points: list[Priced]) -> list[str]:
    return [str(len(points)), f"{median(p.ratio for p in points):.3f}" if points else "-"]


def main(argv: list[str] | None = None) -> int:
    parser: argparse.ArgumentParser = study_arguments(__doc__ or "")
    parser.add_argument("--ledgers", type=Path, help="folder of header ledgers")
    args = parser.parse_args(argv)
    priced = price_rows(load_rows(), args.ledgers)
    print(report(priced))
    save_figure(draw(priced), args, "floor.png")
    return 1 if any(p.basis and p.ratio < 1.0 for p in priced) else 0


if __name__ == "__main__":
    raise SystemExit(main())
