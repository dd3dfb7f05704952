"""`tinker-nomics monte-carlo`: the cost of a run under uncertainty, on one machine or many."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import TinkerNomicsError
from .config_arguments import add_config_arguments, config_from
from .json_text import json_text
from .scale_arguments import add_scale_arguments, place_of, progress_of, seconds_between, shared, standard_output_aside
from .uncertain_arguments import add_uncertain_arguments, distributions_from, whole_from
from .work_line import tell_work

if TYPE_CHECKING:
    from ..config import Config
    from ..cost_distribution.result import CostDistribution
    from ..uncertainty import Distribution


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a run, the uncertain inputs, the sample, what to write, how to spread the work."""
    add_config_arguments(parser)
    group = parser.add_argument_group("sample")
    add_uncertain_arguments(group)
    group.add_argument(
        "--samples", default="2e6", metavar="N", help="samples in all, rounded up to replicates x 2^m (default 2e6)"
    )
    group.add_argument("--replicates", default="16", metavar="R", help="independent scrambles, for errors (default 16)")
    group.add_argument("--lengths", metavar="FILE.csv", help="mean completion tokens per step, for the growth factor")
    group.add_argument("--fan", metavar="FILE", help="draw the bill over the steps there, as bands of quantiles")
    group.add_argument(
        "--event",
        action="append",
        default=[],
        metavar="TEXT",
        help="count this too, e.g. 'self_hosted.total < 100 and difference.total < 0'",
    )
    add_result_arguments(group)
    add_scale_arguments(parser)


def add_result_arguments(group: argparse._ArgumentGroup) -> None:
    """Add what is done with a distribution of costs."""
    group.add_argument("--budget", metavar="USD", help="the chance that the bill exceeds it")
    group.add_argument("--output", default="tinker.total", metavar="NAME", help="what the pictures show (tinker.total)")
    group.add_argument("--plot", metavar="FILE", help="draw the exceedance curve there (PNG, SVG or PDF)")
    group.add_argument("--histogram", metavar="FILE", help="draw the histogram there")
    group.add_argument("--csv", metavar="FILE", help="write the table there, with units and provenance")
    group.add_argument("--json", action="store_true", help="print every number as JSON")
    group.add_argument("--force", action="store_true", help="replace existing files")


def run(args: argparse.Namespace) -> int:
    """Sample, print, write."""
    from ..quantities import parse_quantity

    samples, seed = whole_from("--samples", args.samples), whole_from("--seed", args.seed)
    replicates = whole_from("--replicates", args.replicates)
    budget = None if args.budget is None else parse_quantity(args.budget, "USD")
    check_files(args)
    place = place_of(args)
    with standard_output_aside(place is not None), shared(args, place):
        config = config_from(args)
        result = _sampled(args, config, samples, seed, replicates, budget)
    if place is None or place.process_id == 0:
        show(args, result)
        _tell_rounding(args, result, samples)
        if args.fan is not None:
            _draw_fan(args, config, seed, budget)
        tell_work(args, result, result.samples, "samples", 1 if place is None else place.processes)
    return 0 if result.complete else 130


def _sampled(
    args: argparse.Namespace, config: Config, samples: int, seed: int, replicates: int, budget: float | None
) -> CostDistribution:
    from .compilation_cache import use_compilation_cache

    use_compilation_cache()
    from ..cost_distribution.simulation import monte_carlo
    from ..report_outputs import OUTPUTS

    return monte_carlo(
        config,
        _distributions(args, config),
        samples,
        seed,
        lengths=args.lengths,
        budget=budget,
        outputs=(args.output, *OUTPUTS),
        events=args.event,
        replicates=replicates,
        chunks=args.chunks,
        out=args.out,
        resume=args.resume,
        force=args.force,
        progress=progress_of(args),
        every=seconds_between(args),
    )


def _draw_fan(args: argparse.Namespace, config: Config, seed: int, budget: float | None) -> None:
    from ..cost_distribution.fan import cost_fan
    from ..plots.style import save

    fan = cost_fan(config, _distributions(args, config), output=args.output, seed=seed, lengths=args.lengths)
    save(fan.figure(budget=budget), args.fan, args.force)
    if not args.json:
        print(f"wrote {args.fan}")


def _distributions(args: argparse.Namespace, config: Config) -> dict[str, Distribution]:
    found = distributions_from(args, config)
    if args.lengths is not None and not args.uncertain:
        from ..declared_ranges import refuse_none

        found.pop("workload.length_growth", None)
        refuse_none(config, found)
    return found


def check_files(args: argparse.Namespace) -> None:
    """Refuse files that exist or cannot be drawn, before anything is computed."""
    from ..files import refuse_existing
    from ..plots.style import check_format

    for path in (args.plot, args.histogram, getattr(args, "fan", None)):
        if path is not None:
            refuse_existing(check_format(path), args.force)
    if args.csv is not None:
        refuse_existing(args.csv, args.force)
    if args.out is not None:
        if not args.out.endswith(".npz"):
            raise TinkerNomicsError(f"--out {args.out}: the name of a file of states ends in .npz")
        refuse_existing(args.out, args.force or getattr(args, "resume", False))


def show(args: argparse.Namespace, result: CostDistribution) -> None:
    """Print the distribution and write its pictures and table."""
    if args.json:
        print(json_text(result.to_dict()))
    else:
        print(result.table())
    if args.plot is not None or args.histogram is not None:
        from ..plots.distribution_curves import exceedance_figure, histogram_figure
        from ..plots.style import save

        name, unit, title = args.output, result.units.get(args.output, ""), result.title(args.output)
        if args.plot is not None:
            figure = exceedance_figure(result, outputs=name, budget=result.budget, title=title, unit=unit)
            save(figure, args.plot, args.force)
        if args.histogram is not None:
            marks = {} if result.budget is None else {"budget": result.budget}
            save(histogram_figure(result, output=name, title=title, unit=unit, marks=marks), args.histogram, args.force)
    if args.csv is not None:
        result.to_csv(args.csv, args.force)
    if not args.json:
        for path in (args.plot, args.histogram, args.csv):
            if path is not None:
                print(f"wrote {path}")


def _tell_rounding(args: argparse.Namespace, result: CostDistribution, asked: int) -> None:
    """That more samples make up the run than were asked for."""
    whole, replicates = result.about["replicates"] << result.about["log2_points"], result.about["replicates"]
    if not args.json and whole != asked:
        power = result.about["log2_points"]
        print(f"{asked:,} samples were asked for; rounded up to {replicates} x 2^{power} = {whole:,}")
