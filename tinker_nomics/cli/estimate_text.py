"""An estimate as one readable screen."""

from __future__ import annotations

import textwrap

from ..config import Config
from ..cost_sensitivity.engine_widths import width_notes
from ..cost_sensitivity.estimate_range import Ranged
from ..errors import listed
from ..explanations.explanation_text import cents as cents_of
from ..formulas.staleness_queue import billed_multiplier
from ..notes import ends_at_cap
from ..outputs import Estimate
from ..placement_checks import SHARED_FRACTION, SPLIT_FRACTION
from ..quantities import grouped, show
from ..totals_text import DISCARDED, leaves_discards_out, standing
from ..unread import used
from .text_table import table

WIDTH = 100


def screen(config: Config, ranged: Ranged) -> str:
    """The run in a line, its token streams, both bills side by side, the verdict, memory, checkpoint, assumptions."""
    estimate = ranged.estimate
    parts = [
        _run_line(config),
        _bills(config, estimate),
        _totals(config, ranged),
        _fit(config, estimate),
        _basis(config, estimate),
    ]
    return "\n\n".join(parts)


def _run_line(config: Config) -> str:
    work, choices = config.workload, config.provenance.choices
    name = choices.get("recipe") or "a run of your own"
    turns = "" if work.turns == 1 else f" x {work.turns:g} turns"
    line = (
        f"{name} on {choices.get('model') or 'a model of your own'}: {work.prompts_per_step:g} prompts x "
        f"{work.rollouts_per_prompt:g} rollouts"
        f"{turns} x {work.completion_tokens:g} tokens, {work.steps:g} steps, lengths grow x{work.length_growth:g}"
    )
    own = (
        f"own GPUs: {config.cluster.gpus:g} x {choices.get('chip')} at {show(config.cluster.price_per_gpu_hour, 'USD/h')}"
        f", {config.schedule_kind} (k = {config.schedule.max_steps_off_policy:g})"
    )
    return _wrapped(line, "") + "\n" + _wrapped(own, "")


def _bills(config: Config, estimate: Estimate) -> str:
    streams, tinker, own = estimate.tokens, estimate.tinker, estimate.self_hosted
    phases = {"decode": own.decode_hours, "prefill": own.prefill_hours, "train": own.train_hours}
    if own.fixed_hours is not None:
        phases["rest of steps"] = own.fixed_hours + own.sync_hours
    saved = own.hours - sum(phases.values())
    if abs(saved) > 1e-9 * own.hours:
        phases["at the same time"] = saved
    # what Tinker bills: the groups that its queue throws away as well
    again = billed_multiplier(estimate.staleness.discarded or 0.0)
    billed = {
        "rollout": streams.rollout * again,
        "prefill": streams.prefill * (again if config.assumptions.abort_everything else 1.0),
    }
    # rounded so that the column adds up as printed
    shown = dict(zip(phases, (_hours(cents / 100) for cents in cents_of(list(phases.values()), 0.0, own.hours))))
    rows = [
        ["rollout", grouped(billed["rollout"]), _usd(tinker.rollout), "decode", shown.pop("decode"), ""],
        ["prefill", grouped(billed["prefill"]), _usd(tinker.prefill), "prefill", shown.pop("prefill"), ""],
        ["train", grouped(streams.train), _usd(tinker.train), "train", shown.pop("train"), ""],
        *_evaluation(estimate),
        *(["", "", "", name, hours, ""] for name, hours in shown.items()),
        ["sandbox", "", _usd(tinker.sandbox), "sandbox", "", _usd(own.sandbox)],
        ["total", "", _usd(tinker.total), "total", _hours(own.hours), _usd(own.total)],
    ]
    return table(rows, ["stream", "tokens", "Tinker", "own GPUs", "time", "cost"], "lrrlrr")


def _evaluation(estimate: Estimate) -> list[list[str]]:
    """The row of evaluations, where there are any; their hours are among decode and prefill."""
    streams, cost = estimate.tokens, estimate.tinker.evaluation
    if not cost:
        return []
    return [["evaluation", grouped(streams.evaluation + streams.evaluation_prefill), _usd(cost), "", "", ""]]


