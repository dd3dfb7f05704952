"""One training step on own GPUs, revised edition: rollouts, training and the rest, by kind of schedule. Seconds.

    sync               T = R + L + fixed + sync
    partial            the same, where unfinished rollouts carry over to the next step: R without a tail
    stream_minibatch   T = R + L - hidden + fixed + sync
    async              T = max(R(phi), L(1 - phi) + fixed) + sync, on a pool split phi : 1 - phi

R are the rollouts with prefill, L training with the old-policy pass, `fixed` is the trainer's own overhead and `sync`
moves the weights, which stops both sides. Three deviations shape the step and can be switched off: then rollouts have no
tail, an asynchronous step takes the longer of two phases that each have all GPUs, and so does stream_minibatch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..assumptions import either, may_be_on
from ..config import Number
from .figures import ClusterFigures, ModelFigures
from .lengths import median_from_mean
from .long_tail import Refilled, refilled, synchronous_seconds
from .pool_split import balanced_share, stream_minibatch_seconds
from .utilisation import utilisation


class StepWork(eqx.Module):
    """What one step has to do.

    `observed` are tokens of the environment per sampled token; `mean` is sampled tokens per rollout over all its turns.
    """

    sequences: Number
    mean: Number  # [tokens]
    sigma: Number  # of the logarithm of a rollout's length [1]
    cap: Number  # on a rollout's sampled tokens; infinity for none
    prompt: Number  # [tokens]
    observed: Number  # [1]
    prefill_tokens: Number  # computed, not found in a cache
    trained_tokens: Number
    train_flop: Number  # per trained token, passes before training included [FLOP]
    extra_train_seconds: Number  # sandboxes that the step waits for [s]
    bound: Number  # staleness bound k [steps]
    evaluated: Number = 0.0  # rollouts of evaluations per rollout of training [1]
    sampled: Number = 1.0  # rollouts sampled for each that is kept [1]


class TrainerFigures(eqx.Module):
    """How well the trainer does: its MFU surface, its own seconds per step, how fast new weights reach the engines."""

    mfu_dense: Number
    mfu_moe: Number
    mfu_power: Number
    fixed_seconds: Number
    sync_bytes: Number
    sync_rate: Number  # [B/s]
    experts: Number = None  # of a layer, for the MFU; None takes the model's


class StepSwitches(NamedTuple):
    """The deviations that shape a step; each may be traced."""

    long_tail: Any = True
    pool_split: Any = True
    stream_minibatch: Any = True


ALL_ON = StepSwitches()


class StepTimes(eqx.Module):
    """Seconds of a step and of its parts; `share` is the rollouts' part of the pool, 1 where nothing is split."""

    decode: Number
    prefill: Number
    tail: Number  # of the decode, what a batch that stays full would not need
    train: Number
    fixed: Number
    sync: Number
    share: Number
    total: Number
    branches: dict[str, Number]

    @property
    def rollout(self) -> Number:
        """Decode and prefill."""
        return self.decode + self.prefill


def prefill_seconds(work: StepWork, share: Number, model: ModelFigures, cluster: ClusterFigures) -> Number:
    """tokens 2 N/(GPUs rate efficiency) (1 + evaluated): prefill on `share` of the GPUs."""
    rate = share * cluster.gpus * cluster.chip.matrix_rate * cluster.prefill_efficiency
    return work.prefill_tokens * 2 * model.matrix_parameters / rate * (1 + work.evaluated)


def decode_seconds(
    work: StepWork,
    share: Number,
    model: ModelFigures,
    cluster: ClusterFigures,
    steady: Refilled,
    waits: bool,
    long_tail: Any = True,
) -> Number:
    """Decode of a step's sequences on `share` of the GPUs, spread evenly over the replicas.

    Args:
        steady: a replica that is refilled.
        waits: whether everyone waits for the longest; else new rollouts start as old ones end, and k steps' worth of
            rollouts are in flight.
        long_tail: where off, all rollouts end together and only their own step's worth is in flight.
    """
    each = _each(work, share, cluster)

    def tail() -> Number:
        median = median_from_mean(work.mean, work.sigma, work.cap)
        some = jnp.where(each >= 1, each, 1.0)
        return synchronous_seconds(some, median, work.sigma, work.cap, work.prompt, work.observed, model, cluster)

    def ahead() -> Number:
        return steady.seconds(each, each * jnp.where(work.bound >= 1, work.bound, 1.0))

    seconds = either(long_tail, lambda: steady.seconds(each, each), tail if waits else ahead)
    return seconds * work.sampled * (1 + work.evaluated)


