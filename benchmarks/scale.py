"""Monte Carlo of the full cost model at 10^6 to 10^9 samples, beside NumPy and C. Run: python benchmarks/scale.py

The work: ten uncertain inputs (three log-normal, four triangular, three uniform) drawn as scrambled Sobol' points, the
published formulas of one run, and of three outputs mean, variance, extremes with their inputs, an exact probability and
a histogram of 512 bins an octave, all in float64. Every size and layout is a process of its own, so that its peak memory
is its own: one process on its one device, one with two devices, two processes of `jax.distributed` with a core each,
and one process pinned to one core.

Peers, in the same run and on the same threads: the loop that a NumPy user writes, and `scale_peer.c` compiled with
-O3 -march=native -fopenmp, and once more with -ffast-math, which lets the compiler use vectorised logarithms and reorder
sums. All get the same points, and their figures are compared.

`--quick` takes 10^6 and 10^7 only. Rates are those of the best of several rounds, in turns; CPU seconds stand beside
them because a busy machine disturbs these less than the wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

# operations per sample, counted from the formulas: additions, multiplications, comparisons and integer steps as one
# each, logarithms and exponentials as what their series take
SIMPLE = {
    "Sobol' points": 10 * 3,
    "quantiles": 3 * 30 + 4 * 9 + 3 * 2,
    "logarithms, exponentials": 3 * 24 + 3 * 25,
    "formulas": 60,
    "moments, extremes": 3 * 8,
    "histograms": 3 * 10,
}
# divisions of the logarithms and the rationals, roots of both kinds of quantile, divisions of the formulas by what varies
DIVISIONS, UPDATES = 3 + 3 + 3 + 4 + 7, 3
# float64 arrays of a chunk between stages: points, inputs and outputs are written once; points and inputs are read once,
# outputs by sum, squares, minimum, maximum, index and the next output; an index of 4 bytes is written and read
WRITTEN, READ = 10 + 10 + 3 + 1.5, 10 + 10 + 6 * 3 + 1.5


def measured(arguments: argparse.Namespace) -> None:
    """The child: one run of one size, after a small one that compiles; prints what it took as JSON."""
    if arguments.core is not None:
        os.sched_setaffinity(0, {arguments.core})
    started = time.perf_counter()
    import jax

    if arguments.processes > 1:
        from tinker_nomics.cost_distribution.processes import Membership, join

        join(Membership(f"127.0.0.1:{arguments.port}", arguments.process, arguments.processes))
    import scale_work

    scale_work.ours(min(arguments.samples, 1 << 26))
    first = time.perf_counter() - started
    rates, result = [], None
    cpu = time.process_time()
    for _ in range(arguments.rounds):
        result = scale_work.ours(arguments.samples)
        rates.append(result.samples / result.seconds)
    cpu = (time.process_time() - cpu) / arguments.rounds
    assert result is not None
    name = scale_work.OUTPUTS[0]
    told = {
        "samples": result.samples, "rate": max(rates), "seconds": result.samples / max(rates), "first": first,
        "cpu": cpu / result.samples, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "devices": jax.device_count(), "mean": result.mean[name], "std": result.std[name],
        "quantiles": [result.quantile(output, p) for output in scale_work.OUTPUTS for p in (0.05, 0.5, 0.95)],
        "probability": result.probability("difference.total < 0"),
    }  # fmt: skip
    print("\n" + json.dumps(told))


def child(samples: float, devices: int = 1, processes: int = 1, pinned: bool = False, rounds: int = 1) -> dict:
    """Run one size in one layout; of several processes the slowest counts, and memory is the largest of any one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    if devices > 1:
        environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    command = [sys.executable, __file__, "--child", "--samples", str(int(samples)), "--rounds", str(rounds)]
    command += ["--processes", str(processes), "--port", str(port)]
    cores = sorted(os.sched_getaffinity(0))
    running = []
    for process in range(processes):
        own = ["--process", str(process)]
        if pinned or processes > 1:
            own += ["--core", str(cores[process % len(cores)])]
        running.append(subprocess.Popen([*command, *own], env=environment, stdout=subprocess.PIPE, text=True))
    told = [json.loads(process.communicate()[0].strip().splitlines()[-1]) for process in running]
    together = {"rate": min(one["rate"] for one in told), "cpu": sum(one["cpu"] for one in told)}
    return {**told[0], **together, "memory": max(one["memory"] for one in told)}


