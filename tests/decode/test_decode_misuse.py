"""What a newcomer gives by mistake is refused in words that say what to give, and what is shown is short."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf_bytes import gguf
from hand_steps import hand_chip, hand_link
from made_checkpoints import delta_hybrid, dense, experts, grouped_attention, header, latent, outer, two_mixers

import tinker_nomics as tn
from tinker_nomics.decode import GgufError, HeaderSource
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.hardware import Machine, Topology

HEADER = dense("llama", blocks=2, width=512, heads=8, kv_heads=2, head=64, columns=1024, vocabulary=2048)
STEP = tn.decode_step(HEADER, tn.Deployment(context=1024))
CHIP = hand_chip(2e12, 40e9, 3e14, 2e-6, hand_link(), id="mine")


@pytest.mark.parametrize(
    ("step", "machine", "words"),
    [
        (HEADER, Machine(CHIP), "decode_step"), ("model.gguf", Machine(CHIP), "decode_step"),
        (STEP, CHIP, "Machine"), (STEP, "h100-sxm", "catalog.chip"), (STEP, None, "Machine"),
    ],
)  # fmt: skip
def test_a_price_is_of_a_step_on_a_machine(step: Any, machine: Any, words: str) -> None:
    with pytest.raises(TinkerNomicsError, match=words):
        tn.price(step, machine)


@pytest.mark.parametrize("deployment", [4096, {"context": 4096}, "f16"])
def test_a_step_is_of_a_deployment(deployment: Any) -> None:
    with pytest.raises(TinkerNomicsError, match=r"Deployment\(context=4096\)"):
        tn.decode_step(HEADER, deployment)


def test_a_step_takes_what_read_header_takes(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(HEADER.to_ledger()))
    want = tn.decode_step(HEADER, tn.Deployment()).to_dict()
    for source in (HEADER, path, str(path), HEADER.to_ledger()):
        assert tn.decode_step(source).to_dict() == want
    assert tn.read_header(HEADER) is HEADER
    with pytest.raises(FileNotFoundError):
        tn.decode_step(tmp_path / "none.gguf")


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), np.inf])
def test_sequences_and_contexts_are_numbers_of_something(value: float) -> None:
    with pytest.raises(TinkerNomicsError, match="sequences"):
        STEP.with_sequences(value)
    with pytest.raises(TinkerNomicsError, match="context"):
        STEP.with_context(value if value else -1)


def test_a_context_keeps_within_the_cells_that_are_reserved() -> None:
    assert STEP.with_context(1024).to_dict() == STEP.to_dict()
    with pytest.raises(TinkerNomicsError, match="1,024 cells"):
        STEP.with_context(1025)
    with pytest.raises(TinkerNomicsError, match="capacity"):
        tn.price_grid(STEP, CHIP, 1, [512, 4096], rents={})
    roomy = tn.decode_step(HEADER, tn.Deployment(context=1000, capacity=8192))
    assert roomy.with_context(8192).to_dict()["kv_bytes_read"] == 8192 * STEP.to_dict()["kv_bytes_read"] / 1024


@pytest.mark.parametrize("rent", [-1.0, float("nan"), np.inf, "two dollars", "3 GB"])
def test_a_rent_is_a_number_of_dollars(rent: Any) -> None:
    cost = tn.price(STEP, Machine(CHIP))
    with pytest.raises(TinkerNomicsError):
        tn.usd_per_million_tokens(cost, rent)
    with pytest.raises(TinkerNomicsError):
        tn.price_grid(STEP, CHIP, 1, 1024, rents={"mine": rent})


def test_a_rent_may_carry_its_unit() -> None:
    cost = tn.price(STEP, Machine(CHIP))
    assert tn.usd_per_million_tokens(cost, "$2.50/h") == tn.usd_per_million_tokens(cost, 2.5)
    with pytest.raises(TinkerNomicsError, match="prediction"):
        tn.usd_per_million_tokens(cost, 2.5, basis="guess")  # type: ignore[arg-type]


def test_a_rent_of_a_chip_beside_the_grid_is_a_slip() -> None:
    with pytest.raises(TinkerNomicsError, match="mine"):
        tn.price_grid(STEP, [CHIP], rents={"mien": 2.0})


def test_an_axis_of_one_needs_no_list() -> None:
    one = tn.price_grid(HEADER, CHIP, 4, 2048, rents={})
    assert one.axes == {"chip": ("mine",), "width": (4,), "context": (2048.0,)}
    for name, wrong in (("widths", "4"), ("widths", 2.5), ("contexts", "4k"), ("contexts", []), ("contexts", [True])):
        with pytest.raises(TinkerNomicsError, match=name):
            tn.price_grid(STEP, CHIP, **{name: wrong}, rents={})


def test_what_is_shown_is_short() -> None:
    cost = tn.price(STEP, Machine(CHIP, 2))
    assert len(repr(STEP)) < 100 and "17 stages" in repr(STEP) and "2 blocks" in repr(STEP)
    assert len(repr(cost)) < 1500 and "floor" in repr(cost)


def test_too_small_a_machine_says_how_many_would_do() -> None:
    with pytest.raises(tn.DecodeRefusal, match="; 9 would hold it, and its link joins 8"):
        small = hand_chip(1e12, STEP.held_bytes.sum() / 8.5, link=hand_link(domain=8))
        tn.price(STEP, Machine(small, 2))
    with pytest.raises(tn.DecodeRefusal, match=r"; 9 would hold it$"):
        tn.price(STEP, Machine(hand_chip(1e12, STEP.held_bytes.sum() / 8.5, link=hand_link()), 2))


def test_a_topology_beyond_the_table_is_not_called_undeclared() -> None:
    wide = dense("llama", blocks=1, width=64, heads=1, kv_heads=1, head=64, columns=64, vocabulary=40000)
    step = tn.decode_step(wide)
    refusal = tn.price(step, Machine(hand_chip(1e12, 1e12, 1e14, 1e-6, hand_link(Topology.RING)), 20000)).refusal
    assert refusal is not None and "tabulated" in str(refusal) and "not declared" not in str(refusal)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n", "Git LFS"),
        (b"<!DOCTYPE html><html><body>not found</body></html>", "web page"),
        (b'\x40\x00\x00\x00\x00\x00\x00\x00{"__metadata__":{}}', "safetensors"),
        (b"PK\x03\x04" + bytes(30), "archive"),
        (b'{"model_type": "llama", "hidden_size": 64}', "config.json"),
    ],
)
def test_files_that_people_take_for_a_checkpoint(start: bytes, words: str) -> None:
    with pytest.raises(GgufError, match=words):
        tn.read_header(start)


def test_an_open_file_that_was_read_before_says_where_it_stood(tmp_path: Path) -> None:
    file = io.BytesIO(gguf() + bytes(5000))
    assert tn.read_header(file).version == 3
    where = file.tell()
    file.seek(24)
    with pytest.raises(GgufError, match="where the object stood, at byte 24"):
        tn.read_header(file)
    assert where > 0


@pytest.mark.parametrize("path", ["", b"", "\0"])
def test_no_path_is_not_the_folder_at_hand(path: Any) -> None:
    with pytest.raises(GgufError):
        tn.read_header(path)


def mixture() -> HeaderSource:
    rows = outer(256, 512) + [row for i in range(2) for row in grouped_attention(i, 256, 4, 2, 64)]
    rows += [row for i in range(2) for row in experts(i, 256, 256, 8)]
    counts = {"block_count": 2, "embedding_length": 256, "attention.head_count": 4, "attention.head_count_kv": 2}
    return header("qwen3moe", {**counts, "expert_count": 8, "expert_used_count": 2}, rows)


@pytest.mark.parametrize("made", [mixture(), latent(2), delta_hybrid(4), two_mixers(2)], ids=lambda h: h.architecture)
def test_whatever_a_metadata_value_is_the_step_is_finite_or_refused(made: HeaderSource) -> None:
    """Also quickly: a count of blocks that no checkpoint has builds no list of that length."""
    hostile = [0, -1, 2**40, 2**63, 1.5, float("inf"), True, "x", [], [0, 0], [2**63] * 4, "<5 integers>"]
    ledger, started = made.to_ledger(), time.perf_counter()
    for key in list(ledger["metadata"]):
        for value in (*hostile, None):
            metadata = {k: v for k, v in {**ledger["metadata"], key: value}.items() if v is not None}
            try:
                figures = tn.decode_step({**ledger, "metadata": metadata}).to_dict()
            except TinkerNomicsError:
                continue
            assert all(0.0 <= figure < np.inf for figure in figures.values()), (key, value)
    assert time.perf_counter() - started < 20.0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: tn.decode.price_arrays(HEADER, Machine(CHIP).arrays(), 0), "step = "),  # type: ignore[arg-type]
        (lambda: tn.decode.price_arrays(STEP, Machine(CHIP), 0), r"Machine\(chip, 8\)\.arrays\(\)"),  # type: ignore[arg-type]
        (lambda: tn.decode.price_arrays(STEP, Machine(CHIP).arrays(), 9), r"precision_index = 9: one of 0 \(bf16\)"),
        (lambda: tn.decode.price_arrays(STEP, Machine(CHIP).arrays(), "bf16"), "precision_index = 'bf16'"),
        (lambda: tn.usd_per_million_tokens(STEP), "cost = "),  # type: ignore[arg-type]
        (lambda: STEP.with_context(np.float64(8192)), r"context = 8192\.0: at most"),
    ],
)  # fmt: skip
def test_what_is_passed_for_something_else_is_named(wrong: Any, words: str) -> None:
    with pytest.raises(TinkerNomicsError, match=words):
        wrong()


def test_a_table_of_prices_that_cannot_be_read(tmp_path: Path) -> None:
    table = tn.price_grid(STEP, CHIP, [1, 2], 1024)
    whole = table.to_npz(tmp_path / "whole.npz")
    (tmp_path / "text.npz").write_text("no table")
    (tmp_path / "cut.npz").write_bytes(whole.read_bytes()[:-300])
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    for name, words in (
        ("none.npz", "there is no file"), ("text.npz", "damaged"), ("cut.npz", "damaged"), ("other.npz", "no table of"),
    ):  # fmt: skip
        with pytest.raises(TinkerNomicsError, match=words):
            type(table).from_npz(tmp_path / name)
    back = type(table).from_npz(whole)
    assert back.floor.tolist() == table.floor.tolist() and back.axes == table.axes


def test_a_table_shows_its_axes_and_a_point_its_price() -> None:
    table = tn.price_grid(STEP, CHIP, [1, 2], 1024)
    assert "width=[1, 2]" in repr(table) and "tokens_per_second" in repr(table)
    point = table.sel(width=1, context=1024).sel(chip=table.axes["chip"][0])
    assert f"floor={point.floor.item()}" in repr(point) and "binds=memory" in repr(point)
