"""Draw the pictures of the README and the docs with the commands that a user would type.

    python analysis/pictures.py [--header model.gguf] [--out docs/pictures] [--force]

--header names a checkpoint's header or ledger for the pictures of the decode pricer, which are left as they are without it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from study import study_arguments

from tinker_nomics.cli.main import main as tinker_nomics

RUN = ["math_rl", "--prices", "2026-10-07"]
EXPLAINED = [*RUN, "--model", "Qwen3-8B", "--workload.completion-tokens", "300"]
# 128 million configurations: some minutes
GRID = ["math_rl", "--model", "Qwen/Qwen3-8B", "--prices", "2026-01-05", "--top", "3", "--by", "chip,tp"]
GRID += ["--over", "chip=h100-sxm,h200-sxm,b200,mi300x,a100-80-sxm", "--over", "tp=1,2,4,8"]
GRID += ["--over", "gpus=range(8,64,8)", "--over", "workload.rollouts-per-prompt=4,8,16,32"]
GRID += ["--over", "workload.completion-tokens=log(100,8000,50)", "--over", "workload.length-growth=linear(1,3,40)"]
GRID += ["--over", "cluster.price-per-gpu-hour=linear(1,6,100)"]
GROWTH = ["--uncertain", "workload.length_growth=lognormal(1.1,1.5,3.0)", "--samples", "1e6", "--budget", "500"]


def commands(header: str | None) -> dict[str, list[str]]:
    """{picture: the command that draws it; its last word is the flag that takes the file}."""
    drawn = {
        "tornado.png": ["sensitivity", *RUN, "--plot"],
        "spider.png": ["sensitivity", *RUN, "--output", "self_hosted.total", "--spider"],
        "sobol.png": ["sobol", *RUN, "--output", "self_hosted.total", "--plot"],
        "exceedance.png": ["monte-carlo", *RUN, *GROWTH, "--plot"],
        "histogram.png": ["monte-carlo", *RUN, *GROWTH, "--histogram"],
        "fan.png": ["monte-carlo", *RUN, *GROWTH, "--fan"],
        "grid_winners.png": ["sweep", *GRID, "--map"],
        "waterfall.png": ["estimate", *EXPLAINED, "--explain", "--plot"],
    }
    if header is not None:
        chips = ["--chip", "h100-sxm,b200,mi300x,rtx4090,m3-ultra", "--tp", "1,2,4,8"]
        one = ["--chip", "h100-sxm", "--tp", "1"]
        drawn |= {
            "decode_grid.png": ["decode", header, *chips, "--plot"],
            "decode_stages.png": ["decode", header, *one, "--stages", "--plot"],
            "decode_roofline.png": ["decode", header, *one, "--picture", "roofline", "--plot"],
        }
    return drawn


def main() -> int:
    """Run every command; the worst exit status is the script's."""
    parser = study_arguments(__doc__ or "")
    parser.set_defaults(out=Path("docs/pictures"))
    parser.add_argument("--header", help="a GGUF file or a ledger")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    worst = 0
    for name, command in commands(args.header).items():
        print(f"\n== {name}: tinker-nomics {' '.join(command)} FILE", flush=True)
        worst = max(worst, tinker_nomics([*command, str(args.out / name), *(["--force"] if args.force else [])]))
    return worst


if __name__ == "__main__":
    sys.exit(main())