def sizes(largest: float, rounds: int) -> list[tuple[str, dict]]:
    """Every size and layout, printed as it comes."""
    layouts = {
        "1 process, 1 device": {},
        "1 process, 2 devices": {"devices": 2},
        "2 processes": {"processes": 2},
        "1 process, 1 core": {"pinned": True},
    }
    print(f"{'layout':22} {'samples':>14} {'M/s':>7} {'seconds':>8} {'CPU ns':>7} {'MB':>6} {'start s':>8}")
    rows = []
    for exponent in range(6, 13):
        if 10**exponent > largest:
            break
        for layout, how in layouts.items():
            told = child(10**exponent, rounds=rounds if exponent < 9 else 1, **how)
            rows.append((layout, told))
            print(
                f"{layout:22} {told['samples']:14,} {told['rate'] / 1e6:7.1f} {told['samples'] / told['rate']:8.2f} "
                f"{told['cpu'] * 1e9:7.1f} {told['memory'] / 1e6:6.0f} {told['first']:8.1f}", flush=True,
            )  # fmt: skip
    return rows


def same_everywhere(rows: list[tuple[str, dict]]) -> None:
    """Histograms and counts are the same integers in every layout, means agree to 1e-12."""
    for size in sorted({told["samples"] for _, told in rows}):
        same = [told for _, told in rows if told["samples"] == size]
        exact = all(one["quantiles"] == same[0]["quantiles"] for one in same)
        exact &= all(one["probability"] == same[0]["probability"] for one in same)
        spread = max(abs(one["mean"] / same[0]["mean"] - 1) for one in same)
        print(f"{size:,}: quantiles and probability {'equal' if exact else 'DIFFER'}; means within {spread:.1e}")


def peers(samples: int, rounds: int) -> None:
    """Ours, NumPy and C in turns on the same threads."""
    import scale_work

    threads = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        plain = scale_work.compile_peer(Path(folder), fast=False)
        fast = scale_work.compile_peer(Path(folder), fast=True)
        scale_work.ours(samples)
        best: dict[str, float] = {}
        spent: dict[str, float] = {}
        found: dict[str, scale_work.Peer] = {}
        result = None
        for _ in range(rounds):
            cpu = time.process_time()
            result = scale_work.ours(samples)
            _keep(
                best, spent, "this library", result.samples / result.seconds, time.process_time() - cpu, result.samples
            )
            for name, program in (("C -O3", plain), ("C -O3 -ffast-math", fast)):
                if program is not None:
                    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                    found[name] = scale_work.run_c(program, samples, threads)
                    cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
                    _keep(best, spent, name, found[name].rate, cpu, found[name].samples)
            cpu = time.process_time()
            found["NumPy"] = scale_work.run_numpy(min(samples, 1 << 22))
            _keep(best, spent, "NumPy", found["NumPy"].rate, time.process_time() - cpu, found["NumPy"].samples)
        assert result is not None
        print(f"\n{result.samples:,} samples, {threads} threads, best of {rounds} rounds")
        ours, own = best["this library"], spent["this library"]
        for name in best:
            print(
                f"{name:20} {best[name] / 1e6:7.1f} M/s  {spent[name] * 1e9:7.1f} ns of CPU per sample;  "
                f"this library {ours / best[name]:.2f} x by wall, {spent[name] / own:.2f} x by CPU"
            )
        if plain is None:
            print("no C compiler here: the C peers are left out")
        for name in ("C -O3", "C -O3 -ffast-math"):
            if name in found:
                output = scale_work.OUTPUTS[1]
                share = found[name].figures[scale_work.OUTPUTS[2]][4]
                assert share == result.probability("difference.total < 0")
                mean = abs(found[name].figures[output][0] / result.mean[output] - 1)
                high = abs(found[name].quantile(output, 0.95) / result.quantile(output, 0.95) - 1)
                print(f"{name}: mean of {output} within {mean:.1e}, P95 within {high:.1e}")
        _distance(own, threads)