def _each(work: StepWork, share: Number, cluster: ClusterFigures) -> Number:
    """Sequences of a step per replica."""
    return work.sequences * cluster.tensor_parallel / (share * cluster.gpus)


def train_seconds(
    work: StepWork, share: Number, model: ModelFigures, cluster: ClusterFigures, trainer: TrainerFigures
) -> Number:
    """tokens FLOP / (GPUs rate MFU(tokens per GPU)) on `share` of the GPUs.

    **Kinks:** those of the MFU surface.
    """
    gpus = share * cluster.gpus
    experts = model.experts if trainer.experts is None else trainer.experts
    mfu = utilisation(work.trained_tokens / gpus, experts, trainer.mfu_dense, trainer.mfu_moe, trainer.mfu_power)
    return work.trained_tokens * work.train_flop / (gpus * cluster.chip.matrix_rate * mfu)


def step_times(
    work: StepWork,
    model: ModelFigures,
    cluster: ClusterFigures,
    trainer: TrainerFigures,
    kind: str,
    share: Number | None = None,
    minibatches: Number = 1.0,
    switches: StepSwitches = ALL_ON,
) -> StepTimes:
    """The seconds of one step.

    Args:
        kind: "sync", "partial", "stream_minibatch" or "async".
        share: phi of an asynchronous pool; None takes the one at which both sides take equally long.
        minibatches: m of stream_minibatch.

    **Kinks:** where the two sides of an asynchronous pool are equal (margin `longer_side`); where stream_minibatch
    hides all that it can (margin `hidden`).
    """
    sync = trainer.sync_bytes / trainer.sync_rate
    fixed = trainer.fixed_seconds + work.extra_train_seconds
    steady = refilled(work.mean, work.prompt, work.observed, model, cluster)
    if kind == "async":
        return _asynchronous(work, model, cluster, trainer, share, switches, fixed, sync, steady)
    decode = decode_seconds(work, 1.0, model, cluster, steady, kind != "partial", switches.long_tail)
    prefill = prefill_seconds(work, 1.0, model, cluster)
    train = train_seconds(work, 1.0, model, cluster, trainer)
    if kind == "partial":
        tail = 0.0 * decode
    else:
        each = _each(work, 1.0, cluster)
        full = steady.seconds(each, each)
        tail = either(
            switches.long_tail, lambda: 0.0 * decode, lambda: decode - full * work.sampled * (1 + work.evaluated)
        )
    rollout = decode + prefill
    if kind in ("sync", "partial"):
        return StepTimes(decode, prefill, tail, train, fixed, sync, 1.0, rollout + train + fixed + sync, {})
    hidden, margin = stream_minibatch_seconds(rollout, train, tail, minibatches)
    side = rollout - train - fixed
    longer = jnp.where(side >= 0, rollout, train + fixed)
    total = either(switches.stream_minibatch, lambda: longer, lambda: hidden + fixed) + sync
    margins = {"longer_side": side} | ({"hidden": margin} if may_be_on(switches.stream_minibatch) else {})
    return StepTimes(decode, prefill, tail, train, fixed, sync, 1.0, total, margins)


def _asynchronous(
    work: StepWork,
    model: ModelFigures,
    cluster: ClusterFigures,
    trainer: TrainerFigures,
    share: Number | None,
    switches: StepSwitches,
    fixed: Number,
    sync: Number,
    steady: Refilled,
) -> StepTimes:
    prefill = prefill_seconds(work, 1.0, model, cluster)

    def decoding(part: Number) -> Number:
        return decode_seconds(work, part, model, cluster, steady, False, switches.long_tail)

    def training(part: Number) -> Number:
        return train_seconds(work, part, model, cluster, trainer)

    def sides(part: Number, rest: Number) -> tuple[Number, Number, Number]:
        return decoding(part), prefill / part, training(rest)

    def divided() -> tuple[Number, tuple[Number, Number, Number]]:
        part = share
        if part is None:
            shapes = (jnp.shape(leaf) for leaf in jax.tree.leaves((work, model, cluster, trainer, switches)))
            part = balanced_share(
                lambda some: decoding(some) + prefill / some,
                lambda some: training(some) + fixed,
                jnp.zeros(jnp.broadcast_shapes(*shapes)),
            )
        return part, sides(part, 1 - part)

    part, (decode, prefill, train) = either(switches.pool_split, lambda: (1.0, sides(1.0, 1.0)), divided)
    side = decode + prefill - train - fixed
    total = jnp.where(side >= 0, decode + prefill, train + fixed) + sync
    return StepTimes(decode, prefill, 0.0 * decode, train, fixed, sync, part, total, {"longer_side": side})
