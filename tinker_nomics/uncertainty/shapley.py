"""Shapley effects: shares of the variance that sum to one, also when the inputs are correlated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..streaming.counts import NonFinite
from ..streaming.engine import run
from ..streaming.moments import Moments
from ..streaming.reducer import Evaluation
from ..streaming.sobol_points import SobolPoints
from ..streaming.stages import Pipeline
from .correlation import Correlations
from .model import SCALAR
from .normal_quantile import normal_quantile
from .sampler import Sampler
from .study import (
    Distributions,
    EvaluateRows,
    Function,
    average,
    bare,
    half_width,
    log2_chunk,
    log2_per_replicate,
    no_variance,
    prepare,
    spread,
)
from .text import columns, estimate, number

_TOTAL = "\0"  # marks the half squared change of all inputs at once, whose mean is the variance


class Walk(eqx.Module):
    """Points [3 d, n] into rows [d + 1, n] that walk from one sample to another, one input at a time in random order.

    Returns the rows {input: [d + 1, n]} and the place of each input in the order [d, n]. Row j has the first j inputs
    of the order drawn anew, given the others. For correlated inputs both samples come from one Cholesky factor of the
    inputs in reversed order: the inputs that stay are its first components, so that the rest is drawn given them.
    """

    sampler: Sampler

    def __call__(self, u: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
        d = len(self.sampler.names)
        keys = u[2 * d :]
        place = jnp.sum(keys[None, :, :] < keys[:, None, :], axis=1, dtype=jnp.int32)  # [d, n]
        step = jnp.arange(d + 1)
        if self.sampler.factor is None:
            a, b = self.sampler(u[:d]), self.sampler(u[d : 2 * d])
            rows = {}
            for i, name in enumerate(self.sampler.names):
                moved = place[i][None, :] < step[:, None]
                rows[name] = jnp.where(moved, b[name][None, :], a[name][None, :])
            return rows, place
        factor = jnp.asarray(self.sampler.factor)
        correlation = factor @ factor.T

        def one(stay: jax.Array, anew: jax.Array, place: jax.Array) -> jax.Array:
            order = jnp.argsort(-place)  # reversed: what is drawn anew last comes first
            lower = jnp.linalg.cholesky(correlation[order][:, order])
            fresh = jnp.arange(d)[None, :] >= d - step[:, None]
            z = jnp.where(fresh, anew[None, :], stay[None, :]) @ lower.T  # [d + 1, d] in reversed order
            return z[:, d - 1 - place].T

        normal = normal_quantile(u[: 2 * d], jnp)
        z = jax.vmap(one, in_axes=1, out_axes=2)(normal[:d], normal[d:], place)  # [d, d + 1, n]
        return self.sampler.from_normal(z), place


class WalkEffects(eqx.Module):
    """Each input's share of half the squared change along a walk: outputs [n, d], and the whole [n].

    With y_j after j inputs, the input at place j adds ((y_0 - y_(j+1))^2 - (y_0 - y_j)^2) / 2; its mean is the Shapley
    value of the game c(S) = E[V(Y | inputs not in S)].
    """

    def __call__(self, walked: tuple[dict[str, jax.Array], jax.Array]) -> Evaluation:
        values, place = walked
        outputs: dict[str, jax.Array] = {}
        for name, y in values.items():
            complete = jnp.all(jnp.isfinite(y), axis=0)
            half = 0.5 * jnp.square(y - y[:1])
            gains = jnp.take_along_axis(half[1:] - half[:-1], place, axis=0)
            outputs[name] = jnp.where(complete[None, :], gains, jnp.nan).T
            outputs[name + _TOTAL] = jnp.where(complete, half[-1], jnp.nan)
        return Evaluation(outputs)


@dataclass(frozen=True)
class ShapleyEffects:
    """Shares of the variance by input; they sum to 1.

    `effects` and `effects_error` are {input: value}, or {output: {input: value}} where the function returns a dict.

    Attributes:
        variance, nonfinite: of each output (nonfinite: rows left out).
        samples: walks over all replicates; evaluations: calls of the function.
    """

    effects: Any
    effects_error: Any
    variance: Any
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
        """The part of one output of a field such as `effects`."""
        return what if self.outputs == (SCALAR,) else what[output]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        fields = ("effects", "effects_error", "variance", "nonfinite", "samples", "evaluations", "replicates", "seed")
        return {name: getattr(self, name) for name in (*fields, "complete", "seconds")}

    def table(self) -> str:
        """A text table per output, largest share first, with 95 % intervals."""
        texts = []
        for output in self.outputs:
            share, error = self.of(self.effects, output), self.of(self.effects_error, output)
            ranked = sorted(self.names, key=lambda n: -np.nan_to_num(share[n]))
            rows = [[n, estimate(share[n], half_width(error[n], self.replicates))] for n in ranked]
            text = columns([output or "input", "share of variance [95 %]"], rows)
            text += f"\nvariance {number(self.of(self.variance, output))}"
            bad = self.of(self.nonfinite, output)
            texts.append(text + (f"; {bad:,} of {self.samples:,} walks met a value that is not finite" if bad else ""))
        return "\n\n".join(texts)


def shapley_effects(
    f: Function,
    distributions: Distributions,
    samples: int = 2**16,
    replicates: int = 16,
    seed: int = 0,
    *,
    base: Any = None,
    correlations: Correlations | None = None,
    outputs: Iterable[str] | None = None,
    integers: Iterable[str] = (),
    progress: bool | None = None,
) -> ShapleyEffects:
    """Shapley effects of independent or correlated inputs.

    The share of input i is the mean over all orders of the inputs of what it adds to E[V(Y | the others)]; the shares
    sum to 1, lie between S1 and ST for independent inputs, and are exactly 0 for an input that f does not use and that
    is correlated with none that it uses.

    Args:
        f, distributions, base, correlations, outputs, integers, progress: as in `monte_carlo`.
        samples: random orders over all replicates, rounded up to replicates x 2^m; f is called d + 1 times for each.
        replicates: independent scrambles, at least 16.

    Source: Owen, SIAM/ASA J. Uncertainty Quantification 2 (2014) 245; Song, Nelson and Staum, ibid. 4 (2016) 1060; the
    walk: Goda, Reliability Engineering and System Safety 208 (2021) 107443.
    """
    study = prepare(f, distributions, base, outputs=outputs, correlations=correlations, integers=integers)
    m, replicates, seed = log2_per_replicate(samples, replicates, 16, seed)
    d = study.dimensions
    # a Cholesky factor per walk makes correlated rows dear and large: smaller chunks
    rows = (d + 1) * (1 if study.sampler.factor is None else d)
    points = SobolPoints(3 * d, m, replicates, seed, min(m, log2_chunk(rows)))
    reducers = {"moments": Moments(), "nonfinite": NonFinite()}
    pipeline = Pipeline((Walk(study.sampler), EvaluateRows(study.model), WalkEffects()))
    done = run(points, pipeline, reducers, progress=progress)
    found = {}
    for output in study.outputs:
        gains, whole = (done.states["moments"][output + mark] for mark in ("", _TOTAL))
        begun = np.asarray(whole.count) > 0
        gain, variance = np.asarray(gains.mean)[begun], np.asarray(whole.mean)[begun]  # [R, d], [R]
        total = float(variance.mean()) if np.any(variance > 0) else np.nan
        own = np.where(variance > 0, variance, np.nan)
        found[output] = {
            "effects": study.by_input(average(gain) / total),
            "effects_error": study.by_input(spread(gain / own[:, None])),
            "variance": 0.0 if np.isnan(total) else total,
            "nonfinite": int(np.sum(done.states["nonfinite"][output + _TOTAL])),
        }
    if all(part["variance"] == 0.0 for part in found.values()):
        raise no_variance(study, sum(part["nonfinite"] for part in found.values()), done.points)
    return ShapleyEffects(
        *(bare({o: part[field] for o, part in found.items()}) for field in next(iter(found.values()))),
        names=study.names,
        outputs=study.outputs,
        samples=done.points,
        evaluations=done.points * (d + 1),
        replicates=replicates,
        seed=int(seed),
        complete=done.complete,
        seconds=done.seconds,
    )
