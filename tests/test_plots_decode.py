"""What the decode pictures show is what was priced."""

from __future__ import annotations

import numpy as np
import pytest
from hand_steps import LLAMA_8B, dense_step, hand_chip, hand_link, one_class

from tinker_nomics.decode.grid import price_grid
from tinker_nomics.decode.pricing import price
from tinker_nomics.decode.stages import StageKind
from tinker_nomics.hardware import Machine, Tier, TierKind
from tinker_nomics.plots.decode_grid import draw_grid
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


def test_a_step_without_arithmetic_has_no_roof() -> None:
    text = draw_roofline(one_class(1e9), price(one_class(1e9), Machine(FULL))).axes[0].texts[0].get_text()
    assert "no roof" in text
    assert np.isfinite(stage_seconds(price(one_class(1e9), Machine(FULL)))).all()