def _totals(config: Config, ranged: Ranged) -> str:
    """What the totals stand for: edition, price date and range; then the verdict, and what could still be added."""
    verdict = _verdict(ranged.estimate, f", {DISCARDED}" if leaves_discards_out(config) else "")
    lines = [f"{standing(config)}; {ranged.in_words()}", verdict, *_pool(config, ranged.estimate)]
    times = config.workload.recipe_multiplier
    if times != 1:
        lines.append(
            f"Both totals hold {times:g} times the run (workload.recipe_multiplier); streams, hours and GPU-hours are "
            "those of one."
        )
    return "\n".join(_wrapped(line, "  ") for line in [*lines, *_discards(config, ranged.estimate)])


def _discards(config: Config, estimate: Estimate) -> list[str]:
    """What groups thrown away as too stale add to Tinker's bill, or would where their share is only known as a range."""
    staleness, tinker = estimate.staleness, estimate.tinker
    billed, what = tinker.rollout, "rollouts are"
    if config.assumptions.abort_everything:
        billed += tinker.prefill + tinker.sandbox
        what = "rollouts, prefill and sandboxes are" if tinker.sandbox else "rollouts and prefill are"
    if staleness.discarded:
        share = _usd(billed * (1 - 1 / billed_multiplier(staleness.discarded)))
        return [
            f"{staleness.discarded:.0%} of all groups are thrown away as too stale: on Tinker their {what} billed with "
            f"the others, {share} of the total; the tokens above hold theirs."
        ]
    if not staleness.discarded_high or staleness.discarded_low == staleness.discarded_high:
        return []
    more = [billed * (billed_multiplier(share) - 1) for share in (staleness.discarded_low, staleness.discarded_high)]
    return [
        f"Stale groups are not in Tinker's total: schedule.rho and schedule.variation are not known. They would be "
        f"{staleness.discarded_low:.0%} to {staleness.discarded_high:.0%} of all groups and add {_usd(more[0])} to "
        f"{_usd(more[1])}."
    ]


def _verdict(estimate: Estimate, apart: str) -> str:
    own, tinker = estimate.self_hosted.total, estimate.tinker.total
    if own == tinker:
        return "Both cost the same."
    cheaper, dearer, name = (own, tinker, "Own GPUs are") if own < tinker else (tinker, own, "Tinker is")
    text = f"{name} cheaper by {_usd(dearer - cheaper)} ({(dearer - cheaper) / dearer:.0%} of {_usd(dearer)}{apart})"
    share = estimate.self_hosted
    return f"{text}; the cluster runs {share.hours:,.2f} h, {share.gpu_hours:,.1f} GPU-hours."


def _pool(config: Config, estimate: Estimate) -> list[str]:
    """How the phases of an asynchronous or pipelined run share the GPUs, and what that gains."""
    own, aborted = estimate.self_hosted, estimate.staleness.abort_rate
    if own.overlap_speedup == 1:
        return []
    gpus = config.cluster.gpus
    if own.share is not None and own.share < 1:
        how = (
            f"{own.share * gpus:.3g} of the {gpus:g} GPUs sample while {(1 - own.share) * gpus:.3g} train, so a step "
            "takes the longer of both sides"
        )
    else:
        how = "Sampling and training overlap on all GPUs"
    gain = f"{own.overlap_speedup:.2f} times as fast as the same work one after the other on all {gpus:g}"
    thrown = f", {aborted:.0%} of rollouts thrown away as too stale and sampled again in either" if aborted else ""
    return [f"{how}: {gain}{thrown}."]


def _fit(config: Config, estimate: Estimate) -> str:
    need, chip = estimate.memory, config.cluster.chip
    weights = (
        f"memory: {show(need.weights_bytes, 'B')} for weights (all copies{_copies(config, estimate)}) of "
        f"{show(chip.memory_bytes, 'B')} a GPU: at least {_gpus(need.min_gpus)}"
    )
    weights += "" if need.weights_fit else f" - the {config.cluster.gpus:g} of this cluster are too few"
    lines = [weights, _cache(config, estimate)]
    if estimate.lora.checkpoint_bytes is not None:
        lines.append(
            f"checkpoint: LoRA rank {config.lora.rank:g}, {estimate.lora.parameters / 1e6:,.1f} M parameters, "
            f"{show(estimate.lora.checkpoint_bytes, 'B')}, "
            f"{show(estimate.tinker.storage_per_month or 0.0, 'USD')} a month on Tinker"
        )
    return "\n".join(_wrapped(line, "  ") for line in lines)


