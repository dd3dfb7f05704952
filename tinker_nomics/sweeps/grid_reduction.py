"""A grid of any size folded into reducers: the best of billions of points that are never kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..config import Config, set_paths
from ..cost_model import evaluate
from ..errors import TinkerNomicsError
from ..outputs import by_path
from ..report_outputs import OUTPUTS
from ..streaming.devices import Devices
from ..streaming.engine import Store, merged, run
from ..streaming.reducer import Evaluation, Reducer
from ..streaming.stages import Pipeline
from .axes import KINDS, parse_axes
from .leaves import parts, varied_leaves
from .result import provenance_of

_INNER = 1 << 30  # points of the last axes that 32-bit arithmetic numbers
_CHUNK = 1 << 16


@dataclass(frozen=True)
class GridReduction:
    """What reducers found in a grid.

    Attributes:
        axes: {path: values}, float64 or text, the last one fastest in the numbering of points.
        results: {name: the reducer's result}; `found["cheapest"]`.
        points, seconds, complete: of the run.
        provenance: as of a Sweep.
    """

    axes: Mapping[str, np.ndarray]
    results: Mapping[str, Any]
    points: int
    seconds: float
    complete: bool
    provenance: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.results[name]

    def at(self, number: int) -> dict[str, Any]:
        """{path: value} of the point with this number."""
        place = np.unravel_index(int(number), [len(values) for values in self.axes.values()])
        return {path: values[index].item() for (path, values), index in zip(self.axes.items(), place)}


def reduce_grid(
    config: Config,
    axes: Mapping[str, Any],
    reducers: Mapping[str, Reducer],
    *,
    outputs: Sequence[str] = OUTPUTS,
    chunks: range | None = None,
    mesh: Devices = None,
    store: Store | None = None,
    progress: bool | None = None,
) -> GridReduction:
    """Price every point of a grid and keep what the reducers keep, at constant memory.

    Reducers see the axes as inputs, under their paths: numbers as their values, choices (model, chip, ...) as the place
    0, 1, ... of the text; so `Groups({"chip": ("h100-sxm", "b200"), "cluster.gpus": (1, 2, 4, 8)})` groups by both.

    Args:
        config, axes: as in `sweep` (a grid), without "schedule.kind" and "lora.training".
        reducers: {name: Reducer}, e.g. `TopK("self_hosted.total", 10, where="memory.weights_fit == 1")`.
        outputs: the outputs that the reducers may ask for.
        chunks, mesh, store, progress: as in `streaming.run`.

    Raises:
        ConfigError: every unknown path, output and choice, empty axis and value out of bounds, at once.
        TinkerNomicsError: an axis that shapes the formulas.
    """
    kinds = [path for path in axes if path.replace("-", "_") in KINDS]
    if kinds:
        raise TinkerNomicsError(f"{kinds[0]} shapes the formulas: reduce one grid for each of its values")
    parsed = parse_axes(axes, "grid", tuple(outputs))
    part = parts(config, parsed, varied_leaves(config, parsed))[0]
    leaves, structure = jax.tree_util.tree_flatten(part.config)
    tables = {
        path: np.arange(len(values), dtype=np.float64) if values.dtype.kind in "US" else values
        for path, values in parsed.values.items()
    }
    points = _GridNumbers(parsed.shape, min(_CHUNK, max(1, math.prod(parsed.shape))))
    model = _GridModel(np.array(leaves, np.float64), dict(part.leaves), structure, tuple(outputs))
    pipeline = Pipeline((_Places(parsed.shape), _Join(_Values(tables), model)))
    done = run(
        points, pipeline, reducers, chunks=chunks, mesh=mesh, store=store, progress=progress, label="configurations"
    )
    states = merged(reducers, done.states)
    results = {name: reducer.result(states[name]) for name, reducer in reducers.items()}
    return GridReduction(parsed.values, results, done.points, done.seconds, done.complete, provenance_of(config))


class _GridNumbers(eqx.Module):
    """The points of a grid by number, in chunks of consecutive ones: first number and how far each is from it."""

    shape: tuple[int, ...] = eqx.field(static=True)
    chunk_size: int = eqx.field(static=True)
    strata: int = eqx.field(static=True, default=1)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def stratum_chunks(self) -> int:
        return -(-self.size // self.chunk_size)

    def chunk(self, stratum: jax.Array, chunk: jax.Array) -> tuple[jax.Array, jax.Array]:
        return chunk * self.chunk_size, jnp.arange(self.chunk_size, dtype=jnp.int32)


class _Places(eqx.Module):
    """Point numbers to places along every axis (int32 [n] each), with divisions by constants in 32 bits only."""

    shape: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, number: tuple[jax.Array, jax.Array]) -> list[jax.Array]:
        first, offset = number
        cut, inner = len(self.shape), 1
        while cut and inner * self.shape[cut - 1] <= _INNER:
            cut -= 1
            inner *= self.shape[cut]
        rest = (first % inner).astype(jnp.int32) + offset
        places: list[jax.Array] = []
        for length in reversed(self.shape[cut:]):
            places.insert(0, rest % length)
            rest = rest // length
        # what is left is carried into the axes before: beyond the last point for a grid that fits into 32 bits
        outer = first // inner + rest.astype(jnp.int64)
        for length in reversed(self.shape[:cut]):
            places.insert(0, (outer % length).astype(jnp.int32))
            outer = outer // length
        return places


class _Values(eqx.Module):
    """Places to {path: values [n]} of the axes."""

    tables: dict[str, np.ndarray]

    def __call__(self, places: list[jax.Array]) -> dict[str, jax.Array]:
        return {path: jnp.asarray(table)[place] for (path, table), place in zip(self.tables.items(), places)}


class _GridModel(eqx.Module):
    """The cost model at places along the axes; a leaf is looked up in its own small table."""

    vector: np.ndarray
    leaves: dict[str, np.ndarray]
    structure: Any = eqx.field(static=True)
    outputs: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, places: list[jax.Array]) -> dict[str, jax.Array]:
        config = jax.tree_util.tree_unflatten(self.structure, list(self.vector))
        found = by_path(evaluate(set_paths(config, {path: _taken(leaf, places) for path, leaf in self.leaves.items()})))
        count = places[0].shape
        return {name: jnp.broadcast_to(found[name], count) for name in self.outputs if name in found}


def _taken(table: Any, places: list[jax.Array]) -> jax.Array:
    """The values of a table at places along those of its dimensions that are longer than 1."""
    flat: Any = 0
    for length, place in zip(table.shape, places):
        if length > 1:
            flat = flat * length + place
    values = jnp.asarray(table).reshape(-1)
    return values[0] if isinstance(flat, int) else values[flat]


class _Join(eqx.Module):
    """Axes as inputs beside the model's outputs."""

    values: _Values
    model: _GridModel

    def __call__(self, places: list[jax.Array]) -> Evaluation:
        return Evaluation(self.model(places), self.values(places))
