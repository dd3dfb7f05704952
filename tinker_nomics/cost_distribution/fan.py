"""How the bill grows over the training steps under uncertain lengths: quantiles of the cost up to each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..config import Config, set_paths
from ..cost_model import evaluate
from ..cost_parts.known_schedule import known_schedule
from ..declared_ranges import declared_distributions, refuse_none
from ..errors import TinkerNomicsError, listed
from ..outputs import UNITS, by_path
from ..parameters import canonical_path
from ..streaming.collecting import collect
from ..streaming.reducer import Evaluation
from ..streaming.sobol_points import SobolPoints
from ..streaming.stages import Pipeline
from ..totals_text import DISCARDED, leaves_discards_out, run_in_words, span, standing
from ..uncertainty.distribution_base import Distribution
from ..uncertainty.sampler import Sampler
from .length_path import read_lengths, with_lengths

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
_ADDS_UP = (
    "tinker.rollout",
    "tinker.train",
    "tinker.prefill",
    "tinker.sandbox",
    "tinker.total",
    "self_hosted.hours",
    "self_hosted.gpu_hours",
    "self_hosted.sandbox",
    "self_hosted.total",
    "difference.total",
)


@dataclass(frozen=True)
class CostFan:
    """Quantiles of a cost up to each step.

    Attributes:
        output, unit: what grows.
        steps: training steps done [n]; shares of the run in percent where the number of steps is uncertain.
        quantiles: {p: values [n]}.
        samples: how many.
        title: about the run: what varies, its edition and the date of its prices.
    """

    output: str
    unit: str
    steps: np.ndarray
    quantiles: dict[float, np.ndarray]
    samples: int
    title: str
    xlabel: str

    def figure(self, budget: float | None = None) -> Figure:
        """The fan chart."""
        from ..plots.fan import fan_figure

        label = f"{self.output} so far [{self.unit}]"
        return fan_figure(self.steps, self.quantiles, title=self.title, xlabel=self.xlabel, ylabel=label, budget=budget)


class _UpToStep(eqx.Module):
    """The cost of the first steps of a run: inputs {path: [n]} -> {output: [n, shares]}.

    Up to the share t of a run lengths have grown from 1 to 1 + (growth - 1) t, so the cost up to there is that of a
    shorter run with less growth; at t = 1 it is the whole run's.
    """

    leaves: np.ndarray
    shares: np.ndarray
    lengths: np.ndarray | None  # mean of a measured path up to each share
    structure: Any = eqx.field(static=True)
    output: str = eqx.field(static=True)

    def __call__(self, inputs: dict[str, jax.Array]) -> Evaluation:
        columns = {path: value[:, None] for path, value in inputs.items()}
        config = set_paths(jax.tree_util.tree_unflatten(self.structure, list(self.leaves)), columns)
        work, share = config.workload, jnp.asarray(self.shares)[None, :]
        cut = {
            "workload.steps": work.steps * share,
            "workload.length_growth": 1 + (work.length_growth - 1) * share,
            "workload.turns_growth": 1 + (work.turns_growth - 1) * share,
        }
        if self.lengths is not None:
            cut["workload.completion_tokens"] = jnp.asarray(self.lengths)[None, :]
        value = by_path(evaluate(set_paths(config, cut)))[self.output]
        count = next(iter(inputs.values())).shape[0]
        return Evaluation({self.output: jnp.broadcast_to(value, (count, self.shares.shape[0]))})


def cost_fan(
    config: Config,
    distributions: Mapping[str, Distribution] | None = None,
    output: str = "tinker.total",
    *,
    samples: int = 2**14,
    seed: int = 0,
    points: int = 41,
    lengths: Any = None,
) -> CostFan:
    """Quantiles of the cost up to each training step.

    Args:
        config, distributions, seed, lengths: as in `monte_carlo`.
        output: one that adds up over steps, such as tinker.total.
        samples: rounded up to a power of two.
        points: places along the steps.

    Raises:
        TinkerNomicsError: an output that does not add up over the steps.
    """
    if output not in _ADDS_UP:
        raise TinkerNomicsError(f"{output!r} does not add up over the steps; these do: {listed(_ADDS_UP)}")
    given = {canonical_path(path): distribution for path, distribution in (distributions or {}).items()}
    if distributions is None:
        given = declared_distributions(config)
    path = None if lengths is None else read_lengths(lengths)
    if path is not None:
        if distributions is None:
            given.pop("workload.length_growth", None)
        config = with_lengths(config, path, given)
    if distributions is None:
        refuse_none(config, given)
    total = config.workload.steps
    steps = np.unique(np.round(np.linspace(1.0, total, min(points, max(1, int(total))))))
    means = None if path is None else np.cumsum(path)[steps.astype(int) - 1] / steps
    leaves, structure = jax.tree_util.tree_flatten(known_schedule(config, given))
    model = _UpToStep(np.array(leaves, np.float64), steps / total, means, structure, output)
    log2 = max(0, int(np.ceil(np.log2(samples))))
    sample = SobolPoints(len(given), log2, 1, seed, min(log2, 13))
    found = collect(sample, Pipeline((Sampler(given), model)), progress=False).outputs[output]
    values = np.quantile(found, QUANTILES, axis=0)
    uncertain = "workload.steps" in given
    run = run_in_words(config.provenance.choices, None if "cluster.gpus" in given else config.cluster.gpus)
    apart = f" {DISCARDED}" if output == "tinker.total" and leaves_discards_out(config, given) else ""
    low, high = (float(values[QUANTILES.index(p), -1]) for p in (0.1, 0.9))
    ends = span(low, high, UNITS[output])
    return CostFan(
        output,
        UNITS[output],
        100 * steps / total if uncertain else steps,
        dict(zip(QUANTILES, values)),
        1 << log2,
        f"{run}: {output} over the run\n{standing(config)}; P10-P90 at its end{apart} {ends}\n"
        f"{listed(given) if len(given) < 3 else f'{len(given)} inputs'} uncertain",
        "share of the run [%]" if uncertain else "training step",
    )
