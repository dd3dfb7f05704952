"""Dates as rows and people write them: a date without a day counts as its first."""

from __future__ import annotations

import datetime
import re

from .lookup import CatalogError

_DATE = re.compile(r"^(\d{4})-(\d{1,2})(?:-(\d{1,2}))?$")


def parse_date(given: object) -> datetime.date:
    """The day that `given` means.

    Args:
        given: "2026-07-17", "2026-07" (its first) or a date.

    Raises:
        CatalogError: no such day.
    """
    if isinstance(given, datetime.datetime):
        return given.date()
    if isinstance(given, datetime.date):
        return given
    match = _DATE.match(str(given).strip())
    if match is None:
        raise CatalogError(f"{given!r} is no date; write year-month-day, e.g. 2026-07-17, or year-month")
    year, month, day = match.groups()
    try:
        return datetime.date(int(year), int(month), int(day or 1))
    except ValueError as error:
        raise CatalogError(f"{given!r} is no date: {error}; write e.g. 2026-07-17") from None
