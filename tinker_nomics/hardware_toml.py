"""Chips as TOML: what a user writes for a chip of their own, and what the catalog keeps."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import ConfigError, Problem, TinkerNomicsError, listed
from .hardware import USER, AllReduceTime, Chip, Link, Source, Tier, TierKind, Topology
from .quantities import parse_quantity

_CHIP_KEYS = [
    "id",
    "name",
    "vendor",
    "year",
    "scope",
    "aliases",
    "tiers",
    "matrix_rates",
    "link",
    "stage_overhead",
    "streaming_fraction",
    "all_reduce_times",
    "declared_by",
    "sources",
    "notes",
]
_TIER_KEYS = ["kind", "technology", "capacity", "bandwidth", "resident", "source", "capacity_source"]
_LINK_KEYS = [
    "name",
    "bandwidth_per_chip",
    "bandwidth_per_peer",
    "latency",
    "topology",
    "domain",
    "source",
    "latency_source",
    "latency_declared_by",
]
_TIME_KEYS = ["width", "payload", "seconds", "condition", "source"]
_SOURCE_KEYS = ["text", "document", "date", "status", "note"]


class _Reader:
    """Reads tables and keeps what is wrong with them, so that one error lists everything."""

    def __init__(self, named: Mapping[str, Source]):
        self.named = named
        self.problems: list[Problem] = []

    def keys(self, path: str, table: Any, allowed: list[str]) -> dict[str, Any]:
        if not isinstance(table, dict):
            self.problems.append(Problem(path, table, f"a table with the keys {listed(allowed)}"))
            return {}
        for key in table:
            if key not in allowed:
                near = difflib.get_close_matches(key, allowed, 3, 0.0)
                self.problems.append(
                    Problem(f"{path}.{key}".strip("."), table[key], f"an unknown key; did you mean {listed(near)}?")
                )
        return table

    def quantity(self, path: str, given: Any, unit: str) -> float | None:
        if given is None:
            return None
        try:
            return parse_quantity(given, unit)
        except TinkerNomicsError as error:
            self.problems.append(Problem(path, given, str(error)))
            return None

    def member(self, path: str, given: Any, members: type[TierKind] | type[Topology]) -> Any:
        try:
            return members(given)
        except ValueError:
            self.problems.append(Problem(path, given, f"one of {listed(member.value for member in members)}"))
            return None

    def source(self, path: str, given: Any) -> Source | None:
        if given is None:
            return None
        if isinstance(given, str):
            if given not in self.named:
                self.problems.append(
                    Problem(path, given, f"a name under [sources]: {listed(self.named) or 'there are none'}")
                )
            return self.named.get(given)
        return Source(**{"text": "", **self.keys(path, given, _SOURCE_KEYS)})

    def tier(self, path: str, given: Any) -> Tier | None:
        table = self.keys(path, given, _TIER_KEYS)
        missing = [key for key in ("kind", "capacity") if key not in table]
        for key in missing:
            self.problems.append(Problem(f"{path}.{key}", None, "needed", 'e.g. kind = "HBM", capacity = "80 GB"'))
        kind = None if "kind" in missing else self.member(f"{path}.kind", table["kind"], TierKind)
        capacity = self.quantity(f"{path}.capacity", table.get("capacity"), "B")
        bandwidth = self.quantity(f"{path}.bandwidth", table.get("bandwidth"), "B/s")
        resident = table.get("resident", True)
        if not isinstance(resident, bool):
            self.problems.append(Problem(f"{path}.resident", resident, "true or false"))
        source = self.source(f"{path}.source", table.get("source"))
        capacity_source = self.source(f"{path}.capacity_source", table.get("capacity_source"))
        if kind is None or capacity is None:
            return None
        technology = str(table.get("technology", ""))
        return Tier(kind, capacity, bandwidth, bool(resident), source or USER, capacity_source, technology)

    def link(self, given: Any) -> Link:
        table = self.keys("link", given, _LINK_KEYS)
        topology = table.get("topology")
        return Link(
            name=str(table.get("name", "")),
            bandwidth_per_chip=self.quantity("link.bandwidth_per_chip", table.get("bandwidth_per_chip"), "B/s"),
            bandwidth_per_peer=self.quantity("link.bandwidth_per_peer", table.get("bandwidth_per_peer"), "B/s"),
            latency=self.quantity("link.latency", table.get("latency"), "s"),
            topology=None if topology is None else self.member("link.topology", topology, Topology),
            domain=table.get("domain"),
            source=self.source("link.source", table.get("source")) or USER,
            latency_source=self.source("link.latency_source", table.get("latency_source")),
            latency_declared_by=table.get("latency_declared_by", "vendor"),
        )

    def time(self, path: str, given: Any) -> AllReduceTime | None:
        table = self.keys(path, given, _TIME_KEYS)
        payload = self.quantity(f"{path}.payload", table.get("payload"), "B")
        seconds = self.quantity(f"{path}.seconds", table.get("seconds"), "s")
        if "width" not in table or payload is None or seconds is None:
            self.problems.append(Problem(path, given, "needs width, payload and seconds"))
            return None
        source = self.source(f"{path}.source", table.get("source")) or USER
        return AllReduceTime(table["width"], payload, seconds, str(table.get("condition", "")), source)


def read_source(table: Mapping[str, Any]) -> Source:
    """A `Source` from a table of a `[sources]` section."""
    return Source(**{"text": "", **{key: str(table[key]) for key in _SOURCE_KEYS if key in table}})


def chip_from_table(table: dict[str, Any], named: Mapping[str, Source]) -> Chip:
    """The chip that a TOML table describes; `named` are the sources that it may name.

    Raises:
        ConfigError: unknown keys, unreadable quantities, missing figures, all at once.
    """
    reader = _Reader(named)
    reader.keys("", table, _CHIP_KEYS)
    given_tiers = table.get("tiers", [])
    if not isinstance(given_tiers, list):
        reader.problems.append(Problem("tiers", given_tiers, "a list of tables: [[chip.tiers]]"))
        given_tiers = []
    tiers = [reader.tier(f"tiers.{i}", given) for i, given in enumerate(given_tiers)]
    given_rates = table.get("matrix_rates", {})
    given_rates = given_rates if isinstance(given_rates, dict) else {}
    rates = {key: reader.quantity(f"matrix_rates.{key}", given, "FLOP/s") for key, given in given_rates.items()}
    times = [reader.time(f"all_reduce_times.{i}", given) for i, given in enumerate(table.get("all_reduce_times", []))]
    sources = {key: reader.source(f"sources.{key}", given) for key, given in table.get("sources", {}).items()}
    link = None if "link" not in table else reader.link(table["link"])
    overhead = reader.quantity("stage_overhead", table.get("stage_overhead"), "s")
    fraction = reader.quantity("streaming_fraction", table.get("streaming_fraction"), "1")
    try:
        chip = Chip(
            id=str(table.get("id", "")),
            tiers=tuple(tier for tier in tiers if tier is not None),
            name=str(table.get("name", "")),
            vendor=str(table.get("vendor", "")),
            matrix_rates=rates,
            link=link,
            stage_overhead=overhead,
            streaming_fraction=fraction,
            all_reduce_times=tuple(time for time in times if time is not None),
            declared_by=dict(table.get("declared_by", {})),
            notes=tuple(table.get("notes", ())),
            sources={key: source for key, source in sources.items() if source is not None},
            aliases=tuple(table.get("aliases", ())),
            year=table.get("year"),
            scope=str(table.get("scope", "one chip")),
        )
    except ConfigError as error:
        raise ConfigError(reader.problems + list(error.problems), what=f"chip {table.get('id', '')!r}") from None
    if reader.problems:
        raise ConfigError(reader.problems, what=f"chip {chip.id!r}")
    return chip


def chip_from_toml(path_or_text: str | Path) -> Chip:
    """The one chip of a TOML file or text: a `[chip]` table, or its keys at the top, with sources under `[sources]`.

    Raises:
        ConfigError: no such file, broken TOML (line and column), or a chip with problems; it lists them all.
    """
    text, where = _text(path_or_text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem("TOML", where, str(error))], what="this chip") from None
    tables = data.get("chip", data)
    if isinstance(tables, list):
        if len(tables) != 1:
            raise ConfigError([Problem("chip", f"{len(tables)} tables", f"one [chip] in {where}")], what="this chip")
        tables = tables[0]
    nested = tables is not data
    named = {key: read_source(source) for key, source in data.get("sources", {}).items()} if nested else {}
    return chip_from_table(tables, named)


def _text(path_or_text: str | Path) -> tuple[str, str]:
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "=" in path_or_text):
        return path_or_text, "the text"
    path = Path(path_or_text)
    if not path.is_file():
        problem = Problem("path", str(path), "a file that exists, or TOML text", "Check the name.")
        raise ConfigError([problem], what="this chip")
    return path.read_text(encoding="utf-8"), str(path)


_PREFIXES = {
    "B": ("T", "G", "M", "k", ""),
    "B/s": ("P", "T", "G", "M", ""),
    "FLOP/s": ("P", "T", "G", ""),
    "s": ("", "m", "u", "n"),
}


def _quantity(value: float, unit: str) -> str:
    """`value` as text with a prefix where it reads back to the same float, else the bare number."""
    for prefix in _PREFIXES.get(unit, ()):
        factor = parse_quantity(f"1 {prefix}{unit}", unit)
        digits = f"{value / factor:.10g}"
        if value >= factor and "e" not in digits and parse_quantity(f"{digits} {prefix}{unit}", unit) == value:
            return json.dumps(f"{digits} {prefix}{unit}")
    return repr(float(value))


def _inline(items: Mapping[str, str | None]) -> str:
    return "{" + ", ".join(f"{key} = {value}" for key, value in items.items() if value is not None) + "}"


def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _source(source: Source | None, names: dict[Source, str], default: Source | None = None) -> str | None:
    if source is None or source == default:
        return None
    return _string(names.setdefault(source, f"source_{len(names) + 1}"))


def chip_to_toml(chip: Chip) -> str:
    """`chip` as TOML that `chip_from_toml` reads back to an equal chip."""
    names: dict[Source, str] = {}
    lines = ["[chip]", f"id = {_string(chip.id)}"]
    for key in ("name", "vendor"):
        if getattr(chip, key):
            lines.append(f"{key} = {_string(getattr(chip, key))}")
    if chip.year is not None:
        lines.append(f"year = {chip.year}")
    if chip.scope != "one chip":
        lines.append(f"scope = {_string(chip.scope)}")
    for key in ("aliases", "notes"):
        if getattr(chip, key):
            lines.append(f"{key} = [{', '.join(_string(text) for text in getattr(chip, key))}]")
    lines.append("tiers = [")
    for tier in chip.tiers:
        table = {
            "kind": _string(tier.kind.value),
            "technology": _string(tier.technology) if tier.technology else None,
            "capacity": _quantity(tier.capacity, "B"),
            "bandwidth": None if tier.bandwidth is None else _quantity(tier.bandwidth, "B/s"),
            "resident": "true" if tier.resident else "false",
            "source": _source(tier.source, names, USER),
            "capacity_source": _source(tier.capacity_source, names),
        }
        lines.append(f"    {_inline(table)},")
    lines.append("]")
    rates = {key: None if rate is None else _quantity(rate, "FLOP/s") for key, rate in chip.matrix_rates.items()}
    lines.append(f"matrix_rates = {_inline(rates)}")
    if (link := chip.link) is not None:
        table = {
            "name": _string(link.name) if link.name else None,
            "bandwidth_per_chip": None
            if link.bandwidth_per_chip is None
            else _quantity(link.bandwidth_per_chip, "B/s"),
            "bandwidth_per_peer": None
            if link.bandwidth_per_peer is None
            else _quantity(link.bandwidth_per_peer, "B/s"),
            "latency": None if link.latency is None else _quantity(link.latency, "s"),
            "topology": None if link.topology is None else _string(link.topology.value),
            "domain": None if link.domain is None else str(int(link.domain)),
            "source": _source(link.source, names, USER),
            "latency_source": _source(link.latency_source, names),
            "latency_declared_by": None if link.latency_declared_by == "vendor" else _string(link.latency_declared_by),
        }
        lines.append(f"link = {_inline(table)}")
    if chip.stage_overhead is not None:
        lines.append(f"stage_overhead = {_quantity(chip.stage_overhead, 's')}")
    if chip.streaming_fraction is not None:
        lines.append(f"streaming_fraction = {chip.streaming_fraction!r}")
    if chip.all_reduce_times:
        lines.append("all_reduce_times = [")
        for time in chip.all_reduce_times:
            table = {
                "width": str(time.width),
                "payload": _quantity(time.payload, "B"),
                "seconds": _quantity(time.seconds, "s"),
                "condition": _string(time.condition) if time.condition else None,
                "source": _source(time.source, names, USER),
            }
            lines.append(f"    {_inline(table)},")
        lines.append("]")
    if chip.declared_by:
        lines.append(f"declared_by = {_inline({json.dumps(key): _string(by) for key, by in chip.declared_by.items()})}")
    if chip.sources:
        table = {json.dumps(key): _source(source, names) for key, source in chip.sources.items()}
        lines.append(f"sources = {_inline(table)}")
    for source, name in names.items():
        lines += ["", f"[sources.{name}]"]
        lines += [
            f"{key} = {_string(getattr(source, key))}"
            for key in _SOURCE_KEYS
            if getattr(source, key) or key in ("text", "status")
        ]
    return "\n".join(lines) + "\n"
