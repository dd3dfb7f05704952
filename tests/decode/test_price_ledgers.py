"""Prices of real checkpoints, where the folder of ledgers is present."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hand_steps import hand_chip, hand_link
from shared_folder import SHARED

import tinker_nomics as tn
from tinker_nomics.decode.pricing import price
from tinker_nomics.hardware import Machine

pytestmark = pytest.mark.skipif(SHARED is None, reason="needs the folder of ledgers")
LEDGERS = sorted((SHARED / "ledgers").glob("*.json")) if SHARED is not None else []


def ledger(name: str) -> Path:
    return next(path for path in LEDGERS if path.name.startswith(name))


@pytest.mark.parametrize(("sequences", "milliseconds"), [(1, 4.521), (64, 7.045)])
def test_llama_8b_in_bf16_on_one_h100(sequences: int, milliseconds: float) -> None:
    deployment = tn.Deployment(context=1024, weights="bf16", sequences=sequences)
    step = tn.decode_step(tn.read_header(ledger("llama-3.1-8b")), deployment)
    cost = tn.price(step, tn.Machine(tn.catalog.chip("h100-sxm")))
    assert cost.floor * 1e3 == pytest.approx(milliseconds, abs=3e-3)
    assert cost.sequences == sequences
    assert cost.prediction is not None and cost.prediction > cost.floor


def test_gpt_fast_llama_3_8b_is_slower_than_its_floor() -> None:
    """gpt-fast README @32971d3, A100-80 at 2 and 4 chips: 149.1 and 217.21 tokens/s in bf16."""
    step = tn.decode_step(tn.read_header(ledger("llama-3.1-8b")), tn.Deployment(context=105, weights="bf16"))
    for width, tokens in ((2, 149.1), (4, 217.21)):
        cost = tn.price(step, tn.Machine(tn.catalog.chip("a100-80-sxm"), width))
        assert 0.4 < cost.floor * tokens < 1.0


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.stem)
def test_every_checkpoint_has_a_finite_price(path: Path) -> None:
    """On a machine that declares everything, at one chip and at eight."""
    step = tn.decode_step(tn.read_header(path), tn.Deployment(context=4096))
    chip = hand_chip(3.35e12, rate=1e15, overhead=1.3e-6, link=hand_link())
    one, eight = price(step, Machine(chip)), price(step, Machine(chip, 8))
    for cost in (one, eight):
        assert cost.prediction is not None and cost.refusal is None
        assert cost.prediction > cost.floor > 0.0
        json.dumps(cost.to_dict(), allow_nan=False)
        told = sum(stage.seconds for stage in cost.stages)
        assert cost.prediction == pytest.approx(told, rel=1e-12)
        placed = [row for row in cost.placement if row.bytes > 0.0]
        assert all(sum(row.tiers) == pytest.approx(1.0, abs=1e-6) for row in placed)
    figures = step.to_dict()
    moved = figures["weight_bytes_read"] + figures["kv_bytes_read"] + figures["kv_bytes_written"]
    assert one.moved_bytes >= moved * (1 - 1e-9)
    assert eight.moved_bytes == one.moved_bytes and eight.floor < one.floor
    assert eight.prediction is not None and one.prediction is not None and eight.prediction > one.prediction / 8


def test_experts_reach_the_slow_tier_first() -> None:
    """SN40L: SRAM, HBM and DDR. Routed experts are the coldest weights, so they are what lies in DDR."""
    step = tn.decode_step(tn.read_header(ledger("deepseek-v3.q4_k_m")), tn.Deployment(context=4096))
    cost = tn.price(step, tn.Machine(tn.catalog.chip("sn40l")))
    rows = {row.held_class.value: row for row in cost.placement}
    assert len(rows["routed_experts"].tiers) == 3
    assert rows["matrix_weights"].tiers[2] == 0.0 and rows["routed_experts"].tiers[2] > 0.5
    assert rows["matrix_weights"].tiers[1] == 1.0
    assert cost.prediction is None and cost.refusal is not None
    assert "stage overhead" in cost.refusal.reasons[-1]


def test_more_sequences_never_make_a_step_shorter() -> None:
    header = tn.read_header(ledger("qwen3-30b-a3b"))
    machine = Machine(hand_chip(3.35e12, rate=1e15, overhead=1e-6))
    costs = [
        price(tn.decode_step(header, tn.Deployment(context=4096, sequences=b)), machine) for b in (1, 2, 8, 32, 64)
    ]
    assert np.all(np.diff([cost.floor for cost in costs]) > 0)
    assert np.all(np.diff([cost.tokens_per_second for cost in costs]) > 0)


def test_a_grid_reads_a_header_once_per_context() -> None:
    header = tn.read_header(ledger("gemma-3-27b"))
    chips = [dataclasses.replace(hand_chip(1e12, 80e9, link=hand_link()), id="a"), "h100-sxm"]
    grid = tn.price_grid(header, chips, [1, 2], [1024, 32768, 131072], rents={"h100-sxm": 2.0})
    for context in (1024, 131072):
        step = tn.decode_step(header, tn.Deployment(context=context))
        cost = tn.price(step, tn.Machine(tn.catalog.chip("h100-sxm"), 2))
        assert float(grid.sel(chip="h100-sxm", width=2, context=context).floor) == pytest.approx(cost.floor, rel=1e-12)
