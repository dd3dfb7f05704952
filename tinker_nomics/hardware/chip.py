"""Chips and machines: what a chip's documents say of it, each figure with its source. Host side, no JAX.

One chip type serves the cost model and the decode pricer. A figure that no document gives is `None`, and what needs it
refuses by name; nothing is filled in. `hardware_checks.py` says what a figure may be, `hardware_toml.py` and
`hardware_writer.py` read and write chips, `hardware_arrays.py` turns them into arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError, Problem
from ..quantities import show
from .checks import DECLARERS, MOST_TIERS, PRECISIONS, STATUSES, chip_problems, is_number, member, shape_problems

if TYPE_CHECKING:
    from .arrays import ChipArrays, MachineArrays

__all__ = [
    "DECLARERS",
    "MOST_TIERS",
    "PRECISIONS",
    "STATUSES",
    "USER",
    "AllReduceTime",
    "Chip",
    "Link",
    "Machine",
    "Source",
    "Tier",
    "TierKind",
    "Topology",
]


MOST_COUNT = 2**53
"""The most chips of a machine: every whole number up to here is a float."""


class TierKind(StrEnum):
    """What a memory tier is made of."""

    SRAM = "SRAM"
    HBM = "HBM"
    GDDR = "GDDR"
    LPDDR = "LPDDR"
    DDR = "DDR"


class Topology(StrEnum):
    """How chips are joined. `code` is its place in the arrays; an undeclared topology is -1 there."""

    ALL_TO_ALL = "all_to_all"
    RING = "ring"
    TORUS2D = "torus2d"
    TORUS3D = "torus3d"
    MESH2D = "mesh2d"
    PAIR = "pair"
    HOST = "host"
    NONE = "none"

    @property
    def code(self) -> int:
        return list(Topology).index(self)


@dataclass(frozen=True)
class Source:
    """Where a figure is read.

    Args:
        text: the document in words.
        document: its address: a URL, or a public repository, path and commit.
        date: the document's date, or the day it was read (ISO, day or month may be missing).
        status: a key of `STATUSES`.
        note: what the document says beside the figure: conditions, conflicts.
    """

    text: str
    document: str = ""
    date: str = ""
    status: str = "U"
    note: str = ""


USER = Source("given by the user")


@dataclass(frozen=True)
class Tier:
    """One memory tier of a chip.

    Args:
        kind: what it is made of.
        capacity: bytes that it holds [B].
        bandwidth: its streaming rate at the published peak [B/s]; None where no document gives one.
        resident: whether software can leave weights in it across tokens. Caches and staging memories are not resident.
        source: where bandwidth and capacity are read.
        capacity_source: where the capacity is read, if elsewhere.
        technology: the vendor's word, e.g. "HBM3e".
    """

    kind: TierKind
    capacity: float
    bandwidth: float | None
    resident: bool = True
    source: Source = field(default=USER, repr=False)
    capacity_source: Source | None = field(default=None, repr=False)
    technology: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", member(TierKind, self.kind, "kind", "this tier"))


@dataclass(frozen=True)
class Link:
    """The chip-to-chip network. Rates are one way.

    Args:
        name: the vendor's name of it.
        bandwidth_per_chip: all that one chip can send [B/s per direction].
        bandwidth_per_peer: what one chip can send to one peer, where peers have links of their own [B/s per direction].
        latency: one hop [s].
        topology: how the chips are joined.
        domain: the most chips that it joins.
        source: where these are read.
        latency_source: where the latency is read, if elsewhere.
        latency_declared_by: one of `DECLARERS`; a measured latency is part of a prediction, never of the floor.
    """

    name: str = ""
    bandwidth_per_chip: float | None = None
    bandwidth_per_peer: float | None = None
    latency: float | None = None
    topology: Topology | None = None
    domain: int | None = None
    source: Source = field(default=USER, repr=False)
    latency_source: Source | None = field(default=None, repr=False)
    latency_declared_by: str = "vendor"

    def __post_init__(self) -> None:
        if self.topology is not None:
            object.__setattr__(self, "topology", member(Topology, self.topology, "topology", "this link"))


@dataclass(frozen=True)
class AllReduceTime:
    """One measured all-reduce: `width` chips, `payload` bytes, `seconds`, and the condition it was measured under."""

    width: int
    payload: float
    seconds: float
    condition: str = ""
    source: Source = USER


@dataclass(frozen=True)
class Chip:
    """A chip as its documents describe it.

    Args:
        id: short name, e.g. "h100-sxm".
        tiers: one to four memory tiers, fastest first.
        matrix_rates: dense matrix rate by precision of `PRECISIONS` [FLOP/s]; None or absent where undocumented.
        link: the chip-to-chip network, None where there is none or none is documented.
        stage_overhead: what one dependent kernel costs beyond its work [s].
        streaming_fraction: the share of the peak bandwidth that streaming reaches, in (0, 1]; None counts as 1.
        all_reduce_times: measured all-reduces.
        declared_by: figure -> one of `DECLARERS`, for figures that no vendor declares ("stage_overhead" ...).
        rent: what it rents for where its owner states it [USD per chip-hour]; the catalog's rents are a table apart.
        sources: figure -> Source, keyed "matrix_rates", "matrix_rates.int8", "stage_overhead", "streaming_fraction", "rent".

    Raises:
        ConfigError: a figure that is no positive finite number, no tier or more than four, none resident, an unknown
            precision; all at once.
    """

    id: str
    tiers: tuple[Tier, ...]
    name: str = ""
    vendor: str = ""
    matrix_rates: Mapping[str, float | None] = field(default_factory=dict)
    link: Link | None = None
    stage_overhead: float | None = None
    streaming_fraction: float | None = None
    all_reduce_times: tuple[AllReduceTime, ...] = field(default=(), repr=False)
    declared_by: Mapping[str, str] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    sources: Mapping[str, Source] = field(default_factory=dict, repr=False)
    aliases: tuple[str, ...] = field(default=(), repr=False)
    year: int | None = field(default=None, repr=False)
    scope: str = field(default="one chip", repr=False)
    rent: float | None = None

    def __post_init__(self) -> None:
        if misshapen := shape_problems(self):
            raise ConfigError(misshapen, what=f"chip {self.id!r}")
        object.__setattr__(self, "tiers", tuple(self.tiers))
        object.__setattr__(
            self, "matrix_rates", {p: self.matrix_rates.get(p) for p in PRECISIONS} | dict(self.matrix_rates)
        )
        problems = chip_problems(self)
        object.__setattr__(self, "all_reduce_times", tuple(self.all_reduce_times))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "aliases", tuple(self.aliases))
        if problems:
            raise ConfigError(problems, what=f"chip {self.id!r}")

    def __str__(self) -> str:
        """One line: its name, its memory, its bf16 rate."""
        tiers = ", ".join(
            f"{tier.kind.value} {show(tier.capacity, 'B')}"
            + (f" at {show(tier.bandwidth, 'B/s')}" if tier.bandwidth is not None else " of undeclared bandwidth")
            for tier in self.tiers
        )
        rate = "no bf16 rate" if self.matrix_rate is None else f"bf16 {show(self.matrix_rate, 'FLOP/s')}"
        return f"{self.id}: {tiers}; {rate}"

    def __hash__(self) -> int:
        return hash((self.id, self.tiers, tuple(self.matrix_rates.items()), self.link))

    @property
    def weight_tier(self) -> Tier | None:
        """The largest resident tier with a declared bandwidth: the one that the cost model keeps the weights in."""
        declared = [tier for tier in self.tiers if tier.resident and tier.bandwidth is not None]
        return max(declared, key=lambda tier: tier.capacity, default=None)

    @property
    def bandwidth(self) -> float | None:
        """Peak bandwidth of `weight_tier` [B/s]."""
        return None if self.weight_tier is None else self.weight_tier.bandwidth

    @property
    def memory_bytes(self) -> float | None:
        """Capacity of `weight_tier` [B]."""
        return None if self.weight_tier is None else self.weight_tier.capacity

    @property
    def matrix_rate(self) -> float | None:
        """Dense bf16 rate [FLOP/s]."""
        return self.matrix_rates["bf16"]

    def source(self, figure: str) -> Source:
        """The source of `figure`, e.g. "tiers.0.bandwidth", "matrix_rates.bf16", "link.latency", "stage_overhead"."""
        head, _, rest = figure.partition(".")
        if head == "tiers":
            index, _, part = rest.partition(".")
            tier = self.tiers[int(index)]
            return tier.capacity_source or tier.source if part == "capacity" else tier.source
        if head == "link" and self.link is not None:
            return self.link.latency_source or self.link.source if rest == "latency" else self.link.source
        return self.sources.get(figure) or self.sources.get(head, USER)

    def arrays(self, rent: float | None = None) -> ChipArrays:
        """This chip as arrays (imports JAX). `rent` is USD per chip-hour, None where unknown."""
        from .arrays import chip_arrays

        return chip_arrays(self, rent)

    @staticmethod
    def from_toml(path_or_text: str | Path) -> Chip:
        """The one chip of a TOML file or text; figures may be numbers in SI units or text such as "3.35 TB/s"."""
        from .reader import chip_from_toml

        return chip_from_toml(path_or_text)

    def to_toml(self) -> str:
        """This chip as TOML that `from_toml` reads back to an equal chip."""
        from .writer import chip_to_toml

        return chip_to_toml(self)


@dataclass(frozen=True)
class Machine:
    """`count` identical chips that run one step tensor-parallel, at `rent` USD per chip-hour where it is known.

    A machine without a rent has that of its chip, where the chip states one.
    """

    chip: Chip
    count: int = 1
    rent: float | None = None

    def __post_init__(self) -> None:
        problems = []
        if not isinstance(self.chip, Chip):
            problems.append(Problem("chip", self.chip, "a Chip", "Take catalog.chip(name) or Chip.from_toml(path)."))
        if not is_number(self.count) or not 1 <= self.count <= MOST_COUNT or self.count != int(self.count):
            problems.append(Problem("count", self.count, f"a whole number of chips, 1 to {MOST_COUNT:,}"))
        else:
            object.__setattr__(self, "count", int(self.count))
        if self.rent is not None and not (is_number(self.rent) and self.rent >= 0):
            problems.append(Problem("rent", self.rent, "0 or more [USD per chip-hour], or None where unknown"))
        if problems:
            raise ConfigError(problems, what="this machine")
        if self.rent is None and self.chip.rent is not None:
            object.__setattr__(self, "rent", self.chip.rent)

    def __str__(self) -> str:
        rent = "" if self.rent is None else f", {self.rent:g} USD per chip-hour"
        return f"{self.count} x {self.chip}{rent}"

    def arrays(self) -> MachineArrays:
        """This machine as arrays (imports JAX)."""
        from .arrays import machine_arrays

        return machine_arrays(self)
