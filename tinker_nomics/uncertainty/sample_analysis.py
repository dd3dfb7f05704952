"""Sensitivity from samples already drawn: conditional means, rank regression and partial rank correlation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import UncertaintyError
from .model import SCALAR
from .study import bare
from .text import columns

_RIDGE = 1e-12


@dataclass(frozen=True)
class ConditionalMean:
    """Means of an output within bins of equal count of one input: x, mean, its standard error and the count [bins]."""

    x: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    count: np.ndarray


@dataclass(frozen=True)
class GivenData:
    """What a table of samples says. Fields are {input: value}, or {output: {input: value}} for several outputs.

    Attributes:
        s1: share of the variance explained by the bin means, corrected for the bins' own noise.
        srrc: standardised coefficients of a linear regression of ranks on ranks; prcc: partial rank correlations.
        r2: share of the rank variance that the regression explains, per output: below about 0.7 trust neither.
        means: conditional means.
        samples: rows used; nonfinite: rows left out, per output.
    """

    s1: Any
    srrc: Any
    prcc: Any
    r2: Any
    means: Any
    samples: Any
    nonfinite: Any
    names: tuple[str, ...]
    outputs: tuple[str, ...]

    def of(self, what: Any, output: str) -> Any:
        """The part of one output of a field such as `srrc`."""
        return what if self.outputs == (SCALAR,) else what[output]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, without the conditional means."""
        return {name: getattr(self, name) for name in ("s1", "srrc", "prcc", "r2", "samples", "nonfinite")}

    def table(self) -> str:
        """A text table per output."""
        texts = []
        for output in self.outputs:
            s1, srrc, prcc = (self.of(x, output) for x in (self.s1, self.srrc, self.prcc))
            ranked = sorted(self.names, key=lambda n: -np.nan_to_num(s1[n]))
            rows = [[n, f"{max(0.0, s1[n]):.3f}", f"{srrc[n]:+.3f}", f"{prcc[n]:+.3f}"] for n in ranked]
            text = columns([output or "input", "S1 (bins)", "SRRC", "PRCC"], rows)
            texts.append(f"{text}\nR2 of ranks {self.of(self.r2, output):.3f}, {self.of(self.samples, output):,} rows")
        return "\n\n".join(texts)


def given_data(inputs: Mapping[str, Any], outputs: Any, bins: int | None = None) -> GivenData:
    """Sensitivity measures from rows of inputs and outputs, without evaluating anything.

    Args:
        inputs: {input: [n]}, e.g. `result.rows[0]` of a Monte Carlo run.
        outputs: [n] or {output: [n]}, e.g. `result.rows[1]`.
        bins: bins of equal count per input; about the cube root of n (4 to 50) when None.

    Raises:
        UncertaintyError: columns of different lengths, or fewer than four rows per bin or five per input.

    Source: Plischke, Borgonovo and Smith, Eur. J. Oper. Res. 226 (2013) 536 (bins); Iman and Conover, Technometrics 21
    (1979) 499 (ranks).
    """
    x = {name: np.asarray(column, dtype=np.float64).reshape(-1) for name, column in inputs.items()}
    named = outputs if isinstance(outputs, Mapping) else {SCALAR: outputs}
    ys = {name: np.asarray(column, dtype=np.float64).reshape(-1) for name, column in named.items()}
    lengths = {len(column) for column in (*x.values(), *ys.values())}
    if not x or not ys or len(lengths) != 1:
        raise UncertaintyError(f"inputs and outputs must be columns of one length, not of {sorted(lengths)}")
    size = lengths.pop()
    bins = int(np.clip(round(size ** (1 / 3)), 4, 50)) if bins is None else int(bins)
    if bins < 2 or size < 4 * bins or size < 5 * len(x):
        raise UncertaintyError(
            f"{size} rows are too few for {bins} bins and {len(x)} inputs: give at least 4 rows per bin"
        )
    found = {name: _one(x, y, bins) for name, y in ys.items()}
    fields = ("s1", "srrc", "prcc", "r2", "means", "samples", "nonfinite")
    return GivenData(
        *(bare({o: part[name] for o, part in found.items()}) for name in fields), names=tuple(x), outputs=tuple(found)
    )


def _one(x: dict[str, np.ndarray], y: np.ndarray, bins: int) -> dict[str, Any]:
    from scipy.stats import rankdata

    used = np.isfinite(y) & np.all([np.isfinite(column) for column in x.values()], axis=0)
    y = y[used]
    columns_used = {name: column[used] for name, column in x.items()}
    means = {name: _conditional(column, y, bins) for name, column in columns_used.items()}
    ranks = np.array([rankdata(column) for column in (*columns_used.values(), y)])
    ranks = ranks - ranks.mean(axis=1, keepdims=True)
    size = np.sqrt(np.mean(ranks**2, axis=1))
    standard = ranks / np.where(size > 0, size, 1.0)[:, None]
    correlation = standard @ standard.T / max(1, len(y))
    between, with_y = correlation[:-1, :-1], correlation[:-1, -1]
    # inputs that do not vary have a zero row: the least-squares solution gives them 0
    coefficients = np.linalg.lstsq(between, with_y, rcond=1e-10)[0]
    r2 = float(np.clip(with_y @ coefficients, 0.0, 1.0))
    partial = []
    for i in range(len(x)):
        others = [j for j in range(len(x)) if j != i]
        a, b = between[np.ix_(others, others)], np.stack([between[others, i], with_y[others]], axis=1)
        solved = np.linalg.lstsq(a, b, rcond=1e-10)[0] if others else np.zeros((0, 2))
        rest = np.array([[between[i, i], with_y[i]], [with_y[i], 1.0 if size[-1] > 0 else 0.0]]) - b.T @ solved
        scale = np.sqrt(max(rest[0, 0], 0.0) * max(rest[1, 1], 0.0))
        partial.append(float(np.clip(rest[0, 1] / scale, -1.0, 1.0)) if scale > _RIDGE else 0.0)
    return {
        "s1": {name: _explained(mean, y) for name, mean in means.items()},
        "srrc": dict(zip(x, coefficients.tolist())),
        "prcc": dict(zip(x, partial)),
        "r2": r2,
        "means": means,
        "samples": len(y),
        "nonfinite": int(np.sum(~used)),
    }


def _conditional(x: np.ndarray, y: np.ndarray, bins: int) -> ConditionalMean:
    """Means of y in bins of x; equal values of x stay in one bin."""
    edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
    place = np.searchsorted(edges, x, side="right")
    count = np.bincount(place, minlength=len(edges) + 1)
    kept = count > 0
    divisor = np.where(kept, count, 1)
    mean = np.bincount(place, y, len(edges) + 1) / divisor
    squares = np.bincount(place, (y - mean[place]) ** 2, len(edges) + 1)
    error = np.sqrt(squares / divisor / np.maximum(count - 1, 1))
    return ConditionalMean(
        (np.bincount(place, x, len(edges) + 1) / divisor)[kept], mean[kept], error[kept], count[kept]
    )


def _explained(means: ConditionalMean, y: np.ndarray) -> float:
    """Share of the variance between the bins, less what bins of pure noise would show."""
    total = float(np.sum((y - y.mean()) ** 2)) if len(y) else 0.0
    if total == 0.0 or len(means.count) < 2 or len(means.count) >= len(y):
        return 0.0
    between = float(np.sum(means.count * (means.mean - y.mean()) ** 2))
    within = total - between
    free = len(means.count) - 1
    return (between - free * within / (len(y) - free - 1)) / total
