"""The one engine: global chunk number -> points -> model -> reducers that merge exactly.

A run is described by three pytrees. Arrays in them are traced, every other field is static, so that the same structure
with other numbers compiles nothing anew.

* **points** (`Points`): `strata`, `stratum_chunks`, `chunk_size`, `size`, and `chunk(stratum, chunk)`, traced, which
  returns whatever the model takes. `SobolPoints` is one; a grid is another (strata = 1). Where `size` is less than
  strata x stratum_chunks x chunk_size the last chunk is ragged and reducers get a mask.
* **model**: an eqx.Module called with one chunk of points; returns `Evaluation(outputs={name: [n]}, inputs={name:
  [n]})`. `Pipeline((sampler, model))` keeps its steps apart as compiled stages (`stages.py` says why that is six times
  faster).
* **reducers**: {name: Reducer}. `init(shapes)` and `update(state, chunk)` are traced; `merge(a, b)` is exact,
  associative and commutative; `result(state)` is host side. `Moments`, `Histogram` (quantiles within 0.1 %), `Extremes`
  (with the inputs there), `NonFinite`, `Events` ("difference.total < 0"), `Rows`, `TopK` (cheapest under
  constraints), `Pareto`, `Groups` (minima and means) and `Winners` exist. A new one is a small Module of static fields.

`run(points, model, reducers)` folds all chunks (or `chunks=range(a, b)`) and returns a `Run`, whose `states[name]` hold
NumPy leaves with the stratum as first axis. `merged(reducers, states)` adds the strata up; `merge_runs` joins two runs
over disjoint chunks. `collect(points, model)` keeps every output instead: {name: [points]}. Both work in float64
whatever the caller's flags, use all cores, end cleanly on Ctrl-C (`complete` is then False) and draw a bar after two
seconds.

The chunk number is the only key: who computes a chunk, and when, changes no count, no extreme and no point.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .collecting import Collected as Collected
    from .collecting import collect as collect
    from .counts import Events as Events
    from .counts import NonFinite as NonFinite
    from .engine import Points as Points
    from .engine import Run as Run
    from .engine import locate as locate
    from .engine import merge_runs as merge_runs
    from .engine import merged as merged
    from .engine import run as run
    from .engine import total_chunks as total_chunks
    from .extremes import Extremes as Extremes
    from .groups import Groups as Groups
    from .histogram import BinnedCounts as BinnedCounts
    from .histogram import Histogram as Histogram
    from .moments import Moments as Moments
    from .pareto import Pareto as Pareto
    from .reducer import Chunk as Chunk
    from .reducer import Evaluation as Evaluation
    from .reducer import Reducer as Reducer
    from .rows import Rows as Rows
    from .sobol_points import SobolPoints as SobolPoints
    from .stages import Pipeline as Pipeline
    from .top_k import TopK as TopK
    from .winners import Winners as Winners

_WHERE = {
    "BinnedCounts": "histogram",
    "Chunk": "reducer",
    "Collected": "collecting",
    "Evaluation": "reducer",
    "Events": "counts",
    "Extremes": "extremes",
    "Groups": "groups",
    "Histogram": "histogram",
    "Moments": "moments",
    "NonFinite": "counts",
    "Pareto": "pareto",
    "Pipeline": "stages",
    "Points": "engine",
    "Reducer": "reducer",
    "Rows": "rows",
    "Run": "engine",
    "SobolPoints": "sobol_points",
    "TopK": "top_k",
    "Winners": "winners",
    "collect": "collecting",
    "locate": "engine",
    "merge_runs": "engine",
    "merged": "engine",
    "run": "engine",
    "total_chunks": "engine",
}
__all__ = sorted(_WHERE)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)


def __dir__() -> list[str]:
    return list(_WHERE)
