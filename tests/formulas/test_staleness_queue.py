"""The discarded share: the simulation against its published table, the formula against the simulation."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from analysis_scripts import script
from figures_by_hand import slopes_error
from shared_folder import SHARED

from tinker_nomics.boundary import x64
from tinker_nomics.formulas.fitted import about
from tinker_nomics.formulas.staleness_queue import (
    billed_multiplier,
    discarded_share,
    partial_integral,
    unlimited_step,
)

queue = script("tinker_queue")


def share(rho: float, k: float, batch: float, cv: float) -> float:
    with x64():
        return float(discarded_share(rho, k, batch, cv))


def slow_simulation(rho: float, k: int, batch: int, cv: float, steps: int, seed: int) -> tuple[int, int]:
    """The same rules event by event, worker by worker: taken and discarded groups."""
    import heapq

    rng = np.random.default_rng(seed)
    events: list[tuple[float, int]] = []

    def begin(now: float) -> None:
        heapq.heappush(events, (now + float(queue.log_normal_times(rng, (1, 1), cv)[0, 0]), step))

    step, fresh, taken, discarded, busy_until = 0, 0, 0, 0, 0.0
    waiting: list[int] = []
    for _ in range(batch):
        begin(0.0)
    while step < steps:
        training = busy_until > 0
        if training and (not events or busy_until <= events[0][0]):
            now, busy_until, step, fresh = busy_until, 0.0, step + 1, 0
        else:
            now, version = heapq.heappop(events)
            waiting.append(version)
            begin(now)
        while busy_until == 0.0 and waiting and step < steps:
            version = waiting.pop(0)
            taken += 1
            if step - version > k:
                discarded += 1
            else:
                fresh += 1
                if fresh == batch:
                    busy_until = now + rho
    return taken, discarded


@pytest.mark.skipif(SHARED is None, reason="the specification is not here")
def test_the_simulation_gives_the_table() -> None:
    assert SHARED is not None
    table = json.loads((SHARED / "truth" / "rl_runs.json").read_text())["async_simulation"]["table"]
    worst_simulated = worst_formula = 0.0
    for row in table:
        for k, expected in row["discard"].items():
            run = queue.simulate(row["rho"], int(k), 128, row["cv"], 500)
            worst_simulated = max(worst_simulated, abs(run.discard - expected))
            # the table's 500 steps end with a queue that is still full; the formula is the steady state
            edge = 0.021 if row["rho"] > 1 and int(k) > 2 else 0.01
            worst_formula = max(worst_formula, abs(share(row["rho"], float(k), 128.0, row["cv"]) - expected) - edge)
    assert worst_simulated < 0.01
    assert worst_formula <= 0


@pytest.mark.parametrize(("rho", "k", "cv"), [(0.3, 1, 1.0), (1.5, 2, 0.5), (0.0001, 0, 0.3), (0.8, 0, 1.0)])
def test_the_scan_follows_the_rules_event_by_event(rho: float, k: int, cv: float) -> None:
    taken, discarded = slow_simulation(rho, k, 32, cv, 1500, seed=3)
    run = queue.simulate(rho, k, 32, cv, 1500, seed=4)
    assert run.discard == pytest.approx(discarded / taken, abs=0.012)


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9, 1.3, 3.0])
@pytest.mark.parametrize("k", [0, 1, 2, 4])
@pytest.mark.parametrize("cv", [0.2, 0.8, 1.5])
def test_the_formula_agrees_with_the_simulation_off_the_fitted_grid(rho: float, k: int, cv: float) -> None:
    run = queue.simulate(rho, k, 96, cv, 1000, warm_up=50, seed=7)
    steady = 1 - 1000 * 96 / run.completed
    assert share(rho, float(k), 96.0, cv) == pytest.approx(steady, abs=0.015)


def test_small_batches_stay_within_the_declared_error() -> None:
    worst = about("staleness_queue")["worst_error"]
    assert worst < 0.08
    for rho, k, batch, cv in [(1.1, 1, 4, 2.0), (0.5, 0, 8, 1.0), (1.0, 2, 8, 2.0), (0.75, 4, 16, 1.5)]:
        run = queue.simulate(rho, k, batch, cv, 8000, warm_up=50, seed=11)
        assert abs(share(rho, k, batch, cv) - (1 - 8000 * batch / run.completed)) < worst + 0.005


def test_limits() -> None:
    for k in (1.0, 2.0, 8.0):
        assert share(3.0, k, 256.0, 0.5) == pytest.approx(1 - 1 / 3, abs=0.005)
    falling = [share(0.5, k, 128.0, 1.0) for k in (0.0, 1.0, 2.0, 4.0, 8.0)]
    assert all(a > b for a, b in itertools.pairwise(falling))
    assert share(0.1, 4.0, 128.0, 0.15) == pytest.approx(0.0, abs=1e-4)


def test_the_partial_integral_is_that_of_the_distribution() -> None:
    from scipy.stats import lognorm

    sigma = np.sqrt(np.log1p(0.7**2))
    law = lognorm(sigma, scale=np.exp(-(sigma**2) / 2))
    grid = np.linspace(0, 2.5, 20001)
    with x64():
        assert float(partial_integral(2.5, 0.7)[0]) == pytest.approx(np.trapezoid(law.cdf(grid), grid), rel=1e-6)
        assert float(partial_integral(-1.0, 0.7)[0]) == 0.0


@pytest.mark.parametrize(
    ("rho", "k", "batch", "cv"), [(0.3, 1.0, 128.0, 0.5), (1.2, 2.0, 64.0, 1.0), (0.9, 0.0, 16.0, 0.3)]
)
def test_slopes(rho: float, k: float, batch: float, cv: float) -> None:
    assert slopes_error(lambda r, b, c: discarded_share(r, k, b, c), rho, batch, cv) < 1e-6
    assert slopes_error(lambda r, c: unlimited_step(r, k, c), rho, cv) < 1e-6


def test_discarded_groups_are_billed_again() -> None:
    assert billed_multiplier(0.5) == 2.0


def test_it_maps_over_arrays() -> None:
    with x64():
        shares = np.asarray(discarded_share(np.array([0.1, 1.0, 2.0]), 1.0, 128.0, 1.0))
    assert shares.shape == (3,) and np.all(np.diff(shares) > 0)


@pytest.mark.parametrize(("cv", "least"), [(0.1, 0.027), (0.3, 0.077), (1.0, 0.148)])
def test_a_trainer_that_takes_no_time_still_leaves_groups_too_old(cv, least):
    """At k = 1 a group that outlasts its two steps is stale, and a step lasts a mean group time: spread alone decides."""
    run = queue.simulate(1e-4, 1, 128, cv, 1000, warm_up=100, seed=3)
    assert share(1e-4, 1, 128, cv) == pytest.approx(least, abs=0.001)
    assert run.discard == pytest.approx(least, abs=0.005)
    assert share(1e-4, 1, 128, cv) < share(0.1, 1, 128, cv)
