"""How fast the cost model is: sweeps beside a NumPy twin, scalar estimates, gradients. Run: python benchmarks/sweep.py

The contestants compute every output in float64 into memory that was touched before, take turns, and the best of several
rounds counts for each. The twin is `tests/oracle.py` on NumPy arrays, in chunks of its own best size, chosen here among
several in the same run. Both get the same points: a grid as blocks that broadcast (which makes both store an output
only over the axes that it depends on), a table as rows.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "tests")]

import oracle  # noqa: E402
from hand_config import hand_config  # noqa: E402

import tinker_nomics as tn  # noqa: E402
from tinker_nomics.boundary import x64  # noqa: E402
from tinker_nomics.cost_model import evaluate  # noqa: E402
from tinker_nomics.outputs import by_path  # noqa: E402
from tinker_nomics.sweeps.points import GridPoints, within  # noqa: E402

GRID = {
    "workload.prompts_per_step": [8, 16, 32, 64, 96, 128, 192, 256],
    "workload.rollouts_per_prompt": [2, 4, 8, 16, 24, 32, 48, 64],
    "workload.completion_tokens": [128, 256, 512, 1024, 2048, 4096, 8192, 16384],
    "workload.prompt_tokens": [100, 200, 300, 400, 500, 700, 900, 1000],
    "workload.turns": [1, 2, 3, 4, 6, 8, 12, 16],
    "cluster.gpus": [1, 2, 4, 8, 16, 32, 64, 128],
    "cluster.price_per_gpu_hour": [1, 1.5, 2, 2.5, 3, 3.5, 4, 5],
    "cluster.mfu": [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4],
}
GRID_TARGETS = [1 << power for power in (12, 15, 18)]
ROW_TARGETS = [1 << power for power in (10, 11, 12, 13, 14, 15, 16)]


def fixed_values() -> dict[str, float | None]:
    """What the twin takes for every parameter that is not varied."""
    return hand_config().to_dict()


def twin_grid(leaves: dict, shape: tuple[int, ...], target: int, out: dict[str, np.ndarray]) -> None:
    """The NumPy twin over a grid, block by block, into `out`."""
    points, fixed = GridPoints(leaves, shape, target), fixed_values()
    for number in range(points.stratum_chunks):
        where = points.where(number)
        results = oracle.evaluate({**fixed, **points.host_chunk(number)}, ops=oracle.NUMPY)
        for name, result in results.items():
            out[name][within(out[name].shape, where)] = result


def twin_rows(columns: dict, rows: int, target: int, out: dict[str, np.ndarray]) -> None:
    """The NumPy twin over a table, chunk by chunk, into `out`."""
    fixed = fixed_values()
    for start in range(0, rows, target):
        where = slice(start, start + target)
        block = {path: column[where] for path, column in columns.items()}
        results = oracle.evaluate({**fixed, **block}, ops=oracle.NUMPY)
        for name, result in results.items():
            out[name][where if len(out[name]) == rows else slice(None)] = result


def race(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each contestant: the best of `rounds`, in turns."""
    best = dict.fromkeys(contestants, math.inf)
    for _ in range(rounds):
        for name, run in contestants.items():
            started = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def best_target(run: Callable[[int], object], targets: list[int]) -> int:
    """The chunk size at which `run` is fastest."""
    seconds = race({str(target): partial(run, target) for target in targets}, 2)
    return int(min(seconds, key=lambda target: seconds[target]))


def compare(
    title: str, points: int, ours: Callable[[], object], twin: Callable[[int], object], targets: list[int], rounds: int
) -> None:
    """Print millions of configurations per second of both, and their ratio."""
    target = best_target(twin, targets)
    seconds = race({"tinker_nomics": ours, "NumPy": lambda: twin(target)}, rounds)
    rates = {name: points / spent / 1e6 for name, spent in seconds.items()}
    ratio = rates["tinker_nomics"] / rates["NumPy"]
    print(
        f"{title:34s} {rates['tinker_nomics']:8.1f} M/s   NumPy {rates['NumPy']:7.1f} M/s at chunks of {target:<7d} "
        f"{ratio:5.2f} times",
        flush=True,
    )


