"""Morris's elementary effects: finite steps on a coarse grid, for screening many inputs."""

from __future__ import annotations

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
from .distribution_base import Distribution
from .errors import UncertaintyError, whole_number
from .model import SCALAR
from .study import Distributions, EvaluateRows, Function, bare, log2_chunk, log2_per_replicate, prepare, spread
from .text import columns, number

_SIZE = "\0"  # marks the absolute effects
_TAIL = 0.01  # where a distribution has no end, its grid runs from P1 to P99


class LevelGrid(eqx.Module):
    """Every point of the grid once, as levels [d, n]: digits of the point's number."""

    dimensions: int = eqx.field(static=True)
    levels: int = eqx.field(static=True)
    chunk_size: int = eqx.field(static=True)
    strata: int = eqx.field(static=True, default=1)

    @property
    def size(self) -> int:
        return self.levels**self.dimensions

    @property
    def stratum_chunks(self) -> int:
        return -(-self.size // self.chunk_size)

    def chunk(self, stratum: jax.Array, chunk: jax.Array) -> jax.Array:
        number = chunk * self.chunk_size + jnp.arange(self.chunk_size)
        return jnp.stack([(number // self.levels**i) % self.levels for i in range(self.dimensions)])


class Levels(eqx.Module):
    """Uniform points [d, n] as levels [d, n] of the grid."""

    levels: int = eqx.field(static=True)

    def __call__(self, u: jax.Array) -> jax.Array:
        return jnp.floor(u * self.levels).astype(jnp.int64)


class Steps(eqx.Module):
    """Levels [d, n] into rows [1 + d, n] with one input each moved by half the levels, up or down, whichever fits; and
    whether it is up [d, n]."""

    values: tuple[np.ndarray, ...]  # of each input at its levels
    names: tuple[str, ...] = eqx.field(static=True)
    levels: int = eqx.field(static=True)

    def __call__(self, level: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
        half = self.levels // 2
        up = level < half
        row = jnp.arange(1 + len(self.names))[:, None]
        rows = {}
        for i, name in enumerate(self.names):
            values = jnp.asarray(self.values[i])
            stay, moved = values[level[i]], values[jnp.where(up[i], level[i] + half, level[i] - half)]
            rows[name] = jnp.where(row == 1 + i, moved[None, :], stay[None, :])
        return rows, up


class Effects(eqx.Module):
    """Elementary effects [n, d]: (f(x + delta) - f(x)) / delta with delta = levels / (2 (levels - 1)) of the unit
    interval."""

    levels: int = eqx.field(static=True)

    def __call__(self, made: tuple[dict[str, jax.Array], jax.Array]) -> Evaluation:
        values, up = made
        delta = self.levels // 2 / (self.levels - 1)
        outputs = {}
        for name, y in values.items():
            effect = (jnp.where(up, y[1:] - y[:1], y[:1] - y[1:]) / delta).T
            outputs[name], outputs[name + _SIZE] = effect, jnp.abs(effect)
        return Evaluation(outputs)


@dataclass(frozen=True)
class Morris:
    """mu (mean effect), mu_star (mean absolute effect) and sigma (their population deviation) of every input.

    Each is {input: value}, or {output: {input: value}} where the function returns a dict. mu_error and mu_star_error
    are standard errors from the replicates; 0 where the whole grid was evaluated.

    Attributes:
        whole_grid: whether every point of the grid was used, which makes the figures exact for that grid.
        samples: base points; evaluations: calls of the function; nonfinite: effects left out.
    """

    mu: Any
    mu_error: Any
    mu_star: Any
    mu_star_error: Any
    sigma: Any
    nonfinite: Any
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    levels: int
    whole_grid: bool
    samples: int
    evaluations: int
    complete: bool

    def of(self, what: Any, output: str) -> Any:
        """The part of one output of a field such as `mu`."""
        return what if self.outputs == (SCALAR,) else what[output]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        fields = ("mu", "mu_error", "mu_star", "mu_star_error", "sigma", "nonfinite", "levels", "whole_grid")
        return {name: getattr(self, name) for name in (*fields, "samples", "evaluations", "complete")}

    def table(self) -> str:
        """A text table per output, largest mu* first."""
        texts = []
        for output in self.outputs:
            mu, star, sigma = (self.of(x, output) for x in (self.mu, self.mu_star, self.sigma))
            ranked = sorted(self.names, key=lambda n: -np.nan_to_num(star[n]))
            # a mean effect that is rounding of larger ones of either sign is zero
            shown = {n: 0.0 if abs(mu[n]) < 1e-12 * star[n] else mu[n] for n in ranked}
            rows = [[n, number(shown[n]), number(star[n]), number(sigma[n])] for n in ranked]
            bad = self.of(self.nonfinite, output)
            text = columns([output or "input", "mu", "mu*", "sigma"], rows)
            texts.append(text + (f"\n{bad:,} effects were not finite and are left out" if bad else ""))
        grid = "the whole grid" if self.whole_grid else f"{self.samples:,} points of the grid"
        return "\n\n".join(texts) + f"\n\n{self.levels} levels, {grid}, {self.evaluations:,} evaluations"


def level_values(distribution: Distribution, levels: int) -> np.ndarray:
    """The input's values [levels]: quantiles at equal steps from end to end (P1 to P99 where an end is open)."""
    low, high = (
        p if np.isfinite(end) else q for p, q, end in zip((0.0, 1.0), (_TAIL, 1 - _TAIL), distribution.support)
    )
    return np.asarray(distribution.quantile(np.linspace(low, high, levels)), dtype=np.float64)


def morris(
    f: Function,
    distributions: Distributions,
    samples: int = 2**12,
    levels: int = 4,
    seed: int = 0,
    *,
    base: Any = None,
    outputs: Iterable[str] | None = None,
    replicates: int = 16,
    whole_grid: bool | None = None,
    progress: bool | None = None,
) -> Morris:
    """Elementary effects on a grid of `levels` quantiles per input, with steps of half the grid.

    Args:
        f, distributions, base, outputs, progress: as in `monte_carlo`.
        samples: base points, rounded up to replicates x 2^m; f is called d + 1 times for each.
        levels: an even number >= 2.
        replicates: independent scrambles, at least 16.
        whole_grid: evaluate every point of the grid; None does so where the grid has no more points than `samples`.

    Source: Morris, Technometrics 33 (1991) 161; mu*: Campolongo, Cariboni and Saltelli, Environ. Model. Softw. 22
    (2007) 1509; one base point with a step per input: Campolongo, Saltelli and Cariboni, Comput. Phys. Commun. 182
    (2011) 978.
    """
    study = prepare(f, distributions, base, outputs=outputs)
    levels = whole_number("levels", levels, 2)
    if levels % 2:
        raise UncertaintyError(f"levels = {levels}: must be even, so that half the grid is a step")
    d, names = study.dimensions, study.sampler.names
    m, replicates, seed = log2_per_replicate(samples, replicates, 16, seed)
    if whole_grid is None:
        whole_grid = levels**d <= samples
    chunk = log2_chunk(d + 1)
    values = tuple(level_values(study.distributions[name], levels) for name in names)
    steps = (Steps(values, names, levels), EvaluateRows(study.model), Effects(levels))
    reducers = {"moments": Moments(), "nonfinite": NonFinite()}
    if whole_grid:
        grid = LevelGrid(d, levels, min(1 << chunk, levels**d))
        done = run(grid, Pipeline(steps), reducers, progress=progress)
    else:
        points = SobolPoints(d, m, replicates, seed, min(m, chunk))
        done = run(points, Pipeline((Levels(levels), *steps)), reducers, progress=progress)
    whole = merged(reducers, done.states)
    found = {}
    for output in study.outputs:
        part: dict[str, Any] = {}
        for name, mark in (("mu", ""), ("mu_star", _SIZE)):
            state = done.states["moments"][output + mark]
            begun = np.asarray(state.count).min(axis=1) > 0
            mean = Moments().result({"": whole["moments"][output + mark]})[""].mean
            part[name] = study.by_input(mean)
            error = np.zeros(d) if whole_grid else spread(np.asarray(state.mean)[begun])
            part[name + "_error"] = study.by_input(error)
        moments = Moments().result({"effect": whole["moments"][output]})["effect"]
        part["sigma"] = study.by_input(np.sqrt(moments.variance))
        part["nonfinite"] = int(whole["nonfinite"][output])
        found[output] = part
    fields = ("mu", "mu_error", "mu_star", "mu_star_error", "sigma", "nonfinite")
    return Morris(
        *(bare({output: part[field] for output, part in found.items()}) for field in fields),
        names=study.names,
        outputs=study.outputs,
        levels=levels,
        whole_grid=bool(whole_grid),
        samples=done.points,
        evaluations=done.points * (d + 1),
        complete=done.complete,
    )
