"""Estimate: what one run costs, as a pytree of numbers with dotted names, units and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax

from .config import Config, Number
from .errors import TinkerNomicsError


class _Named(eqx.Module):
    """A Module whose numbers can be had by dotted name too: `estimate["tinker.total"]`."""

    # equinox makes a pytree of a method whenever it is looked up, which takes longer than `to_dict` itself
    __getattribute__ = object.__getattribute__

    def __getitem__(self, name: str) -> Any:
        value: Any = self
        for part in name.split("."):
            if isinstance(value, Mapping) and part in value:
                value = value[part]
            elif isinstance(value, _Named) and part in value.__dict__:
                value = getattr(value, part)
            else:
                raise KeyError(name)
        return value


class Tokens(_Named):
    """Token streams of the whole run [tokens]. `prefill` holds the cached ones; discarded ones are beside `rollout`.

    The last two are what evaluations sample and read, beside the run's own.
    """

    rollout: Number
    train: Number
    prefill: Number
    cached: Number = None
    discarded: Number = None
    evaluation: Number = None
    evaluation_prefill: Number = None


class TinkerCost(_Named):
    """Tinker's bill by stream [USD]; storage of one checkpoint beside it [USD per month].

    `cached_prefill` is the part of `prefill` that is billed at the cached price; `evaluation` is what evaluations sample
    and read.
    """

    rollout: Number
    train: Number
    prefill: Number
    sandbox: Number
    storage_per_month: Number
    total: Number
    cached_prefill: Number = None
    evaluation: Number = None


class SelfHosted(_Named):
    """The same run on own GPUs: speeds [tokens/s of the cluster], phases [h], cost [USD].

    The last five are there where steps are priced one by one: `share` of the GPUs that rollouts have [1], hours of the
    decode that only the longest rollouts last, hours of the trainer's own and of weight syncs, and the MFU of training.
    """

    rollout_tokens_per_second: Number
    train_tokens_per_second: Number
    decode_hours: Number
    prefill_hours: Number
    rollout_hours: Number
    train_hours: Number
    hours: Number
    gpu_hours: Number
    overlap_speedup: Number
    sandbox: Number
    total: Number
    share: Number = None
    tail_hours: Number = None
    fixed_hours: Number = None
    sync_hours: Number = None
    mfu: Number = None


class Difference(_Named):
    """Own GPUs minus Tinker [USD]: negative where own GPUs are cheaper."""

    total: Number


class MemoryNeed(_Named):
    """GPUs needed, bytes of weights (all copies and overhead) and cache; the flags are 1.0 where it fits, else 0.0.

    The last five are there where memory is itemised: sequences that a replica runs at a time, GPUs of a replica and of
    the trainer, bytes of the trainer's activations, and of what it trains with gradients and moments.
    """

    min_gpus: Number
    weights_bytes: Number
    kv_cache_bytes: Number
    weights_fit: Number
    kv_fits: Number
    concurrency: Number = None
    engine_gpus: Number = None
    trainer_gpus: Number = None
    activation_bytes: Number = None
    trained_bytes: Number = None


class LoraSize(_Named):
    """The adapter: parameters, bytes of a checkpoint; None for full fine-tuning, and where the edition cannot count."""

    parameters: Number
    checkpoint_bytes: Number


class Staleness(_Named):
    """Shares of what is sampled that is thrown away as too stale: on own GPUs, and by Tinker's queue.

    `discarded` is zero where rho or the variation is not given; then `discarded_low` and `_high` are its range.
    """

    abort_rate: Number
    discarded: Number = None
    discarded_low: Number = None
    discarded_high: Number = None


@dataclass(frozen=True, eq=False)
class PricedRun:
    """The run behind an estimate, for people. It equals every other, so that estimates keep one structure."""

    config: Config

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PricedRun)

    def __hash__(self) -> int:
        return 0


class Estimate(_Named):
    """One run priced. `branches` holds the margin of every max, min, ceil and threshold on the way.

    A margin is a - b of the compared pair, or the distance to the next whole number; where it changes sign the model
    has a kink or a jump. `notes` says in words what was overridden and where figures come from. `str(estimate)` is the
    screen that the command line prints; `run` holds the configuration that it needs.
    """

    tokens: Tokens
    tinker: TinkerCost
    self_hosted: SelfHosted
    difference: Difference
    memory: MemoryNeed
    lora: LoraSize
    staleness: Staleness
    branches: dict[str, Number]
    notes: tuple[str, ...] = eqx.field(static=True, default=())
    run: PricedRun | None = eqx.field(static=True, default=None, repr=False)

    def __str__(self) -> str:
        """The estimate as one readable screen; as it is represented where it is none of plain numbers."""
        if self.run is None or not all(isinstance(leaf, float) for leaf in jax.tree.leaves(self)):
            return repr(self)
        from .cli.estimate_text import screen
        from .cost_sensitivity.estimate_range import estimate_with_range

        return screen(self.run.config, replace(estimate_with_range(self.run.config), estimate=self))

    def headline(self) -> str:
        """Both bills in a line, then the edition, the date of the prices, and the range of the totals."""
        if self.run is None:
            raise TinkerNomicsError("this estimate was not made by tn.estimate(config): there is no run to speak of")
        from .cost_sensitivity.estimate_range import estimate_with_range
        from .totals_text import headline

        config, ranged = self.run.config, estimate_with_range(self.run.config)
        totals = {name: self[name] for name in ("tinker.total", "self_hosted.total", "self_hosted.hours")}
        return headline(config, totals, ranged.low, ranged.high, len(ranged.varied), ranged.held)

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Every number as nested plain floats: `estimate.to_dict()["tinker"]["total"]`."""
        named = ((group, getattr(self, group)) for group in GROUPS)
        return {
            group: {
                name: value if value.__class__ is float or value is None else float(value)
                for name, value in (members if group == "branches" else members.__dict__).items()
                if value is not None or name not in _REVISED
            }
            for group, members in named
        }


