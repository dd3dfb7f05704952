"""What the decode pictures show is what was priced."""

from __future__ import annotations

import numpy as np
import pytest
from hand_steps import LLAMA_8B, dense_step, hand_chip, hand_link, one_class
from made_checkpoints import dense
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tinker_nomics.decode import Deployment, decode_step
from tinker_nomics.decode.grid import price_grid
from tinker_nomics.decode.pricing import price
from tinker_nomics.decode.stages import StageKind
from tinker_nomics.hardware import Machine, Tier, TierKind
from tinker_nomics.plots.decode_grid import PriceRow, draw_grid, draw_rows
from tinker_nomics.plots.decode_stages import draw_stages, stage_seconds
from tinker_nomics.plots.roofline import draw_roofline, work_by_kind

STEP = dense_step(**{**LLAMA_8B, "layers": 4}, context=8192)
FULL = hand_chip(2e12, 80e9, 3e14, 2e-6, hand_link(), id="full")
SILENT = hand_chip(1e12, 80e9, 3e14, None, id="silent")
SMALL = hand_chip(1e12, 1e9, id="small")


def test_the_grid_has_a_row_per_machine_and_says_what_is_missing() -> None:
    table = price_grid(STEP, [FULL, SILENT, SMALL], [1, 2], [8192], rents={}).sel(context=8192)
    axes = draw_grid(table, "title").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        f"{chip}  x{width}" for chip in ("full", "silent", "small") for width in (1, 2)
    ]
    words = [text.get_text() for text in axes.texts]
    assert sum("cannot run: memory capacity" in text for text in words) == 2
    assert sum("at most" in text for text in words) == 2
    bars = sorted(bar.get_width() for bar in axes.patches if bar.get_width() > 0 and bar.get_height() == 0.5)
    assert bars == pytest.approx(sorted(1e3 * (table.prediction - table.floor).compressed()), rel=1e-9)


def test_the_grid_wants_one_context() -> None:
    with pytest.raises(ValueError, match="select one context"):
        draw_grid(price_grid(STEP, [FULL], [1], [1024, 8192], rents={}))


def test_the_time_of_the_stages_is_the_prediction() -> None:
    cost = price(STEP, Machine(FULL, 4))
    assert cost.prediction is not None
    assert stage_seconds(cost).sum() == pytest.approx(cost.prediction, rel=1e-12)
    upper, lower = draw_stages(cost).axes
    assert upper.get_ylim()[1] == pytest.approx(1.08e3 * cost.prediction, rel=1e-9)
    assert len(lower.get_yticks()) == 10


def test_every_kind_of_stage_lies_under_the_roof() -> None:
    tiers = (Tier(TierKind.SRAM, 1e9, 2e13), Tier(TierKind.DDR, 1e12, 2e11))
    cost = price(STEP, Machine(hand_chip(tiers=tiers, rate=1e13)))
    work = work_by_kind(STEP, cost)
    assert [one.intensity for one in work] == sorted(one.intensity for one in work)
    assert {one.kind for one in work} >= {StageKind.mixer, StageKind.ffn_up, StageKind.head}
    for one in work:
        assert 2e11 * one.intensity * (1 - 1e-9) <= one.attainable <= min(2e13 * one.intensity, 1e13) * (1 + 1e-9)
    assert sum(one.flops / one.attainable for one in work) == pytest.approx(cost.floor_terms[cost.binds], rel=0.02)
    assert len(draw_roofline(STEP, cost).axes[0].lines) == 4


def test_the_roofline_says_which_roof_is_missing_and_why_a_step_lies_below() -> None:
    slow = hand_chip(1e15, 80e9, None, link=hand_link(bandwidth=1e6))
    step = dense_step(**{**LLAMA_8B, "layers": 2}, context=512)
    notes = draw_roofline(step, price(step, Machine(slow, 4)))._supxlabel.get_text()  # type: ignore[union-attr]
    assert "no roof of arithmetic" in notes and "collectives bind" in notes
    assert "no roof" not in draw_roofline(step, price(step, Machine(FULL)))._supxlabel.get_text()  # type: ignore[union-attr]


