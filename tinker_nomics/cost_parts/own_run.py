"""A run on own GPUs, any mixture of assumptions: steps priced one by one, and what they add up to."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..assumptions import Assumptions, either, may_be_on
from ..config import Config, Number, copy_with
from ..formulas import prefix_cache, rollout, schedule, step_remainder, tokens, training, utilisation
from ..formulas.decode_step import step_seconds
from ..formulas.figures import ClusterFigures, ModelFigures
from ..formulas.itemised_memory import concurrency
from ..formulas.lengths import log_sigma
from ..formulas.own_step import StepSwitches, StepTimes, StepWork, TrainerFigures, step_times
from ..formulas.train_flop import train_flop
from ..formulas.trained_tokens import sequence_tokens
from ..outputs import SelfHosted, Tokens
from .switched_figures import cluster_figures, rollout_model, train_model, trainer_figures

# the assumptions that change a step on own GPUs beyond its numbers; without any of them the published chapters do
STEP_SWITCHES = (
    "stream_minibatch",
    "pool_split",
    "experts_hit",
    "batch_roof",
    "itemised_memory",
    "mfu_surface",
    "train_flop",
    "long_tail",
    "step_remainder",
)


def has_steps(switches: Assumptions) -> bool:
    """Whether own GPUs are priced step by step: some assumption about the step is on, or traced."""
    return any(may_be_on(getattr(switches, name)) for name in STEP_SWITCHES)


def own_run(
    config: Config, switches: Assumptions, streams: Tokens, abort: Number, box: Number
) -> tuple[SelfHosted, dict[str, Number]]:
    """Price the run on own GPUs.

    Args:
        streams: tokens of the whole run.
        abort: share of sampled tokens thrown away as too stale, on own GPUs.
        box: sandboxes of the whole run, those of aborted rollouts included [USD].

    Returns:
        The cost with its parts, and the margins of every branch on the way.

    **Kinks:** those of the step formulas; with schedule.kind "auto" and "async" it jumps at k = 1, from synchronous to
    asynchronous.
    """
    work, cluster = config.workload, config.cluster
    times, simple, step, margins = _times(config, switches, streams, abort)
    hours = work.steps / 3600
    decode_hours, train_hours = times.decode * hours, times.train * hours
    rollout_hours = decode_hours + times.prefill * hours
    total_hours = times.total * hours
    gpu_hours = total_hours * cluster.gpus
    sampled = streams.rollout * _multiplier(abort)
    own = SelfHosted(
        rollout_tokens_per_second=sampled / (decode_hours * 3600),
        train_tokens_per_second=streams.train / (train_hours * 3600),
        decode_hours=decode_hours,
        prefill_hours=times.prefill * hours,
        rollout_hours=rollout_hours,
        train_hours=train_hours,
        hours=total_hours,
        gpu_hours=gpu_hours,
        overlap_speedup=simple / times.total,
        sandbox=box,
        total=(gpu_hours * cluster.price_per_gpu_hour + box) * work.recipe_multiplier,
        share=times.share,
        tail_hours=times.tail * hours,
        fixed_hours=times.fixed * hours,
        sync_hours=times.sync * hours,
        mfu=step.train_flop
        * streams.train
        / (train_hours * 3600 * cluster.gpus * cluster.chip.matrix_rate * _train_share(times)),
    )
    return own, {**margins, **times.branches}


def _multiplier(abort: Number) -> Number:
    return schedule.abort_multiplier(abort)


def _train_share(times: StepTimes) -> Number:
    """The trainer's part of the GPUs: what rollouts leave of a pool that is split, else all of it."""
    split = times.share < 1
    return jnp.where(split, 1 - jnp.where(split, times.share, 0.0), 1.0)


