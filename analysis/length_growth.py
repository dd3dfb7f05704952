"""What does uncertain length growth do to the bill? math_rl, code_rl and harbor_rl under the declared distribution.

    python analysis/length_growth.py [--samples 1000000] [--assumptions published] [--out out] [--force]

Completions lengthen over a run by a factor whose P10, P50 and P90 are 1.1, 1.5 and 3.0: our assumption, until a published
distribution replaces it. Every bill is set beside the one that a plan without growth would show. What code_rl and
harbor_rl do not state is set as printed; sandboxes are left out, for length does not move their fee.
"""

from __future__ import annotations

import numpy as np
from staleness import STATED_HERE
from study import save_figure, study_arguments

import tinker_nomics as tn
from tinker_nomics.cli.text_table import table
from tinker_nomics.plots.style import PALETTE, new_figure, tidy

GROWTH = tn.LogNormal.from_quantiles(p10=1.1, p50=1.5, p90=3.0)
SHARES = (0.1, 0.5, 0.9, 0.99)
SIDES = {"tinker.total": "Tinker", "self_hosted.total": "8 x H100"}


def main() -> None:
    """Print percentiles and chances, draw how likely each multiple of the planned bill is exceeded."""
    parser = study_arguments(__doc__ or "")
    parser.add_argument("--samples", type=float, default=1e6, help="quasi-random samples per recipe")
    parser.add_argument("--assumptions", default="published", help="edition of the model")
    args = parser.parse_args()
    rows, curves = [], {}
    for recipe, values in STATED_HERE.items():
        config = tn.Config.from_recipe(
            recipe, prices="2026-10-07", sandbox="none", assumptions=args.assumptions, overrides=values
        )
        planned = tn.estimate(tn.replace(config, {"workload.length_growth": 1.0}))
        result = tn.monte_carlo(config, {"workload.length_growth": GROWTH}, samples=int(args.samples), seed=0)
        for output, side in SIDES.items():
            plan = planned[output]
            over = [result.quantile(output, p) for p in SHARES]
            errors = [result.quantile_error(output, p) for p in SHARES]
            rows.append(
                [
                    recipe,
                    side,
                    f"${plan:,.2f}",
                    f"${result.mean[output]:,.2f}",
                    *(f"{value / plan:.3f} ±{error / plan:.0e}" for value, error in zip(over, errors)),
                ]
            )
            p = np.linspace(0.001, 0.999, 400)
            curves[recipe, output] = ([result.quantile(output, share) / plan for share in p], 1 - p)
    header = ["recipe", "side", "planned", "mean", *(f"P{100 * share:g} / planned" for share in SHARES)]
    print(f"planned = without growth; {int(args.samples):,} samples; edition {args.assumptions}\n")
    print(table(rows, header, "llrrrrrr"))
    for name, values in STATED_HERE.items():
        if values:
            print(f"\n{name}: " + ", ".join(f"{path} = {value:g}" for path, value in values.items()), end="")
    print(
        "\n\nTinker's rollout and training bills grow with length itself; prefill of later turns grows with what earlier"
    )
    print("turns wrote, and on own GPUs longer contexts also slow decoding: so the own bill can grow by more.")
    save_figure(figure(curves), args, "length_growth.png")


def figure(curves: dict):
    """P(cost > x) over x in units of the planned bill, a panel per side."""
    drawn = new_figure(12, 5.5)
    panels = drawn.subplots(1, 2, sharey=True)
    for axes, (output, side) in zip(panels, SIDES.items()):
        tidy(axes, "both")
        for colour, style, recipe in zip(PALETTE, ("-", "--", "-."), STATED_HERE):
            x, p = curves[recipe, output]
            axes.plot(x, p, color=colour, linestyle=style, linewidth=2.2, label=recipe)
        axes.set_xlim(0.9, 4)
        axes.set_ylim(0, 1)
        axes.set_xlabel("cost over the cost planned without growth")
        axes.set_title(side, loc="left")
    panels[0].set_ylabel("chance that the bill exceeds it")
    panels[0].legend(frameon=False, loc="upper right")
    drawn.suptitle("How likely a run costs more than a plan without length growth says", x=0.01, ha="left")
    return drawn


if __name__ == "__main__":
    main()