def _keep(best: dict, spent: dict, name: str, rate: float, cpu: float, samples: int) -> None:
    best[name] = max(best.get(name, 0.0), rate)
    spent[name] = min(spent.get(name, float("inf")), cpu / samples)


def _distance(cpu: float, threads: int) -> None:
    """How far that is from what the machine could do, by arithmetic."""
    clock, lanes = _clock(), _lanes()
    simple = sum(SIMPLE.values())
    arithmetic, dividing = simple / (2 * lanes), DIVISIONS * 10 / lanes
    bound = max(arithmetic, dividing) + 2 * UPDATES
    traffic, limit = 8.0 * (WRITTEN + READ), threads / bound * clock / 1e6
    print(f"""
Distance to the machine's limit, per sample on one core of {clock / 1e9:.2f} GHz with vectors of {lanes} doubles:
  simple operations   {simple} ({", ".join(f"{name} {count}" for name, count in SIMPLE.items())})
                      at two vectors a cycle: {arithmetic:.0f} cycles
  divisions, roots    {DIVISIONS} at 10 cycles a vector, beside the others: {dividing:.0f} cycles
  histogram updates   {UPDATES} scattered additions, one after the other: {UPDATES * 2} cycles
  limit               {bound:.0f} cycles = {bound / clock * 1e9:.0f} ns: {limit:.0f} M samples/s on {threads} cores
  measured            {cpu * 1e9:.0f} ns = {cpu * clock:.0f} cycles: {bound / clock / cpu:.0%} of that limit
  between stages      {traffic:.0f} B a sample: {traffic / 32:.0f} cycles at 32 B a cycle of the second-level cache
  together            {bound + traffic / 32:.0f} cycles where neither waits for the other
What is left is the start of loops, about 130 a chunk and each vectorised by itself, and a chunk of 2^13 samples whose
points and inputs (1.3 MB) are a little more than the second-level cache holds. The C program keeps a block of 512 samples in
the first-level cache from the points to the histogram: it has no traffic between stages.""")


def _lanes() -> int:
    """Doubles in a vector of this processor."""
    try:
        return 8 if "avx512f" in Path("/proc/cpuinfo").read_text() else 4
    except OSError:
        return 4


def _clock() -> float:
    """The processor's clock [Hz], as it tells; 2.5 GHz where it does not."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return 2.5e9
    found = [float(line.split(":")[1]) for line in text.splitlines() if line.startswith("cpu MHz")]
    return 1e6 * max(found) if found else 2.5e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10^6 and 10^7 samples only")
    parser.add_argument("--largest", type=float, default=1e9, help="largest size of the table (default 1e9)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers-only", action="store_true")
    for flag in ("samples", "process", "processes", "port", "core"):
        parser.add_argument(f"--{flag}", type=int, default=1 if flag == "processes" else None, help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        measured(arguments)
        return
    print(f"load average at the start: {os.getloadavg()[0]:.1f}")
    if not arguments.peers_only:
        rows = sizes(1e7 if arguments.quick else arguments.largest, arguments.rounds)
        same_everywhere(rows)
        memory = [told["memory"] for layout, told in rows if layout == "1 process, 1 device"]
        print(f"peak memory of one process: {min(memory) / 1e6:.0f} to {max(memory) / 1e6:.0f} MB")
        largest = max(told["samples"] for layout, told in rows if "1 core" in layout)
        pair = {layout: told["rate"] for layout, told in rows if told["samples"] == largest}
        print(f"two processes: {pair['2 processes'] / pair['1 process, 1 core']:.2f} x one process pinned to one core")
    peers(1 << 22 if arguments.quick else 1 << 26, arguments.rounds)
    print(f"load average at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
