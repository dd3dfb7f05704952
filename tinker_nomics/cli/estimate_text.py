"""An estimate as one readable screen."""

from __future__ import annotations

import textwrap

from ..config import Config
from ..cost_sensitivity.estimate_range import Ranged
from ..errors import listed
from ..formulas.staleness_queue import billed_multiplier
from ..outputs import Estimate
from ..quantities import show
from ..totals_text import range_in_words, standing
from .text_table import table

WIDTH = 100


def screen(config: Config, ranged: Ranged) -> str:
    """The run in a line, its token streams, both bills side by side, the verdict, memory, checkpoint, assumptions."""
    estimate = ranged.estimate
    parts = [
        _run_line(config),
        _bills(estimate),
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


def _bills(estimate: Estimate) -> str:
    streams, tinker, own = estimate.tokens, estimate.tinker, estimate.self_hosted
    rows = [
        ["rollout", f"{streams.rollout:,.0f}", _usd(tinker.rollout), "decode", _hours(own.decode_hours), ""],
        ["prefill", f"{streams.prefill:,.0f}", _usd(tinker.prefill), "prefill", _hours(own.prefill_hours), ""],
        ["train", f"{streams.train:,.0f}", _usd(tinker.train), "train", _hours(own.train_hours), ""],
        *_rest(estimate),
        ["sandbox", "", _usd(tinker.sandbox), "sandbox", "", _usd(own.sandbox)],
        ["total", "", _usd(tinker.total), "total", _hours(own.hours), _usd(own.total)],
    ]
    return table(rows, ["stream", "tokens", "Tinker", "own GPUs", "time", "cost"], "lrrlrr")


def _rest(estimate: Estimate) -> list[list[str]]:
    """What a step spends on neither rollouts nor training, where the edition counts it."""
    own = estimate.self_hosted
    if own.fixed_hours is None:
        return []
    return [["", "", "", "rest of steps", _hours(own.fixed_hours + own.sync_hours), ""]]


def _totals(config: Config, ranged: Ranged) -> str:
    """What the totals stand for: edition, price date and range; then the verdict, and what could still be added."""
    known = range_in_words(ranged.low, ranged.high, len(ranged.varied))
    lines = [f"{standing(config)}; {known}", _verdict(ranged.estimate)]
    return "\n".join(_wrapped(line, "  ") for line in [*lines, *_discards(ranged.estimate)])


def _discards(estimate: Estimate) -> list[str]:
    """What groups thrown away as too stale would add to Tinker's bill, where their share is only known as a range."""
    staleness, tinker = estimate.staleness, estimate.tinker
    if not staleness.discarded_high or staleness.discarded_low == staleness.discarded_high:
        return []
    billed = tinker.rollout + tinker.prefill + tinker.sandbox
    more = [billed * (billed_multiplier(share) - 1) for share in (staleness.discarded_low, staleness.discarded_high)]
    return [
        f"Stale groups are not in Tinker's total: schedule.rho and schedule.variation are not known. They would be "
        f"{staleness.discarded_low:.0%} to {staleness.discarded_high:.0%} of all groups and add {_usd(more[0])} to "
        f"{_usd(more[1])}."
    ]


def _verdict(estimate: Estimate) -> str:
    own, tinker = estimate.self_hosted.total, estimate.tinker.total
    if own == tinker:
        return "Both cost the same."
    cheaper, dearer, name = (own, tinker, "Own GPUs are") if own < tinker else (tinker, own, "Tinker is")
    text = f"{name} cheaper by {_usd(dearer - cheaper)} ({(dearer - cheaper) / dearer:.0%} of {_usd(dearer)})"
    share = estimate.self_hosted
    speed = f"; the cluster runs {share.hours:,.2f} h, {share.gpu_hours:,.1f} GPU-hours"
    overlap = "" if share.overlap_speedup == 1 else f", overlap {share.overlap_speedup:.2f}x"
    return text + speed + overlap + "."


def _fit(config: Config, estimate: Estimate) -> str:
    need, chip = estimate.memory, config.cluster.chip
    weights = (
        f"memory: {show(need.weights_bytes, 'B')} for weights (all copies) of {show(chip.memory_bytes, 'B')} a GPU: "
        f"at least {need.min_gpus:g} GPU{'' if need.min_gpus == 1 else 's'}"
    )
    weights += "" if need.weights_fit else f" - the {config.cluster.gpus:g} of this cluster are too few"
    kv = f"cache of the whole batch {show(need.kv_cache_bytes, 'B')}: "
    if need.concurrency is not None:
        kv += f"{need.concurrency:,.0f} sequences at a time on a replica of {need.engine_gpus:g}"
    else:
        over = show(-estimate.branches["kv_fits"], "B")
        kv += "fits" if need.kv_fits else f"too big by {over}; sample in smaller waves"
    lines = [f"{weights}; {kv}"]
    if estimate.lora.checkpoint_bytes is not None:
        lines.append(
            f"checkpoint: LoRA rank {config.lora.rank:g}, {estimate.lora.parameters / 1e6:,.1f} M parameters, "
            f"{show(estimate.lora.checkpoint_bytes, 'B')}, "
            f"{show(estimate.tinker.storage_per_month or 0.0, 'USD')} a month on Tinker"
        )
    return "\n".join(_wrapped(line, "  ") for line in lines)


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
    if config.assumptions.long_tail and config.workload.length_p99_over_p50 is not None:
        lines[1] += f", p99/p50 of lengths {config.workload.length_p99_over_p50:g}"
    sources: dict[str, list[str]] = {}
    for path, label in labels.items():
        if path.startswith("workload."):
            sources.setdefault(label, []).append(path.split(".")[1])
    lines += [f"{listed(names)}: {label}" for label, names in sources.items()]
    return "\n".join(_wrapped(line, "  ") for line in [*lines, *estimate.notes])


def _usd(value: float) -> str:
    return f"${value:,.2f}"


def _hours(value: float) -> str:
    return f"{value:,.2f} h"


def _wrapped(line: str, indent: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
