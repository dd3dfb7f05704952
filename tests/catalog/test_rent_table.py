"""Rents: the window before a date, the median, one provider's row, and what is said about it."""

from __future__ import annotations

import datetime
from statistics import median

import pytest

from tinker_nomics.catalog.chip_table import chips
from tinker_nomics.catalog.lookup import CatalogError
from tinker_nomics.catalog.rent_table import rent, rent_rows


def test_every_row_names_a_document_and_a_chip() -> None:
    ids = {row.id for row in chips()}
    for row in rent_rows():
        assert row.chip in ids and row.usd_per_hour > 0
        assert row.source.status in "VSD" and row.source.document.startswith("http") and row.source.date
        assert "unnamed" not in row.source.text
    assert len(rent_rows()) >= 45


def test_a_rent_is_the_median_of_the_newest_row_of_each_provider_in_the_window() -> None:
    day = datetime.date(2026, 11, 30)
    newest: dict[str, tuple[datetime.date, float]] = {}
    for row in rent_rows():
        in_window = day - datetime.timedelta(days=90) <= row.date <= day
        if row.chip == "h100-sxm" and row.form_stated and row.on_demand and in_window:
            newest[row.provider] = max(newest.get(row.provider, (row.date, 0.0)), (row.date, row.usd_per_hour))
    found = rent("h100-sxm", day)
    assert found.usd_per_hour == median(price for _, price in newest.values()) == pytest.approx(3.92)
    assert "within 90 days" in found.note and found.source.status == "D" and "median of 6" in found.provider
    assert found.date == "2026-11-09"


def test_outside_the_window_the_nearest_later_day_and_then_the_newest_earlier() -> None:
    before = rent("h100-sxm", "2026-01-05")
    assert before.date == "2026-05-07" and "nearest later" in before.note
    after = rent("H100 SXM", "2028-01")
    assert after.date == "2026-11-09" and "newest earlier" in after.note


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