# outputs that only some assumptions have; an edition without them leaves them out, where others say None
_REVISED = frozenset(
    {
        "cached",
        "discarded",
        "cached_prefill",
        "evaluation",
        "evaluation_prefill",
        "share",
        "tail_hours",
        "fixed_hours",
        "sync_hours",
        "mfu",
        "concurrency",
        "engine_gpus",
        "trainer_gpus",
        "activation_bytes",
        "trained_bytes",
        "discarded_low",
        "discarded_high",
    }
)
GROUPS = ("tokens", "tinker", "self_hosted", "difference", "memory", "lora", "staleness", "branches")


def _members(group: Any) -> Iterator[tuple[str, Any]]:
    yield from (group if isinstance(group, dict) else group.__dict__).items()


def by_path(estimate: Estimate) -> dict[str, Any]:
    """Every number of an estimate by its dotted name, branches last; absent ones left out."""
    named = {f"{group}.{name}": value for group in GROUPS for name, value in _members(getattr(estimate, group))}
    return {name: value for name, value in named.items() if value is not None}


_UNITS: Mapping[str, str] = {
    "tokens.rollout": "tokens",
    "tokens.train": "tokens",
    "tokens.prefill": "tokens",
    "tinker.rollout": "USD",
    "tinker.train": "USD",
    "tinker.prefill": "USD",
    "tinker.sandbox": "USD",
    "tinker.storage_per_month": "USD/month",
    "tinker.total": "USD",
    "self_hosted.rollout_tokens_per_second": "tokens/s",
    "self_hosted.train_tokens_per_second": "tokens/s",
    "self_hosted.decode_hours": "h",
    "self_hosted.prefill_hours": "h",
    "self_hosted.rollout_hours": "h",
    "self_hosted.train_hours": "h",
    "self_hosted.hours": "h",
    "self_hosted.gpu_hours": "GPU-h",
    "self_hosted.overlap_speedup": "1",
    "self_hosted.sandbox": "USD",
    "self_hosted.total": "USD",
    "difference.total": "USD",
    "memory.min_gpus": "GPUs",
    "memory.weights_bytes": "B",
    "memory.kv_cache_bytes": "B",
    "memory.weights_fit": "1",
    "memory.kv_fits": "1",
    "lora.parameters": "parameters",
    "lora.checkpoint_bytes": "B",
    "staleness.abort_rate": "1",
    "branches.decode_roof": "tokens/s",
    "branches.abort_threshold": "steps",
    "branches.overlap_threshold": "steps",
    "branches.longer_phase": "h",
    "branches.min_gpus_ceil": "GPUs",
    "branches.min_gpus_two": "GPUs",
    "branches.weights_fit": "GPUs",
    "branches.kv_fits": "B",
}

PUBLISHED_OUTPUTS = tuple(_UNITS)  # what every edition has; an adapter's only with LoRA, decode_roof only without steps

# all outputs, then those that only some assumptions have
UNITS: Mapping[str, str] = {
    **_UNITS,
    "tokens.cached": "tokens",
    "tokens.discarded": "tokens",
    "tokens.evaluation": "tokens",
    "tokens.evaluation_prefill": "tokens",
    "tinker.cached_prefill": "USD",
    "tinker.evaluation": "USD",
    "self_hosted.share": "1",
    "self_hosted.tail_hours": "h",
    "self_hosted.fixed_hours": "h",
    "self_hosted.sync_hours": "h",
    "self_hosted.mfu": "1",
    "memory.concurrency": "sequences",
    "memory.engine_gpus": "GPUs",
    "memory.trainer_gpus": "GPUs",
    "memory.activation_bytes": "B",
    "memory.trained_bytes": "B",
    "staleness.discarded": "1",
    "staleness.discarded_low": "1",
    "staleness.discarded_high": "1",
    "branches.longer_side": "s",
    "branches.hidden": "s",
    "branches.step_roof": "s",
    "branches.concurrency": "sequences",
    "branches.window": "tokens",
    "branches.cap": "tokens",
    "branches.mfu_cap": "1",
    "branches.discarded_zero": "1",
    "branches.async_threshold": "steps",
    "branches.replica_gpus_ceil": "doublings",
    "branches.trainer_gpus_ceil": "GPUs",
}
