"""The chips of the catalog: `chip_data/*.toml`, with the measured figures of effective.toml declared on them."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import listed
from ..hardware.chip import Chip, Link
from ..hardware.reader import chip_from_table, read_source
from .effective_table import EffectiveRate, effective_rates
from .lookup import CatalogError, find, nearest, plain

FILES = ("nvidia", "geforce", "amd", "apple", "google", "aws", "dataflow")
_FOLDER = Path(__file__).parent / "chip_data"


@cache
def chips() -> tuple[Chip, ...]:
    """Every chip of the catalog, by vendor."""
    rows = [chip for name in FILES for chip in read_chips(tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8")))]
    return tuple(_declare_measured(chip, effective_rates(chip.id)) for chip in rows)


def chip(name: str) -> Chip:
    """The chip that `name` means: an id, a name or an alias; case and punctuation are forgiven.

    Raises:
        CatalogError: no such chip (names the nearest three), or a family of several ("h100": SXM, PCIe, NVL).
    """
    table = {row.id: row for row in chips()}
    found = table.get(name) if isinstance(name, str) else None
    if found is not None:
        return found
    wanted = plain(name) if isinstance(name, str) else ""
    names = _names()
    if wanted and wanted not in map(plain, (*table, *names)):
        family = [row for row in table if plain(row).startswith(wanted)]
        if len(family) > 1:
            raise CatalogError(f"{name!r} is a family of chips: {listed(family)}; write one of them")
        raise CatalogError(f"no chip {name!r} in the catalog; the nearest are {listed(nearest(name, table))}")
    return table[find(name, table, "chip", names)]


@cache
def _names() -> dict[str, str]:
    """Further spellings, each with its id: names, aliases, and both after the vendor."""
    names: dict[str, str] = {}
    for row in chips():
        for spelling in (row.name, *row.aliases):
            names[spelling] = row.id
        for spelling in (row.id, row.name, *row.aliases):
            names[f"{row.vendor} {spelling}"] = row.id
    return names


def read_chips(data: dict[str, Any]) -> tuple[Chip, ...]:
    """The chips of a parsed TOML file of many: `[[chip]]` tables and the `[sources]` that they name."""
    named = {key: read_source(source) for key, source in data.get("sources", {}).items()}
    return tuple(chip_from_table(table, named) for table in data["chip"])


def _declare_measured(row: Chip, rates: tuple[EffectiveRate, ...]) -> Chip:
    """`row` with the measured rates that effective.toml declares for it; a streaming rate is taken of its bandwidth."""
    changes: dict[str, Any] = {}
    declared_by, sources = dict(row.declared_by), dict(row.sources)
    for rate in (rate for rate in rates if rate.declared):
        if rate.kind == "all_reduce":
            changes["all_reduce_times"] = (*changes.get("all_reduce_times", ()), rate.all_reduce_time())
            continue
        if rate.kind == "link_latency":
            link = row.link or Link()
            changes["link"] = replace(
                link, latency=rate.value, latency_source=rate.source, latency_declared_by="measured"
            )
            continue
        value = rate.value
        if rate.kind == "streaming_fraction" and rate.unit == "B/s":
            if row.bandwidth is None:
                raise CatalogError(f"effective.toml measures the streaming of {row.id}, which has no bandwidth")
            value = rate.value / row.bandwidth
        changes[rate.kind] = value
        declared_by[rate.kind], sources[rate.kind] = "measured", rate.source
    if not changes:
        return row
    return replace(row, **changes, declared_by=declared_by, sources=sources)
