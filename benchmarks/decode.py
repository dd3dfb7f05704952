"""A grid of decode prices: 50 chips x 8 widths x 64 contexts of an 8B model, beside a loop over scalar calls.

    python benchmarks/decode.py [--repeats N]

25,600 points, every stage of the chain priced, sums returned. Goal: under 0.05 s after compilation on two cores. The
header is typed here with the published geometry of Llama 3.1 8B (32 blocks, width 4096, 32 heads, 8 key/value heads of
128, 14,336 columns, 128,256 tokens), stored as bf16.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import time

import numpy as np

import tinker_nomics as tn
from tinker_nomics.decode.grid import GridPricer, stack_chips
from tinker_nomics.decode.price_table import PriceTable
from tinker_nomics.hardware import PRECISIONS, Machine, Topology

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128)
CONTEXTS = tuple(int(context) for context in np.geomspace(1024, 131072, 64))
GOAL_S = 0.05


def header() -> tn.HeaderSource:
    """Llama 3.1 8B by its published geometry."""
    width, columns, key, vocabulary = 4096, 14336, 1024, 128256
    tensors: list[list] = [
        ["token_embd.weight", "BF16", [width, vocabulary]],
        ["output_norm.weight", "F32", [width]],
        ["output.weight", "BF16", [width, vocabulary]],
    ]
    shapes = {
        "attn_q": [width, width], "attn_k": [width, key], "attn_v": [width, key], "attn_output": [width, width],
        "ffn_gate": [width, columns], "ffn_up": [width, columns], "ffn_down": [columns, width],
    }  # fmt: skip
    for block in range(32):
        tensors += [[f"blk.{block}.{name}.weight", "F32", [width]] for name in ("attn_norm", "ffn_norm")]
        tensors += [[f"blk.{block}.{name}.weight", "BF16", dims] for name, dims in shapes.items()]
    metadata = {
        "general.architecture": "llama", "llama.block_count": 32, "llama.embedding_length": width,
        "llama.feed_forward_length": columns, "llama.attention.head_count": 32, "llama.attention.head_count_kv": 8,
        "llama.context_length": 131072, "llama.rope.dimension_count": 128,
    }  # fmt: skip
    return tn.HeaderSource.from_ledger({"metadata": metadata, "tensors": tensors})


def chips(count: int = 50) -> list[tn.Chip]:
    """Chips of the catalog with a bandwidth, every other one given the terms of a prediction and room for the model."""
    known = [chip for chip in tn.catalog.chips() if chip.bandwidth is not None]
    chosen = []
    for i in range(count):
        chip = known[i % len(known)]
        if i % 2 == 0:
            link = tn.Link(bandwidth_per_chip=3e11, latency=2e-6, topology=Topology.ALL_TO_ALL)
            chip = dataclasses.replace(chip, stage_overhead=2e-6, link=link)
        chosen.append(dataclasses.replace(chip, id=f"{chip.id}-{i}"))
    return chosen


def seconds_of(call, repeats: int) -> list[float]:
    """Wall seconds of each of `repeats` calls."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=30)
    args = parser.parse_args()
    held, machines = header(), chips()
    rents: list[float | None] = [2.5] * len(machines)

    start = time.perf_counter()
    steps = [tn.decode_step(held, tn.Deployment(context=context)) for context in CONTEXTS]
    made = time.perf_counter() - start
    start = time.perf_counter()
    pricer = GridPricer(steps)
    arrays, counts = stack_chips(machines, rents), np.array(WIDTHS, dtype=np.float64)
    prepared = time.perf_counter() - start
    start = time.perf_counter()
    values = pricer(arrays, counts, -1)
    first = time.perf_counter() - start
    taken = seconds_of(lambda: pricer(arrays, counts, -1), args.repeats)
    median = statistics.median(taken)

    axes = {"chip": tuple(chip.id for chip in machines), "width": WIDTHS, "context": CONTEXTS}
    table = PriceTable.from_arrays(values, axes, PRECISIONS)
    points = table.floor.size
    sample = [(chip, width, k) for chip in machines[::7] for width in WIDTHS[:4] for k in (0, 40)]
    priced = _loop(sample, steps)
    one = min(seconds_of(lambda: _loop(sample, steps), 3)) / len(sample)
    worst = max(
        abs(cost.floor / float(table.floor[machines.index(chip), WIDTHS.index(width), k]) - 1)
        for (chip, width, k), cost in zip(sample, priced, strict=True)
        if cost is not None
    )
    print(f"{os.cpu_count()} cores; {points:,} points = {len(machines)} chips x {len(WIDTHS)} widths x {len(CONTEXTS)}"
          f" contexts; {len(steps[0].stages)} stages, {len(pricer.chain.count)} of them distinct")  # fmt: skip
    print(f"steps of {len(CONTEXTS)} contexts from the header  {made * 1e3:9.1f} ms, once")
    print(f"merging stages, stacking chips           {prepared * 1e3:9.1f} ms, once")
    print(f"first call: trace, compile, price        {first * 1e3:9.1f} ms, once")
    print(f"every later call, median of {args.repeats:<3}          {median * 1e3:9.2f} ms"
          f"  (least {min(taken) * 1e3:.2f}, most {max(taken) * 1e3:.2f}):"
          f" {points / median / 1e6:.1f} million points/s")  # fmt: skip
    print(f"a loop over scalar calls                 {one * points * 1e3:9.1f} ms  ({one * 1e3:.2f} ms each,"
          f" {len(sample)} measured): {one * points / median:.0f} times longer")  # fmt: skip
    print(f"predicted: {int(table.predicted.sum()):,} points; refused whole: {int((~table.priced).sum()):,};"
          f" largest difference of a floor from the loop's: {worst:.1e}")  # fmt: skip
    print(f"goal {GOAL_S * 1e3:.0f} ms: {'met' if median < GOAL_S else 'MISSED'}")
    return 0 if median < GOAL_S else 1


def _loop(sample: list[tuple], steps: list) -> list:
    priced = []
    for chip, width, k in sample:
        try:
            priced.append(tn.price(steps[k], Machine(chip, width, 2.5), "best"))
        except tn.DecodeRefusal:
            priced.append(None)
    return priced


if __name__ == "__main__":
    raise SystemExit(main())
