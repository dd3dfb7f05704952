"""Rents: the window before a date, the median, one provider's row, and what is said about it."""

from __future__ import annotations

import datetime
from statistics import median

import pytest

from tinker_nomics.catalog.chip_table import chips
from tinker_nomics.catalog.listing import listing
from tinker_nomics.catalog.lookup import CatalogError
from tinker_nomics.catalog.rent_table import rent, rent_rows, standing


def test_every_row_names_a_document_and_a_chip() -> None:
    ids = {row.id for row in chips()}
    for row in rent_rows():
        assert row.chip in ids and row.usd_per_hour > 0
        assert row.source.status in "VSD" and row.source.document.startswith("http") and row.source.date
        assert "unnamed" not in row.source.text
    assert len(rent_rows()) >= 45


def newest_by_provider(day: datetime.date, anchor: datetime.date) -> dict[str, float]:
    """Price by provider of the rows of the very chip h100-sxm in the 90 days up to `anchor`, none after `day`."""
    found: dict[str, tuple[datetime.date, float]] = {}
    for row in rent_rows():
        held = anchor - datetime.timedelta(days=90) <= row.date <= day
        if row.chip == "h100-sxm" and row.form_stated and row.on_demand and held:
            found[row.provider] = max(found.get(row.provider, (row.date, 0.0)), (row.date, row.usd_per_hour))
    return {provider: price for provider, (_, price) in found.items()}


def test_a_rent_is_the_median_of_the_newest_row_of_each_provider_in_the_window() -> None:
    newest = datetime.date(2026, 11, 9)
    found = rent("h100-sxm")
    assert found.usd_per_hour == median(newest_by_provider(newest, newest).values()) == pytest.approx(3.85)
    assert "90 days up to the newest" in found.note and found.source.status == "D" and "median of 7" in found.provider
    assert found.date == "2026-11-09"
    before = datetime.date(2026, 10, 1)
    assert rent("h100-sxm", before).usd_per_hour == median(
        newest_by_provider(before, datetime.date(2026, 9, 25)).values()
    )


@pytest.mark.parametrize("chip", sorted({row.chip for row in rent_rows()}))
def test_no_date_is_any_date_from_the_newest_row_on(chip: str) -> None:
    for day in ("2026-11-30", "2026-12-31", "2028-01"):
        assert rent(chip, day) == rent(chip)


def test_a_provider_is_one_of_those_that_the_median_is_over() -> None:
    """One rule: the row that --provider picks is the provider's row in the median, wherever the median has one."""
    for chip in sorted({row.chip for row in rent_rows()}):
        for row in rent(chip).rows:
            assert rent(chip, None, row.provider).rows == (row,)


def test_before_the_first_row_the_earliest_day_stands_in_and_says_so() -> None:
    before = rent("H100 SXM", "2026-01-05")
    assert before.date == "2026-05-07" and "earliest day's" in before.note


def test_the_listing_says_which_rows_count() -> None:
    counting = [row for row in rent_rows() if standing(row) == "yes"]
    for chip in {row.chip for row in rent_rows()}:
        assert median(row.usd_per_hour for row in counting if row.chip == chip) == rent(chip).usd_per_hour
    told = {standing(row) for row in rent_rows()}
    assert told == {"yes", "no: superseded", "no: family name", "no: not on demand", "no: too old"}
    table = listing("rents")
    assert [row[table.header.index("counts")] for row in table.rows] == [standing(row) for row in rent_rows()]


def test_a_row_that_names_only_the_family_says_so() -> None:
    found = rent("h100-sxm", "2026-11-30", "CoreWeave")
    assert found.usd_per_hour == 6.155 and "H100 only" in found.note and found.provider == "CoreWeave"
    assert all(row.form_stated for row in rent("h100-sxm", "2026-11-30").rows)


def test_a_provider_picks_its_newest_row() -> None:
    assert rent("h100-sxm", "2026-11-30", "runpod secure").usd_per_hour == 3.99
    assert rent("h100-sxm", "2026-10-01", "RunPod Secure").usd_per_hour == 3.49
    assert rent("a100-80-sxm", "2026-11-30", "vast").provider == "Vast.ai median"


def test_market_prices_are_no_on_demand_offer() -> None:
    chosen = [row.provider for date in ("2026-09-21", "2026-11-30") for row in rent("h100-sxm", date).rows]
    assert not any("market" in provider for provider in chosen)
    assert rent("h100-sxm", "2026-09-21", "SF Compute").usd_per_hour == 2.11


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("rtx3090", "2026-11-30"), "no rent of rtx3090 is known"),
        (("h100-sxm", "2026-11-30", "runpod"), "fits several"),
        (("h100-sxm", "2026-11-30", "nobody"), "nearest"),
        (("h100-sxm", "soon"), "is no date"),
        (("h101", "2026-11-30"), "no chip"),
    ],
)
def test_refusals(arguments: tuple[str, ...], told: str) -> None:
    with pytest.raises(CatalogError, match=told):
        rent(*arguments)
