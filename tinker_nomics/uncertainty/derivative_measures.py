"""Derivative-based measures: the mean squared derivative by each input, which bounds its total Sobol' index."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..streaming.counts import NonFinite
from ..streaming.engine import merged, run
from ..streaming.moments import Moments
from ..streaming.reducer import Evaluation
from ..streaming.sobol_points import SobolPoints
from ..streaming.stages import Pipeline
from .distributions import Uniform
from .errors import UncertaintyError
from .model import SCALAR, Model
from .normal_quantile import normal_quantile
from .sampler import Sampler
from .study import Distributions, Function, bare, log2_chunk, log2_per_replicate, prepare, spread
from .text import columns, number

_SCALED, _VALUE = "\0s", "\0v"


class SampleWithSlopes(eqx.Module):
    """Points [d, n] into {input: [n]} and dx/dw {input: [n]}: w is pi times the uniform value for a uniform input, and
    the standard normal value for all others; the Poincare constant of either is 1."""

    sampler: Sampler

    def __call__(self, u: jax.Array) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
        ones = jnp.ones_like(u)
        by_normal, slope_normal = jax.jvp(self.sampler.from_normal, (normal_quantile(u, jnp),), (ones,))
        by_uniform, slope_uniform = jax.jvp(self.sampler, (u,), (ones,))
        values, slopes = {}, {}
        for name, structure in zip(self.sampler.names, self.sampler.structures):
            uniform = structure[0] is Uniform
            values[name] = by_uniform[name] if uniform else by_normal[name]
            slopes[name] = slope_uniform[name] / math.pi if uniform else slope_normal[name]
        return values, slopes


class Squares(eqx.Module):
    """(df/dx_i)^2 [n, d], (df/dw_i)^2 [n, d] and f [n] of every output."""

    model: Model
    names: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, sample: tuple[dict[str, jax.Array], dict[str, jax.Array]]) -> Evaluation:
        values, slopes = sample
        gradients = jax.vmap(jax.jacfwd(self.model))(values)
        outputs = {}
        for name, value in self.model.over(values).items():
            square = jnp.stack([jnp.square(gradients[name][i]) for i in self.names], axis=1)
            # a branch that gives NaN may have a derivative of 0, which says nothing
            square = jnp.where(jnp.isfinite(value)[:, None], square, jnp.nan)
            scale = jnp.stack([jnp.square(slopes[i]) for i in self.names], axis=1)
            outputs[name], outputs[name + _SCALED], outputs[name + _VALUE] = square, square * scale, value
        return Evaluation(outputs)


@dataclass(frozen=True)
class Dgsm:
    """nu_i = E[(df/dx_i)^2] and what it says about the total index: ST_i <= bound_i.

    Fields are {input: value}, or {output: {input: value}} where the function returns a dict.

    Attributes:
        nu, nu_error: with its standard error from the replicates.
        bound: an upper bound of ST (Poincare inequality); may exceed 1.
        variance, nonfinite: of each output (nonfinite: derivatives left out).
    """

    nu: Any
    nu_error: Any
    bound: Any
    variance: Any
    nonfinite: Any
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    samples: int
    replicates: int
    complete: bool

    def of(self, what: Any, output: str) -> Any:
        """The part of one output of a field such as `nu`."""
        return what if self.outputs == (SCALAR,) else what[output]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        fields = ("nu", "nu_error", "bound", "variance", "nonfinite", "samples", "replicates", "complete")
        return {name: getattr(self, name) for name in fields}

    def table(self) -> str:
        """A text table per output, largest bound first."""
        texts = []
        for output in self.outputs:
            nu, error, bound = (self.of(x, output) for x in (self.nu, self.nu_error, self.bound))
            ranked = sorted(self.names, key=lambda n: -np.nan_to_num(bound[n]))
            rows = [[n, number(nu[n]), number(error[n]), f"{bound[n]:.3f}"] for n in ranked]
            bad = self.of(self.nonfinite, output)
            text = columns([output or "input", "E[(df/dx)^2]", "+-", "ST <="], rows)
            texts.append(text + (f"\n{bad:,} derivatives were not finite and are left out" if bad else ""))
        return "\n\n".join(texts)


def dgsm(
    f: Function,
    distributions: Distributions,
    samples: int = 2**14,
    replicates: int = 16,
    seed: int = 0,
    *,
    base: Any = None,
    outputs: Iterable[str] | None = None,
    progress: bool | None = None,
) -> Dgsm:
    """E[(df/dx_i)^2] by automatic differentiation, and the bound of the total index that it gives.

    ST_i <= E[(df/dw_i)^2] / V(Y), where w_i = pi u_i for a uniform input and the standard normal value behind x_i for
    every other one; both have Poincare constant 1.

    **Kinks:** a jump of f has no derivative: an input that acts through jumps alone (ceil) gets 0 and no valid bound.

    Args:
        f, distributions, base, outputs, progress: as in `monte_carlo`.
        samples: the total over all replicates, rounded up to replicates x 2^m.
        replicates: independent scrambles, at least 16.

    Raises:
        UncertaintyError: an input of whole numbers or separate values, which has no derivative.

    Source: Sobol' and Kucherenko, Math. Comput. Simul. 79 (2009) 3009; Lamboni et al., ibid. 87 (2013) 45.
    """
    study = prepare(f, distributions, base, outputs=outputs)
    for name, distribution in study.distributions.items():
        steps = type(distribution).__name__ == "Discrete" or getattr(distribution, "samples", None) is not None
        if distribution.integer or steps:
            raise UncertaintyError(f"{name}: takes separate values, so there is no derivative by it; leave it out")
    m, replicates, seed = log2_per_replicate(samples, replicates, 16, seed)
    d, names = study.dimensions, study.sampler.names
    points = SobolPoints(d, m, replicates, seed, min(m, log2_chunk(2 * d)))
    reducers = {"moments": Moments(), "nonfinite": NonFinite()}
    pipeline = Pipeline((SampleWithSlopes(study.sampler), Squares(study.model, names)))
    done = run(points, pipeline, reducers, progress=progress)
    whole = merged(reducers, done.states)
    moments = Moments().result(whole["moments"])
    found = {}
    for output in study.outputs:
        state = done.states["moments"][output]
        begun = np.asarray(state.count).min(axis=1) > 0
        variance = float(moments[output + _VALUE].variance)
        scaled = moments[output + _SCALED].mean
        found[output] = {
            "nu": study.by_input(moments[output].mean),
            "nu_error": study.by_input(spread(np.asarray(state.mean)[begun])),
            "bound": study.by_input(scaled / variance if variance > 0 else np.full(d, np.nan)),
            "variance": variance,
            "nonfinite": int(whole["nonfinite"][output]),
        }
    return Dgsm(
        *(bare({o: part[field] for o, part in found.items()}) for field in next(iter(found.values()))),
        names=study.names,
        outputs=study.outputs,
        samples=done.points,
        replicates=replicates,
        complete=done.complete,
    )
