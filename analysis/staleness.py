"""What does a staleness bound buy on own GPUs? The published model's overlap speed-up over k, beside the page's claims.

    python analysis/staleness.py [--out out] [--force]

For math_rl, code_rl and harbor_rl on their own models and eight H100. What a recipe does not state is set here and printed:
prompts of 2,000 tokens and 50 steps for harbor_rl, 400 tokens for code_rl; the sandbox's fee is left out, for it moves
no hours. k is the most training steps that a rollout may lag behind.
"""

from __future__ import annotations

from study import save_figure, study_arguments

import tinker_nomics as tn
from tinker_nomics.cli.text_table import table

STATED_HERE = {
    "math_rl": {},
    "code_rl": {"workload.prompt_tokens": 400.0},
    "harbor_rl": {"workload.prompt_tokens": 2000.0, "workload.steps": 50.0},
}
BOUNDS = [0.0, 1.0, 2.0, 3.0, 4.0, 8.0, 16.0]
CLAIMS = (
    "the page: 1.7x at k = 1",
    "the page: 2 to 2.7x at k >= 2",
    "VCPO: 2.5x at k = 2 (arXiv 2602.17616)",
    "PipelineRL: about 2x (arXiv 2509.19128)",
    "harbor_rl on the page: 90 h of rollout against 5 h of training, inputs not published",
)


def configurations() -> dict[str, tn.Config]:
    """Each recipe on its default model, with what it does not state set here."""
    return {
        name: tn.Config.from_recipe(
            name,
            chip="h100-sxm",
            gpus=8,
            prices="2026-10-07",
            sandbox="none",
            assumptions="published",
            overrides=values,
        )
        for name, values in STATED_HERE.items()
    }


def main() -> None:
    """Print the table and write the figure."""
    args = study_arguments(__doc__ or "").parse_args()
    rows, curves = [], {}
    for name, config in configurations().items():
        batch = tn.sweep(config, {"schedule.max_steps_off_policy": BOUNDS})
        speedup, rollout, train = (
            batch[f"self_hosted.{part}"] for part in ("overlap_speedup", "rollout_hours", "train_hours")
        )
        hours = batch["self_hosted.hours"]
        # against k = 0 on the same work: the discarded rollouts of k >= 2 are extra work, not speed
        gain = hours[0] / hours
        curves[name] = gain
        rows.append(
            [
                name,
                f"{rollout[0]:.2f} h",
                f"{train[0]:.2f} h",
                f"{rollout[0] / train[0]:.2f}",
                *(f"{value:.2f}" for value in gain),
                f"{speedup[1]:.2f}",
            ]
        )
    header = ["recipe", "rollout", "train", "ratio", *(f"k={k:g}" for k in BOUNDS), "overlap k=1"]
    print("hours at k = 0 over hours at k (published edition, 8 x H100)\n")
    print(table(rows, header, "l" + "r" * (len(header) - 1)))
    for name, values in STATED_HERE.items():
        stated = ", ".join(f"{path} = {value:g}" for path, value in values.items())
        print(f"\n{name}: {stated or 'all values stated by the recipe and the page'}", end="")
    print("\n\nclaims to set beside it:\n" + "\n".join(f"  {claim}" for claim in CLAIMS))
    print("No overlap of two phases gains more than 2x: a larger figure must come from something else than overlap.")
    save_figure(figure(curves), args, "staleness.png")


def figure(curves: dict):
    """Gain over k, one line per recipe, with the claimed band."""
    from tinker_nomics.plots.style import PALETTE, new_figure, tidy

    drawn = new_figure(12, 5.5)
    axes = tidy(drawn.subplots(), "y")
    positions = range(len(BOUNDS))
    axes.axhspan(2.0, 2.7, color="#EFEFEF")
    axes.text(0, 2.35, "the page's claim for k >= 2: 2 to 2.7x", va="center", color="#595959")
    axes.axhline(1.7, color="#595959", linestyle=":")
    axes.text(0, 1.64, "the page's claim for k = 1: 1.7x", va="center", color="#595959")
    for colour, marker, (name, gain) in zip(PALETTE, "os^", curves.items()):
        axes.plot(positions, gain, color=colour, marker=marker, linewidth=2)
        axes.text(len(BOUNDS) - 0.9, gain[-1], name, va="center", color=colour)
    axes.set_xticks(list(positions), [f"{k:g}" for k in BOUNDS])
    axes.set_xlabel("staleness bound k (training steps that a rollout may lag behind)")
    axes.set_ylabel("hours at k = 0 over hours at k")
    axes.set_ylim(0.85, 2.8)
    axes.set_xlim(-0.3, len(BOUNDS) - 0.3)
    axes.set_title("What overlapping rollouts and training buys (published edition, 8 x H100)", loc="left")
    return drawn


if __name__ == "__main__":
    main()
