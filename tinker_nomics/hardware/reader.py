"""Chips as TOML: what a user writes for a chip of their own, and what the catalog keeps."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Problem, TinkerNomicsError, listed
from ..quantities import parse_quantity
from ..reading import read_text
from .checks import member
from .chip import USER, AllReduceTime, Chip, Link, Source, Tier, TierKind, Topology

_CHIP_KEYS = [
    *("id", "name", "vendor", "year", "scope", "aliases", "tiers", "matrix_rates", "link", "stage_overhead"),
    *("streaming_fraction", "all_reduce_times", "declared_by", "rent", "sources", "notes"),
]
_TIER_KEYS = ["kind", "technology", "capacity", "bandwidth", "resident", "source", "capacity_source"]
_LINK_KEYS = [
    *("name", "bandwidth_per_chip", "bandwidth_per_peer", "latency", "topology", "domain", "source"),
    *("latency_source", "latency_declared_by"),
]
_TIME_KEYS = ["width", "payload", "seconds", "condition", "source"]
SOURCE_KEYS = ["text", "document", "date", "status", "note"]
_LEAST_BARE = 1e5  # B, B/s or FLOP/s: below it a number without a unit is taken for a slip


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
                near = difflib.get_close_matches(key, allowed, 3, 0.6)
                told = f"the nearest are {listed(near)}" if near else f"the keys are {listed(allowed)}"
                self.problems.append(Problem(f"{path}.{key}".strip("."), table[key], f"an unknown key; {told}"))
        return table

    def shaped(self, table: dict[str, Any], key: str, shape: type[list] | type[dict]) -> Any:
        """The list or table at `key`; empty, with a problem noted, where it is something else."""
        given = table.get(key, shape())
        if isinstance(given, shape):
            return given
        self.problems.append(Problem(key, given, "a list" if shape is list else "a table"))
        return shape()

    def quantity(self, path: str, given: Any, unit: str, any_size: bool = False) -> float | None:
        if given is None:
            return None
        try:
            value = parse_quantity(given, unit)
        except (TinkerNomicsError, OverflowError) as error:
            self.problems.append(Problem(path, given, str(error)))
            return None
        bare = not isinstance(given, str) or not any(letter.isalpha() for letter in given)
        if bare and not any_size and (doubt := _doubt(value, unit)):
            self.problems.append(Problem(path, given, doubt))
        return value

    def one_of(self, path: str, given: Any, members: type[TierKind] | type[Topology]) -> Any:
        try:
            return member(members, given, path, "this chip")
        except ConfigError as error:
            self.problems += error.problems
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
        return read_source(self.keys(path, given, SOURCE_KEYS))

    def tier(self, path: str, given: Any) -> Tier | None:
        table = self.keys(path, given, _TIER_KEYS)
        missing = [key for key in ("kind", "capacity") if key not in table]
        for key in missing:
            self.problems.append(Problem(f"{path}.{key}", None, "needed", 'e.g. kind = "HBM", capacity = "80 GB"'))
        kind = None if "kind" in missing else self.one_of(f"{path}.kind", table["kind"], TierKind)
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
            topology=None if topology is None else self.one_of("link.topology", topology, Topology),
            domain=table.get("domain"),
            source=self.source("link.source", table.get("source")) or USER,
            latency_source=self.source("link.latency_source", table.get("latency_source")),
            latency_declared_by=str(table.get("latency_declared_by", "vendor")),
        )

    def time(self, path: str, given: Any) -> AllReduceTime | None:
        table = self.keys(path, given, _TIME_KEYS)
        payload = self.quantity(f"{path}.payload", table.get("payload"), "B", any_size=True)
        seconds = self.quantity(f"{path}.seconds", table.get("seconds"), "s")
        if "width" not in table or payload is None or seconds is None:
            self.problems.append(Problem(path, given, "needs width, payload and seconds, each readable"))
            return None
        source = self.source(f"{path}.source", table.get("source")) or USER
        return AllReduceTime(table["width"], payload, seconds, str(table.get("condition", "")), source)


def _doubt(value: float, unit: str) -> str:
    """What is doubtful about a bare number: one that no chip has, so that its unit was most likely forgotten."""
    if unit in ("B", "B/s", "FLOP/s") and 0.0 < value < _LEAST_BARE:
        example = {"B": "80 GB", "B/s": "3.35 TB/s", "FLOP/s": "989 TFLOP/s"}[unit]
        return f'a number without a unit is in {unit}, and no chip has so little; write e.g. "{example}"'
    if unit == "s" and value >= 1.0:
        return 'a number without a unit is in s, and nothing on a chip takes so long; write e.g. "2 us"'
    return ""


def read_source(table: Mapping[str, Any]) -> Source:
    """A `Source` from a table of a `[sources]` section; keys that it does not know are left aside."""
    return Source(**{"text": "", **{key: str(table[key]) for key in SOURCE_KEYS if key in table}})


def chip_from_table(table: dict[str, Any], named: Mapping[str, Source]) -> Chip:
    """The chip that a TOML table describes; `named` are the sources that it may name.

    Raises:
        ConfigError: unknown keys, unreadable quantities, missing figures, all at once.
    """
    reader = _Reader(named)
    table = reader.keys("", table, _CHIP_KEYS)
    tiers = [reader.tier(f"tiers.{i}", given) for i, given in enumerate(reader.shaped(table, "tiers", list))]
    given_rates = reader.shaped(table, "matrix_rates", dict)
    rates = {key: reader.quantity(f"matrix_rates.{key}", given, "FLOP/s") for key, given in given_rates.items()}
    given_times = reader.shaped(table, "all_reduce_times", list)
    times = [reader.time(f"all_reduce_times.{i}", given) for i, given in enumerate(given_times)]
    given_sources = reader.shaped(table, "sources", dict)
    sources = {key: reader.source(f"sources.{key}", given) for key, given in given_sources.items()}
    year = table.get("year")
    if year is not None and (isinstance(year, bool) or not isinstance(year, int)):
        reader.problems.append(Problem("year", year, "a whole number"))
    if not isinstance(table.get("id", ""), str):
        reader.problems.append(Problem("id", table["id"], "a short name, as text"))
    link = None if "link" not in table else reader.link(table["link"])
    overhead = reader.quantity("stage_overhead", table.get("stage_overhead"), "s")
    fraction = reader.quantity("streaming_fraction", table.get("streaming_fraction"), "1")
    rent = reader.quantity("rent", table.get("rent"), "USD/h")
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
            declared_by={key: str(by) for key, by in reader.shaped(table, "declared_by", dict).items()},
            notes=tuple(str(note) for note in reader.shaped(table, "notes", list)),
            sources={key: source for key, source in sources.items() if source is not None},
            aliases=tuple(str(alias) for alias in reader.shaped(table, "aliases", list)),
            year=year,
            scope=str(table.get("scope", "one chip")),
            rent=rent,
        )
    except ConfigError as error:
        of_tiers = any(problem.path.startswith("tiers.") for problem in reader.problems)
        further = [problem for problem in error.problems if not (of_tiers and problem.path == "tiers")]
        raise ConfigError(reader.problems + further, what=f"chip {table.get('id', '')!r}") from None
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
    if "chip" in data and (strange := [key for key in data if key not in ("chip", "sources")]):
        allowed = "beside [chip] there is [sources] alone"
        hint = "Figures stand under [chip]."
        raise ConfigError([Problem(key, data[key], allowed, hint) for key in strange], what="this chip")
    tables = data.get("chip", data)
    if isinstance(tables, list):
        if len(tables) != 1:
            raise ConfigError([Problem("chip", f"{len(tables)} tables", f"one [chip] in {where}")], what="this chip")
        tables = tables[0]
    listed_sources = data.get("sources", {}) if tables is not data else {}
    if not isinstance(listed_sources, dict) or not all(isinstance(row, dict) for row in listed_sources.values()):
        raise ConfigError([Problem("sources", listed_sources, "tables: [sources.name]")], what="this chip")
    named = {key: read_source(source) for key, source in listed_sources.items()}
    return chip_from_table(tables, named)


def _text(path_or_text: str | Path) -> tuple[str, str]:
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "=" in path_or_text):
        return path_or_text, "the text"
    wanted = "a file that exists, or TOML text"
    if not isinstance(path_or_text, (str, Path)):
        raise ConfigError([Problem("path", path_or_text, wanted)], what="this chip")
    path = Path(path_or_text)
    text = read_text(path, wanted, lambda words: ConfigError([Problem("path", path, words)], what="this chip"))
    return text, str(path)
