"""Sandboxes: where graders and tools run, and what a second of them costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .lookup import find
from .tables import packaged


@dataclass(frozen=True)
class SandboxRow:
    """One provider.

    Args:
        name: its name here.
        core_second: USD per second of one physical core.
        gib_second: USD per second of one GiB of memory.
        cores, gib: what a sandbox gets unless asked otherwise; None where there is no default.
        fee: whether the provider charges at all.
        source, date, status, note: where the row comes from.
    """

    name: str
    core_second: float
    gib_second: float
    cores: float | None
    gib: float | None
    fee: bool
    source: str
    date: str
    status: str
    note: str = ""

    @property
    def values(self) -> dict[str, float]:
        """The row as {parameter path: value}."""
        out = {"sandbox.price_per_core_second": self.core_second, "sandbox.price_per_gib_second": self.gib_second}
        if self.cores is not None:
            out["sandbox.cores"] = self.cores
        if self.gib is not None:
            out["sandbox.gib"] = self.gib
        return out


@cache
def _rows() -> dict[str, SandboxRow]:
    return {
        row["name"]: SandboxRow(**{"cores": None, "gib": None} | row) for row in packaged("sandboxes.toml")["sandbox"]
    }


def sandboxes() -> tuple[SandboxRow, ...]:
    """Every sandbox provider."""
    return tuple(_rows().values())


def sandbox(name: str) -> SandboxRow:
    """The provider that `name` means.

    Raises:
        CatalogError: no such provider; names the nearest three.
    """
    return _rows()[find(name, _rows(), "sandbox")]
