"""Wider engines than the one that a run takes by itself: the narrowest that holds the weights need not be the cheapest."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..boundary import x64
from ..config import Config, get, set_paths
from ..cost_model import evaluate
from ..cost_parts.known_schedule import known_schedule
from ..one_shot import one_shot
from ..outputs import Estimate
from ..parameters import registry
from ..placement_checks import placement_problems
from ..quantities import show

WIDTH = "cluster.engine.tensor_parallel"
WORTH_TELLING = 0.95  # of the run's own cost: what the best other width is to stay below
_ROWS = 16  # of a call: one trace for any number of widths


def width_notes(config: Config, estimate: Estimate) -> list[str]:
    """Say so where the engine's width is not given and another makes own GPUs cheaper by 5 % or more.

    Args:
        config: plain numbers, as priced.
        estimate: its price.

    Only powers of two are asked for that the run fits on; a narrower engine than the chosen one never holds the weights.
    """
    width = estimate.memory.engine_gpus
    if config.assumptions.itemised_memory is not True or get(config, WIDTH) is not None or width is None:
        return []
    asked = [width * 2.0**more for more in range(1, _ROWS) if width * 2.0**more <= config.cluster.gpus]
    fitting = [other for other in asked if not placement_problems(set_paths(config, {WIDTH: other}))]
    if not fitting or estimate.self_hosted.total <= 0:
        return []
    costs = _costs(config, fitting)
    best = min(range(len(fitting)), key=lambda place: costs[place])
    if not costs[best] <= WORTH_TELLING * estimate.self_hosted.total:
        return []
    return [
        f"engines of {fitting[best]:g} GPUs instead of {width:g}, the narrowest that {'hold' if width > 1 else 'holds'} "
        f"the weights, would cost {show(costs[best], 'USD')} on own GPUs instead of "
        f"{show(estimate.self_hosted.total, 'USD')}: --{WIDTH.replace('_', '-')} {fitting[best]:g}"
    ]


def _costs(config: Config, widths: list[float]) -> list[float]:
    """What own GPUs cost [USD] with engines of these widths."""
    leaves, structure = jax.tree.flatten(known_schedule(set_paths(config, {WIDTH: widths[0]})))
    place = [path for path in registry() if path == WIDTH or get(config, path) is not None].index(WIDTH)
    rows = np.repeat(np.array(leaves, dtype=np.float64)[None], _ROWS, axis=0)
    rows[: len(widths), place] = widths
    with x64():
        return np.asarray(_program(structure)(rows))[: len(widths)].tolist()


@cache
def _program(structure: Any) -> Any:
    """The compiled cost of own GPUs over rows of leaves."""
    return one_shot(
        jax.vmap(lambda row: jnp.asarray(evaluate(jax.tree.unflatten(structure, list(row))).self_hosted.total))
    )
