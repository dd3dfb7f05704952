"""`tinker-nomics sweep`: a run priced over a grid, every point kept, or only the best of billions."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..axis_names import with_long_names
from ..errors import TinkerNomicsError, listed
from .axis_arguments import add_axis_arguments, axes_from, axis_path
from .config_arguments import add_config_arguments, config_from
from .json_text import json_text
from .scale_arguments import add_scale_arguments, place_of, progress_of, seconds_between, shared, standard_output_aside
from .uncertain_arguments import whole_from
from .work_line import tell_work

if TYPE_CHECKING:
    from ..config import Config
    from ..sweeps.grid_result import GridReduction

SIDES = ("tinker.total", "self_hosted.total")
FITS = ("memory.weights_fit == 1", "memory.kv_fits == 1")
_KEPT = ("self_hosted.hours", "difference.total", "memory.weights_fit", "memory.kv_fits")
_GROUPS = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a run, the grid, what to keep of it, what to write, how to spread the work."""
    add_config_arguments(parser)
    group = parser.add_argument_group("grid")
    add_axis_arguments(group)
    group.add_argument("--zip", action="store_true", help="pair the axes' values instead of crossing them")
    group = parser.add_argument_group("what to keep of a grid of any size (without any of these: every point)")
    group.add_argument("--top", metavar="K", help="the K points with the least --output")
    group.add_argument("--pareto", metavar="A,B[,C]", help="the Pareto front of two or three outputs, each to be small")
    group.add_argument("--by", metavar="PATH,PATH", help="least and mean --output, and the cheaper side, in each group")
    group.add_argument("--winners", action="store_true", help="how often Tinker and own GPUs are cheaper")
    group.add_argument("--output", metavar="NAME", help="what --top and --by look at (default self_hosted.total)")
    group.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="TEXT",
        help="only points of which this holds, e.g. 'self_hosted.hours < 24'. Points that do not fit into memory are "
        f"left out ({' and '.join(FITS)}); --any-fit takes them too",
    )
    group.add_argument("--any-fit", action="store_true", help="count points that do not fit into memory as well")
    group = parser.add_argument_group("result")
    group.add_argument("--plot", metavar="FILE", help="draw the front of --pareto there (PNG, SVG or PDF)")
    group.add_argument("--map", metavar="FILE", help="draw the cheaper side in each group of --by there")
    group.add_argument("--csv", metavar="FILE", help="write the table there, with units and provenance")
    group.add_argument("--json", action="store_true", help="print every number as JSON")
    group.add_argument("--force", action="store_true", help="replace existing files")
    add_scale_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Price, print, write."""
    axes = axes_from(args.over)
    _check_files(args)
    if not _reduces(args):
        _refuse_flags_of_reductions(args)
    place = place_of(args)
    if not _reduces(args):
        _refuse_processes(place)
        return _every_point(args, axes)
    if args.zip:
        raise TinkerNomicsError("--zip: only a grid is reduced; leave it out, or --top, --pareto, --by and --winners")
    with standard_output_aside(place is not None), shared(args, place):
        config = config_from(args)
        found = _reduced(args, config, axes)
    if place is None or place.process_id == 0:
        show_reduction(args, found)
        _say_range(args, config)
        tell_work(args, found, found.points, "configurations", 1 if place is None else place.processes)
    return 0 if found.complete else 130


def _reduces(args: argparse.Namespace) -> bool:
    return bool(args.top or args.pareto or args.by or args.winners)


def _check_files(args: argparse.Namespace) -> None:
    """Refuse files that exist, cannot be drawn or have nothing to draw, before anything is computed."""
    from ..files import refuse_existing
    from ..plots.style import check_format

    for flag, path, needed, has in (
        ("--plot", args.plot, "--pareto A,B", args.pareto),
        ("--map", args.map, "--by PATH,PATH", args.by),
    ):
        if path is not None:
            if not has:
                raise TinkerNomicsError(f"{flag} {path}: it draws what {needed} finds; give that too")
            refuse_existing(check_format(path), args.force)
    if args.by is not None and args.map is not None and len(args.by.split(",")) > 2:
        raise TinkerNomicsError(f"--map {args.map}: a map has one or two axes, and --by names more")
    if args.csv is not None:
        refuse_existing(args.csv, args.force)
    if args.out is not None:
        if not args.out.endswith(".npz"):
            raise TinkerNomicsError(f"--out {args.out}: the name of the file ends in .npz")
        refuse_existing(args.out, args.force or args.resume)


def _refuse_flags_of_reductions(args: argparse.Namespace) -> None:
    given = {"--chunks": args.chunks, "--resume": args.resume, "--where": args.where, "--any-fit": args.any_fit}
    for flag, value in given.items():
        if value:
            raise TinkerNomicsError(f"{flag} is for --top, --pareto, --by and --winners; every point is kept here")


def _refuse_processes(place: Any) -> None:
    if place is not None:
        raise TinkerNomicsError(
            f"{place.processes} processes were started, and a sweep that keeps every point is not shared: start one, or "
            "reduce the grid by --top, --pareto, --by or --winners"
        )


def _every_point(args: argparse.Namespace, axes: dict[str, Any]) -> int:
    config = config_from(args)
    from .compilation_cache import use_compilation_cache

    use_compilation_cache()
    from ..report_outputs import OUTPUTS
    from ..sweeps.sweeping import sweep

    outputs = None if args.out is not None and args.output is None else (args.output and [args.output]) or OUTPUTS
    mode = "zip" if args.zip else "grid"
    batch = sweep(config, axes, mode, outputs=outputs, progress=progress_of(args))
    if args.json:
        print(json_text(batch.to_dict()))
    else:
        from .sweep_text import heading, sweep_table

        print(heading(batch.provenance, len(batch), batch.axes))
        print(sweep_table(batch, (args.output,) if args.output else OUTPUTS))
        _say_range(args, config)
    if args.csv is not None:
        batch.to_csv(args.csv, args.force)
    if args.out is not None:
        batch.to_npz(args.out, args.force)
    _say_written(args, args.csv, args.out)
    return 0


def _reduced(args: argparse.Namespace, config: Config, axes: dict[str, Any]) -> GridReduction:
    from .compilation_cache import use_compilation_cache

    use_compilation_cache()
    from ..outputs import UNITS
    from ..report_outputs import check_output
    from ..streaming import Groups, NonFinite, Pareto, TopK, Winners
    from ..sweeps.grid_reduction import grid_axes, reduce_grid

    output = check_output(args.output or "self_hosted.total", tuple(UNITS))
    values = grid_axes(config, axes, (output,)).values
    where = [*map(with_long_names, args.where), *(() if args.any_fit else FITS)]
    by = _groups(args.by, values)
    reducers: dict[str, Any] = {}
    if args.top is not None:
        reducers["top"] = TopK(output, whole_from("--top", args.top), where)
    if args.pareto is not None:
        reducers["front"] = Pareto(
            [check_output(name.strip(), tuple(UNITS)) for name in args.pareto.split(",")], (), where
        )
    if by is not None:
        reducers["groups"] = Groups(by, [output], where)
    if args.winners or by is not None:
        reducers["winners"] = Winners(SIDES, by, where)
    reducers["nonfinite"] = NonFinite((output,))
    return reduce_grid(
        config,
        values,
        reducers,
        outputs=tuple(dict.fromkeys((output, *SIDES, *_KEPT))),
        chunks=args.chunks,
        out=args.out,
        resume=args.resume,
        force=args.force,
        progress=progress_of(args),
        every=seconds_between(args),
    )


def _groups(text: str | None, axes: Any) -> dict[str, tuple[Any, ...]] | None:
    """{axis: values} of --by: texts as the axis has them, numbers rising."""
    if text is None:
        return None
    by, size = {}, 1
    for name in text.split(","):
        path = axis_path(name)
        if path not in axes:
            raise TinkerNomicsError(f"--by {name.strip()}: it is no axis of this grid; --over names {listed(axes)}")
        values = axes[path].tolist()
        if axes[path].dtype.kind == "f":
            values = sorted(set(values))
        by[path], size = tuple(values), size * len(values)
    if size > _GROUPS:
        raise TinkerNomicsError(f"--by {text}: {size:,} groups; {_GROUPS:,} are allowed")
    return by


def refuse_missing(args: argparse.Namespace, found: GridReduction) -> None:
    """Refuse a picture of what was not asked of a reduction that is read from files."""
    for flag, path, there in (
        ("--plot", args.plot, "front" in found.results),
        ("--map", args.map, "winners" in found.results and len(found["winners"].by) in (1, 2)),
    ):
        if path is not None and not there:
            needed = "--pareto" if flag == "--plot" else "--by one or two axes"
            raise TinkerNomicsError(f"{flag} {path}: these parts were computed without {needed}")


def show_reduction(args: argparse.Namespace, found: GridReduction) -> None:
    """Print what was found and write its pictures and table."""
    if args.json:
        print(json_text(found.to_dict()))
    else:
        from .sweep_text import reduction_text

        print(reduction_text(found))
    if args.plot is not None or args.map is not None:
        from .sweep_pictures import draw

        draw(found, args.plot, args.map, args.force)
    if args.csv is not None:
        found.to_csv(args.csv, args.force)
    _say_written(args, args.plot, args.map, args.csv)


def _say_range(args: argparse.Namespace, config: Config) -> None:
    """How far the totals may lie from what is printed: the range of the run that the grid starts from."""
    if not args.json:
        from .sweep_text import range_of_start

        print(f"\n{range_of_start(config)}")


def _say_written(args: argparse.Namespace, *paths: str | None) -> None:
    for path in paths:
        if path is not None and not args.json:
            print(f"wrote {path}")
