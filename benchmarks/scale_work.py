"""The work of benchmarks/scale.py: one run, ten uncertain inputs, and the peers that do the same by hand."""

from __future__ import annotations

import math
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tinker_nomics as tn
from tinker_nomics.cost_distribution.simulation import OCTAVES
from tinker_nomics.streaming import SobolPoints
from tinker_nomics.streaming.histogram import BinnedCounts, Histogram

OUTPUTS = ("tinker.total", "self_hosted.total", "difference.total")
REPLICATES = 16
LOG_NORMAL = {
    "workload.length_growth": (1.1, 1.5, 3.0),
    "workload.completion_tokens": (400.0, 600.0, 1000.0),
    "cluster.price_per_gpu_hour": (1.8, 2.5, 4.5),
}
TRIANGULAR = {
    "cluster.rollout_efficiency": (0.3, 0.4, 0.5),
    "cluster.mfu": (0.05, 0.1, 0.35),
    "workload.turns_growth": (1.0, 1.1, 1.5),
    "workload.failure_rate": (0.0, 0.05, 0.3),
}
UNIFORM = {
    "workload.prompt_tokens": (100.0, 300.0),
    "cluster.prefix_cache_hit_rate": (0.0, 0.9),
    "workload.failure_extra_turns": (0.18, 0.82),
}
INPUTS = (*LOG_NORMAL, *TRIANGULAR, *UNIFORM)
CONSTANTS = (
    "workload.prompts_per_step",
    "workload.rollouts_per_prompt",
    "workload.steps",
    "workload.epochs",
    "workload.turns",
    "workload.observation_tokens",
    "workload.recipe_multiplier",
    "sandbox",
    "prices.sample",
    "prices.train",
    "prices.prefill",
    "model.weight_bytes",
    "model.active_parameters",
    "kv",
    "flop",
    "cluster.gpus",
    "cluster.chip.bandwidth",
    "cluster.chip.matrix_rate",
)


def config() -> tn.Config:
    """math_rl on Qwen3-8B and eight H100, every figure from the catalog, synchronous."""
    return tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", assumptions="published")


def distributions() -> dict[str, Any]:
    """Ten uncertain inputs: three log-normal, four triangular, three uniform."""
    found: dict[str, Any] = {path: tn.LogNormal.from_quantiles(*figures) for path, figures in LOG_NORMAL.items()}
    found |= {path: tn.Triangular(*figures) for path, figures in TRIANGULAR.items()}
    return found | {path: tn.Uniform(*figures) for path, figures in UNIFORM.items()}


def ours(samples: int, **more: Any) -> Any:
    """The library's run of the same work."""
    return tn.monte_carlo(config(), distributions(), samples, 0, outputs=OUTPUTS, replicates=REPLICATES, **more)


class Peer(NamedTuple):
    """What a peer found: seconds, and per output mean, variance, least, greatest (in C the share below zero too) and
    counts by bin."""

    seconds: float
    samples: int
    figures: dict[str, tuple[float, ...]]
    counts: dict[str, np.ndarray]

    @property
    def rate(self) -> float:
        return self.samples / self.seconds

    def quantile(self, output: str, p: float) -> float:
        histogram = Histogram(None, *OCTAVES)
        return BinnedCounts(self.counts[output], histogram.low, histogram.high).quantile(p)


def _constants() -> np.ndarray:
    run = config()
    values = run.to_dict()
    active = run.model.active_parameters
    values |= {"sandbox": 0.0, "kv": active / 1e9 * 0.016e6, "flop": 4.0 * active}
    assert run.schedule.max_steps_off_policy == 0 and not run.sandbox.price_per_core_second
    return np.array([values[name] for name in CONSTANTS], np.float64)


