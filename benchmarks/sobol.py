"""Sobol' indices of the cost model, ours beside SALib's, in the same run. Run: python benchmarks/sobol.py

Ten uncertain inputs, four outputs, first-order and total indices, float64. Both evaluate the same published model, ours as
`tn.cost_model.evaluate` and SALib's as `tests/oracle.py` on NumPy arrays (only what the four outputs need), at the same number
of evaluations. Times hold everything from the distributions to the indices with their errors: SALib's from its bootstrap of
100 resamples, ours from 16 independent scrambles. Contestants take turns and the best round counts; our first call, which
compiles, stands apart. The run ends with an error where an index of ours and SALib's differ by more than four standard errors
of their difference.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "tests")]

from hand_config import hand_config  # noqa: E402
from uncertain_run import INPUTS, OUTPUTS, SalibIndices, salib_indices  # noqa: E402

from tinker_nomics.cli.text_table import table  # noqa: E402
from tinker_nomics.report_outputs import report_outputs  # noqa: E402
from tinker_nomics.uncertainty import SobolIndices, sobol_indices  # noqa: E402

REPLICATES, SIZES = 16, 4.0


def seconds_of(points: int) -> tuple[float, SobolIndices]:
    """Wall time of our indices from `points` base points in all, and the indices."""
    started = time.perf_counter()
    found = sobol_indices(
        report_outputs, INPUTS, points, REPLICATES, base=hand_config(), outputs=OUTPUTS, progress=False
    )
    return time.perf_counter() - started, found


def side_by_side(found: SobolIndices, peer: SalibIndices, output: str) -> tuple[list[list[str]], float]:
    """Rows of one output, and the largest difference in standard errors of the difference."""
    rows, largest = [], 0.0
    parts = peer.indices[output]
    for place, name in enumerate(INPUTS):
        row = [name]
        for label, values, errors in (("S1", found.s1, found.s1_error), ("ST", found.st, found.st_error)):
            own, error = values[output][name], errors[output][name]
            other, other_error = float(parts[label][place]), float(parts[f"{label}_conf"][place]) / 1.96
            both = max((error**2 + other_error**2) ** 0.5, 1e-12)
            largest = max(largest, abs(own - other) / both)
            row += [f"{own:8.5f} ± {error:.5f}", f"{other:8.5f} ± {other_error:.5f}"]
        rows.append(row)
    rows.sort(key=lambda row: -found.st[output][row[0]])
    return rows, largest


def main() -> None:
    """Race, print, and hold the two against each other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log2", type=int, default=16, help="base points as a power of two (default 16)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of SALib, and ten times as many of ours")
    args = parser.parse_args()
    points = 1 << args.log2
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {len(INPUTS)} inputs, {len(OUTPUTS)} outputs")
    first, found = seconds_of(points)
    peer = salib_indices(64)  # warms its imports up
    best: dict[str, float] = {}
    for _ in range(args.rounds):
        peer = salib_indices(points)
        best["SALib"] = min(best.get("SALib", math.inf), sum(peer.seconds.values()))
        for _ in range(10):
            spent, found = seconds_of(points)
            best["ours"] = min(best.get("ours", math.inf), spent)
    assert found.evaluations == peer.evaluations, "the two were not given the same number of evaluations"
    header = ["", "S1 ours", "S1 SALib", "ST ours", "ST SALib"]
    largest = 0.0
    for output in OUTPUTS:
        rows, far = side_by_side(found, peer, output)
        print(f"\n{output} (± one standard error)\n{table(rows, header, 'lrrrr')}")
        largest = max(largest, far)
    print(f"\nevaluations of the model: ours {found.evaluations:,}, SALib {peer.evaluations:,}")
    print(f"first call, with compilation: {first:.2f} s")
    print(
        f"after it: ours {1e3 * best['ours']:.1f} ms, SALib {best['SALib']:.2f} s: {best['SALib'] / best['ours']:.0f} times as "
        f"fast, load {os.getloadavg()[0]:.1f}"
    )
    parts = ", ".join(f"{name} {spent:.2f} s" for name, spent in peer.seconds.items())
    print(f"SALib's last round: {parts}")
    print(f"largest difference: {largest:.2f} standard errors of the difference ({SIZES:g} are allowed)")
    if largest > SIZES:
        raise SystemExit("the two disagree")


if __name__ == "__main__":
    main()