def grid_race(rounds: int) -> None:
    """A grid with every output, over memory of an earlier sweep; then the grid with its axes the other way round."""
    config = hand_config()
    batch = tn.sweep(config, GRID)
    shape = batch.shape
    leaves = {path: batch._spread(path) for path in GRID}
    twin_out = {name: np.zeros_like(array) for name, array in batch.values.items()}
    compare(
        f"grid of {len(batch):,}",
        len(batch),
        lambda: tn.sweep(config, GRID, out=batch),
        lambda target: twin_grid(leaves, shape, target, twin_out),
        GRID_TARGETS,
        rounds,
    )
    for name, array in batch.values.items():
        size = np.max(np.abs(twin_out[name]))
        assert np.max(np.abs(array - twin_out[name])) <= 1e-12 * size, name
    print(f"{'':34s} results equal to 1e-12 of each output's size; {batch_bytes(batch) / 1e9:.2f} GB of them")
    axes = dict(reversed(GRID.items()))
    other = tn.sweep(config, axes)
    seconds = race({"reversed": lambda: tn.sweep(config, axes, out=other)}, rounds)
    print(f"{'the same grid, axes reversed':34s} {len(batch) / seconds['reversed'] / 1e6:8.1f} M/s")


def batch_bytes(batch: tn.Sweep) -> int:
    """Bytes of a sweep's results."""
    return sum(array.nbytes for array in batch.values.values())


def table_race(rows: int, rounds: int) -> None:
    """A table of random rows of the grid's values: every output that varies is written for every row."""
    rng = np.random.default_rng(0)
    columns = {path: rng.choice(np.array(values, float), rows) for path, values in GRID.items()}
    config = hand_config()
    batch = tn.sweep(config, columns, mode="zip")
    twin_out = {name: np.zeros_like(array) for name, array in batch.values.items()}
    compare(
        f"table of {rows:,} rows",
        rows,
        lambda: tn.sweep(config, columns, mode="zip", out=batch),
        lambda target: twin_rows(columns, rows, target, twin_out),
        ROW_TARGETS,
        rounds,
    )


def scalar_race(rounds: int) -> None:
    """Single estimates, with and without plain numbers out, and gradients of a total."""
    config, count = hand_config(), 2000
    leaves, structure = jax.tree.flatten(config)
    vector, rows = np.array(leaves), 4096

    def outputs(v: jax.Array) -> jax.Array:
        named = by_path(evaluate(jax.tree.unflatten(structure, list(v))))
        return jnp.stack([jnp.asarray(value) for value in named.values()])

    def total(*each: jax.Array) -> jax.Array:
        return evaluate(jax.tree.unflatten(structure, each)).self_hosted.total

    # one vector in and one out, but differentiated by its elements: the transpose of taking a vector apart is a sum of
    # as many vectors, which costs five evaluations
    def slopes(v: jax.Array) -> jax.Array:
        return jnp.stack(jax.grad(total, argnums=tuple(range(len(leaves))))(*v))

    value, slope, everything = jax.jit(outputs), jax.jit(slopes), jax.jit(jax.vmap(outputs))
    batched_slope = jax.jit(jax.vmap(slopes))
    batch = np.tile(vector, (rows, 1))

    def repeat(call: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(count):
                call()

        return run

    with x64():
        for function, argument in ((value, vector), (slope, vector), (everything, batch), (batched_slope, batch)):
            jax.block_until_ready(function(argument))
        tn.estimate(config)
        seconds = race(
            {
                "estimate": repeat(lambda: tn.estimate(config)),
                "estimate, to_dict": repeat(lambda: tn.estimate(config).to_dict()),
                "value": repeat(lambda: np.asarray(value(vector))),
                "gradient": repeat(lambda: np.asarray(slope(vector))),
            },
            rounds,
        )
        batched = race(
            {
                "everything": lambda: [np.asarray(everything(batch)) for _ in range(20)],
                "gradient": lambda: [np.asarray(batched_slope(batch)) for _ in range(20)],
            },
            rounds,
        )
    for name in ("estimate", "estimate, to_dict"):
        print(f"{name:34s} {count / seconds[name]:8,.0f} per second")
    print(f"{'gradient of a total, one point':34s} {seconds['gradient'] / seconds['value']:8.2f} evaluations")
    print(f"{'gradient of a total, batched':34s} {batched['gradient'] / batched['everything']:8.2f} full estimates")


def main() -> None:
    """Run all races."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each race")
    parser.add_argument("--rows", type=int, default=4_000_000, help="rows of the table")
    rounds = parser.parse_args().rounds
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; 8 varied parameters, every output, float64")
    grid_race(rounds)
    table_race(parser.parse_args().rows, rounds)
    scalar_race(rounds)


if __name__ == "__main__":
    main()
