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
from floor_models import dense_models
from floor_rows import FILE, LEDGER, MADE, REPORTED, Priced, dense_single_gpu, load_rows, price_rows

ROWS = load_rows()


@pytest.fixture(scope="module")
def priced() -> list[Priced]:
    return price_rows(ROWS)


def test_every_row_names_its_source() -> None:
    assert len(ROWS) == 453
    assert all("://" in row.source for row in ROWS)


def test_no_row_beats_the_floor(priced: list[Priced]) -> None:
    held = [point for point in priced if point.basis]
    assert Counter(point.basis for point in held) == {MADE: 315, REPORTED: 28, FILE: 13}
    assert [(p.row.chip, p.row.model, p.ratio) for p in held if p.ratio < 1.0] == []
    assert min(p.ratio for p in held) > 1.05


def test_what_is_not_priced_says_why(priced: list[Priced]) -> None:
    why = Counter(point.why for point in priced if not point.basis)
    assert sorted(why.values()) == [4, 44, 49] and all(why)


def test_the_floor_is_tight_on_good_engines(priced: list[Priced]) -> None:
    """Dense models of 4 GB and more where one GPU streams at a time: A100, RTX 4090, RTX 3090, RTX A6000.

    On one card alone they are 45 rows, 19 of the A100, whose best engine takes 1.44 times the floor and whose median twice.
    """
    chips = tuple(chip for chips in TIGHT_CHIPS.values() for chip in chips)
    points = dense_single_gpu(priced, chips)
    assert len(points) == 142
    assert median(p.ratio for p in points) <= 1.5
    for name in ("RTX 4090", "RTX 3090", "RTX A6000"):
        assert median(p.ratio for p in dense_single_gpu(priced, TIGHT_CHIPS[name])) <= 1.5
    one_card = dense_single_gpu(priced, chips, ("one",))
    assert len(one_card) == 45
    assert median(p.ratio for p in one_card) == pytest.approx(1.658, abs=5e-4)
    assert min(p.ratio for p in dense_single_gpu(priced, TIGHT_CHIPS["A100"], ("one",))) < 1.45


def test_published_configurations_give_the_sizes_of_the_files() -> None:
    """Every file size that rows print, of models whose configuration is published, to the printed 0.01 GiB."""
    sizes = {(row.model, row.storage, row.file_bytes) for row in ROWS if row.file_bytes and row.model in dense_models()}
    checked = []
    for model, storage, size in sizes:
        header = dense_models()[model].header(storage)
        assert header is not None and size is not None
        assert abs(header.weight_bytes - size) / 2.0**30 <= 0.00501, (model, storage)
        checked.append((model, storage))
    assert len(checked) == 7
    assert dense_models()["llama3-8b"].header("EXL2 4.0 bpw") is None


def test_a_row_reads_the_cache_of_its_context(priced: list[Priced]) -> None:
    """Between two contexts of one model on one chip, the floor grows by the cache alone."""
    floors = {
        p.row.context: p.floor
        for p in priced
        if (p.row.chip, p.row.layout, p.row.model, p.row.storage) == ("rtxa6000", "one", "llama3-70b", "Q4_K_M")
    }
    grown = (floors[2048.0] - floors[512.0]) * 768e9  # bandwidth of the RTX A6000 [B/s]
    assert grown == pytest.approx(80 * 2 * 8 * 128 * 2 * 1536, rel=1e-9)


def test_the_report_and_the_picture(priced: list[Priced]) -> None:
    text = report(priced)
    assert "453 rows, 356 priced" in text and "0 beat the floor" in text and "97 not priced" in text
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