def _points(log2_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions [replicates, 10, log2_points] and shifts of the library's own points, in the order of INPUTS."""
    points = SobolPoints(len(INPUTS), log2_points, REPLICATES, 0)
    order = [sorted(INPUTS).index(name) for name in INPUTS]
    return np.asarray(points.directions)[:, order], np.asarray(points.shifts)[:, order]


def write_input(path: Path, log2_points: int) -> None:
    """The C program's input."""
    directions, shifts = _points(log2_points)
    padded = np.zeros((REPLICATES, len(INPUTS), 52), np.uint64)
    padded[:, :, :log2_points] = directions
    drawn = distributions()
    with path.open("wb") as file:
        np.array([REPLICATES, log2_points], np.int64).tofile(file)
        np.array([drawn[name].leaves() for name in LOG_NORMAL]).tofile(file)
        np.array(list(TRIANGULAR.values())).tofile(file)
        np.array(list(UNIFORM.values())).tofile(file)
        _constants().tofile(file)
        for replicate in range(REPLICATES):
            padded[replicate].tofile(file)
            shifts[replicate].tofile(file)


def compile_peer(folder: Path, fast: bool) -> Path | None:
    """The C program, or None where there is no compiler."""
    program = folder / ("peer_fast" if fast else "peer")
    source = Path(__file__).with_name("scale_peer.c")
    flags = ["-O3", "-march=native", "-fopenmp", *(["-ffast-math"] if fast else [])]
    for compiler in ("gcc", "cc", "clang"):
        try:
            subprocess.run([compiler, *flags, "-o", program, source, "-lm"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return program
    return None


def run_c(program: Path, samples: int, threads: int) -> Peer:
    """The C program's run on `threads` threads."""
    log2_points = math.ceil(math.log2(samples / REPLICATES))
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "in", Path(folder) / "out"
        write_input(given, log2_points)
        subprocess.run([program, given, found], check=True, env={"OMP_NUM_THREADS": str(threads)})
        with found.open("rb") as file:
            seconds = float(np.fromfile(file, np.float64, 1)[0])
            figures, counts = {}, {}
            for output in OUTPUTS:
                figures[output] = tuple(np.fromfile(file, np.float64, 6)[1:].tolist())
                counts[output] = np.fromfile(file, np.int64, 2 * Histogram(None, *OCTAVES).bins + 4)
    return Peer(seconds, REPLICATES << log2_points, figures, counts)


def run_numpy(samples: int, log2_chunk: int = 14) -> Peer:
    """The same work as a loop over chunks in NumPy, by hand."""
    log2_points = math.ceil(math.log2(samples / REPLICATES))
    log2_chunk = min(log2_chunk, log2_points)
    directions, shifts = _points(log2_points)
    constant = dict(zip(CONSTANTS, _constants()))
    drawn, histogram = distributions(), Histogram(None, *OCTAVES)
    counts = {output: np.zeros(2 * histogram.bins + 4, np.int64) for output in OUTPUTS}
    moments = {output: [0, 0.0, 0.0, np.inf, -np.inf] for output in OUTPUTS}
    started = time.perf_counter()
    for replicate in range(REPLICATES):
        table = np.zeros((len(INPUTS), 1), np.uint64)
        for k in range(log2_chunk):
            table = np.concatenate([table, table ^ directions[replicate][:, k : k + 1]], axis=1)
        for chunk in range(1 << (log2_points - log2_chunk)):
            start = shifts[replicate].copy()
            for k in range(log2_points - log2_chunk):
                if chunk >> k & 1:
                    start ^= directions[replicate][:, log2_chunk + k]
            bits = (table ^ start[:, None]) | np.uint64(0x3FF << 52)
            u = bits.view(np.float64) - (1.0 - 2.0**-53)
            x = {name: drawn[name].quantile(u[index]) for index, name in enumerate(INPUTS)}
            for output, value in _formulas(x, constant).items():
                _fold(moments[output], counts[output], value, histogram)
    seconds = time.perf_counter() - started
    figures = {name: (m[1], m[2] / m[0], m[3], m[4]) for name, m in moments.items()}
    return Peer(seconds, REPLICATES << log2_points, figures, counts)


def _formulas(x: dict[str, np.ndarray], c: dict[str, float]) -> dict[str, np.ndarray]:
    """The published formulas of the three outputs."""
    runs = c["workload.prompts_per_step"] * c["workload.rollouts_per_prompt"] * c["workload.steps"]
    output = x["workload.completion_tokens"] * ((1 + x["workload.length_growth"]) / 2)
    longer = 1 + x["workload.failure_rate"] * x["workload.failure_extra_turns"]
    turns = c["workload.turns"] * ((1 + x["workload.turns_growth"]) / 2) * longer
    history = (output + c["workload.observation_tokens"]) * (turns - 1) / 2
    sampled = runs * turns * output
    trained = sampled * c["workload.epochs"]
    prompt = x["workload.prompt_tokens"]
    prefill = runs * (turns * prompt + history * turns)
    bill = (sampled * c["prices.sample"] + trained * c["prices.train"] + prefill * c["prices.prefill"]) / 1e6
    gpus, rate, active = c["cluster.gpus"], c["cluster.chip.matrix_rate"], c["model.active_parameters"]
    batch = c["workload.prompts_per_step"] * c["workload.rollouts_per_prompt"] / gpus
    cache = c["kv"] * (prompt + history + output / 2) * batch
    memory = c["cluster.chip.bandwidth"] / (c["model.weight_bytes"] + cache) * batch
    efficiency = x["cluster.rollout_efficiency"]
    decode = sampled / (gpus * np.minimum(memory, rate / (2 * active)) * efficiency)
    read = prefill * (1 - x["cluster.prefix_cache_hit_rate"]) / (gpus * rate * efficiency / (2 * active))
    train = trained / (gpus * rate * x["cluster.mfu"] / c["flop"])
    hours = (decode + read + train) / 3600
    tinker = bill * c["workload.recipe_multiplier"]
    own = hours * gpus * x["cluster.price_per_gpu_hour"] * c["workload.recipe_multiplier"]
    return {"tinker.total": tinker, "self_hosted.total": own, "difference.total": own - tinker}


def _fold(moments: list, counts: np.ndarray, value: np.ndarray, histogram: Histogram) -> None:
    size = (np.abs(value).view(np.uint64) >> np.uint64(43)).astype(np.int64)
    place = np.clip(size - (((1023 + histogram.low) << 9) - 1), 0, histogram.bins + 1)
    counts += np.bincount(histogram.bins + 1 + np.where(value < 0, -place, place), minlength=len(counts))
    count, mean, squares, least, greatest = moments
    own, total = value.mean(), count + len(value)
    step = own - mean
    moments[0] = total
    moments[1] = mean + step * len(value) / total
    moments[2] = squares + np.square(value - own).sum() + step * step * count * len(value) / total
    moments[3], moments[4] = min(least, value.min()), max(greatest, value.max())
