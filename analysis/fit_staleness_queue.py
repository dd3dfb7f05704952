"""Fit the finite-batch width of the discarded share to the simulated queue, and state the error over the grid.

python analysis/fit_staleness_queue.py            print the fit
python analysis/fit_staleness_queue.py --write    and write it to tinker_nomics/formulas/fitted.toml
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from fitted_table import write_table
from scipy.optimize import least_squares
from scipy.special import ndtr
from tinker_queue import simulate

import tinker_nomics.formulas.staleness_queue as queue
from tinker_nomics.boundary import x64

RHO = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0)
BOUND = (0, 1, 2, 4, 8)
BATCH = (4, 8, 16, 32, 64, 128, 512)
VARIATION = (0.15, 0.3, 0.6, 1.0, 1.5, 2.0)
GROUPS = 64_000  # trained groups per simulation, at least 500 steps
START = (0.5, 0.5, -0.5)


def grid() -> np.ndarray:
    """Every (rho, k, B, cv) of the grid, one a row."""
    return np.array(list(itertools.product(RHO, BOUND, BATCH, VARIATION)), dtype=np.float64)


def simulated(points: np.ndarray) -> np.ndarray:
    """The discarded share of each point in the steady state: from the step length, which has no edge effects."""
    shares = []
    for rho, k, batch, cv in points:
        steps = max(500, int(GROUPS / batch))
        run = simulate(rho, int(k), int(batch), cv, steps, warm_up=50, seed=1)
        shares.append(1 - steps * batch / run.completed)
    return np.array(shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the coefficients into the package")
    given = parser.parse_args()
    points = grid()
    measured = simulated(points)
    rho, bound, batch, cv = points.T
    with x64():
        tau = np.asarray(queue.unlimited_step(rho, bound, cv))

    def shares(x: np.ndarray) -> np.ndarray:
        width = x[0] * cv ** x[1] * batch ** x[2]
        z = (tau - rho) / width
        length = rho + width * (z * ndtr(z) + np.exp(-z * z / 2) / np.sqrt(2 * np.pi))
        return np.maximum(1 - 1 / length, 0.0)

    fit = least_squares(lambda x: shares(x) - measured, START)
    error = np.abs(shares(fit.x) - measured)
    sharp = np.abs(np.maximum(1 - 1 / np.maximum(tau, rho), 0.0) - measured)
    worst = {int(size): float(error[batch == size].max()) for size in BATCH}
    print(f"width = {fit.x[0]:.4f} cv^{fit.x[1]:.4f} B^{fit.x[2]:.4f}, {len(points)} simulations")
    print(f"error: mean {error.mean():.4f}, 99th percentile {np.quantile(error, 0.99):.4f}, worst {error.max():.4f}")
    print(f"without the width: mean {sharp.mean():.4f}, worst {sharp.max():.4f}")
    for size, value in worst.items():
        at = points[(batch == size) & (error == value)][0]
        print(f"  B = {size:4d}: worst {value:.4f} at rho = {at[0]:g}, k = {at[1]:g}, cv = {at[3]:g}")
    if given.write:
        about = {
            "script": "analysis/fit_staleness_queue.py",
            "data": f"{len(points)} simulations by analysis/tinker_queue.py: rho {RHO[0]:g}-{RHO[-1]:g}, "
            f"k {BOUND[0]}-{BOUND[-1]}, B {BATCH[0]}-{BATCH[-1]}, cv {VARIATION[0]:g}-{VARIATION[-1]:g}",
            "mean_error": float(error.mean()),
            "worst_error": float(error.max()),
            "worst_error_from_batch_64": max(worst[size] for size in BATCH if size >= 64),
        }
        values = dict(zip(("scale", "variation_power", "batch_power"), map(float, fit.x), strict=True))
        write_table("staleness_queue", about, values)


if __name__ == "__main__":
    main()
