"""When do GPUs of one's own win over Tinker? The MFU that each chip has to reach at its rent, recipe by recipe.

    python analysis/tinker_vs_own.py [--prices 2026-10-07] [--assumptions published] [--out out] [--force]

Own cost is rent times GPU-hours, so every MFU has a rent at which both sides cost the same: (Tinker's bill without the
sandbox, which both pay) over GPU-hours. Where that break-even rent lies above what the chip rents for, own GPUs win. The
idle hours between runs, people and set-up are not in it: a recipe_multiplier scales both sides alike.
"""

from __future__ import annotations

import numpy as np
from study import save_figure, study_arguments

import tinker_nomics as tn
from tinker_nomics.cli.text_table import table
from tinker_nomics.plots.style import PALETTE, new_figure, tidy

CHIPS = ("a100-80-sxm", "h100-sxm", "h200-sxm", "b200", "mi300x")
RECIPES = {"math_rl": {}, "code_rl": {"workload.prompt_tokens": 400.0}}
MFU = np.geomspace(0.004, 0.6, 200)


def break_even(config: tn.Config) -> tuple[np.ndarray, float | None]:
    """The break-even rent at every MFU [USD/h], and the MFU at which it equals the config's own rent."""
    batch = tn.sweep(config, {"cluster.mfu": MFU})
    rent = (batch["tinker.total"] - batch["tinker.sandbox"]) / batch["self_hosted.gpu_hours"]
    found = tn.uncertainty.break_even(
        tn.cost_model.evaluate, "cluster.mfu", MFU[0], MFU[-1], base=config, output="difference.total"
    )
    return rent, found.values[0] if found.values else None


def main() -> None:
    """Print the table of break-even MFUs and draw the curves."""
    parser = study_arguments(__doc__ or "")
    parser.add_argument("--prices", default="2026-10-07", help="date of the run")
    parser.add_argument("--assumptions", default="published", help="edition of the model")
    args = parser.parse_args()
    rows, curves = [], {}
    for recipe, values in RECIPES.items():
        for chip in CHIPS:
            config = tn.Config.from_recipe(
                recipe,
                model="Qwen/Qwen3-8B",
                chip=chip,
                gpus=8,
                prices=args.prices,
                assumptions=args.assumptions,
                sandbox="none",
                overrides=values,
            )
            rent, mfu = break_even(config)
            curves[recipe, chip] = (rent, config.cluster.price_per_gpu_hour, mfu)
            estimate = tn.estimate(config)
            verdict = "own" if estimate.difference.total < 0 else "Tinker"
            rows.append(
                [
                    recipe,
                    chip,
                    f"${config.cluster.price_per_gpu_hour:.2f}/h",
                    f"${estimate.tinker.total:,.0f}",
                    f"${estimate.self_hosted.total:,.0f}",
                    verdict,
                    f"{mfu:.3f}"
                    if mfu
                    else ("always" if (rent > config.cluster.price_per_gpu_hour).all() else "never"),
                ]
            )
    print(
        f"Qwen3-8B on 8 GPUs, prices of {args.prices}, edition {args.assumptions}, MFU 0.10 in the two cost columns\n"
    )
    print(table(rows, ["recipe", "chip", "rent", "Tinker", "own", "cheaper", "own wins from MFU"], "llrrrlr"))
    save_figure(figure(curves), args, "tinker_vs_own.png")


def figure(curves: dict):
    """Break-even rent over MFU, a panel per recipe; a dot where a chip's curve meets its rent."""
    drawn = new_figure(12, 6)
    panels = drawn.subplots(1, len(RECIPES), sharey=True)
    for axes, recipe in zip(panels, RECIPES):
        tidy(axes, "both")
        for colour, chip in zip(PALETTE, CHIPS):
            rent, price, mfu = curves[recipe, chip]
            axes.plot(MFU, rent, color=colour, linewidth=2, label=f"{chip} (${price:.2f}/h)")
            if mfu is not None:
                axes.plot([mfu], [price], "o", color=colour, markeredgecolor="black", markersize=8, zorder=5)
        axes.axvline(0.1, color="#595959", linestyle=":", linewidth=1)
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_yticks([0.1, 0.3, 1, 3, 10, 30, 100], ["$0.10", "$0.30", "$1", "$3", "$10", "$30", "$100"])
        axes.set_xlabel("MFU of training (dotted: the published 0.10)")
        axes.set_title(recipe, loc="left")
    panels[0].set_ylabel("rent at which both cost the same [USD per GPU-hour]")
    panels[1].legend(frameon=False, loc="lower right", title="chip (its rent)")
    drawn.suptitle(
        "Own GPUs win right of the dot: the break-even rent lies above what the chip rents for", x=0.01, ha="left"
    )
    return drawn


if __name__ == "__main__":
    main()
