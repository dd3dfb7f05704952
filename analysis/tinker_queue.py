"""Simulate Tinker's asynchronous training queue, event by event, and print the share of groups thrown away as stale.

The rules, as the public cookbook's asynchronous training loop has them (August 2026):

* B workers, one group each, always busy: a worker that finishes starts the next group at once;
* a group's version is the step counter when its rollout started, and a rollout in flight keeps its sampler;
* the trainer dequeues first in, first out; a group is stale iff step - version > k, tested only when it is dequeued;
* a stale group is discarded and its prompt goes to the back of the queue;
* a step trains when exactly B fresh groups have accumulated; the counter moves on when training ends.

Workers never wait for the trainer, so their starts and ends are renewal processes that can be drawn beforehand. A group
is stale at step s iff it started before the counter reached s - k: the trainer's side is then one scan per step.

    python analysis/tinker_queue.py                 the table: rho, k, share discarded
    python analysis/tinker_queue.py --batch 32 --cv 0.5
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

STEPS = 500
LOOK_AHEAD = 4  # groups scanned at a time, in batches


@dataclass(frozen=True)
class QueueRun:
    """What one simulated run did: groups finished (those still queued included), groups discarded, time per step."""

    completed: int
    discarded: int
    step_time: float

    @property
    def discard(self) -> float:
        """Discarded groups over finished ones."""
        return self.discarded / self.completed


def log_normal_times(rng: np.random.Generator, shape: tuple[int, int], cv: float) -> np.ndarray:
    """Group times of mean 1 and coefficient of variation `cv`; all equal at cv = 0."""
    if cv == 0:
        return np.ones(shape)
    sigma = np.sqrt(np.log1p(cv * cv))
    return np.exp(rng.normal(-sigma * sigma / 2, sigma, shape))


class _Completions:
    """Groups in the order in which they finish, drawn as far ahead as the trainer asks for."""

    def __init__(self, batch: int, cv: float, seed: int):
        self.batch, self.cv = batch, cv
        self.rng = np.random.default_rng(seed)
        self.clock = np.zeros((batch, 1))
        self.waiting = (np.empty(0), np.empty(0))  # drawn, but not yet surely in order
        self.start, self.finish = np.empty(0), np.empty(0)

    def ensure(self, count: int) -> None:
        """Hold at least `count` completions in order of finish."""
        while len(self.finish) < count:
            times = log_normal_times(self.rng, (self.batch, 64), self.cv)
            ends = self.clock + np.cumsum(times, axis=1)
            starts = np.concatenate([self.clock, ends[:, :-1]], axis=1)
            self.clock = ends[:, -1:]
            start = np.concatenate([self.waiting[0], starts.ravel()])
            finish = np.concatenate([self.waiting[1], ends.ravel()])
            order = np.argsort(finish, kind="stable")
            start, finish = start[order], finish[order]
            # every worker is drawn up to its own clock: only what ends before the earliest clock is complete
            sure = int(np.searchsorted(finish, self.clock.min(), side="right"))
            self.start = np.concatenate([self.start, start[:sure]])
            self.finish = np.concatenate([self.finish, finish[:sure]])
            self.waiting = (start[sure:], finish[sure:])

    def finished_by(self, time: float) -> int:
        """Groups that have ended at `time`."""
        while self.clock.min() < time:
            self.ensure(len(self.finish) + 1)
        return int(np.searchsorted(self.finish, time, side="right"))


def simulate(
    rho: float, k: int, batch: int = 128, cv: float = 1.0, steps: int = STEPS, warm_up: int = 0, seed: int = 0
) -> QueueRun:
    """One run of the queue.

    Args:
        rho: training time of a step over the mean time of a group.
        k: the staleness bound, in steps.
        batch: B, workers and groups per step.
        cv: coefficient of variation of log-normal group times of mean 1.
        steps: training steps that are counted.
        warm_up: steps before those, run but not counted.

    Returns:
        Counts and the mean step time, in mean group times.
    """
    groups = _Completions(batch, cv, seed)
    reached = np.zeros(steps + warm_up + 1)  # the time at which the counter reached each step
    taken, free_at = 0, 0.0
    taken_before, began = 0, 0.0
    for step in range(steps + warm_up):
        if step == warm_up:
            taken_before, began = taken, free_at
        oldest = reached[max(step - k, 0)]
        fresh = 0
        while True:
            groups.ensure(taken + LOOK_AHEAD * batch)
            is_fresh = groups.start[taken : taken + LOOK_AHEAD * batch] >= oldest
            running = fresh + np.cumsum(is_fresh)
            if running[-1] >= batch:
                taken += int(np.searchsorted(running, batch)) + 1
                break
            fresh = int(running[-1])
            taken += LOOK_AHEAD * batch
        free_at = max(free_at, groups.finish[taken - 1]) + rho
        reached[step + 1] = free_at
    completed = groups.finished_by(free_at) - groups.finished_by(began)
    return QueueRun(completed, taken - taken_before - steps * batch, (free_at - began) / steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batch", type=int, default=128, help="groups per step, and workers (default 128)")
    parser.add_argument("--cv", type=float, nargs="+", default=[1.0, 0.3], help="variation of group times")
    parser.add_argument("--rho", type=float, nargs="+", default=[0.1, 0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--bound", type=int, nargs="+", default=[0, 1, 2, 4, 8], help="staleness bounds k")
    parser.add_argument("--steps", type=int, default=STEPS)
    given = parser.parse_args()
    print(f"share of groups discarded, B = {given.batch}, {given.steps} steps")
    print("   cv   rho " + "".join(f"{'k = ' + str(k):>9}" for k in given.bound))
    for cv in given.cv:
        for rho in given.rho:
            shares = [simulate(rho, k, given.batch, cv, given.steps).discard for k in given.bound]
            print(f"{cv:5.2f} {rho:5.2f} " + "".join(f"{share:9.3f}" for share in shares))


if __name__ == "__main__":
    main()