@pytest.mark.parametrize("sequences", [1.0, 128.0])
def test_the_names_of_kinds_stand_inside_the_axes(sequences: float) -> None:
    tiers = (Tier(TierKind.SRAM, 1e9, 2e14), Tier(TierKind.DDR, 1e12, 2e11))
    header = dense("llama", blocks=4, width=4096, heads=32, kv_heads=8, head=128, columns=14336, vocabulary=32000)
    step = decode_step(header, Deployment(sequences=sequences))
    figure = draw_roofline(step, price(step, Machine(hand_chip(tiers=tiers, rate=3e14))))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    inside = figure.axes[0].get_window_extent()
    kinds = [text for text in figure.axes[0].texts if "FLOP/s" not in text.get_text()]
    assert len(kinds) >= 3
    for text in kinds:
        words = text.get_window_extent(canvas.get_renderer())
        assert inside.y0 <= words.y0 and words.y1 <= inside.y1 and inside.x0 <= words.x0, text.get_text()


@pytest.mark.parametrize("low", [1e-4, 0.05, 0.9, 7.3, 1234.0])
@pytest.mark.parametrize("span", [1.2, 1.7, 3.0, 12.0, 200.0, 1e4, 1e9])
def test_time_axes_have_a_handful_of_round_ticks(low: float, span: float) -> None:
    rows = [PriceRow("a", "a", low * 1e-3, None, 1.0, 32), PriceRow("a", "b", low * span * 1e-3, None, 1.0, 32)]
    axes = draw_rows(rows).axes[0]
    left, right = axes.get_xlim()
    ticks = axes.get_xticks()
    assert left < low and right > low * span and 3 <= len(ticks) <= 12
    assert all(left <= tick <= right and float(f"{tick:.2g}") == pytest.approx(tick) for tick in ticks)


def test_many_rows_are_cut_and_long_titles_wrapped() -> None:
    rows = [PriceRow("a", f"a x{i}", 1e-3 * (i + 1), None, 1.0, 32) for i in range(450)]
    figure = draw_rows(rows, "a long name of a checkpoint, " * 5)
    assert len(figure.axes[0].get_yticklabels()) == 100
    assert "the first 100 of 450 rows" in figure._supxlabel.get_text()  # type: ignore[union-attr]
    assert max(map(len, figure._suptitle.get_text().splitlines())) <= 60  # type: ignore[union-attr]


def test_where_nothing_bounds_the_time_a_picture_says_so() -> None:
    bare = hand_chip(None, 80e9, None, None, id="bare")
    cost = price(STEP, Machine(bare))
    words = "no bound: bandwidth undeclared, matrix rate undeclared"
    for figure in (draw_stages(cost, "x"), draw_roofline(STEP, cost, "x")):
        assert [text.get_text() for text in figure.axes[0].texts] == [words]
    table = price_grid(STEP, [bare, FULL], [1], [8192], rents={}).sel(context=8192)
    axes = draw_grid(table).axes[0]
    assert words in axes.texts[0].get_text() and axes.xaxis.get_visible()
    alone = draw_grid(table.sel(chip=["bare"]))
    assert words in alone.axes[0].texts[0].get_text() and not alone.axes[0].xaxis.get_visible() and not alone.legends
    FigureCanvasAgg(alone).draw()


def test_reasons_are_lettered_so_that_no_number_means_two_things() -> None:
    slow = hand_chip(1e12, 80e9, None, 1e-6, id="slow")
    table = price_grid(STEP, [SILENT, slow], [1], [8192], rents={}).sel(context=8192)
    figure = draw_grid(table)
    marks = [text.get_text().rpartition("; ")[2] for text in figure.axes[0].texts if "at most" in text.get_text()]
    assert marks == ["[b]", "[a]"]
    assert "[a] matrix rate,  [b] stage overhead" in figure._supxlabel.get_text()  # type: ignore[union-attr]


def test_a_name_is_no_formula() -> None:
    for name in ("a $\\nosuch{$ b", "costs $5 or $6"):
        figure = draw_rows([PriceRow(name, name, 1e-3, None, 1.0, 32)], name)
        FigureCanvasAgg(figure).draw()
        assert figure._suptitle.get_text() == name  # type: ignore[union-attr]
    cost = price(STEP, Machine(FULL, 4))
    for figure in (draw_stages(cost, "a $\\nosuch{$ b"), draw_roofline(STEP, cost, "a $\\nosuch{$ b")):
        FigureCanvasAgg(figure).draw()


def test_what_is_hidden_is_told_below_the_stages() -> None:
    notes = draw_stages(price(STEP, Machine(FULL)))._supxlabel.get_text()  # type: ignore[union-attr]
    assert "ms of compute pass while memory binds" in notes


def test_a_step_without_arithmetic_has_no_roof() -> None:
    text = draw_roofline(one_class(1e9), price(one_class(1e9), Machine(FULL))).axes[0].texts[0].get_text()
    assert "no roof" in text
    assert np.isfinite(stage_seconds(price(one_class(1e9), Machine(FULL)))).all()
