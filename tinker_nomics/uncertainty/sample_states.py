"""What a Monte Carlo run keeps, and how its states read as samples of each output."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..boundary import x64
from ..streaming.counts import Events
from ..streaming.engine import merged
from ..streaming.extremes import Extreme, Extremes
from ..streaming.histogram import BinnedCounts, Histogram
from ..streaming.moments import Moments
from ..streaming.reducer import Evaluation, Reducer
from ..streaming.rows import Rows
from .study import spread

Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class OutputSample:
    """All that was kept of one output.

    Attributes:
        count: finite values; nonfinite: the others.
        mean, mean_error, std: over the finite values; the error from the replicates.
        least, greatest: extremes with the inputs that gave them.
        counts: the histogram of all replicates together.
        replicates: the histogram of each replicate.
    """

    count: int
    nonfinite: int
    mean: float
    mean_error: float
    std: float
    least: Extreme
    greatest: Extreme
    counts: BinnedCounts
    replicates: tuple[BinnedCounts, ...]

    def _quantile(self, counts: BinnedCounts, p: float) -> float:
        return counts.quantile(p, self.least.value, self.greatest.value)

    def quantile(self, p: float) -> float:
        return self._quantile(self.counts, p)

    def quantile_error(self, p: float) -> float:
        return float(spread(np.array([self._quantile(part, p) for part in self.replicates])))

    def below(self, x: float) -> float:
        return self.counts.below(x)


def sample_reducers(
    events: Iterable[str], rows: int, replicates: int, octaves: tuple[int, int] | None = None
) -> dict[str, Reducer]:
    """The reducers of a Monte Carlo run; `octaves` narrows what the histograms tell apart to 2^low <= |y| < 2^high."""
    return {
        "moments": Moments(),
        "histogram": Histogram() if octaves is None else Histogram(None, *octaves),
        "extremes": Extremes(),
        "events": Events(events),
        "rows": Rows(max(1, math.ceil(rows / replicates))),
    }


def state_shapes(
    reducers: dict[str, Reducer], outputs: Iterable[str], inputs: Iterable[str], chunk_size: int, strata: int
) -> dict[str, Any]:
    """The shapes of the states of a run with scalar outputs and inputs of these names; nothing is computed."""
    with x64():
        column = jax.ShapeDtypeStruct((chunk_size,), np.float64)
        # in the order in which a run's reducers see them: JAX sorts the names of a mapping
        named = (dict.fromkeys(sorted(names), column) for names in (outputs, inputs))
        shapes: Any = Evaluation(*named)  # type: ignore[arg-type]
        states = jax.eval_shape(lambda: {name: reducer.init(shapes) for name, reducer in reducers.items()})
    return jax.tree_util.tree_map(lambda leaf: jax.ShapeDtypeStruct((strata, *leaf.shape), leaf.dtype), states)


def _stratum(states: Any, index: int) -> Any:
    return jax.tree_util.tree_map(lambda leaf: leaf[index], states)


def sampled(
    outputs: Iterable[str], reducers: dict[str, Any], states: dict[str, Any]
) -> tuple[dict[str, OutputSample], dict[str, tuple[float, float]], tuple[Columns, Columns]]:
    """`parts`, `events` and `rows` of a `MonteCarlo`, from the states of a run."""
    whole = merged(reducers, states)
    strata = jax.tree_util.tree_leaves(states)[0].shape[0]
    totals = {name: reducer.result(whole[name]) for name, reducer in reducers.items()}
    apart = {
        name: [reducers[name].result(_stratum(states[name], r)) for r in range(strata)]
        for name in ("moments", "histogram", "events", "rows")
    }
    parts = {}
    for output in outputs:
        begun = [r for r in range(strata) if apart["moments"][r][output].count > 0]
        moments = totals["moments"][output]
        means = np.array([apart["moments"][r][output].mean for r in begun])
        least, greatest = totals["extremes"][output]
        parts[output] = OutputSample(
            int(moments.count),
            totals["histogram"][output].nonfinite,
            float(moments.mean),
            float(spread(means)),
            float(np.sqrt(moments.variance)),
            least,
            greatest,
            totals["histogram"][output],
            tuple(apart["histogram"][r][output] for r in begun),
        )
    chances = {}
    for event, (held, told) in totals["events"].items():
        shares = [part[event][0] / part[event][1] for part in apart["events"] if part[event][1] > 0]
        chances[event] = (held / told if told else float("nan"), float(spread(np.array(shares))))
    rows: list[dict[str, np.ndarray]] = []
    for side in range(2):
        rows.append({n: np.concatenate([part[side][n] for part in apart["rows"]]) for n in apart["rows"][0][side]})
    return parts, chances, (rows[0], rows[1])
