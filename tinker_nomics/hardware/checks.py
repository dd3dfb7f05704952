"""What the figures of a chip may be; everything that is wrong with one is listed at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ConfigError, Problem, listed

if TYPE_CHECKING:
    from .chip import Chip, Source

Kind = TypeVar("Kind", bound=StrEnum)

PRECISIONS = ("bf16", "fp16", "fp8", "int8", "fp4")
MOST_TIERS = 4
DECLARERS = ("vendor", "measured", "user")
STATUSES = {
    "V": "read in the vendor's text",
    "S": "read in a secondary text that cites or repeats the vendor",
    "D": "derived from figures that are V or S",
    "U": "given by the user",
}


def is_number(value: Any) -> bool:
    """Whether `value` is a number that a float can hold: finite, no bool, no integer beyond 1.8e308."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def member(members: type[Kind], given: Any, path: str, what: str) -> Kind:
    """The member of an enumeration that `given` is or names.

    Raises:
        ConfigError: none; it lists them.
    """
    try:
        return members(given)
    except ValueError:
        allowed = f"one of {listed(item.value for item in members)}"
        raise ConfigError([Problem(path, given, allowed)], what=what) from None


def shape_problems(chip: Chip) -> list[Problem]:
    """What of `chip` is not even of the right kind, so that its figures cannot be looked at."""
    from .chip import AllReduceTime, Link, Source, Tier

    def all_are(values: Any, kind: type) -> bool:
        return isinstance(values, (list, tuple)) and all(isinstance(value, kind) for value in values)

    def maps_to(values: Any, kind: type) -> bool:
        return isinstance(values, Mapping) and all(isinstance(value, kind) for value in values.values())

    fits = {
        "id": (isinstance(chip.id, str), "a short name, as text"),
        "tiers": (all_are(chip.tiers, Tier), 'a tuple of Tiers, such as (Tier("HBM", 80e9, 3.35e12),)'),
        "matrix_rates": (maps_to(chip.matrix_rates, object), "FLOP/s by precision, such as {'bf16': 989e12}"),
        "link": (chip.link is None or isinstance(chip.link, Link), "a Link, or None"),
        "all_reduce_times": (all_are(chip.all_reduce_times, AllReduceTime), "a tuple of AllReduceTimes"),
        "declared_by": (maps_to(chip.declared_by, str), "one of DECLARERS by figure"),
        "notes": (all_are(chip.notes, str), "a tuple of texts"),
        "sources": (maps_to(chip.sources, Source), "a Source by figure"),
        "aliases": (all_are(chip.aliases, str), "a tuple of texts"),
    }
    return [Problem(name, getattr(chip, name), allowed) for name, (good, allowed) in fits.items() if not good]


def chip_problems(chip: Chip) -> list[Problem]:
    """Everything that is wrong with the figures of `chip`."""
    problems: list[Problem] = []

    def check(
        path: str, value: Any, unit: str, *, low: float = 0.0, closed: bool = False, high: float = math.inf
    ) -> None:
        if value is None:
            return
        if not is_number(value) or value < low or (value == low and not closed) or value > high:
            bound = f"{'at least' if closed else 'above'} {low:g}" + (f", at most {high:g}" if high < math.inf else "")
            problems.append(Problem(path, value, f"a finite number {bound} [{unit}]", "Leave it out where unknown."))

    if not chip.id or chip.id != chip.id.strip() or not chip.id.isprintable():
        problems.append(Problem("id", chip.id, "a short name of letters that print, without spaces around it"))
    if not 1 <= len(chip.tiers) <= MOST_TIERS:
        problems.append(Problem("tiers", len(chip.tiers), f"one to {MOST_TIERS} memory tiers"))
    elif not any(tier.resident for tier in chip.tiers):
        problems.append(Problem("tiers", "none resident", "at least one tier must be able to hold weights"))
    for i, tier in enumerate(chip.tiers):
        if tier.capacity is None:
            problems.append(Problem(f"tiers.{i}.capacity", None, "a finite number above 0 [B]"))
        check(f"tiers.{i}.capacity", tier.capacity, "B")
        check(f"tiers.{i}.bandwidth", tier.bandwidth, "B/s")
    for precision, rate in chip.matrix_rates.items():
        if precision not in PRECISIONS:
            problems.append(Problem(f"matrix_rates.{precision}", rate, f"a precision of {', '.join(PRECISIONS)}"))
        check(f"matrix_rates.{precision}", rate, "FLOP/s")
    check("stage_overhead", chip.stage_overhead, "s", closed=True)
    check("rent", chip.rent, "USD per chip-hour", closed=True)
    check("streaming_fraction", chip.streaming_fraction, "1", high=1.0)
    for i, time in enumerate(chip.all_reduce_times):
        check(f"all_reduce_times.{i}.width", time.width, "chips", low=2, closed=True)
        check(f"all_reduce_times.{i}.payload", time.payload, "B")
        check(f"all_reduce_times.{i}.seconds", time.seconds, "s")
    for figure, by in chip.declared_by.items():
        if by not in DECLARERS:
            problems.append(Problem(f"declared_by.{figure}", by, f"one of {', '.join(DECLARERS)}"))
    if (link := chip.link) is not None:
        check("link.bandwidth_per_chip", link.bandwidth_per_chip, "B/s per direction")
        check("link.bandwidth_per_peer", link.bandwidth_per_peer, "B/s per direction")
        check("link.latency", link.latency, "s", closed=True)
        check("link.domain", link.domain, "chips", low=1, closed=True)
        if is_number(link.domain) and link.domain != int(link.domain or 0):
            problems.append(Problem("link.domain", link.domain, "a whole number of chips"))
        if link.latency_declared_by not in DECLARERS:
            allowed = f"one of {', '.join(DECLARERS)}"
            problems.append(Problem("link.latency_declared_by", link.latency_declared_by, allowed))
        chip_rate, peer_rate = link.bandwidth_per_chip, link.bandwidth_per_peer
        if is_number(chip_rate) and is_number(peer_rate) and peer_rate > chip_rate:  # type: ignore[operator]
            problems.append(Problem("link.bandwidth_per_peer", peer_rate, f"at most the chip's own {chip_rate:g} B/s"))
    for figure, source in cited(chip):
        if source.status not in STATUSES:
            problems.append(Problem(f"{figure}.source.status", source.status, f"one of {listed(STATUSES)}"))
    return problems


def cited(chip: Chip) -> list[tuple[str, Source]]:
    """Every source that `chip` cites, with the figure that it is cited for."""
    found = [(f"tiers.{i}", tier.source) for i, tier in enumerate(chip.tiers)]
    found += [(f"tiers.{i}.capacity", tier.capacity_source or tier.source) for i, tier in enumerate(chip.tiers)]
    if chip.link is not None:
        found.append(("link", chip.link.source))
        if chip.link.latency is not None:
            found.append(("link.latency", chip.link.latency_source or chip.link.source))
    found += [(f"all_reduce_times.{i}", time.source) for i, time in enumerate(chip.all_reduce_times)]
    return found + list(chip.sources.items())
