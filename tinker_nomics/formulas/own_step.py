"""One training step on own GPUs, revised edition: rollouts, training and the rest, by kind of schedule. Seconds.

    sync               T = R + L + fixed + sync
    partial            the same, where unfinished rollouts carry over to the next step: R without a tail
    stream_minibatch   T = R + L - hidden + fixed + sync
    async              T = max(R(phi), L(1 - phi) + fixed) + sync, on a pool split phi : 1 - phi

R are the rollouts with prefill, L training with the old-policy pass, `fixed` is the trainer's own overhead and `sync`
moves the weights, which stops both sides.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from ..config import Number
from .figures import ClusterFigures, ModelFigures
from .lengths import median_from_mean
from .long_tail import refilled_seconds, synchronous_seconds
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
    extra_train_seconds: Number  # reference and reward models, evaluation, sandboxes that the step waits for [s]
    bound: Number  # staleness bound k [steps]


class TrainerFigures(eqx.Module):
    """How well the trainer does: its MFU surface, its own seconds per step, how fast new weights reach the engines."""

    mfu_dense: Number
    mfu_moe: Number
    mfu_power: Number
    fixed_seconds: Number
    sync_bytes: Number
    sync_rate: Number  # [B/s]


class StepTimes(eqx.Module):
    """Seconds of a step and of its parts; `share` is the rollouts' part of the pool, 1 where phases alternate."""

    rollout: Number
    tail: Number  # of the rollouts, what a batch that stays full would not need
    train: Number
    sync: Number
    share: Number
    total: Number
    branches: dict[str, Number]


def rollout_seconds(
    work: StepWork, share: Number, model: ModelFigures, cluster: ClusterFigures, refilled: bool
) -> Number:
    """Decode and prefill of a step's sequences on `share` of the GPUs.

    Prefill runs at matrix rate x prefill efficiency; sequences are spread evenly over the replicas.

    Args:
        refilled: whether new rollouts start as old ones end, so that nobody waits for the longest: k steps' worth of
            rollouts are then in flight.
    """
    gpus = share * cluster.gpus
    replicas = gpus / cluster.tensor_parallel
    each = work.sequences / replicas
    prefill = work.prefill_tokens * 2 * model.matrix_parameters
    prefill = prefill / (gpus * cluster.chip.matrix_rate * cluster.prefill_efficiency)
    if refilled:
        flying = each * jnp.where(work.bound >= 1, work.bound, 1.0)
        return prefill + refilled_seconds(each, flying, work.mean, work.prompt, work.observed, model, cluster)
    median = median_from_mean(work.mean, work.sigma, work.cap)
    decode = synchronous_seconds(
        each, median, work.sigma, work.cap, work.prompt, work.observed, model, cluster
    )
    return prefill + decode


def train_seconds(
    work: StepWork, share: Number, model: ModelFigures, cluster: ClusterFigures, trainer: TrainerFigures
) -> Number:
    """tokens FLOP / (GPUs rate MFU(tokens per GPU)) on `share` of the GPUs.

    **Kinks:** those of the MFU surface.
    """
    gpus = share * cluster.gpus
    mfu = utilisation(
        work.trained_tokens / gpus, model.experts, trainer.mfu_dense, trainer.mfu_moe, trainer.mfu_power
    )
    return work.trained_tokens * work.train_flop / (gpus * cluster.chip.matrix_rate * mfu)


def step_times(
    work: StepWork,
    model: ModelFigures,
    cluster: ClusterFigures,
    trainer: TrainerFigures,
    kind: str,
    share: Number | None = None,
    minibatches: Number = 1.0,
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
    if kind == "async":

        def rolling(part: Number) -> Number:
            return rollout_seconds(work, part, model, cluster, True)

        def training(part: Number) -> Number:
            return train_seconds(work, part, model, cluster, trainer) + fixed

        part = share if share is not None else balanced_share(rolling, training, 0.0 * (rolling(0.5) + training(0.5)))
        left, right = rolling(part), training(1 - part)
        total = jnp.where(left >= right, left, right) + sync
        return StepTimes(left, 0.0 * left, right, sync, part, total, {"longer_side": left - right})
    full = rollout_seconds(work, 1.0, model, cluster, True)
    rollout = full if kind == "partial" else rollout_seconds(work, 1.0, model, cluster, False)
    train = train_seconds(work, 1.0, model, cluster, trainer)
    tail = rollout - full
    if kind in ("sync", "partial"):
        total = rollout + train + fixed + sync
        return StepTimes(rollout, tail, train + fixed, sync, 1.0 + 0.0 * total, total, {})
    hidden, margin = stream_minibatch_seconds(rollout, train, tail, minibatches)
    total = hidden + fixed + sync
    return StepTimes(rollout, tail, train + fixed, sync, 1.0 + 0.0 * total, total, {"hidden": margin})
