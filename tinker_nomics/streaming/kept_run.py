"""A run whose progress and result are kept in a file, by one process or by several that share it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jax.experimental import multihost_utils

from ..errors import TinkerNomicsError, shown
from ..files import refuse_existing, remove_abandoned, version_of
from .devices import Devices, layout_of
from .engine import ModelFunction, Points, Run, run, total_chunks
from .progress_file import ProgressFile
from .reducer import Reducer
from .state_files import write_states


def check_keeping(out: str | Path | None, resume: bool, every: float) -> None:
    """Refuse to go on from no file, and a time between writes that is none."""
    if resume and out is None:
        raise TinkerNomicsError("resume = True: name the file to go on from, out=...")
    if isinstance(every, bool) or not isinstance(every, int | float) or not 0 <= every < math.inf:
        raise TinkerNomicsError(f"every = {shown(every)}: a number of seconds, 0 or more, is expected")


def run_kept(
    points: Points,
    model: ModelFunction,
    reducers: Mapping[str, Reducer],
    out: str | Path | None,
    about: Mapping[str, Any],
    like: Any,
    *,
    chunks: range | None = None,
    resume: bool = False,
    force: bool = False,
    mesh: Devices = None,
    progress: bool | None = None,
    every: float = 5.0,
    label: str = "samples",
) -> Run:
    """`engine.run` with its progress in `out`, which holds the whole at the end; just that where `out` is None.

    Each of several processes keeps its own progress in OUT.i-of-n; the first one writes `out` when all are done, and
    then these go.

    Args:
        points, model, reducers, chunks, mesh, progress, label: as in `engine.run`.
        out: the file (.npz).
        about: what the run computes, as plain JSON values with a "hash"; a file with another is refused.
        like: the states' structure (arrays or jax.ShapeDtypeStruct), strata first.
        resume: go on from `out` where it exists.
        force: overwrite `out`.
        every: seconds between writes.

    Raises:
        TinkerNomicsError: `resume` without `out`, or `every` below zero.
    """
    check_keeping(out, resume, every)
    if out is None:
        return run(points, model, reducers, chunks=chunks, mesh=mesh, progress=progress, label=label)
    layout, target = layout_of(mesh), Path(out)
    own = target if layout.ranks == 1 else target.with_suffix(f".{layout.rank}-of-{layout.ranks}{target.suffix}")
    seen = version_of(refuse_existing(target, force or resume)) if layout.ranks > 1 else None
    store = ProgressFile(own, about, like, resume, force, every)
    done = run(points, model, reducers, chunks=chunks, mesh=mesh, store=store, progress=progress, label=label)
    if layout.ranks > 1 and done.complete:
        if layout.rank == 0:
            stop = total_chunks(points) if chunks is None else chunks.stop
            write_states(out, done.states, about, (done.first, stop, stop), done.seconds, only=seen)
            remove_abandoned(target, store.began)
        # only once the whole is on the disk are the parts of it superfluous
        multihost_utils.sync_global_devices(f"tinker_nomics: {about['hash']} is written")
        store.path.unlink(missing_ok=True)
    return done
