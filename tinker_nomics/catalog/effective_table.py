"""Measured rates of chips: what a prediction may declare, each with its condition. The floor uses none of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from ..hardware.chip import AllReduceTime, Source
from ..hardware.reader import read_source
from ..quantities import parse_quantity
from .tables import packaged

_UNITS = {"stage_overhead": "s", "link_latency": "s", "all_reduce": "s", "link_fraction": "1"}


@dataclass(frozen=True)
class EffectiveRate:
    """One measurement.

    Args:
        kind: stage_overhead, streaming_fraction, all_reduce, link_latency or link_fraction.
        chip: the id of the chip, or the family that the source names.
        value: the figure, in `unit`; a streaming fraction may be a rate [B/s] of the chip's declared bandwidth.
        unit: "s", "1" or "B/s".
        condition: what it was measured under.
        source: where it is read.
        declared: whether the catalog's chip carries it.
        why_not: why it does not.
        width, payload: chips and bytes of an all-reduce.
    """

    kind: str
    chip: str
    value: float
    unit: str
    condition: str
    source: Source
    declared: bool = True
    why_not: str = ""
    width: int | None = None
    payload: float | None = None

    def all_reduce_time(self) -> AllReduceTime:
        """This measurement as a chip carries it; only for kind "all_reduce"."""
        if self.width is None or self.payload is None:
            raise ValueError(f"{self.kind} of {self.chip} has no width and payload: it is no all-reduce")
        return AllReduceTime(self.width, self.payload, self.value, self.condition, self.source)


@cache
def all_effective_rates() -> tuple[EffectiveRate, ...]:
    """Every row of effective.toml."""
    data = packaged("effective.toml")
    named = {key: read_source(source) for key, source in data["sources"].items()}
    rows = []
    for table in data["rate"]:
        unit = _UNITS.get(table["kind"]) or ("B/s" if isinstance(table["value"], str) else "1")
        payload = table.get("payload")
        rows.append(
            EffectiveRate(
                kind=table["kind"],
                chip=table["chip"],
                value=parse_quantity(table["value"], unit),
                unit=unit,
                condition=table["condition"],
                source=replace(named[table["source"]], note=table["condition"]),
                declared="why_not" not in table,
                why_not=table.get("why_not", ""),
                width=table.get("width"),
                payload=None if payload is None else parse_quantity(payload, "B"),
            )
        )
    return tuple(rows)


def effective_rates(chip: str) -> tuple[EffectiveRate, ...]:
    """The measurements of the chip with the id `chip`."""
    return tuple(rate for rate in all_effective_rates() if rate.chip == chip)
