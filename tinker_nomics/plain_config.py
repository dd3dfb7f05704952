"""What `estimate`, `sweep` and `sensitivity` ask of what they are given: a Config of plain, finite numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .config import Config, get
from .errors import TinkerNomicsError, listed, shown
from .parameters import registry


def checked(config: Any, driver: str) -> Config:
    """`config`, or an error of `driver` that says how to make one."""
    if isinstance(config, Config):
        return config
    recipe = config if isinstance(config, str) else "math_rl"
    raise TinkerNomicsError(
        f"{driver} takes a Config, not {shown(config)}: make one by tn.Config.from_recipe({recipe!r})"
    )


def not_plain(config: Config, driver: str) -> TinkerNomicsError:
    """The error for a Config whose leaves are no single numbers; to be raised by `driver`."""
    from jax.core import Tracer

    leaves = {path: get(config, path) for path in registry()}
    traced = [path for path, value in leaves.items() if isinstance(value, Tracer)]
    if traced:
        return TinkerNomicsError(
            f"{driver} takes plain numbers and {listed(traced[:3])} is traced: inside jit, vmap and grad call "
            "tn.cost_model.evaluate"
        )
    many = [f"{path} has shape {np.shape(value)}" for path, value in leaves.items() if np.ndim(value)]
    return TinkerNomicsError(
        f"{driver} prices one run, and {listed(many[:3])}: tn.sweep prices many, or vmap tn.cost_model.evaluate"
    )


def refuse_overflow(config: Config, priced: Any) -> None:
    """Refuse an Estimate of `config` whose totals are no finite numbers: its inputs are allowed one by one only."""
    if not (math.isinf(priced.tinker.total) or math.isinf(priced.self_hosted.total)):
        return
    values = {path: get(config, path) for path, row in registry().items() if row.role != "fact"}
    path = max(values, key=lambda name: abs(values[name] or 0.0))
    raise TinkerNomicsError(
        f"the cost of this run is too large to be a number; its largest input is {path} = {values[path]:g}"
    )
