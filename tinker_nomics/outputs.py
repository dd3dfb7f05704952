"""Estimate: what one run costs, as a pytree of numbers with dotted names, units and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx

from .config import Number


class _Named(eqx.Module):
    """A Module whose numbers can be had by dotted name too: `estimate["tinker.total"]`."""

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
    """Token streams of the whole run [tokens]."""

    rollout: Number
    train: Number
    prefill: Number


class TinkerCost(_Named):
    """Tinker's bill by stream [USD]; storage of one checkpoint beside it [USD per month]."""

    rollout: Number
    train: Number
    prefill: Number
    sandbox: Number
    storage_per_month: Number
    total: Number


class SelfHosted(_Named):
    """The same run on own GPUs: speeds [tokens/s of the cluster], phases [h], cost [USD]."""

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


class Difference(_Named):
    """Own GPUs minus Tinker [USD]: negative where own GPUs are cheaper."""

    total: Number


class MemoryNeed(_Named):
    """GPUs needed, bytes of weights (all copies and overhead) and cache; the flags are 1.0 where it fits, else 0.0."""

    min_gpus: Number
    weights_bytes: Number
    kv_cache_bytes: Number
    weights_fit: Number
    kv_fits: Number


class LoraSize(_Named):
    """The adapter: parameters, bytes of a checkpoint; None for full fine-tuning, and where the edition cannot count."""

    parameters: Number
    checkpoint_bytes: Number


class Staleness(_Named):
    """Share of sampled tokens that are thrown away as too stale."""

    abort_rate: Number


class Estimate(_Named):
    """One run priced. `branches` holds the margin of every max, min, ceil and threshold on the way.

    A margin is a - b of the compared pair, or the distance to the next whole number; where it changes sign the model
    has a kink or a jump. `notes` says in words what was overridden and where figures come from.
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

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Every number as nested plain floats: `estimate.to_dict()["tinker"]["total"]`."""
        return {
            group: {name: None if value is None else float(value) for name, value in _members(getattr(self, group))}
            for group in GROUPS
        }


GROUPS = ("tokens", "tinker", "self_hosted", "difference", "memory", "lora", "staleness", "branches")


def _members(group: Any) -> Iterator[tuple[str, Any]]:
    yield from (group if isinstance(group, dict) else group.__dict__).items()


def by_path(estimate: Estimate) -> dict[str, Any]:
    """Every number of an estimate by its dotted name, branches last; absent ones left out."""
    named = {f"{group}.{name}": value for group in GROUPS for name, value in _members(getattr(estimate, group))}
    return {name: value for name, value in named.items() if value is not None}


UNITS: Mapping[str, str] = {
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