def _times(
    config: Config, switches: Assumptions, streams: Tokens, abort: Number
) -> tuple[StepTimes, Number, StepWork, dict[str, Number]]:
    """The step as scheduled; seconds of one phase after the other on all GPUs; what it has to do; margins."""
    kind = config.schedule.kind
    model = rollout_model(config, switches)
    step = _step_work(config, switches, streams, abort)
    trainer = trainer_figures(config, switches, _sync_bytes(config, switches))
    shaped = StepSwitches(switches.long_tail, switches.pool_split, switches.stream_minibatch)
    shared, margins = cluster_figures(config, switches, model, False)
    waiting = copy_with(step, {"extra_train_seconds": _sandbox_wait(config, switches)})
    plain = "partial" if kind == "partial" else "sync"
    simple = step_times(waiting, model, shared, trainer, plain, switches=shaped)
    margins |= _step_margins(config, switches, waiting, model, shared, trainer)
    k = config.schedule.max_steps_off_policy
    margins["overlap_threshold"] = k - 1
    margins["longer_phase"] = (simple.rollout - simple.train - simple.fixed) * config.workload.steps / 3600
    if kind in ("sync", "partial"):
        return simple, simple.total, step, margins
    if kind == "stream_minibatch":
        pieces = config.schedule.minibatches
        streamed = step_times(
            waiting, model, shared, trainer, kind, minibatches=1.0 if pieces is None else pieces, switches=shaped
        )
        return streamed, simple.total, step, margins
    alone, _ = cluster_figures(config, switches, model, switches.pool_split)
    split = step_times(step, model, alone, trainer, "async", config.schedule.rollout_share, switches=shaped)
    side = split.branches["longer_side"]
    # k decides: both are computed, since k is a number like any other. An asynchronous run at k = 0 may train on nothing
    # that was sampled before the newest weights, so its phases take turns
    chosen = jax.tree.map(lambda a, b: jnp.where(k >= 1, a, b), copy_with(split, {"branches": {}}), simple)
    return copy_with(chosen, {"branches": {"longer_side": side}}), simple.total, step, margins


def _step_work(config: Config, switches: Assumptions, streams: Tokens, abort: Number) -> StepWork:
    work = config.workload
    turns, output = tokens.effective_turns(work), tokens.output_tokens_per_turn(work)
    mean = turns * output
    more = _multiplier(abort)
    read = streams.prefill - either(switches.cached_prefill, lambda: 0.0 * streams.prefill, lambda: cached(config))
    computed = rollout.uncached_prefill(read, config.cluster) * either(
        switches.abort_everything, lambda: 1.0, lambda: more
    )
    evaluation = config.evaluation
    return StepWork(
        sequences=work.prompts_per_step * work.rollouts_per_prompt,
        mean=mean,
        sigma=either(switches.long_tail, lambda: 1.0, lambda: _sigma(config)),
        cap=_cap(config, mean),
        prompt=work.prompt_tokens,
        observed=work.observation_tokens * (turns - 1) / mean,
        prefill_tokens=computed / work.steps,
        trained_tokens=streams.train / work.steps,
        train_flop=_train_flop(config, switches),
        extra_train_seconds=0.0,
        bound=config.schedule.max_steps_off_policy,
        sampled=more,
        evaluated=either(
            switches.step_remainder,
            lambda: 0.0,
            lambda: step_remainder.evaluated_share(evaluation.sequences, evaluation.every, work),
        ),
    )


def cached(config: Config) -> Number:
    """Prompt tokens of the whole run that are found in a cache."""
    work = config.workload
    return prefix_cache.cached_tokens(work, work.cache_hit_turns, work.cache_hit_group)


def _sigma(config: Config) -> Number:
    """Spread of the rollouts' lengths; equal lengths are taken to differ by a hair, for the quadrature in ln u."""
    sigma = log_sigma(config.workload.length_p99_over_p50)
    return jnp.where(sigma >= 1e-3, sigma, 1e-3)


def _cap(config: Config, mean: Number) -> Number:
    """Tokens at which a whole rollout is cut. A mean at the cap or above it (lengths that grow) is that of rollouts
    that all run as far as the mean."""
    most = config.workload.max_completion_tokens
    if most is None:
        return jnp.inf
    most = most * tokens.effective_turns(config.workload)
    return jnp.where(most >= mean, most, mean)


