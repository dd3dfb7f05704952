"""A whole step on own GPUs: its parts add up, the split is optimal, and slopes are right."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from figures_by_hand import cluster, figures, slopes_error

from tinker_nomics.boundary import x64
from tinker_nomics.formulas.fitted import coefficients
from tinker_nomics.formulas.own_step import StepTimes, StepWork, TrainerFigures, step_times
from tinker_nomics.formulas.train_flop import train_flop

MODEL = figures("Qwen3-8B")
FIT = coefficients("rl_step")
TRAINER = TrainerFigures(
    FIT["mfu_dense"], FIT["mfu_moe"], FIT["mfu_power"], FIT["fixed_seconds"], MODEL.weight_bytes, FIT["sync_rate"]
)
CLUSTER = cluster(
    gpus=16.0,
    decode_efficiency=FIT["decode_efficiency"],
    block_seconds=FIT["block_seconds"],
    token_seconds=FIT["token_seconds"],
)
with x64():
    FLOP = float(train_flop(1200.0, MODEL, 0.0, 1.0, 1.0, "full"))


def work(**changes: float) -> StepWork:
    base = StepWork(
        sequences=1024.0,
        mean=1000.0,
        sigma=0.8,
        cap=4096.0,
        prompt=200.0,
        observed=0.0,
        prefill_tokens=204_800.0,
        trained_tokens=1_228_800.0,
        train_flop=0.0,
        extra_train_seconds=0.0,
        bound=0.0,
    )
    return replace(base, **({"train_flop": FLOP} | changes))


def times(kind: str, share: float | None = None, **changes: float) -> StepTimes:
    with x64():
        return jax.tree.map(float, step_times(work(**changes), MODEL, CLUSTER, TRAINER, kind, share, 4.0))


def test_a_synchronous_step_is_the_sum_of_its_parts() -> None:
    step = times("sync")
    assert float(step.total) == pytest.approx(sum(map(float, (step.rollout, step.train, step.fixed, step.sync))))
    assert 0 < float(step.tail) < float(step.rollout)


def test_streaming_lies_between_the_longer_phase_and_the_sum() -> None:
    step, streamed = times("sync"), times("stream_minibatch")
    assert max(float(step.rollout), float(step.train + step.fixed)) < float(streamed.total) < float(step.total)


def test_the_split_that_is_found_is_the_best() -> None:
    best = times("async", bound=1.0)
    assert float(best.branches["longer_side"]) == pytest.approx(0.0, abs=1e-6 * float(best.total))
    for share in np.linspace(0.1, 0.9, 17):
        assert float(times("async", share=float(share), bound=1.0).total) >= float(best.total) * (1 - 1e-9)


def test_more_steps_in_flight_do_not_slow_rollouts() -> None:
    assert float(times("async", share=0.5, bound=4.0).rollout) <= float(times("async", share=0.5, bound=1.0).rollout)


@pytest.mark.parametrize("kind", ["sync", "stream_minibatch", "async"])
def test_slopes(kind: str) -> None:
    def total(sequences, mean, bandwidth, mfu):
        where = replace(CLUSTER, chip=replace(CLUSTER.chip, bandwidth=bandwidth))
        trainer = replace(TRAINER, mfu_dense=mfu)
        task = work(sequences=sequences, mean=mean, bound=1.0)
        return step_times(task, MODEL, where, trainer, kind, None, 4.0).total

    assert slopes_error(total, 1000.0, 900.0, 3e12, 0.3) < 1e-5


def test_rollouts_that_carry_over_have_no_tail() -> None:
    step, partial = times("sync"), times("partial")
    assert float(partial.tail) == 0.0
    assert float(partial.total) == pytest.approx(float(step.total) - float(step.tail))
