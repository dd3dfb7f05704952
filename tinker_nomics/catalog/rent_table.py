"""What a chip rents for by the hour: rents.toml, and the one rule by which a date and a provider pick rows of it.

Of the on-demand rows up to the date, those of the 90 days before the newest of them; of these the rows whose source names
the very chip, or where there is none those that name its family; of these every provider's newest; the median over
providers. A provider narrows the rows first, to its own.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cache
from statistics import median

from ..errors import listed
from ..hardware.chip import Chip, Source
from ..hardware.reader import read_source
from .chip_table import chip as chip_named
from .chip_table import chips
from .dates import parse_date
from .lookup import CatalogError, nearest, plain
from .tables import packaged

WINDOW_DAYS = 90


@dataclass(frozen=True)
class RentRow:
    """One provider's price of one chip on one day.

    Args:
        chip: the id of the chip that the row is taken for.
        gpu: what the source calls it.
        provider: who rents it out, as the source names them.
        usd_per_hour: USD per chip-hour.
        date: the day of the price.
        source: where it is read.
        form_stated: False where the source names a family of chips only ("H100"), so that the chip is our reading.
        on_demand: False for prices that are no on-demand offer.
        note: conditions.
    """

    chip: str
    gpu: str
    provider: str
    usd_per_hour: float
    date: datetime.date
    source: Source
    form_stated: bool = True
    on_demand: bool = True
    note: str = ""


@dataclass(frozen=True)
class Rent:
    """A rent as a run uses it: the price, the day it is of, whose it is, how it was chosen, and where it is read."""

    usd_per_hour: float
    date: str
    provider: str
    note: str
    source: Source
    rows: tuple[RentRow, ...] = ()


@cache
def rent_rows() -> tuple[RentRow, ...]:
    """Every row of rents.toml."""
    data = packaged("rents.toml")
    named = {key: read_source(source) for key, source in data["sources"].items()}
    rows = []
    for table in data["rent"]:
        meant = data["gpus"][table["gpu"]]
        rows.append(
            RentRow(
                chip=meant["chip"],
                gpu=table["gpu"],
                provider=table["provider"],
                usd_per_hour=float(table["usd"]),
                date=parse_date(table["date"]),
                source=named[table["source"]],
                form_stated=meant.get("form_stated", True),
                on_demand=table.get("on_demand", True),
                note=table.get("note", ""),
            )
        )
    return tuple(rows)


RULE = (
    f"the median over providers of their newest on-demand rows in the {WINDOW_DAYS} days up to the newest row of the chip "
    "on or before the date; rows that name the very chip go before rows that name its family"
)
"""The rule in a sentence, as help and listings print it."""

SHORT_RULE = f"of a chip's last {WINDOW_DAYS} days of rows, each provider's newest (`catalog rents` marks them)"
"""The rule in a few words, beside a price."""


def rent(chip_id: str, date: object = None, provider: str | None = None) -> Rent:
    """What a chip rents for on a date.

    The median over providers of their newest on-demand rows in the 90 days up to the newest row on or before the date.
    Rows whose source names the very chip go before rows that name only its family. A chip or provider that has none on
    demand is taken at what it has. Before the first row there is no rent: the rows of the earliest day then stand in for
    one, which `Rent.date` and `Rent.note` say, and which a caller may refuse.

    Args:
        chip_id: the chip, as `catalog.chip` takes it.
        date: year-month-day, year-month (its first) or a date; None for the newest rows.
        provider: the rows of one provider alone; a part of the name will do.

    Raises:
        CatalogError: no rent of that chip or provider is known (names those that are), or no such chip.
    """
    day, identity = None if date is None else parse_date(date), chip_named(chip_id).id
    rows = [row for row in rent_rows() if row.chip == identity]
    if not rows:
        known = sorted({row.chip for row in rent_rows()})
        raise CatalogError(
            f"no rent of {identity} is known; known are {listed(known)}. Give a price per hour of your own"
        )
    if provider is not None:
        rows = _of_provider(rows, provider, identity)
    rows = [row for row in rows if row.on_demand] or rows
    chosen, how = _window(rows, day)
    chosen = [row for row in chosen if row.form_stated] or chosen
    newest = {row.provider: row for row in sorted(chosen, key=lambda row: row.date)}
    rows = sorted(newest.values(), key=lambda row: row.usd_per_hour)
    label = rows[0].provider if len(rows) == 1 else f"median of {len(rows)} providers"
    return _as_rent(rows, label, how)


OWN = "the chip's own"
"""Whose the rent is that a chip states itself."""


def rent_of(chip: Chip, date: object = None, provider: str | None = None) -> Rent:
    """What `chip` rents for: as it states itself, unless a provider is asked for; a chip of the catalog as `rent` says.

    A chip of the user's own that bears the name of a chip of the catalog is another chip, and has no rent but its own.

    Raises:
        CatalogError: no rent is known, with the reason.
    """
    if chip.rent is not None and provider is None:
        source = chip.source("rent")
        return Rent(chip.rent, source.date, OWN, f"as {source.text}" if source.text else "", source)
    known = next((row for row in chips() if row.id == chip.id), None)
    if known is not None and chip != known:
        states = (
            'states no rent of its own (rent = "2.50 USD/h")'
            if chip.rent is None
            else f"has no rent from {provider!r} but its own"
        )
        raise CatalogError(f"this {chip.id} is not the catalog's chip of that name, and {states}")
    if known is None or not any(row.chip == chip.id for row in rent_rows()):
        raise CatalogError(f"the catalog has no rent of {chip.id}")
    return rent(chip.id, date, provider)


_WITHIN = f"newest rows of the {WINDOW_DAYS} days up to the newest one"
_LATER = "none on or before the date: the earliest day's"


def _window(rows: list[RentRow], day: datetime.date | None) -> tuple[list[RentRow], str]:
    before = [row for row in rows if day is None or row.date <= day]
    if not before:
        first = min(row.date for row in rows)
        return [row for row in rows if row.date == first], _LATER
    last = max(row.date for row in before)
    start = last - datetime.timedelta(days=WINDOW_DAYS)
    return [row for row in before if row.date >= start], _WITHIN


def _of_provider(rows: list[RentRow], provider: str, identity: str) -> list[RentRow]:
    names = sorted({row.provider for row in rows})
    fits = [name for name in names if plain(name) == plain(provider)] or [
        name for name in names if plain(provider) and plain(provider) in plain(name)
    ]
    if not fits:
        raise CatalogError(
            f"no rent of {identity} from {provider!r}; the nearest are {listed(nearest(provider, names))}"
        )
    if len(fits) > 1:
        raise CatalogError(f"{provider!r} fits several rows of {identity}: {listed(fits)}; write one of them")
    return [row for row in rows if row.provider == fits[0]]


def _as_rent(rows: list[RentRow], provider: str, how: str) -> Rent:
    """The rent of chosen rows: their median, dated by the newest."""
    notes = [how]
    unstated = sorted({row.gpu for row in rows if not row.form_stated})
    if unstated:
        notes.append(f"the source says {listed(unstated)} only; taken for {rows[0].chip}")
    notes += sorted({row.note for row in rows if row.note})
    day = max(row.date for row in rows)
    if len(rows) == 1:
        source = rows[0].source
    else:
        documents = sorted({row.source.document for row in rows})
        text = f"median over {', '.join(f'{row.provider} {row.usd_per_hour:g}' for row in rows)}"
        source = Source(text, "; ".join(documents), day.isoformat(), "D")
    price = float(median(row.usd_per_hour for row in rows))
    return Rent(price, day.isoformat(), provider, "; ".join(notes), source, tuple(rows))


def standing(row: RentRow) -> str:
    """Whether `row` counts in its chip's rent without a date, or why not: "yes", or the part of the rule that drops it."""
    chosen = rent(row.chip).rows
    if row in chosen:
        return "yes"
    if not row.on_demand:
        return "no: not on demand"
    if not row.form_stated and any(other.form_stated for other in chosen):
        return "no: family name"
    if any(other.provider == row.provider and other.date > row.date for other in chosen):
        return "no: superseded"
    return "no: too old"
