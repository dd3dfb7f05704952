"""`sweep`: the cost model over a grid or a table of parameters, every number of every point kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..boundary import x64
from ..config import Config, set_paths
from ..cost_model import evaluate
from ..errors import ConfigError, TinkerNomicsError, listed
from ..outputs import UNITS, by_path
from ..plain_config import checked
from ..streaming import Evaluation, collect
from ..streaming.collecting import outputs_of_block
from ..streaming.host_memory import available_bytes
from .axes import parse_axes
from .leaves import Part, parts, varied_leaves, with_choices
from .points import GridPoints, RowPoints, within
from .result import Sweep, provenance_of

# up to here a grid is written out as rows: one trace then serves grids of any lengths, and compiling for the one at
# hand would take longer than it saves
ROWS_UP_TO = 1 << 20

MEMORY_SHARE = 0.9  # of what is free, for results


def sweep(
    config: Config,
    axes: Mapping[str, Any],
    mode: str = "grid",
    *,
    outputs: Sequence[str] | None = None,
    out: Sweep | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Price every combination of some parameters' values.

    Args:
        config: what everything else is taken from.
        axes: {path: values}: parameter paths (numbers, or text with a unit), "schedule.kind", "lora.training", and the
            catalog's choices "model", "chip", "prices" (dates), "provider" and "sandbox". A choice brings every figure
            of its rows, save those that have an axis of their own or that `config` overrides.
        mode: "grid" crosses the axes, the last one fastest; "zip" pairs them.
        outputs: names of the outputs to keep, as in `outputs.UNITS`; all when None.
        out: an earlier Sweep whose memory may be written over; it is reused where its arrays have the right shapes.
        progress: a bar on stderr after two seconds; None shows it on a terminal only.

    Returns:
        A `Sweep`: `batch["tinker.total"]` is float64 of the grid's shape, [n] for a zip. An output that a part of the
        batch does not have (a LoRA's size with full fine-tuning) is NaN there.

    Raises:
        ConfigError: every unknown path, output and choice, empty axis, unequal length and value out of bounds, at once.
        TinkerNomicsError: the results do not fit into memory; it says what would.
    """
    checked(config, "sweep")
    try:
        parsed = parse_axes(axes, mode, outputs)
    except ConfigError as error:
        raise with_choices(error, config, axes, mode) from None
    cut = parts(config, parsed, varied_leaves(config, parsed))
    as_rows = len(parsed.shape) == 1 or math.prod(parsed.shape) <= ROWS_UP_TO
    names = None if outputs is None else tuple(dict.fromkeys(outputs))
    jobs = [(_RowJob if as_rows else _GridJob)(part, parsed.shape, names) for part in cut]
    values = _allocate(_layout(jobs), parsed.shape, out)
    for name, array in values.items():
        if any(name not in job.layout for job in jobs):
            array.fill(np.nan)
    for job in jobs:
        if not collect(job.points, job.model, place=partial(job.place, values), progress=progress).complete:
            raise KeyboardInterrupt
    return Sweep(parsed.values, mode, parsed.shape, values, provenance_of(config))


class _BlockModel(eqx.Module):
    """The cost model of a block of points: a config's leaves as one vector, and the block's values in their place."""

    vector: Any
    structure: Any = eqx.field(static=True)
    names: tuple[str, ...] | None = eqx.field(static=True)

    def __call__(self, block: dict[str, jax.Array]) -> Evaluation:
        config = set_paths(jax.tree.unflatten(self.structure, list(self.vector)), block)
        outputs = by_path(evaluate(config))
        kept = outputs if self.names is None else [name for name in self.names if name in outputs]
        return Evaluation({name: jnp.asarray(outputs[name]) for name in kept})