def _train_flop(config: Config, switches: Assumptions) -> Number:
    """FLOP per trained token, the forward passes of other models included."""
    trainer = config.cluster.trainer

    def revised() -> Number:
        adapter = 0.0
        if config.lora.training == "lora":
            adapter = config.lora.rank * _used_per_rank(config, switches)
        return train_flop(
            sequence_tokens(config.workload),
            train_model(config),
            adapter,
            trainer.recompute,
            trainer.logprob_passes,
            config.lora.training,
        )

    own = either(switches.train_flop, lambda: training.train_flop_per_token(config.model, config.lora), revised)
    others = either(
        switches.step_remainder,
        lambda: 0.0,
        lambda: step_remainder.forward_seconds(
            1.0, trainer.reference_parameters + trainer.reward_parameters, 1.0, 1.0, 1.0
        ),
    )
    return own + others


def _used_per_rank(config: Config, switches: Assumptions) -> Number:
    """Adapter parameters per rank that a token uses, in the count of the edition."""
    published = config.model.lora_parameters_per_rank_published
    used = config.model.lora_used_per_rank
    if published is None:
        return used
    return either(switches.lora_parameters, lambda: published, lambda: used)


def per_rank(config: Config, switches: Assumptions) -> Number | None:
    """Adapter parameters per rank in the count of the edition; None where that edition cannot count them."""
    published, revised = config.model.lora_parameters_per_rank_published, config.model.lora_parameters_per_rank
    if may_be_on(switches.lora_parameters) and switches.lora_parameters is not True:  # traced
        published = revised if published is None else published
    return either(switches.lora_parameters, lambda: published, lambda: revised)


def _sync_bytes(config: Config, switches: Assumptions) -> Number:
    """What changes from step to step and goes to the engines: the adapter, or all weights, in bf16."""
    if config.lora.training == "full":
        return 2 * config.model.parameters
    counted = per_rank(config, switches)
    if counted is None:
        counted = config.model.lora_parameters_per_rank
    return 2 * counted * config.lora.rank


def _sandbox_wait(config: Config, switches: Assumptions) -> Number:
    seconds = config.sandbox.seconds
    waits = config.schedule.kind != "partial"
    return either(switches.step_remainder, lambda: 0.0, lambda: step_remainder.sandbox_wait(seconds, waits))


def _step_margins(
    config: Config,
    switches: Assumptions,
    step: StepWork,
    model: ModelFigures,
    cluster: ClusterFigures,
    trainer: TrainerFigures,
) -> dict[str, Number]:
    """Margins of the branches inside a synchronous step on the whole pool."""
    each = step.sequences * cluster.tensor_parallel / cluster.gpus
    end = sequence_tokens(config.workload)
    fits = concurrency(end, model, cluster)
    margins: dict[str, Number] = {}
    if may_be_on(switches.itemised_memory):
        batch = jnp.where(each <= fits, each, jnp.where(fits >= 1, fits, 1.0))
        margins["concurrency"] = fits - each
    else:
        batch = each
    _, margins["step_roof"] = step_seconds(batch, step.prompt + step.mean / 2 * (1 + step.observed), model, cluster)
    if config.model.window is not None and may_be_on(switches.kv_bytes):
        # a sweep over models has rows without a window: they are far from it
        margins["window"] = jnp.where(jnp.isfinite(model.window), model.window, 1e15) - end
    tailed = may_be_on(switches.long_tail) and config.schedule.kind != "partial"
    if config.workload.max_completion_tokens is not None and tailed:
        margins["cap"] = config.workload.max_completion_tokens * tokens.effective_turns(config.workload) - step.mean
    if may_be_on(switches.mfu_surface):
        share = jnp.where(config.model.experts > 0, trainer.mfu_moe, trainer.mfu_dense)
        growing = (step.trained_tokens / cluster.gpus / utilisation.REFERENCE_TOKENS) ** trainer.mfu_power
        margins["mfu_cap"] = 1 - share * growing
    return margins
