"""The forgiving lookup: case, punctuation, the part before the slash; three names on a miss."""

from __future__ import annotations

import datetime

import pytest

from tinker_nomics.catalog.dates import parse_date
from tinker_nomics.catalog.lookup import CatalogError, find, nearest

IDS = ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-Base", "Qwen/Qwen3-32B", "other/Qwen3-32B", "h100-sxm", "h100-pcie")


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "qwen3-8b", "QWEN3 8B", "someone/qwen3_8b", " Qwen3.8B "])
def test_forgives_case_punctuation_and_what_stands_before_the_slash(name: str) -> None:
    assert find(name, IDS, "model") == "Qwen/Qwen3-8B"


def test_an_exact_name_wins_over_a_forgiven_one() -> None:
    assert find("other/Qwen3-32B", IDS, "model") == "other/Qwen3-32B"


def test_several_fits_are_named() -> None:
    with pytest.raises(CatalogError, match=r"Qwen/Qwen3-32B and other/Qwen3-32B"):
        find("qwen3-32b", IDS, "model")


def test_an_alias_stands_for_its_id() -> None:
    assert find("Hopper SXM", IDS, "chip", {"hopper-sxm": "h100-sxm"}) == "h100-sxm"


@pytest.mark.parametrize("name", ["h100-nvl", "zzz", "h200"])
def test_a_miss_names_the_nearest_three(name: str) -> None:
    with pytest.raises(CatalogError) as caught:
        find(name, IDS, "chip")
    assert name in str(caught.value)
    assert sum(str(caught.value).count(f"{identity}") for identity in nearest(name, IDS)) >= 3


@pytest.mark.parametrize("name", ["", "  ", "///", None, 3])
def test_no_name_at_all_is_an_error(name: object) -> None:
    with pytest.raises(CatalogError, match="names no chip"):
        find(name, IDS, "chip")


def test_nearest_gives_ids_for_aliases_once() -> None:
    assert nearest("hopper", ["h100-sxm"], aliases={"hopper": "h100-sxm", "hoppr": "h100-sxm"}) == ["h100-sxm"]


@pytest.mark.parametrize(
    ("given", "day"),
    [
        ("2026-07-17", datetime.date(2026, 7, 17)),
        ("2026-07", datetime.date(2026, 7, 1)),
        ("2026-7-1", datetime.date(2026, 7, 1)),
        (datetime.date(2026, 1, 2), datetime.date(2026, 1, 2)),
        (datetime.datetime(2026, 1, 2, 3), datetime.date(2026, 1, 2)),
    ],
)
def test_a_date_without_a_day_counts_as_its_first(given: object, day: datetime.date) -> None:
    assert parse_date(given) == day


@pytest.mark.parametrize("given", ["2026", "2026-13", "2026-02-30", "17.07.2026", "", None, "2026-07-17T00:00"])
def test_what_is_no_date_is_refused_with_an_example(given: object) -> None:
    with pytest.raises(CatalogError, match="2026-07-17"):
        parse_date(given)