class _Job:
    """One part of the batch: its points, its model and where the results go.

    Attributes:
        layout: {output: shape}, with one dimension per dimension of the batch, of length 1 where it does not vary.
    """

    points: Any
    layout: dict[str, tuple[int, ...]]

    def __init__(self, part: Part, shape: tuple[int, ...], names: tuple[str, ...] | None):
        self.part, self.shape = part, shape
        leaves, structure = jax.tree.flatten(part.config)
        self.model = _BlockModel(np.array(leaves, dtype=np.float64), structure, names)

    def _shapes(self, block: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
        with x64():
            return {name: value.shape for name, value in outputs_of_block.eval_shape(block, self.model).items()}

    def _spread(self, length: int, dimension: int) -> int:
        # a batch of several parts may hold another value in each, even of what varies within none
        whole = isinstance(self.part.place[dimension], slice) and self.part.place[dimension] == slice(None)
        return length if whole else self.shape[dimension]


class _RowJob(_Job):
    """A zip, or a grid small enough to be written out: every output that varies is stored for every point."""

    def __init__(self, part: Part, shape: tuple[int, ...], names: tuple[str, ...] | None):
        super().__init__(part, shape, names)
        rows = {path: np.broadcast_to(values, part.shape).ravel() for path, values in part.leaves.items()}
        self.points = RowPoints(rows, math.prod(part.shape))
        whole = all(isinstance(place, slice) and place == slice(None) for place in part.place)
        self._rows = None if whole else np.arange(math.prod(shape)).reshape(shape)[part.place].ravel()
        single = tuple(self._spread(1, dimension) for dimension in range(len(shape)))
        block = self._shapes(self.points.host_chunk(0))
        self.layout = {name: shape if of_block else single for name, of_block in block.items()}

    def place(self, values: Mapping[str, np.ndarray], number: int, results: Mapping[str, np.ndarray]) -> None:
        """Copy a chunk's results to where they belong."""
        where = self.points.where(number)
        rows = where if self._rows is None else self._rows[where]
        for name, result in results.items():
            array = values[name]
            if array.shape == self.shape:
                array.reshape(-1)[rows] = result[: where.stop - where.start] if result.ndim else result
            else:
                array[within(array.shape, self.part.place)] = result


class _GridJob(_Job):
    """A large grid: every output is stored over the axes that it depends on, and no others.

    Blocks run over the axes in the order of `_nested`, whatever the order that the caller gave them in: then what an
    output does not depend on is mostly innermost, and is neither computed nor copied again and again.
    """

    def __init__(self, part: Part, shape: tuple[int, ...], names: tuple[str, ...] | None):
        super().__init__(part, shape, names)
        whole = self._shapes(part.leaves)
        self.layout = {
            name: tuple(self._spread(length, dimension) for dimension, length in enumerate(of or (1,) * len(shape)))
            for name, of in whole.items()
        }
        self._order = _nested(self.layout)
        self._back = tuple(np.argsort(self._order))
        leaves = {path: values.transpose(self._order) for path, values in part.leaves.items()}
        self.points = GridPoints(leaves, tuple(part.shape[dimension] for dimension in self._order))

    def place(self, values: Mapping[str, np.ndarray], number: int, results: Mapping[str, np.ndarray]) -> None:
        """Copy a block's results to where they belong."""
        block = self.points.where(number)
        own = (block[dimension] for dimension in self._back)
        where = tuple(b if p == slice(None) else p for b, p in zip(own, self.part.place))
        for name, result in results.items():
            array = values[name]
            array[within(array.shape, where)] = result.transpose(self._back) if result.ndim else result


def _nested(layout: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The dimensions, those that most outputs depend on first."""
    dependents = np.sum([np.array(of) > 1 for of in layout.values()], axis=0)
    return tuple(int(dimension) for dimension in np.argsort(-dependents, kind="stable"))


def _layout(jobs: Sequence[_Job]) -> dict[str, tuple[int, ...]]:
    """{output: shape} of the whole batch: over every axis that the output depends on in some part."""
    layout: dict[str, tuple[int, ...]] = {}
    for job in jobs:
        for name, shape in job.layout.items():
            layout[name] = tuple(map(max, layout.get(name, shape), shape))
    return {name: layout[name] for name in UNITS if name in layout}


def _allocate(
    layout: Mapping[str, tuple[int, ...]], shape: tuple[int, ...], out: Sweep | None
) -> dict[str, np.ndarray]:
    """Uninitialised float64 arrays of these shapes, those of `out` where they fit.

    In memory their dimensions are in the order of `_nested`, in which they are filled.
    """
    old = {} if out is None else out.values
    reused = {name: old[name] for name, of in layout.items() if name in old and old[name].shape == of}
    needed = sum(8 * math.prod(of) for name, of in layout.items() if name not in reused)
    free = available_bytes()
    if free is not None and needed > MEMORY_SHARE * free:
        raise TinkerNomicsError(_too_large(layout, shape, needed, MEMORY_SHARE * free))
    order = _nested(layout) if math.prod(shape) > ROWS_UP_TO else tuple(range(len(shape)))
    back = np.argsort(order)
    fresh = {name: [of[d] for d in order] for name, of in layout.items() if name not in reused}
    return {name: reused[name] if name in reused else np.empty(fresh[name]).transpose(back) for name in layout}


def _too_large(layout: Mapping[str, tuple[int, ...]], shape: tuple[int, ...], needed: int, room: float) -> str:
    sizes = sorted(((8 * math.prod(of), name) for name, of in layout.items()), reverse=True)
    fitting, total = [], 0
    for size, name in reversed(sizes):
        total += size
        if total <= room:
            fitting.append(name)
    points = math.prod(shape)
    advice = [f"about {int(points * room / needed):,} points of this kind fit"]
    if fitting:
        wanted = [name for name in ("difference.total", "self_hosted.total", "tinker.total") if name in fitting]
        shown = wanted or fitting[-1:]
        advice.append(f"fewer outputs fit, for instance outputs={shown!r}")
    largest = listed(f"{name} {size / 1e9:.3g} GB" for size, name in sizes[:3])
    return (
        f"this sweep of {points:,} points needs {needed / 1e9:.3g} GB for its results and {room / 1e9:.3g} GB are free "
        f"(largest: {largest}); {'; '.join(advice)}"
    )
