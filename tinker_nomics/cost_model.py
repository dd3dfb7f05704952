"""The traced model: `evaluate` composes the formulas, `estimate` calls it once for plain numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .assumptions import Assumptions, either, may_be_on
from .boundary import x64
from .config import Config, Number, copy_with, get
from .cost_parts.known_schedule import known_schedule
from .cost_parts.own_run import cached, has_steps, own_run, per_rank
from .cost_parts.run_memory import run_memory
from .cost_parts.switched_figures import rollout_model
from .cost_parts.tinker_queue import queue_discards
from .formulas import api_billing, lora, rollout, sandbox, schedule, step_remainder, tokens, trained_tokens, training
from .formulas.decode_step import cache_read
from .formulas.staleness_queue import billed_multiplier
from .notes import notes_of
from .outputs import Difference, Estimate, LoraSize, PricedRun, SelfHosted, Staleness, TinkerCost, Tokens
from .parameters import registry
from .plain_config import checked, not_plain, refuse_overflow


def evaluate(config: Config, assumptions: Assumptions | None = None) -> Estimate:
    """Price one run: the pure function that every driver wraps, for use inside jit, vmap and grad.

    Args:
        config: leaves are scalars, or arrays that broadcast against each other.
        assumptions: in place of the config's own; a traced switch computes both editions and selects.

    Returns:
        An Estimate whose leaves have the broadcast shape of what they depend on; nothing is checked here. What only
        some assumptions have is None where they are off.

    **Kinks:** those of the formulas; `branches` holds the margin of each.
    """
    switches = config.assumptions if assumptions is None else assumptions
    work = config.workload
    staleness, queue_branch = queue_discards(config, switches)
    abort, abort_branch = schedule.abort_rate(config.schedule)
    streams = _streams(config, switches, staleness)
    box = sandbox.sandbox_cost(tokens.rollouts(work), config.sandbox)
    adapter = _adapter(config, switches)
    tinker = _tinker(config, switches, streams, box, adapter, staleness)
    kv = _kv(config, switches)
    own_box = box * _everything(switches, schedule.abort_multiplier(abort))
    run = own_run if has_steps(switches) else _self_hosted
    own, own_branches = run(config, switches, streams, abort, own_box)
    need, memory_branches = run_memory(config, switches, kv)
    return Estimate(
        tokens=streams,
        tinker=tinker,
        self_hosted=own,
        difference=Difference(own.total - tinker.total),
        memory=need,
        lora=adapter,
        staleness=copy_with(staleness, {"abort_rate": abort}),
        branches={**own_branches, **abort_branch, **memory_branches, **queue_branch},
    )


def _streams(config: Config, switches: Assumptions, staleness: Staleness) -> Tokens:
    """Tokens of the run: what training keeps, and beside it what is cached, thrown away, and spent on evaluations."""
    work = config.workload
    sampled = tokens.rollout_tokens(work)

    def whole() -> Number:
        return jnp.where(
            work.strips_thinking > 0, trained_tokens.sequences_by_turn(work), trained_tokens.whole_sequences(work)
        )

    trained = either(switches.whole_sequences, lambda: tokens.train_tokens(work), whole)
    found = (
        either(switches.cached_prefill, lambda: 0.0, lambda: cached(config))
        if may_be_on(switches.cached_prefill)
        else None
    )
    thrown = None if staleness.discarded is None else sampled * (billed_multiplier(staleness.discarded) - 1)
    prefilled = tokens.prefill_tokens(work)
    if not may_be_on(switches.step_remainder):
        return Tokens(sampled, trained, prefilled, found, thrown)
    more = _evaluated(config, switches)
    return Tokens(sampled, trained, prefilled, found, thrown, sampled * more, prefilled * more)


def _evaluated(config: Config, switches: Assumptions) -> Number:
    """Rollouts of evaluations per rollout of training: they sample and read as much as those do."""
    asked = config.evaluation
    return either(
        switches.step_remainder,
        lambda: 0.0,
        lambda: step_remainder.evaluated_share(asked.sequences, asked.every, config.workload),
    )


def _everything(switches: Assumptions, more: Number) -> Number:
    """By how much prefill and sandboxes are multiplied where `more` rollouts are sampled for each that is kept."""
    return either(switches.abort_everything, lambda: 1.0, lambda: more)


def _kv(config: Config, switches: Assumptions) -> Number:
    """Bytes of cache per token of context; where it comes from the architecture, state and windows are spread over it."""

    def architecture() -> Number:
        context = rollout.decode_context(config.workload)
        return cache_read(context, rollout_model(config, Assumptions(kv_bytes=True))) / context

    return either(switches.kv_bytes, lambda: rollout.kv_bytes_heuristic(config.model.active_parameters), architecture)


def _price(config: Config, switches: Assumptions, stream: str) -> Number:
    """USD per million tokens: of the run's own list, or of the page's one table where that lists the model."""
    dated, page = getattr(config.prices, stream), getattr(config.published_prices, stream)
    if page is None:
        return dated
    return either(switches.dated_prices, lambda: page, lambda: dated)


def _cached_price(price: Number | None, found: Number) -> Number:
    """The cached price, or zero where nothing is cached: a list that has none says so as None, or as NaN in a sweep."""
    if price is None:
        return 0.0  # a Config with cached tokens and without this price is refused when it is made
    return jnp.where(jnp.isnan(price) & (found == 0), 0.0, price)


def _tinker(
    config: Config, switches: Assumptions, streams: Tokens, box: Number, adapter: LoraSize, staleness: Staleness
) -> TinkerCost:
    again = 1.0 if staleness.discarded is None else billed_multiplier(staleness.discarded)
    everything = _everything(switches, again)
    sampled_once = api_billing.stream_cost(streams.rollout, _price(config, switches, "sample"))
    sampled = sampled_once * again
    trained = api_billing.stream_cost(streams.train, _price(config, switches, "train"))
    found, cheap = streams.cached, config.prices.cached_prefill
    read_once = api_billing.stream_cost(
        streams.prefill if found is None else streams.prefill - found, _price(config, switches, "prefill")
    )
    cached_cost = None
    if found is not None:
        cached_once = api_billing.stream_cost(found, _cached_price(cheap, found))
        read_once, cached_cost = read_once + cached_once, cached_once * everything
    prefilled = read_once * everything
    evaluation = None
    if streams.evaluation is not None:  # thrown away by no queue: nothing trains on it
        evaluation = (sampled_once + read_once) * _evaluated(config, switches)
    stored = None
    if adapter.checkpoint_bytes is not None:
        stored = api_billing.storage_per_month(adapter.checkpoint_bytes, config.prices)
    boxed = box * everything
    billed = sampled + trained + prefilled + boxed
    total = (billed if evaluation is None else billed + evaluation) * config.workload.recipe_multiplier
    return TinkerCost(sampled, trained, prefilled, boxed, stored, total, cached_cost, evaluation)


def _self_hosted(
    config: Config, switches: Assumptions, streams: Tokens, abort: Number, box: Number
) -> tuple[SelfHosted, dict[str, Number]]:
    """The published chapters: speeds of the whole run, of the whole cluster."""
    work, model, cluster = config.workload, config.model, config.cluster
    decode_speed, roof = rollout.rollout_tokens_per_second(work, model, cluster, _kv(config, switches))
    train_speed = training.train_tokens_per_second(model, cluster, config.lora)
    more = schedule.abort_multiplier(abort)
    read = streams.prefill if streams.cached is None else streams.prefill - streams.cached
    prefill = rollout.uncached_prefill(read, cluster) * _everything(switches, more)
    decode_hours = rollout.hours(streams.rollout * more, decode_speed)
    prefill_hours = rollout.hours(prefill, rollout.prefill_tokens_per_second(model, cluster))
    rollout_hours = decode_hours + prefill_hours
    train_hours = rollout.hours(streams.train, train_speed)
    hours, overlap = schedule.overlapped_hours(rollout_hours, train_hours, config.schedule)
    gpu_hours = hours * cluster.gpus
    own = SelfHosted(
        rollout_tokens_per_second=decode_speed,
        train_tokens_per_second=train_speed,
        decode_hours=decode_hours,
        prefill_hours=prefill_hours,
        rollout_hours=rollout_hours,
        train_hours=train_hours,
        hours=hours,
        gpu_hours=gpu_hours,
        overlap_speedup=schedule.overlap_speedup(rollout_hours, train_hours, hours),
        sandbox=box,
        total=(gpu_hours * cluster.price_per_gpu_hour + box) * work.recipe_multiplier,
    )
    return own, {**roof, **overlap}


def _adapter(config: Config, switches: Assumptions) -> LoraSize:
    counted = None if config.lora.training == "full" else per_rank(config, switches)
    if counted is None:
        return LoraSize(None, None)
    parameters = lora.adapter_parameters(counted, config.lora)
    return LoraSize(parameters, lora.checkpoint_bytes(parameters))


def read_leaves(config: Config) -> tuple[int, ...]:
    """Places, among the leaves of a configuration, of those that its edition reads."""
    there = [parameter for path, parameter in registry().items() if get(config, path) is not None]
    return tuple(place for place, parameter in enumerate(there) if parameter.read_by(config.assumptions))


# XLA's CPU runtime hands every step of a program to other threads once one array holds 512 bytes, which takes four times as
# long as the steps of this one
_AT_MOST = 64


@cache
def _flat_model(structure: Any) -> tuple[Any, list[Any], list[tuple[int, ...]]]:
    """The jitted model of one pytree structure; the structure of what comes out, a list that its one trace fills; the
    places of the leaves to give, in pieces of the length that it wants.

    The vectors hold only what the edition reads.
    """
    count = structure.num_leaves
    read = read_leaves(jax.tree.unflatten(structure, [0.0] * count))
    pieces = [read[start : start + _AT_MOST] for start in range(0, len(read), _AT_MOST)]
    shapes: list[Any] = []

    def flat(vectors: list[jax.Array]) -> list[jax.Array]:
        leaves: list[Any] = [jnp.nan] * count  # so that nothing can read another leaf unnoticed
        for places, vector in zip(pieces, vectors, strict=True):
            for place, value in zip(places, vector, strict=True):
                leaves[place] = value
        found, shape = jax.tree.flatten(evaluate(jax.tree.unflatten(structure, leaves)))
        shapes[:] = [shape]
        found = [jnp.asarray(leaf) for leaf in found]
        return [jnp.stack(found[start : start + _AT_MOST]) for start in range(0, len(found), _AT_MOST)]

    return jax.jit(flat), shapes, pieces


def estimate(config: Config) -> Estimate:
    """Price one run.

    Args:
        config: plain numbers, as `Config.from_recipe`, `Config.from_toml` and `replace` make them.

    Returns:
        An Estimate of Python floats: USD, hours, tokens (see `outputs.UNITS`); `estimate.to_dict()` nests them.

    Raises:
        TinkerNomicsError: no Config of plain numbers, or a cost too large to be a number.

    The first call of a structure traces and compiles; further ones with other numbers do not.
    """
    leaves, structure = jax.tree.flatten(known_schedule(checked(config, "estimate")))
    flat, shapes, pieces = _flat_model(structure)
    try:
        vectors = [np.array([leaves[place] for place in places], dtype=np.float64) for places in pieces]
    except (TypeError, ValueError):
        raise not_plain(config, "estimate") from None
    with x64():
        values = [value for piece in flat(vectors) for value in np.asarray(piece).tolist()]
    priced = jax.tree.unflatten(shapes[0], values)
    refuse_overflow(config, priced)
    return copy_with(priced, {"notes": notes_of(config), "run": PricedRun(config)})
