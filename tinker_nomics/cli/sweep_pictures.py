"""The pictures of a reduced grid: its Pareto front, and the cheaper side in each group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..sweeps.grid_result import GridReduction

_COLOURED = 8  # values of one axis that the eye tells apart by colour


def draw(found: GridReduction, front: str | Path | None, groups: str | Path | None, force: bool) -> None:
    """Draw what was asked for."""
    from ..plots.group_winners import group_winners_figure
    from ..plots.style import save
    from ..sweeps.grid_coverage import reached

    chosen = found.provenance["choices"]
    run = str(chosen.get("recipe") or "a run of your own")
    run += f" on {chosen['model']}" if chosen.get("model") and "model" not in found.axes else ""
    first, stop = found.chunks
    if found.points < found.size:
        run += f": partial, {stop - first:,} of {found.total_chunks:,} chunks"
    if groups is not None:
        table, title = found["winners"], f"Tinker or own GPUs: {run}"
        size = found.about["chunk_size"]
        computed = reached(found.axes, table.by, first * size, min(stop * size, found.size))
        save(group_winners_figure(table, title=title, computed=computed), groups, force)
    if front is not None:
        save(front_figure(found, run), front, force)


def front_figure(found: GridReduction, run: str):
    """The front in its first two outputs, coloured by the choice or axis that tells its points apart."""
    from ..plots.pareto_front import pareto_figure

    table = found["front"]
    x, y, *third = found.about["reducers"]["front"]["minimise"]
    varied = {path: len(np.unique(column)) for path, column in table.inputs.items() if len(found.axes[path]) > 1}
    worded = [path for path in varied if found.axes[path].dtype.kind in "US"]
    fit = [path for path in (*worded, *varied) if 1 < varied[path] <= _COLOURED]
    by = None if third else next(iter(fit), None)
    texts = {path: found.axes[path].tolist() for path in worded}
    places = {path: [float(texts[path].index(word)) for word in table.inputs[path]] for path in worded}
    table = table._replace(inputs=table.inputs | {path: np.array(column) for path, column in places.items()})
    describe = [path for path, count in varied.items() if count > 1 and path != by]
    shade, title = third[0] if third else None, f"Pareto front: {run}"
    return pareto_figure(table, x, y, by=by, texts=texts, shade=shade, describe=describe, title=title)
