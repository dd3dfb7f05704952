"""Chips written as TOML, with quantities as people read them, so that reading gives an equal chip back."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..quantities import parse_quantity
from .chip import USER, AllReduceTime, Chip, Link, Source, Tier
from .reader import SOURCE_KEYS

_PREFIXES = {
    "B": ("T", "G", "M", "k", ""),
    "B/s": ("P", "T", "G", "M", ""),
    "FLOP/s": ("P", "T", "G", ""),
    "s": ("", "m", "u", "n"),
    "USD/h": ("",),
}


def _quantity(value: float, unit: str) -> str:
    """`value` as text with its unit, and a prefix where it then reads back to the same float."""
    for prefix in _PREFIXES.get(unit, ()):
        factor = parse_quantity(f"1 {prefix}{unit}", unit)
        digits = f"{value / factor:.10g}"
        if value >= factor and "e" not in digits and parse_quantity(f"{digits} {prefix}{unit}", unit) == value:
            return json.dumps(f"{digits} {prefix}{unit}")
    return json.dumps(f"{float(value)!r} {unit}") if unit in _PREFIXES else repr(float(value))


def _inline(items: Mapping[str, str | None]) -> str:
    return "{" + ", ".join(f"{key} = {value}" for key, value in items.items() if value is not None) + "}"


def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _source(source: Source | None, names: dict[Source, str], default: Source | None = None) -> str | None:
    if source is None or source == default:
        return None
    return _string(names.setdefault(source, f"source_{len(names) + 1}"))


def _optional(value: float | None, unit: str) -> str | None:
    return None if value is None else _quantity(value, unit)


def _tier(tier: Tier, names: dict[Source, str]) -> str:
    return _inline(
        {
            "kind": _string(tier.kind.value),
            "technology": _string(tier.technology) if tier.technology else None,
            "capacity": _quantity(tier.capacity, "B"),
            "bandwidth": _optional(tier.bandwidth, "B/s"),
            "resident": None if tier.resident else "false",
            "source": _source(tier.source, names, USER),
            "capacity_source": _source(tier.capacity_source, names),
        }
    )


def _link(link: Link, names: dict[Source, str]) -> str:
    return _inline(
        {
            "name": _string(link.name) if link.name else None,
            "bandwidth_per_chip": _optional(link.bandwidth_per_chip, "B/s"),
            "bandwidth_per_peer": _optional(link.bandwidth_per_peer, "B/s"),
            "latency": _optional(link.latency, "s"),
            "topology": None if link.topology is None else _string(link.topology.value),
            "domain": None if link.domain is None else str(link.domain),
            "source": _source(link.source, names, USER),
            "latency_source": _source(link.latency_source, names),
            "latency_declared_by": None if link.latency_declared_by == "vendor" else _string(link.latency_declared_by),
        }
    )


def _time(time: AllReduceTime, names: dict[Source, str]) -> str:
    return _inline(
        {
            "width": str(time.width),
            "payload": _quantity(time.payload, "B"),
            "seconds": _quantity(time.seconds, "s"),
            "condition": _string(time.condition) if time.condition else None,
            "source": _source(time.source, names, USER),
        }
    )


def _list(items: list[str]) -> str:
    return "[" + "".join(f"\n    {item}," for item in items) + ("\n]" if items else "]")


def chip_to_toml(chip: Chip) -> str:
    """`chip` as TOML that `Chip.from_toml` reads back to an equal chip."""
    names: dict[Source, str] = {}
    entries: dict[str, str | None] = {
        "id": _string(chip.id),
        "name": _string(chip.name) if chip.name else None,
        "vendor": _string(chip.vendor) if chip.vendor else None,
        "year": None if chip.year is None else str(chip.year),
        "scope": None if chip.scope == "one chip" else _string(chip.scope),
        "aliases": _list([_string(alias) for alias in chip.aliases]) if chip.aliases else None,
        "tiers": _list([_tier(tier, names) for tier in chip.tiers]),
        "matrix_rates": _inline({key: _optional(rate, "FLOP/s") for key, rate in chip.matrix_rates.items()}),
        "link": None if chip.link is None else _link(chip.link, names),
        "stage_overhead": _optional(chip.stage_overhead, "s"),
        "streaming_fraction": _optional(chip.streaming_fraction, "1"),
        "all_reduce_times": _list([_time(time, names) for time in times]) if (times := chip.all_reduce_times) else None,
        "rent": _optional(chip.rent, "USD/h"),
        "declared_by": _inline({_string(key): _string(by) for key, by in chip.declared_by.items()}),
        "sources": _inline({_string(key): _source(source, names) for key, source in chip.sources.items()}),
        "notes": _list([_string(note) for note in chip.notes]) if chip.notes else None,
    }
    lines = ["[chip]", *(f"{key} = {text}" for key, text in entries.items() if text is not None)]
    for source, name in names.items():
        kept = {key: getattr(source, key) for key in SOURCE_KEYS if getattr(source, key) or key in ("text", "status")}
        lines += ["", f"[sources.{name}]", *(f"{key} = {_string(text)}" for key, text in kept.items())]
    return "\n".join(lines) + "\n"
