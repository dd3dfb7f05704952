"""Monte Carlo of the cost model: samples per second and peak memory. Run: python benchmarks/monte_carlo.py

Ten uncertain inputs (three log-normal, four triangular, three uniform), float64, scrambled Sobol' points in 16 replicates, and
moments, extremes, events and streaming percentiles of tinker.total, self_hosted.total and difference.total. The peer does the
same by hand, one sample after the other in memory: SciPy's scrambled Sobol' points, NumPy quantile functions, `tests/oracle.py`
on NumPy arrays (only what the three outputs need) in chunks, and np.quantile. Contestants take turns and the best round counts;
our first call, which compiles, stands apart. Peak memory is that of a process of its own for each number of samples.

The cores are seldom ours alone: rates are also given per second of processor time, and the load is printed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import qmc

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "tests")]

from hand_config import hand_config  # noqa: E402
from uncertain_run import INPUTS, columns_of, totals  # noqa: E402

from tinker_nomics.cli.text_table import table  # noqa: E402
from tinker_nomics.report_outputs import report_outputs  # noqa: E402
from tinker_nomics.uncertainty import MonteCarlo, monte_carlo  # noqa: E402

FOLLOWED = ("tinker.total", "self_hosted.total", "difference.total")
QUANTILES = (0.05, 0.1, 0.5, 0.9, 0.95)
PEER_CHUNKS = tuple(1 << power for power in (12, 14, 16))


def ours(samples: int) -> MonteCarlo:
    """Our run, percentiles included."""
    found = monte_carlo(
        report_outputs,
        INPUTS,
        samples,
        base=hand_config(),
        outputs=FOLLOWED,
        events=["difference.total < 0"],
        progress=False,
    )
    found.table()
    return found


def peer(samples: int, chunk: int) -> dict[str, np.ndarray]:
    """{output: its quantiles} of a power of two of samples, by SciPy and NumPy."""
    points = qmc.Sobol(len(INPUTS), scramble=True, seed=0).random(samples).T
    kept = {name: np.empty(samples) for name in FOLLOWED}
    for start in range(0, samples, chunk):
        values = totals(columns_of(points[:, start : start + chunk]))
        for name in FOLLOWED:
            kept[name][start : start + chunk] = values[name]
    return {name: np.quantile(value, QUANTILES) for name, value in kept.items()}


def clocks(call: Callable[[], object]) -> tuple[float, float]:
    """Wall time and processor time of a call."""
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    call()
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def load() -> str:
    """The load averages of this machine over 1 and 5 minutes."""
    return "load {:.1f} (1 min), {:.1f} (5 min)".format(*os.getloadavg())


def race(log2_ours: int, log2_peer: int, rounds: int) -> None:
    """Rates of both, their ratio, and their percentiles side by side."""
    many, few = 1 << log2_ours, 1 << log2_peer
    first, _ = clocks(lambda: ours(many))
    by_chunk = {chunk: clocks(lambda chunk=chunk: peer(few, chunk))[0] for chunk in PEER_CHUNKS}
    chunk = min(by_chunk, key=lambda size: by_chunk[size])
    best = {"ours": (math.inf, math.inf), "NumPy": (math.inf, math.inf)}
    for _ in range(rounds):
        for name, call in (("ours", lambda: ours(many)), ("NumPy", lambda: peer(few, chunk))):
            best[name] = tuple(map(min, best[name], clocks(call)))  # type: ignore[assignment]
    rates = {name: [size / 1e6 / spent for spent in best[name]] for name, size in (("ours", many), ("NumPy", few))}
    print(f"first call, with compilation: {first:.2f} s for {many:,} samples")
    for name, size in (("ours", many), ("NumPy", few)):
        print(
            f"{name:6s} {rates[name][0]:7.2f} M samples/s, {rates[name][1]:6.2f} M per second of processor time, of {size:,}"
        )
    wall, processor = (rates["ours"][clock] / rates["NumPy"][clock] for clock in range(2))
    print(f"ratio  {wall:7.1f} by wall time, {processor:.1f} by processor time; NumPy in chunks of {chunk}; {load()}")
    found, other, rows = ours(many), peer(few, chunk), []
    for name in FOLLOWED:
        for p, theirs in zip(QUANTILES, other[name]):
            value, error = found.quantile(name, p), found.quantile_error(name, p)
            rows.append([name, f"P{100 * p:g}", f"{value:.3f} ± {error:.3f}", f"{theirs:.3f}"])
            assert abs(value - theirs) <= 3e-3 * abs(theirs) + 6 * error, (name, p, value, theirs)
    print(table(rows, ["output", "", "ours ± standard error", "NumPy"], "llrr"))


def one(samples: int) -> None:
    """A run of this many samples in this process, as one line of JSON."""
    wall, processor = clocks(lambda: ours(samples))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"wall": wall, "processor": processor, "peak": peak}))


def memory(exponents: list[int]) -> None:
    """Peak memory and rates of a process each; ends with an error where memory grows by more than 5 %."""
    rows, peaks = [], []
    for exponent in exponents:
        run = subprocess.run(
            [sys.executable, __file__, "--one", str(10**exponent)], capture_output=True, text=True, check=True
        )
        found = json.loads(run.stdout)
        peaks.append(found["peak"])
        rate = 10**exponent / found["wall"] / 1e6
        rows.append(
            [
                f"10^{exponent}",
                f"{found['peak'] / 1e6:.0f} MB",
                f"{found['wall']:.1f} s",
                f"{rate:.1f} M/s",
                f"{10**exponent / found['processor'] / 1e6:.1f} M/s",
            ]
        )
    print(table(rows, ["samples", "peak memory", "wall time", "rate", "per processor second"], "rrrrr"))
    growth = max(peaks) / min(peaks) - 1
    print(f"each in a process of its own, compilation included; peak memory differs by {100 * growth:.1f} %; {load()}")
    if growth > 0.05:
        raise SystemExit("memory grows with the number of samples")


def main() -> None:
    """Race, then measure memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds of the race")
    parser.add_argument("--log2", type=int, default=26, help="our samples per round as a power of two (default 26)")
    parser.add_argument("--peer-log2", type=int, default=20, help="the peer's (default 20)")
    parser.add_argument("--largest", type=int, default=9, help="memory is measured from 10^6 to 10^this (default 9)")
    parser.add_argument("--one", type=int, default=None, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        one(args.one)
        return
    print(f"{os.cpu_count()} cores, {load()}; {len(INPUTS)} inputs, percentiles of {len(FOLLOWED)} outputs, float64")
    race(args.log2, args.peer_log2, args.rounds)
    print()
    memory(list(range(6, args.largest + 1)))


if __name__ == "__main__":
    main()
