"""The price lists: which one is in force, what it lacks, and how the July list follows from the June list."""

from __future__ import annotations

import json

import pytest
from shared_folder import SHARED

from tinker_nomics import catalog
from tinker_nomics.errors import ConfigError


def test_the_lists_and_their_dates() -> None:
    assert catalog.price_dates() == ("2026-01-05", "2026-05", "2026-06-26", "2026-07-17", "2026-10-07")
    assert catalog.newest_price_date() == "2026-10-07"
    assert len(catalog.prices()) == len(catalog.prices("2026-10-07")) == 31


@pytest.mark.parametrize(
    ("day", "of"),
    [
        ("2026-01-05", "2026-01-05"),
        ("2026-04-30", "2026-01-05"),
        ("2026-05", "2026-05"),
        ("2026-06-25", "2026-05"),
        ("2026-06-26", "2026-06-26"),
        ("2026-07", "2026-06-26"),
        ("2026-07-17", "2026-07-17"),
        ("2030-01-01", "2026-10-07"),
    ],
)
def test_the_newest_list_on_or_before_the_day_is_in_force(day: str, of: str) -> None:
    assert catalog.prices(day).date == of


def test_an_incomplete_list_lies_over_the_complete_one_before() -> None:
    january, may = catalog.prices("2026-01-05"), catalog.prices("2026-05-20")
    assert set(may) - set(january) == {"meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"}
    assert set(january) < set(may)
    assert may["deepseek-ai/DeepSeek-V3.1"].list_date == "2026-01-05"
    assert may["Qwen/Qwen3-8B"].list_date == "2026-05"
    assert len(may.sources) == 2


def test_a_complete_list_stands_alone() -> None:
    assert "meta-llama/Llama-3.1-8B" not in catalog.prices("2026-06-26")


def test_january_prices_of_the_sanity_run() -> None:
    row = catalog.price("Qwen3-8B", "2026-01-05")
    assert (row.prefill, row.sample, row.train, row.cached_prefill) == (0.13, 0.40, 0.40, None)
    assert row.storage == 0.10
    tokens = {"sample": 94_371_840, "train": 94_371_840, "prefill": 36_864_000}
    assert row.train is not None
    bill = (tokens["sample"] * row.sample + tokens["train"] * row.train + tokens["prefill"] * row.prefill) / 1e6
    assert round(bill, 2) == 80.29


def test_july_is_june_times_the_announced_factors() -> None:
    june, july = catalog.prices("2026-06-26"), catalog.prices("2026-07-17")
    assert set(june) == set(july)
    other = {"openai/gpt-oss-120b", "openai/gpt-oss-120b:peft:131072"}
    for name, old in june.items():
        new = july[name]
        factor, train_factor = (1.0, 1.0) if ":peft:" in name else (1.5, 1.1)
        if name not in other:
            assert new.prefill == pytest.approx(old.prefill * factor, rel=1e-12), name
            assert new.sample == pytest.approx(old.sample * factor, rel=1e-12), name
            assert old.train is not None
            assert new.train == pytest.approx(old.train * train_factor, rel=1e-12), name
        assert new.cached_prefill == pytest.approx(0.2 * new.prefill, rel=1e-12), name


def test_the_autumn_list_repeats_july_for_every_model_that_it_still_serves() -> None:
    july, autumn = catalog.prices("2026-07-17"), catalog.prices("2026-10-07")
    kept = set(july) & set(autumn)
    assert set(july) - kept == {"moonshotai/Kimi-K2.5", "moonshotai/Kimi-K2.5:peft:131072"}
    for name in kept:
        assert (autumn[name].prefill, autumn[name].sample) == (july[name].prefill, july[name].sample), name


@pytest.mark.parametrize(
    ("name", "day", "words"),
    [
        ("Llama-3.1-8B", "2026-10-07", ("no longer serves meta-llama/Llama-3.1-8B", "2026-01-05", "2026-06-25")),
        ("Qwen3-32B", "2026-07-01", ("no longer serves Qwen/Qwen3-32B", "2026-05-01", "2026-06-25")),
        ("kimi-k2.5", "2026-11-01", ("no longer serves moonshotai/Kimi-K2.5", "2026-07-17", "2026-10-06")),
        ("Inkling", "2026-07-17", ("did not serve thinkingmachines/Inkling yet", "2026-10-07")),
        ("Qwen3-8B-Base", "2026-10-07", ("no Tinker price list has Qwen/Qwen3-8B-Base", "Qwen/Qwen3-8B")),
        ("Qwen3-8C", "2026-10-07", ("no model 'Qwen3-8C'", "Qwen/Qwen3-8B")),
        ("Qwen3-8B", "2025-12-31", ("no Tinker price list on or before 2025-12-31", "2026-01-05")),
        ("Qwen3-8B", "soon", ("'soon' is no date",)),
    ],
)
def test_what_a_date_does_not_price_is_refused_by_name(name: str, day: str, words: tuple[str, ...]) -> None:
    with pytest.raises(catalog.CatalogError) as caught:
        catalog.price(name, day)
    for word in words:
        assert word in str(caught.value)


def test_a_train_price_that_no_source_gives_is_absent() -> None:
    row = catalog.price("Inkling-Small")
    assert row.train is None
    assert "no list of this date gives a train price" in row.note


def test_long_contexts_have_rows_of_their_own() -> None:
    assert catalog.price("kimi-k2.6:peft:131072").sample == 12.81
    assert catalog.price("kimi-k2.6").context == 32768


def test_a_list_knows_its_age() -> None:
    assert catalog.prices("2026-10-10").age_days("2026-11-07") == 31


@pytest.mark.skipif(SHARED is None, reason="the specification folder is not here")
def test_the_facts_hold_the_same_figures() -> None:
    assert SHARED is not None
    lists = json.loads((SHARED / "facts" / "tinker.json").read_text())["prices"]["lists"]
    from tinker_nomics.catalog.price_table import _lists

    assert [rows.date for _, _, rows in _lists()] == list(lists)
    for _, complete, rows in _lists():
        fact = lists[rows.date]
        assert complete == fact["complete"] and set(rows) == set(fact["prices"])
        for name, row in rows.items():
            for field in ("prefill", "cached_prefill", "sample", "train"):
                assert getattr(row, field) == fact["prices"][name].get(field), (rows.date, name, field)


def test_a_users_own_prices_take_units() -> None:
    row = catalog.PriceRow.from_toml('prefill = "$0.13/Mtok"\nsample = 0.4\ntrain = "0.40"\ndate = 2026-03-01\n')
    assert (row.prefill, row.sample, row.train, row.cached_prefill, row.storage) == (0.13, 0.4, 0.4, None, 0.10)
    assert (row.list_date, row.status, row.source) == ("2026-03-01", "U", "given by the user")


def test_all_problems_of_a_users_prices_come_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        catalog.PriceRow.from_toml('prefill = -1\ntrain = "free"\ntax = 2\ndate = "never"\nsource = 7\n')
    assert {p.path for p in caught.value.problems} == {"prefill", "sample", "train", "tax", "date", "source"}


def test_a_known_train_price_of_another_day_stands_in_the_note() -> None:
    row = catalog.price("Qwen3.8-27B")
    assert row.train is None
    assert "4.103 on 2026-08-20" in row.note
