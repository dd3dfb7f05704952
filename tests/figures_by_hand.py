"""Model and cluster figures for tests of the revised formulas, and the derivative check that they share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from tinker_nomics import catalog
from tinker_nomics.architectures.model_figures import model_figures
from tinker_nomics.boundary import x64
from tinker_nomics.config import ChipFigures
from tinker_nomics.formulas.figures import ClusterFigures, ModelFigures

H100 = ChipFigures(bandwidth=3.35e12, memory_bytes=80e9, matrix_rate=989e12)


def figures(name: str) -> ModelFigures:
    """The figures of a catalog model."""
    architecture = catalog.model(name).architecture
    assert architecture is not None
    return model_figures(architecture)


def cluster(**changes: Any) -> ClusterFigures:
    """Eight H100s whose engine reaches its roof and adds nothing."""
    base = ClusterFigures(
        chip=H100,
        gpus=8.0,
        tensor_parallel=1.0,
        engine_memory_fraction=0.9,
        decode_efficiency=1.0,
        block_seconds=0.0,
        token_seconds=0.0,
        prefill_efficiency=0.5,
    )
    return replace(base, **changes)


def slopes_error(f: Callable[..., Any], *at: float, step: float = 1e-5) -> float:
    """The largest relative difference between AD and central differences of f(*at), over its arguments."""
    point = np.array(at, dtype=np.float64)
    with x64():
        value = jax.jit(lambda x: f(*x))
        exact = np.asarray(jax.jit(jax.grad(lambda x: f(*x)))(point))
        worst = 0.0
        for i, x in enumerate(point):
            h = np.zeros_like(point)
            h[i] = step * max(abs(float(x)), 1e-3)
            numeric = (float(value(point + h)) - float(value(point - h))) / (2 * h[i])
            worst = max(worst, abs(float(exact[i]) - numeric) / max(abs(numeric), 1e-12))
    return worst


def close(value: Any, target: float, relative: float) -> bool:
    """Whether a value lies within a relative distance of a target."""
    return math.isclose(float(value), target, rel_tol=relative)
