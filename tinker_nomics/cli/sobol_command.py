"""`tinker-nomics sobol`: how much of the variance of a run's cost each uncertain input explains."""

from __future__ import annotations

import argparse

from .config_arguments import add_config_arguments, config_from
from .json_text import json_text
from .uncertain_arguments import add_uncertain_arguments, distributions_from, whole_from


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a run, the uncertain inputs, the sample."""
    add_config_arguments(parser)
    group = parser.add_argument_group("indices")
    add_uncertain_arguments(group)
    group.add_argument("--samples", default="65536", metavar="N", help="base points in all (default 65536)")
    group.add_argument("--replicates", default="16", metavar="R", help="independent scrambles, 16 or more (default 16)")
    group.add_argument(
        "--output",
        default=None,
        metavar="NAME",
        help="only this output (default: both costs, hours, difference; tinker.total in the picture)",
    )
    group.add_argument("--plot", metavar="FILE", help="draw the indices there (PNG, SVG or PDF)")
    group.add_argument("--json", action="store_true", help="print every number as JSON")
    group.add_argument("--force", action="store_true", help="replace an existing file")


def run(args: argparse.Namespace) -> int:
    """Print S1 and ST with their intervals, per output."""
    from ..files import refuse_existing
    from ..plots.style import check_format, save

    if args.plot is not None:
        refuse_existing(check_format(args.plot), args.force)
    config = config_from(args)
    from .compilation_cache import use_compilation_cache

    use_compilation_cache()
    from ..cost_distribution.bounds import refuse_out_of_bounds
    from ..cost_parts.known_schedule import known_schedule
    from ..report_outputs import OUTPUTS, check_output, report_outputs
    from ..totals_text import standing
    from ..uncertainty import sobol_indices

    outputs = OUTPUTS if args.output is None else (check_output(args.output),)
    distributions = distributions_from(args, config)
    refuse_out_of_bounds(config, distributions, "this sample", absent=False)
    indices = sobol_indices(
        report_outputs,
        distributions,
        samples=whole_from("--samples", args.samples),
        replicates=whole_from("--replicates", args.replicates),
        seed=whole_from("--seed", args.seed),
        base=known_schedule(config, distributions),
        outputs=outputs,
    )
    if args.plot is not None:  # before anything is printed: who reads the first lines only still gets the picture
        from ..plots.sobol_bars import sobol_figure

        output, chosen = args.output or "tinker.total", config.provenance.choices
        run = f"{chosen.get('recipe') or 'a run of your own'} on {chosen.get('model') or 'a model of your own'}"
        title = f"Which uncertain input explains {output} of {run}\n{standing(config)}"
        save(sobol_figure(indices, output=output, title=title), args.plot, args.force)
    if args.json:
        run_of = dict(config.provenance.choices) | {"assumptions": config.assumptions.edition}
        print(json_text(indices.to_dict() | {"choices": run_of}))
    else:
        print(f"{standing(config)}\n\n{indices.table()}")
    if args.plot is not None and not args.json:
        print(f"\nwrote {args.plot}")
    return 0
