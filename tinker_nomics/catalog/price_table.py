"""Tinker's price lists by date: the newest on or before a run's date; incomplete ones overlay the complete one."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import ConfigError, Problem, TinkerNomicsError
from .dates import parse_date
from .lookup import CatalogError, find, nearest
from .model_table import models, short_names
from .tables import packaged, quantity, refuse_unknown, users_own

RATES = ("prefill", "cached_prefill", "sample", "train")


@dataclass(frozen=True)
class PriceRow:
    """What one model costs on Tinker.

    Args:
        model: the id on the list; long-context ids end in ":peft:<tokens>".
        prefill, sample: USD per million prompt and sampled tokens.
        cached_prefill: USD per million prompt tokens found in the cache; None where the list has no such price.
        train: USD per million trained tokens; None where no source gives it.
        storage: USD per GB-month of checkpoints.
        list_date: the date of the list that the row stands on.
        context: longest context served [tokens]; None where the list does not say.
        source, date, status, note: where the row comes from; status V, S, D, or U for a user's own.
    """

    model: str
    prefill: float
    cached_prefill: float | None
    sample: float
    train: float | None
    storage: float
    list_date: str
    source: str
    date: str = ""
    status: str = "U"
    context: float | None = None
    note: str = ""

    @classmethod
    def from_toml(cls, given: str | os.PathLike[str]) -> PriceRow:
        """A user's own prices, from a TOML file or its text: prefill, sample, and optionally cached_prefill, train,
        storage (default: the newest list's), model, context, date, source, note. Rates are USD per million tokens,
        storage USD per GB-month; both take units.

        Raises:
            ConfigError: every problem at once.
            CatalogError: an unreadable file or wrong TOML.
        """
        table, _ = users_own(given, "prices")
        problems: list[Problem] = []
        text = ("model", "date", "source", "note")
        refuse_unknown(table, [*RATES, "storage", "context", *text], problems)
        rates = {key: quantity(table, key, "USD/Mtok", problems, needed=key in ("prefill", "sample")) for key in RATES}
        storage = quantity(table, "storage", "USD/GB-month", problems)
        context = quantity(table, "context", "tokens", problems, positive=True)
        for key in text:
            if key in table and not isinstance(table[key], (str, datetime.date)):
                problems.append(Problem(key, table[key], "text"))
        if "date" in table:
            try:
                parse_date(table["date"])
            except TinkerNomicsError as error:
                problems.append(Problem("date", table["date"], str(error)))
        if problems:
            raise ConfigError(problems, "this price row")
        date = str(table.get("date", ""))
        filled: dict[str, Any] = dict(rates)
        return cls(
            model=str(table.get("model", "")),
            **filled,
            storage=_storage() if storage is None else storage,
            list_date=date,
            source=str(table.get("source", "")) or "given by the user",
            date=date,
            context=context,
            note=str(table.get("note", "")),
        )


@dataclass(frozen=True)
class PriceList(Mapping[str, PriceRow]):
    """The rows in force on a day, by id; a mapping.

    Args:
        date: the newest list's date.
        rows: its rows, with those of the complete list under it where it is incomplete.
        sources: one text per list that contributes.
    """

    date: str
    rows: Mapping[str, PriceRow]
    sources: tuple[str, ...]

    def __getitem__(self, identity: str) -> PriceRow:
        return self.rows[identity]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def age_days(self, date: object) -> int:
        """Days from the list to `date`: how stale its prices are by then."""
        return (parse_date(date) - parse_date(self.date)).days


def _storage() -> float:
    return float(packaged("prices.toml")["storage"]["usd_per_gb_month"])


@cache
def _lists() -> tuple[tuple[datetime.date, bool, PriceList], ...]:
    """(day, complete, its own rows) of every list, oldest first."""
    out = []
    for entry in packaged("prices.toml")["list"]:
        rows: dict[str, PriceRow] = {}
        for identity, row in entry["prices"].items():
            cached = row.get("cached_prefill")
            train, context = row.get("train"), row.get("context")
            rows[identity] = PriceRow(
                model=identity,
                prefill=float(row["prefill"]),
                cached_prefill=None if cached is None else float(cached),
                sample=float(row["sample"]),
                train=None if train is None else float(train),
                storage=_storage(),
                list_date=entry["date"],
                source=row.get("source", entry["source"]),
                date=entry["date"],
                status=row.get("status", entry["status"]),
                context=None if context is None else float(context),
                note=row.get("note", ""),
            )
        out.append((parse_date(entry["date"]), entry["complete"], PriceList(entry["date"], rows, (entry["source"],))))
    return tuple(sorted(out, key=lambda item: item[0]))


def price_dates() -> tuple[str, ...]:
    """The dates of all price lists, oldest first."""
    return tuple(rows.date for _, _, rows in _lists())


def newest_price_date() -> str:
    """The date of the newest price list."""
    return price_dates()[-1]


def prices(date: object = None) -> PriceList:
    """The prices in force on `date`: the newest list on or before it; incomplete ones overlay the complete one before.

    Args:
        date: a day, or a month (its first day); default: the newest list's.

    Raises:
        CatalogError: no such day, or before the first list.
    """
    lists = _lists()
    day = lists[-1][0] if date is None else parse_date(date)
    past = [item for item in lists if item[0] <= day]
    if not past:
        raise CatalogError(
            f"no Tinker price list on or before {day}: the first is of {lists[0][2].date}; "
            "take a later date or give prices of your own"
        )
    base = max(number for number, item in enumerate(past) if item[1] or number == 0)
    merged: dict[str, PriceRow] = {}
    for _, _, rows in past[base:]:
        merged |= rows.rows
    return PriceList(past[-1][2].date, merged, tuple(rows.sources[0] for _, _, rows in past[base:]))


def price(name: str, date: object = None) -> PriceRow:
    """What the model that `name` means costs on `date`.

    Args:
        name: a model as people write it; a long-context id ends in ":peft:<tokens>".
        date: as in `prices`.

    Raises:
        CatalogError: an unknown model (names the nearest three), one that no list prices, or one that the list of that
            date no longer or not yet serves (says when it was served).
    """
    table = prices(date)
    day = _lists()[-1][0] if date is None else parse_date(date)
    listed_ids = {identity for _, _, rows in _lists() for identity in rows}
    known = listed_ids | {row.id for row in models()}
    identity = find(name, known, "model", short_names(known))
    if identity in table:
        return table[identity]
    if identity not in listed_ids:
        alike = ", ".join(nearest(identity, table))
        raise CatalogError(f"no Tinker price list has {identity}; the nearest on the list of {table.date} are {alike}")
    before = [start for start, _, rows in _lists() if identity in rows and start <= day]
    if before:
        gone = min(start for start, _, _ in _lists() if start > before[-1] and identity not in prices(start))
        raise CatalogError(
            f"Tinker no longer serves {identity}: the list of {table.date} does not have it. It was last listed on "
            f"{before[-1]} and served until {gone - datetime.timedelta(days=1)}; take such a date or another model"
        )
    first = min(start for start, _, rows in _lists() if identity in rows)
    raise CatalogError(
        f"Tinker did not serve {identity} yet: the list of {table.date} does not have it. It is first listed on {first}"
    )
