"""No measured row beats the floor, and the floor is tight where engines are good: rows of analysis/data."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from statistics import median

import pytest
from shared_folder import SHARED

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from floor import TIGHT_CHIPS, draw, report
from floor_rows import FILE, LEDGER, REPORTED, Priced, dense_single_gpu, load_rows, price_rows

ROWS = load_rows()


@pytest.fixture(scope="module")
def priced() -> list[Priced]:
    return price_rows(ROWS)


def test_every_row_names_its_source() -> None:
    assert len(ROWS) == 453
    assert all("://" in row.source for row in ROWS)


def test_no_row_beats_the_floor(priced: list[Priced]) -> None:
    held = [point for point in priced if point.basis]
    assert Counter(point.basis for point in held) == {REPORTED: 67, FILE: 287}
    assert [(p.row.chip, p.row.model, p.ratio) for p in held if p.ratio < 1.0] == []
    assert min(p.ratio for p in held) > 1.05


def test_what_is_not_priced_says_why(priced: list[Priced]) -> None:
    why = Counter(point.why for point in priced if not point.basis)
    assert sorted(why.values()) == [4, 44, 51] and all(why)


def test_the_floor_is_tight_on_good_engines(priced: list[Priced]) -> None:
    """Dense models of 4 GB and more where one GPU streams at a time: A100, RTX 4090, RTX 3090, RTX A6000."""
    chips = tuple(chip for chips in TIGHT_CHIPS.values() for chip in chips)
    points = dense_single_gpu(priced, chips)
    assert len(points) == 142
    assert median(p.ratio for p in points) <= 1.5
    for name in ("RTX 4090", "RTX 3090", "RTX A6000"):
        assert median(p.ratio for p in dense_single_gpu(priced, TIGHT_CHIPS[name])) <= 1.5


def test_the_report_and_the_picture(priced: list[Priced]) -> None:
    text = report(priced)
    assert "453 rows, 354 priced" in text and "0 beat the floor" in text and "99 not priced" in text
    assert len(draw(priced).axes) == 1


@pytest.mark.skipif(SHARED is None, reason="needs the folder of ledgers")
def test_exact_bytes_of_ledgers_do_not_beat_measurement() -> None:
    assert SHARED is not None
    chosen: dict[tuple, object] = {}
    for row in ROWS:  # the fastest row of each chip, model and storage is the one that could beat the floor
        key = (row.chip, row.count, row.layout, row.model, row.storage)
        if key not in chosen or chosen[key].tokens_per_second < row.tokens_per_second:  # type: ignore[attr-defined]
            chosen[key] = row
    priced = price_rows(chosen.values(), SHARED / "ledgers")  # type: ignore[arg-type]
    exact = [point for point in priced if point.basis == LEDGER]
    assert len(exact) > 60
    assert {p.row.kind for p in exact} == {"dense", "moe"}
    assert min(p.ratio for p in exact) > 1.0
