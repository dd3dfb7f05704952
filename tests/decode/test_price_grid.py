"""`price_grid` is `price` at every point; labels, masks, files."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hand_steps import LLAMA_8B, dense_step, hand_chip, hand_link

from tinker_nomics.decode.dollars import usd_per_million_tokens
from tinker_nomics.decode.grid import GridPricer, price_grid, stack_chips
from tinker_nomics.decode.price_table import PriceTable
from tinker_nomics.decode.pricing import price
from tinker_nomics.decode.reasons import reasons_of
from tinker_nomics.decode.refusal import DecodeRefusal
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.files import OutputExistsError
from tinker_nomics.hardware import Machine

STEP = dense_step(**{**LLAMA_8B, "layers": 4}, context=4096)
CHIPS = [
    hand_chip(3.35e12, 80e9, 1e15, 1e-6, hand_link(domain=8), id="full"),
    hand_chip(5.3e12, 192e9, 1.3e15, None, hand_link(latency=None), id="silent"),
    hand_chip(8e13, 0.23e9, None, 0.0, None, id="small"),
]
WIDTHS, CONTEXTS = [1, 8, 16], [1024.0, 32768.0]


@pytest.fixture(scope="module")
def table() -> PriceTable:
    return price_grid(STEP, CHIPS, WIDTHS, CONTEXTS, rents={"full": 2.5}, stages=True)


def test_every_point_is_the_scalar_price(table: PriceTable) -> None:
    assert table.shape == table.floor.shape == (3, 3, 2)
    for chip, width, context in itertools.product(CHIPS, WIDTHS, CONTEXTS):
        point = table.sel(chip=chip.id, width=width, context=context)
        machine = Machine(chip, width, rent=2.5 if chip.id == "full" else None)
        try:
            cost = price(STEP.with_context(np.float64(context)), machine)
        except DecodeRefusal:
            assert not point.priced and np.ma.is_masked(point.floor) and np.ma.is_masked(point.tokens_per_second)
            continue
        assert point.priced and point.fits
        assert float(point.floor) == pytest.approx(cost.floor, rel=1e-12)
        assert str(point.binds) == cost.binds
        assert bool(point.predicted) == (cost.prediction is not None) == (int(point.reason) == 0)
        assert float(point.tokens_per_second) == pytest.approx(cost.tokens_per_second, rel=1e-12)
        if cost.prediction is not None:
            assert float(point.prediction) == pytest.approx(cost.prediction, rel=1e-12)
            assert str(point.prediction_binds) == cost.prediction_binds
        if machine.rent is not None:
            assert float(point.usd_per_million_tokens) == pytest.approx(usd_per_million_tokens(cost), rel=1e-12)
        else:
            assert np.ma.is_masked(point.usd_per_million_tokens)


def test_no_figure_is_a_nan(table: PriceTable) -> None:
    for value in table.data.values():
        if value.dtype.kind == "f":
            assert np.all(np.isfinite(np.ma.getdata(value)))


def test_stage_terms_on_request(table: PriceTable) -> None:
    assert len(table.stages) == 10 and table.stage_memory.shape == (3, 3, 2, 10)
    cost = price(STEP.with_context(np.float64(1024)), Machine(CHIPS[0], 8))
    terms = {stage.stage.kind: stage.memory for stage in cost.stages}
    at = table.sel(chip="full", width=8, context=1024).stage_memory
    for stage, seconds in zip(table.stages, at, strict=True):
        assert seconds == pytest.approx(terms[stage.kind], rel=1e-12)
    assert not any(name.startswith("stage_") for name in price_grid(STEP, CHIPS, rents={}).data)


def test_sel_keeps_and_drops_axes(table: PriceTable) -> None:
    assert table.sel({"chip": "full"}).floor.shape == (3, 2)
    assert list(table.sel(width=[16, 1]).axes["width"]) == [16, 1]
    assert np.ma.allequal(table.sel(width=[8], context=1024).floor[:, 0], table.floor[:, 1, 0])
    for wrong in ({"chip": "h100"}, {"width": 3}, {"chips": "full"}):
        with pytest.raises(TinkerNomicsError, match="one of"):
            table.sel(wrong)
    with pytest.raises(TinkerNomicsError, match="floor"):
        table["flor"]


def test_files_hold_what_the_table_holds(table: PriceTable, tmp_path: Path) -> None:
    told = table.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False))["floor"][0][1] == pytest.approx(list(table.floor[0, 1]))
    assert told["floor"][2][0][0] is None
    rows = list(csv.DictReader(table.to_csv(tmp_path / "grid.csv").read_text().splitlines()))
    assert len(rows) == 18 and rows[0]["chip"] == "full" and float(rows[0]["floor"]) == table.floor[0, 0, 0]
    silent = next(row for row in rows if row["chip"] == "silent" and row["width"] == "8")
    assert silent["prediction"] == "" and "latency" in silent["why"] and "overhead" in silent["why"]
    with np.load(table.to_npz(tmp_path / "grid.npz")) as held:
        assert np.array_equal(held["floor_mask"], np.ma.getmaskarray(table.floor))
        assert list(held["axis_chip"]) == ["full", "silent", "small"]
    again = PriceTable.from_npz(tmp_path / "grid.npz")
    assert again.axes == table.axes and set(again.data) == set(table.data)
    assert again.sel(chip="silent").to_dict() == table.sel(chip="silent").to_dict()
    assert again.stages == table.stages != () and told["stages"] == table.stage_names
    assert len(set(table.stage_names)) == len(table.stage_names) and "head" in told["stages"]
    for term in ("memory", "compute", "collective", "overhead"):
        for number, name in enumerate(table.stage_names):
            assert float(rows[0][f"stage_{term}:{name}"]) == table[f"stage_{term}"][0, 0, 0, number]
    assert rows[0]["basis"] == "prediction" and silent["basis"] == "floor"
    with pytest.raises(OutputExistsError):
        table.to_csv(tmp_path / "grid.csv")


def test_bad_axes_are_refused() -> None:
    for chips, widths, contexts in ([[], [1], [1]], [CHIPS, [0.5], [1]], [CHIPS, [1], [-1]], [CHIPS, [1], []]):
        with pytest.raises(TinkerNomicsError, match=r"chips|widths|contexts"):
            price_grid(STEP, chips, widths, contexts, rents={})


def test_one_compilation_serves_every_list_of_chips() -> None:
    pricer = GridPricer([STEP])
    for bandwidth in (1e12, 2e12):
        pricer(stack_chips([hand_chip(bandwidth)], [None]), np.array([1.0, 2.0]), 0)
    assert pricer._compiled._cache_size() == 1


def test_a_point_without_a_bound_is_masked_and_says_why() -> None:
    bare = hand_chip(None, 80e9, None, None, id="bare")
    table = price_grid(STEP, [bare, CHIPS[0]], [1], [1024.0], rents={"bare": 2.5})
    point = table.sel(chip="bare", width=1, context=1024)
    assert point.priced and not point.predicted and str(point.basis) == str(point.binds) == ""
    for name in ("floor", "prediction", "tokens_per_second", "usd_per_million_tokens"):
        assert np.ma.is_masked(point[name]) and not np.ma.is_masked(table.sel(chip="full")["floor"])
    assert "tier bandwidth" in [r.name for r in reasons_of(float(point.reason))]
    assert price(STEP.with_context(np.float64(1024)), Machine(bare)).floor is None


def test_axes_are_attributes_and_names_of_chips_forgive_case(table: PriceTable) -> None:
    assert (
        table.chip == ("full", "silent", "small") and table.width == (1, 8, 16) and table.context == (1024.0, 32768.0)
    )
    assert table.sel(chip="FULL").to_dict() == table.sel(chip="full").to_dict()
    assert table.sel(chip=["Silent", "full"]).chip == ("silent", "full")
    with pytest.raises(AttributeError, match="no column or axis 'chips'"):
        table.chips  # noqa: B018 - the reading of it is what fails


def test_stages_of_a_damaged_file_are_refused(table: PriceTable, tmp_path: Path) -> None:
    with np.load(table.to_npz(tmp_path / "whole.npz")) as held:
        arrays = {name: held[name] for name in held.files}
    np.savez(tmp_path / "odd.npz", **{**arrays, "stages_kind": np.array(["nothing"] * len(table.stages))})
    with pytest.raises(TinkerNomicsError, match="names stages"):
        PriceTable.from_npz(tmp_path / "odd.npz")
