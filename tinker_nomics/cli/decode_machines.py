"""The machines that `decode` prices: chips of the catalog or of TOML files, at widths, with their rents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Problem, TinkerNomicsError
from .decode_arguments import counts_of, names_of

if TYPE_CHECKING:
    from ..hardware.chip import Chip, Machine

EVERY = "all"


@dataclass(frozen=True)
class RentedChip:
    """A chip under the name that tells it from the others, with its rent.

    Args:
        chip: the chip.
        rent: USD per chip-hour; None where none is known.
        origin: whose the rent is and of which day, or why there is none.
        source: where it is read; empty for one that the user gave.
    """

    chip: Chip
    rent: float | None
    origin: str
    source: str = ""


def rented_chips(
    names: str, rent: str | None, date: str | None = None, provider: str | None = None
) -> list[RentedChip]:
    """The chips of a list such as "h100-sxm,mine.toml", or every chip of the catalog for "all".

    Args:
        names: of the catalog, or paths of TOML files.
        rent: of each chip, as given by the user; None takes what the chip's own file states, else the catalog's.
        date: the day to rent on (ISO); None takes the newest rents.
        provider: who rents out; None takes the median over providers.

    Raises:
        TinkerNomicsError: an unknown chip, a rent beside a date or provider, or a provider or a day of which no rent of
            any of them is known.
    """
    from ..decode.dollars import KnownRent, as_rent, known_rent
    from ..printable import printable

    given = None if rent is None else as_rent(rent, "--rent")
    if given is not None and (date is not None or provider is not None):
        allowed = "a price, or --rent-date and --provider of one in the catalog"
        raise TinkerNomicsError(str(Problem("--rent", rent, allowed, "Leave one of them out.")))
    found: dict[Chip, str] = {}
    for name in names_of(names, "--chip"):
        for chip in _all_chips() if name == EVERY else [chip_named(name)]:
            found.setdefault(chip, name)
    ids = [chip.id for chip in found]
    rented = []
    for chip, name in found.items():
        whose = None if chip.rent is not None else provider
        found_rent = known_rent(chip, date, whose) if given is None else KnownRent(given, "as given")
        shown = replace(chip, id=f"{chip.id} ({printable(name)})") if ids.count(chip.id) > 1 else chip
        rented.append(RentedChip(shown, *found_rent))
    for flag, asked in (("--provider", provider), ("--rent-date", date)):
        if asked is not None and all(one.rent is None for one in rented):
            raise TinkerNomicsError(str(Problem(flag, asked, rented[0].origin)))
    return rented


def machines_of(chips: list[RentedChip], widths: str) -> list[Machine]:
    """Every chip at every width of a list such as "1,2,4"."""
    from ..hardware.chip import Machine

    counts = counts_of(widths, "--tp", "8")
    return [Machine(rented.chip, width, rented.rent) for rented in chips for width in counts]


def chip_named(name: str) -> Chip:
    """A chip of the catalog, or of a TOML file where `name` is one."""
    if name.endswith(".toml") or Path(name).is_file():
        from ..hardware.chip import Chip

        return Chip.from_toml(Path(name))
    from .. import catalog

    return catalog.chip(name)


def _all_chips() -> list[Chip]:
    from .. import catalog

    return list(catalog.chips())
