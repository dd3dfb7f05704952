"""One run priced together with the range that its declared uncertainties give, in a single compiled call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..boundary import x64
from ..config import Config, copy_with, get
from ..cost_model import evaluate, read_leaves
from ..cost_parts.known_schedule import known_schedule
from ..declared_ranges import HIGH, LOW, declared_distributions, held
from ..notes import notes_of
from ..one_shot import one_shot
from ..outputs import Estimate, PricedRun
from ..parameters import registry
from ..plain_config import refuse_overflow
from ..totals_text import SIDES, range_in_words, sides_of
from ..uncertainty import Distribution

ROWS = 16383  # quasi-random points beside the run itself: P10 and P90 within 0.5 % of those of many more
TOTALS = ("tinker.total", "self_hosted.total", "difference.total", "self_hosted.hours")


@dataclass(frozen=True)
class Ranged:
    """An estimate and its range.

    Args:
        estimate: at the run's own values.
        low, high: {output: P10}, {output: P90} of the four totals; empty where nothing uncertain has a declared range.
        varied: the parameters that were varied, each over its declared distribution, independently.
        held: parameters with a declared range that the run gives itself.
    """

    estimate: Estimate
    low: Mapping[str, float]
    high: Mapping[str, float]
    varied: tuple[str, ...]
    held: tuple[str, ...] = ()

    def in_words(self) -> str:
        """The totals' P10 and P90, what is held, and where the run's own totals lie beyond them."""
        run = self.estimate.run
        sides = SIDES if run is None else sides_of(run.config)
        totals = {name: self.estimate[name] for name in SIDES}
        return range_in_words(self.low, self.high, len(self.varied), sides, self.held, totals)


def estimate_with_range(config: Config) -> Ranged:
    """Price a run and the range of its totals.

    Args:
        config: plain numbers.

    The points are a Kronecker sequence on the declared distributions' quantiles, the same for every run.
    """
    config = known_schedule(config)
    leaves, structure = jax.tree.flatten(config)
    program, shapes = _program(structure)
    distributions = declared_distributions(config)
    rows = np.concatenate([np.array(leaves, dtype=np.float64)[None], drawn_rows(config, distributions)])
    with x64():
        found = np.asarray(program(rows))
    (shape,) = shapes
    priced = jax.tree.unflatten(shape, found[0].tolist())
    estimate = copy_with(priced, {"notes": notes_of(config), "run": PricedRun(config)})
    refuse_overflow(config, estimate)
    fixed = held(config, distributions)
    if not distributions:
        return Ranged(estimate, {}, {}, (), fixed)
    columns = jax.tree.unflatten(shape, list(found[1:].T))
    return Ranged(estimate, *range_of({name: columns[name] for name in TOTALS}), tuple(distributions), fixed)


def drawn_rows(config: Config, distributions: Mapping[str, Distribution]) -> np.ndarray:
    """The run's leaves [ROWS, n], uncertain ones drawn from their distributions; none where nothing is uncertain."""
    leaves = np.array(jax.tree.leaves(config), dtype=np.float64)
    rows = np.repeat(leaves[None], ROWS if distributions else 0, axis=0)
    paths = [path for path in registry() if get(config, path) is not None]
    for (path, distribution), u in zip(distributions.items(), kronecker(ROWS, len(distributions)).T, strict=True):
        parameter = registry()[path]
        rows[:, paths.index(path)] = np.clip(distribution.quantile(u), parameter.low, parameter.high)
    return rows


def range_of(columns: Mapping[str, np.ndarray]) -> tuple[dict[str, float], dict[str, float]]:
    """{output: P10} and {output: P90} of drawn rows; empty where there are none.

    A row that does not fit on the GPUs has no number: it counts as dearer than every other, so an end among such rows is
    infinite.
    """
    there = {name: np.where(np.isfinite(column), column, np.inf) for name, column in columns.items() if len(column)}
    low, high = ({name: _quantile(np.sort(column), p) for name, column in there.items()} for p in (LOW, HIGH))
    return low, high


def _quantile(rising: np.ndarray, p: float) -> float:
    """The quantile by linear interpolation; infinite where it lies beside an infinite value."""
    place = p * (len(rising) - 1)
    below, above = (float(rising[int(end)]) for end in (np.floor(place), np.ceil(place)))
    return below + (place % 1.0) * (above - below) if np.isfinite(above) else np.inf


@cache
def _program(structure: Any) -> tuple[Any, list[Any]]:
    """The compiled model over rows of leaves, and the structure of what it returns: a list that its one trace fills."""
    count = structure.num_leaves
    read = np.array(read_leaves(jax.tree.unflatten(structure, [0.0] * count)), dtype=int)

    shapes: list[Any] = []

    def model(vector: jax.Array) -> jax.Array:
        leaves: list[Any] = [jnp.nan] * count
        for value, place in zip(vector, read.tolist(), strict=True):
            leaves[place] = value
        values, shape = jax.tree.flatten(evaluate(jax.tree.unflatten(structure, leaves)))
        shapes[:] = [shape]
        return jnp.stack([jnp.asarray(value) for value in values])

    flat = one_shot(jax.vmap(model))
    return (lambda rows: flat(rows[:, read])), shapes


def kronecker(count: int, dimensions: int) -> np.ndarray:
    """A low-discrepancy sequence [count, dimensions] in (0, 1): multiples of 1/g, 1/g^2, ..., g^(d + 1) = g + 1.

    Source: M. Roberts, "The unreasonable effectiveness of quasirandom sequences" (2018).
    """
    g = 2.0
    for _ in range(64):
        g = (1 + g) ** (1 / (dimensions + 1))
    steps = g ** -np.arange(1.0, dimensions + 1)
    return (0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0
