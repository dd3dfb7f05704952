"""A run with ten uncertain inputs, for us and for peers without JAX: what benchmarks and tests of indices share."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import oracle
from hand_config import hand_config
from SALib.analyze import sobol as salib_sobol
from SALib.sample import sobol as salib_sample
from scipy.special import ndtri

from tinker_nomics.uncertainty import Distribution, LogNormal, Triangular, Uniform

OUTPUTS = ("tinker.total", "self_hosted.total", "self_hosted.hours", "difference.total")
INPUTS: dict[str, Distribution] = {
    "workload.length_growth": LogNormal.from_median(1.5, 3.0),
    "workload.completion_tokens": LogNormal.from_median(512.0, 700.0),
    "cluster.price_per_gpu_hour": LogNormal.from_median(2.95, 4.5),
    "cluster.rollout_efficiency": Triangular(0.3, 0.4, 0.5),
    "cluster.mfu": Triangular(0.05, 0.1, 0.35),
    "workload.turns_growth": Triangular(1.0, 1.1, 1.5),
    "workload.failure_rate": Triangular(0.0, 0.05, 0.3),
    "workload.prompt_tokens": Uniform(100.0, 300.0),
    "workload.failure_extra_turns": Uniform(0.18, 0.82),
    "cluster.prefix_cache_hit_rate": Uniform(0.0, 0.9),
}


def totals(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs that a peer needs, and no others, at {path: [n]}: the chapters of the NumPy twin one by one."""
    v: dict[str, Any] = {**hand_config().to_dict(), **columns}
    sampled, trained, read = oracle.rollout_tokens(v), oracle.train_tokens(v), oracle.prefill_tokens(v)
    streams = ((sampled, "prices.sample"), (trained, "prices.train"), (read, "prices.prefill"))
    multiplier, box = v["workload.recipe_multiplier"], oracle.sandbox_cost(v)
    tinker = multiplier * (sum(oracle.stream_cost(tokens, v[price]) for tokens, price in streams) + box)
    speed = oracle.rollout_tokens_per_second(v, oracle.kv_bytes_heuristic(v), oracle.NUMPY)
    decode = sampled * oracle.abort_multiplier(oracle.abort_rate(v, oracle.NUMPY)) / (3600 * speed)
    prefill = oracle.uncached_prefill(v) / (3600 * oracle.prefill_tokens_per_second(v))
    train = trained / (3600 * oracle.train_tokens_per_second(v))
    hours = oracle.overlapped_hours(decode + prefill, train, v, ops=oracle.NUMPY)
    own = multiplier * (hours * v["cluster.gpus"] * v["cluster.price_per_gpu_hour"] + box)
    return dict(zip(OUTPUTS, (tinker, own, hours, own - tinker)))


def columns_of(u: np.ndarray) -> dict[str, np.ndarray]:
    """Values {path: [n]} at uniform points u [d, n], in NumPy, with SciPy's normal quantile."""
    found = {}
    for row, (path, given) in zip(u, INPUTS.items()):
        if isinstance(given, LogNormal):
            found[path] = given.shift + np.exp(given.mu + given.sigma * ndtri(row))
        elif isinstance(given, Triangular):
            low, mode, high = given.low, given.mode, given.high
            rising = np.sqrt(row * ((high - low) * (mode - low)))
            falling = np.sqrt((1.0 - row) * ((high - low) * (high - mode)))
            found[path] = np.where(row * (high - low) < mode - low, low + rising, high - falling)
        else:
            assert isinstance(given, Uniform)
            found[path] = given.low + (given.high - given.low) * row
    return found


def _for_salib(given: Distribution) -> tuple[str, list[float]]:
    if isinstance(given, LogNormal):
        return "lognorm", [given.mu, given.sigma]
    if isinstance(given, Triangular):
        return "triang", [given.low, given.high, (given.mode - given.low) / (given.high - given.low)]
    assert isinstance(given, Uniform)
    return "unif", [given.low, given.high]


class SalibIndices(NamedTuple):
    """{output: {"S1": [d], "S1_conf": [d], "ST": [d], "ST_conf": [d]}}, the conf half of a 95 % interval.

    Attributes:
        evaluations: of the model. seconds: {part of the work: wall time}.
    """

    indices: dict[str, Any]
    evaluations: int
    seconds: dict[str, float]


def salib_problem() -> dict[str, Any]:
    """The ten inputs as SALib takes them."""
    dists, bounds = zip(*(_for_salib(given) for given in INPUTS.values()))
    return {"num_vars": len(INPUTS), "names": list(INPUTS), "bounds": list(bounds), "dists": list(dists)}


def salib_indices(points: int, seed: int = 0, outputs: tuple[str, ...] = OUTPUTS) -> SalibIndices:
    """First-order and total indices by SALib from scrambled Sobol' points (`points` of them, d + 2 evaluations each),
    the NumPy twin and the bootstrap of 100 resamples that is SALib's default."""
    problem, clock = salib_problem(), [time.perf_counter()]
    x = salib_sample.sample(problem, points, calc_second_order=False, seed=seed)
    clock.append(time.perf_counter())
    y = totals(dict(zip(INPUTS, np.ascontiguousarray(x.T))))
    clock.append(time.perf_counter())
    found = {name: salib_sobol.analyze(problem, y[name], calc_second_order=False, seed=seed) for name in outputs}
    clock.append(time.perf_counter())
    return SalibIndices(
        found, len(x), dict(zip(("samples", "model", "indices and bootstrap"), np.diff(clock).tolist()))
    )
