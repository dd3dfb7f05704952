"""Sobol' indices: which inputs the variance of each output comes from, with the error of each share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..streaming.engine import run
from ..streaming.reducer import Evaluation
from ..streaming.sobol_points import SobolPoints
from ..streaming.stages import Pipeline
from .model import SCALAR
from .pick_freeze import PairState, PickFreeze
from .sampler import Sampler
from .study import (
    Distributions,
    EvaluateRows,
    Function,
    Study,
    average,
    bare,
    half_width,
    log2_chunk,
    log2_per_replicate,
    no_variance,
    prepare,
)
from .study import spread as replicate_spread
from .text import columns, estimate, number

LEAST_REPLICATES = 16


class TwoSamples(eqx.Module):
    """Points [2 d, n] into two independent samples A and B of the inputs."""

    sampler: Sampler

    def __call__(self, u: jax.Array) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
        d = len(self.sampler.names)
        return self.sampler(u[:d]), self.sampler(u[d:])


class PickedRows(eqx.Module):
    """A and B into the rows A, B, every AB_i and, for second order, every BA_i: {input: [k, n]}."""

    names: tuple[str, ...] = eqx.field(static=True)
    second_order: bool = eqx.field(static=True)

    def __call__(
        self, samples: tuple[dict[str, jax.Array], dict[str, jax.Array]]
    ) -> tuple[dict[str, jax.Array], tuple[()]]:
        a, b = samples
        d = len(self.names)
        rows = 2 + d * (2 if self.second_order else 1)
        row = jnp.arange(rows)[:, None]
        columns = {}
        for i, name in enumerate(self.names):
            # B's own row, the row AB_i, and all rows BA_j but that of i itself
            from_b = (row == 1) | (row == 2 + i) | ((row >= 2 + d) & (row != 2 + d + i))
            columns[name] = jnp.where(from_b, b[name][None, :], a[name][None, :])
        return columns, ()


class RowsAsOutputs(eqx.Module):
    """{output: [k, n]} as outputs of size [n, k]: the k rows lie one after the other, as `PickFreeze` takes them, which
    spares a transpose."""

    def __call__(self, made: tuple[dict[str, jax.Array], Any]) -> Evaluation:
        return Evaluation({name: y.reshape(y.shape[::-1]) for name, y in made[0].items()})


@dataclass(frozen=True)
class SobolIndices:
    """First-order (s1) and total (st) indices with standard errors.

    Every index is {input: value}, or {output: {input: value}} where the function returns a dict; s2 is
    {input: {input: value}} per output, None unless asked for. Errors come from independent scrambles.

    Attributes:
        variance, mean: of each output.
        nonfinite: evaluations that were NaN or infinite, per output; their rows are left out.
        samples: base points over all replicates; evaluations: calls of the function.
        complete: False after Ctrl-C.
    """

    s1: Any
    s1_error: Any
    st: Any
    st_error: Any
    s2: Any
    s2_error: Any
    variance: Any
    mean: Any
    nonfinite: Any
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    samples: int
    evaluations: int
    replicates: int
    seed: int
    complete: bool
    seconds: float

    def of(self, what: Any, output: str) -> Any:
        """The part of one output of a field such as `s1`."""
        return what if self.outputs == (SCALAR,) else what[output]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        fields = ("s1", "s1_error", "st", "st_error", "s2", "s2_error", "variance", "mean", "nonfinite")
        rest = ("samples", "evaluations", "replicates", "seed", "complete", "seconds")
        return {name: getattr(self, name) for name in (*fields, *rest)}

    def table(self) -> str:
        """A text table per output: S1 and ST with 95 % intervals, largest ST first."""
        texts = []
        for output in self.outputs:
            s1, e1, st, et = (self.of(x, output) for x in (self.s1, self.s1_error, self.st, self.st_error))
            rows = [
                [n, *[estimate(v[n], half_width(e[n], self.replicates)) for v, e in ((s1, e1), (st, et))]]
                for n in sorted(self.names, key=lambda n: -np.nan_to_num(st[n]))
            ]
            text = columns([output or "input", "S1 [95 %]", "ST [95 %]"], rows)
            text += f"\nvariance {number(self.of(self.variance, output))}"
            bad = self.of(self.nonfinite, output)
            if bad:
                text += f"; {bad:,} of {self.evaluations:,} evaluations were not finite and are left out"
            texts.append(text)
        texts.append(
            f"{self.samples:,} samples in {self.replicates} independent scrambles ({self.evaluations:,} evaluations)"
        )
        return "\n\n".join(texts)


def sobol_indices(
    f: Function,
    distributions: Distributions,
    samples: int = 2**16,
    replicates: int = 16,
    seed: int = 0,
    *,
    base: Any = None,
    outputs: Iterable[str] | None = None,
    integers: Iterable[str] = (),
    second_order: bool = False,
    progress: bool | None = None,
) -> SobolIndices:
    """First-order and total Sobol' indices of independent inputs.

    S1_i = V(E(Y | x_i)) / V(Y), estimated by E[f(B) (f(AB_i) - f(A))] / V with centred sums, and
    ST_i = 1 - V(E(Y | all but x_i)) / V(Y), estimated by E[(f(A) - f(AB_i))^2] / (2 V). An input that f does not use
    has exactly zero.

    Args:
        f, distributions, base, outputs, integers, progress: as in `monte_carlo`.
        samples: base points over all replicates, rounded up to replicates x 2^m; f is called d + 2 times for each
            (2 d + 2 with `second_order`).
        replicates: independent scrambles, at least 16: the errors come from them.
        second_order: also S2 of every pair.

    Raises:
        UncertaintyError: no output varies, fewer than 16 replicates, or as in `monte_carlo`.

    Source: Saltelli et al., Comput. Phys. Commun. 181 (2010) 259; Jansen, Comput. Phys. Commun. 117 (1999) 35.
    """
    study = prepare(f, distributions, base, outputs=outputs, integers=integers)
    m, replicates, seed = log2_per_replicate(samples, replicates, LEAST_REPLICATES, seed)
    d = study.dimensions
    rows = 2 + d * (2 if second_order else 1)
    points = SobolPoints(2 * d, m, replicates, seed, min(m, log2_chunk(rows)))
    reducers = {"pairs": PickFreeze(d, second_order)}
    rows_of = PickedRows(study.sampler.names, second_order)
    pipeline = Pipeline((TwoSamples(study.sampler), rows_of, EvaluateRows(study.model), RowsAsOutputs()))
    done = run(points, pipeline, reducers, progress=progress)
    found = {output: _indices(study, done.states["pairs"][output]) for output in study.outputs}
    if all(np.isnan(part["st_values"]).all() for part in found.values()):
        raise no_variance(study, sum(part["nonfinite"] for part in found.values()), done.points * rows)
    fields = ("s1", "s1_error", "st", "st_error", "s2", "s2_error", "variance", "mean", "nonfinite")
    return SobolIndices(
        *(bare({output: part[field] for output, part in found.items()}) for field in fields),
        names=study.names,
        outputs=study.outputs,
        samples=done.points,
        evaluations=done.points * rows,
        replicates=replicates,
        seed=int(seed),
        complete=done.complete,
        seconds=done.seconds,
    )


def _indices(study: Study, state: PairState) -> dict[str, Any]:
    """The indices of one output from the states of its replicates (first axis)."""
    begun = np.asarray(state.a.count) > 0
    part: Any = PairState(*(_each(leaf, lambda x: np.asarray(x)[begun]) for leaf in state))
    count = np.asarray(part.a.count, dtype=np.float64)
    gap = part.a.mean - part.b.mean
    variance = (part.a.squares + part.b.squares + 0.5 * count * gap**2) / (2.0 * count)  # [R]
    mean = 0.5 * (part.a.mean + part.b.mean)
    scale = np.abs(mean).max(initial=0.0) * 1e-14
    constant = not np.any(variance > scale**2)
    whole = np.nan if constant else float(np.mean(variance))
    own = np.where(variance > scale**2, variance, np.nan)
    first = part.with_b / count[:, None] + (part.b.mean - mean)[:, None] * part.changes.mean
    total = part.squares / (2.0 * count[:, None])
    result: dict[str, Any] = {
        "st_values": average(total) / whole,
        "variance": 0.0 if constant else whole,
        "mean": float(np.mean(mean)) if len(mean) else float("nan"),
        "nonfinite": int(np.sum(state.bad)),
        "s2": None,
        "s2_error": None,
    }
    for name, value in (("s1", first), ("st", total)):
        result[name] = study.by_input(average(value) / whole)
        result[name + "_error"] = study.by_input(replicate_spread(value / own[:, None]))
    if part.crossed.shape[-1]:
        joint = (part.crossed - part.a_b[:, None, None]) / count[:, None, None]
        pair = joint - first[:, :, None] - first[:, None, :]
        pair = 0.5 * (pair + np.swapaxes(pair, 1, 2))  # AB_i with BA_j and AB_j with BA_i estimate the same
        result["s2"] = _by_pair(study, average(pair) / whole)
        result["s2_error"] = _by_pair(study, replicate_spread(pair / own[:, None, None]))
    return result


def _each(leaf: Any, function: Any) -> Any:
    return type(leaf)(*(function(x) for x in leaf)) if isinstance(leaf, tuple) else function(leaf)


def _by_pair(study: Study, values: np.ndarray) -> dict[str, dict[str, float]]:
    place = {name: index for index, name in enumerate(study.sampler.names)}
    return {a: {b: float(values[place[a], place[b]]) for b in study.names if b != a} for a in study.names}
