"""`reduce_grid`: a grid of any size folded into reducers, the best of billions of points that are never kept."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..boundary import x64
from ..config import Config
from ..errors import ConfigError, TinkerNomicsError
from ..outputs import UNITS
from ..plain_config import checked
from ..report_outputs import OUTPUTS
from ..streaming.checked_run import check_reducers
from ..streaming.chunk_range import chunk_range
from ..streaming.described import describe_reducers, reducers_from
from ..streaming.devices import Devices
from ..streaming.engine import run, total_chunks
from ..streaming.kept_run import check_keeping, run_kept
from ..streaming.pareto import Pareto
from ..streaming.reducer import Reducer
from ..streaming.stages import Pipeline
from ..streaming.top_k import TopK
from .axes import KINDS, Axes, parse_axes
from .grid_model import AxisValues, GridModel, GridNumbers, Places
from .grid_result import KIND, GridReduction, reduction_from, shapes_of
from .leaves import parts, varied_leaves, with_choices
from .result import provenance_of

_CHUNK = 1 << 16


def reduce_grid(
    config: Config,
    axes: Mapping[str, Any],
    reducers: Mapping[str, Reducer],
    *,
    outputs: Sequence[str] = OUTPUTS,
    chunks: range | str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    mesh: Devices = None,
    progress: bool | None = None,
    every: float = 5.0,
) -> GridReduction:
    """Price every point of a grid and keep what the reducers keep, at constant memory.

    Reducers see the axes as inputs, under their paths: numbers as their values, choices (model, chip, schedule.kind,
    ...) as the place 0, 1, ... of the text; so `Groups({"chip": ("h100-sxm", "b200"), "cluster.gpus": (1, 2, 4, 8)})`
    groups by both. Points are numbered with schedule.kind and lora.training slowest, each combination of which has a
    compiled program of its own, then the other axes as given, the last one fastest. Under `jax.distributed` every
    process makes the same call and gets the same result.

    Args:
        config, axes: as in `sweep` (a grid).
        reducers: {name: Reducer}, e.g. `TopK("self_hosted.total", 10, where="memory.weights_fit == 1")`.
        outputs: outputs that are kept of points; those that reducers name are there in any case. One that a part of
            the grid does not have (a LoRA's size with full fine-tuning) is NaN there.
        chunks: only these chunks: a range, "0:4096", or "3/64" (the fourth of 64 parts, counted from 0; there are no
            more parts than chunks).
        out: a file (.npz) for progress and result; `GridReduction.from_npz` and `merge_grid_parts` read it.
        resume: go on from `out` where it exists.
        force: overwrite `out`.
        mesh, progress: as in `streaming.run`.
        every: seconds between writes of `out`.

    Raises:
        ConfigError: every unknown path, output and choice, empty axis and value out of bounds, at once.
        TinkerNomicsError: a reducer that names what is not there, or other texts than the axis has, or whose state does
            not fit into memory; a file that exists or belongs to another run.
    """
    checked(config, "reduce_grid")
    if not isinstance(reducers, Mapping) or not reducers:
        raise TinkerNomicsError('reduce_grid: name at least one reducer, e.g. {"cheapest": TopK("self_hosted.total")}')
    check_reducers(reducers)
    check_keeping(out, resume, every)
    parsed = grid_axes(config, axes, outputs)
    reducers = _no_larger(reducers, math.prod(parsed.shape))
    for name, reducer in reducers.items():
        _refuse_other_texts(name, reducer, parsed)
    followed = tuple(dict.fromkeys((*outputs, *(name for each in reducers.values() for name in _named(each)))))
    with x64():
        tables = {
            path: np.arange(len(values), dtype=np.float64) if values.dtype.kind in "US" else values
            for path, values in parsed.values.items()
        }
        shaping = tuple(len(values) for path, values in parsed.values.items() if path in KINDS)
        cut = parts(config, parsed, varied_leaves(config, parsed))
        model = GridModel.of(cut, AxisValues(tables, tuple(tables)), shaping, followed)
    points = GridNumbers(parsed.shape, min(_CHUNK, max(1, math.prod(parsed.shape))))
    pipeline = Pipeline((Places(parsed.shape), model))
    asked = chunk_range(chunks, total_chunks(points))
    about = _description(config, parsed, model.outputs, points.chunk_size, reducers, out is not None)
    how: dict[str, Any] = {"chunks": asked, "mesh": mesh, "progress": progress, "label": "configurations"}
    if out is None:
        done = run(points, pipeline, reducers, **how)
    else:
        keep: dict[str, Any] = {"resume": resume, "force": force, "every": every}
        done = run_kept(points, pipeline, reducers, out, about, shapes_of(about), **keep, **how)
    found = reduction_from(about, done.states, done.seconds, (asked.start, done.stop), done.complete, reducers)
    return replace(found, resumed=done.resumed)


def grid_axes(config: Config, axes: Mapping[str, Any], outputs: Sequence[str]) -> Axes:
    """The axes of a grid, those that shape the formulas first and in the order in which `parts` cuts by them."""
    if isinstance(axes, Mapping):
        spelled = {str(path).replace("-", "_"): path for path in axes}
        first = [spelled[kind] for kind in KINDS if kind in spelled]
        axes = {path: axes[path] for path in (*first, *(path for path in axes if path not in first))}
    try:
        return parse_axes(axes, "grid", outputs)
    except ConfigError as error:
        raise with_choices(error, config, axes, "grid") from None


def _no_larger(reducers: Mapping[str, Reducer], size: int) -> dict[str, Reducer]:
    """The reducers with room for no more points than the grid has."""
    fit = dict(reducers)
    for name, reducer in reducers.items():
        for kind, room in ((TopK, "k"), (Pareto, "capacity")):
            if type(reducer) is kind and getattr(reducer, room) > max(size, 2):
                fit |= reducers_from({name: {**describe_reducers({name: reducer})[name], room: max(size, 2)}})
    return fit


def _named(reducer: Reducer) -> list[str]:
    """The outputs that a reducer names anywhere in what it is made of."""

    def texts(value: Any) -> list[str]:
        if isinstance(value, tuple):
            return [text for item in value for text in texts(item)]
        return [value] if isinstance(value, str) else []

    return [text for field in fields(reducer) for text in texts(getattr(reducer, field.name)) if text in UNITS]


def _refuse_other_texts(name: str, reducer: Reducer, axes: Axes) -> None:
    """Refuse groups whose texts are not the axis' own in its order: they would be labels of other values."""
    for path, values in getattr(reducer, "by", ()):
        axis = axes.values.get(path)
        if axis is None:
            continue
        worded = axis.dtype.kind in "US"
        if worded and list(values) != axis.tolist():
            raise TinkerNomicsError(
                f"reducer {name!r}: groups by {path} are {', '.join(map(str, values))}; the axis has "
                f"{', '.join(axis.tolist())}, and its texts are to be named in that order"
            )
        if not worded and any(isinstance(value, str) for value in values):
            raise TinkerNomicsError(f"reducer {name!r}: {path} is a number, and its groups are texts")


def _description(
    config: Config, axes: Axes, outputs: tuple[str, ...], size: int, reducers: Mapping[str, Reducer], kept: bool
) -> dict[str, Any]:
    """What decides the numbers of a reduction, as plain JSON values; its "hash" names the configuration."""
    provenance = provenance_of(config)
    try:
        described = describe_reducers(reducers)
    except TinkerNomicsError:
        if kept:
            raise
        described = None
    about: dict[str, Any] = {
        "kind": KIND,
        "program": provenance.pop("program"),
        "jax": jax.__version__,
        "order": list(axes.values),  # which numbers the points; files sort the names of a mapping
        "axes": {path: values.tolist() for path, values in axes.values.items()},
        "chunk_size": size,
        "reducers": described,
        "outputs": list(outputs),
        "provenance": provenance,
    }
    about["hash"] = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
    return json.loads(json.dumps(about))