def _copies(config: Config, estimate: Estimate) -> str:
    """What the engine and what the trainer holds of the weights, and on how many GPUs each, where memory is itemised."""
    need = estimate.memory
    if need.engine_gpus is None or need.trainer_gpus is None or need.activation_bytes is None:
        return ""
    engine = float(config.model.weight_bytes)
    return (
        f": {show(engine, 'B')} in an engine on {_gpus(need.engine_gpus)}, "
        f"{show(need.weights_bytes - engine, 'B')} in the trainer, beside "
        f"{show(need.activation_bytes, 'B')} of activations, on {_gpus(need.trainer_gpus)} or more"
    )


def _gpus(count: float) -> str:
    return f"{count:g} GPU{'' if count == 1 else 's'}"


def _cache(config: Config, estimate: Estimate) -> str:
    """The cache of a step's rollouts, and how many of them a replica of the engine runs at a time."""
    need, work = estimate.memory, config.workload
    rollouts = work.prompts_per_step * work.rollouts_per_prompt
    text = f"cache: {show(need.kv_cache_bytes, 'B')} for all {rollouts:,.0f} rollouts of a step"
    if need.concurrency is None:
        over = show(-estimate.branches["kv_fits"], "B")
        return text + (", which fits" if need.kv_fits else f", too big by {over}; sample in smaller waves")
    gpus = config.cluster.gpus * (1.0 if estimate.self_hosted.share is None else estimate.self_hosted.share)
    replicas = gpus / need.engine_gpus
    each = rollouts / replicas
    text += (
        f"; {replicas:.3g} replica{'' if replicas == 1 else 's'} of the engine, {_gpus(need.engine_gpus)} each, "
        f"get {f'{each:,.0f}' if each >= 100 else f'{each:.3g}'} of them apiece and run up to {need.concurrency:,.0f} at a time"
    )
    return text + (", so that they take turns" if each > need.concurrency else "")


def _basis(config: Config, estimate: Estimate) -> str:
    labels = config.provenance.labels
    cluster = config.cluster
    revised = estimate.self_hosted.mfu is not None
    efficiency = cluster.engine.decode_efficiency if config.assumptions.batch_roof else cluster.rollout_efficiency
    lines = [
        f"rent: {labels.get('cluster.price_per_gpu_hour', 'yours')}",
        f"assumed: {'decode' if config.assumptions.batch_roof else 'rollout'} efficiency {efficiency:.3g}, "
        f"MFU {estimate.self_hosted.mfu if revised else cluster.mfu:.3g}, "
        f"prefix cache hit rate {cluster.prefix_cache_hit_rate:g}, growth {config.workload.length_growth:g}",
    ]
    if config.assumptions.long_tail and used(config, "workload.length_p99_over_p50"):
        spread = f"p99/p50 of lengths {config.workload.length_p99_over_p50:g}"
        lines[1] += ", all rollouts equally long" if ends_at_cap(config) else f", {spread}"
    lines[1] += "".join(f", {text}" for text in _engine_and_trainer(config, estimate))
    sources: dict[str, list[str]] = {}
    for path, label in labels.items():
        if path.startswith("workload."):
            sources.setdefault(label, []).append(path.split(".")[1])
    lines += [f"{listed(names)}: {label}" for label, names in sources.items()]
    return "\n".join(_wrapped(line, "  ") for line in [*lines, *width_notes(config, estimate), *estimate.notes])


def _engine_and_trainer(config: Config, estimate: Estimate) -> list[str]:
    """The engine's share of the memory and its width, and the trainer's own seconds, where the run's formulas read them."""
    engine, memory, found = config.cluster.engine, config.cluster.chip.memory_bytes, []
    if config.assumptions.itemised_memory:
        fraction = engine.memory_fraction
        if fraction is None:
            fraction = SPLIT_FRACTION if config.splits_pool else SHARED_FRACTION
        found += [
            f"engine memory fraction {fraction:g} ({show(fraction * memory, 'B')} of {show(memory, 'B')})",
            f"tensor parallel {estimate.memory.engine_gpus:g}",
        ]
    if config.assumptions.step_remainder and config.cluster.trainer.fixed_seconds is not None:
        found.append(f"{config.cluster.trainer.fixed_seconds:.3g} s fixed a step")
    return found


def _usd(value: float) -> str:
    return f"${grouped(value, 2)}"


def _hours(value: float) -> str:
    return f"{grouped(value, 2)} h"


def _wrapped(line: str, indent: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
