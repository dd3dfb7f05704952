"""What a newcomer gives by mistake is refused in words that say what to give, and what is shown is short."""

from __future__ import annotations

import io
import json
import math
import re
import time
from pathlib import Path
from typing import Any

import jax.numpy as jnp
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


@pytest.mark.parametrize("share", [3.0, 8.5, 20.0, 300.0])
@pytest.mark.parametrize("domain", [None, 8])
def test_what_is_said_of_a_machine_that_would_do_is_true(share: float, domain: int | None) -> None:
    chip = hand_chip(1e12, float(STEP.held_bytes.sum()) / share, link=hand_link(domain=domain))
    with pytest.raises(tn.DecodeRefusal, match="memory capacity") as refused:
        tn.price(STEP, Machine(chip, 2))
    text, room = str(refused.value), math.ceil(share)
    if domain is not None and room > domain:
        assert text.endswith(f"; {room} would hold it, and its link joins 8")
    elif "at no width" in text:
        widest = min(domain or 10**9, int(STEP.widest_units))
        assert tn.price(STEP, Machine(chip, widest)).notes, "the widest layout would do"
    else:
        said = re.search(r"; ([\d,]+) would hold it", text)
        assert said is not None
        enough = int(said[1].replace(",", ""))
        assert not tn.price(STEP, Machine(chip, enough)).notes
        if enough > room:
            assert tn.price(STEP, Machine(chip, enough - 1)).notes and f"({room} as a whole" in text


def test_replicated_parts_that_fit_at_no_width_are_told() -> None:
    chip = hand_chip(1e12, float(STEP.held_bytes.sum()) / 300, link=hand_link())
    with pytest.raises(tn.DecodeRefusal, match="300 have room for it as a whole, but at no width"):
        tn.price(STEP, Machine(chip, 2))


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


def test_a_file_opened_as_text_says_how_to_open_it(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf() + bytes(range(128, 256)))
    with path.open(encoding="utf-8") as file, pytest.raises(GgufError, match="open the file in binary mode"):
        tn.read_header(file)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("embedding_length", 1024, "embedding_length is 1024, but the rows of 'token_embd.weight' have 512"),
        (
            "attention.head_count_kv",
            4,
            "'blk.0.attn_k.weight' gives 128 elements, but the metadata have 4 key heads of 64",
        ),
        ("attention.key_length", 32, "'blk.0.attn_k.weight' gives 128 elements"),
        ("attention.value_length", 96, "'blk.0.attn_v.weight' gives 128 elements"),
        (
            "attention.head_count",
            3,
            "'blk.0.attn_q.weight' gives 512 elements, but the metadata have 3 query heads of 64",
        ),
    ],
)
def test_metadata_that_contradict_the_tensors_are_named(key: str, value: int, words: str) -> None:
    ledger = HEADER.to_ledger()
    with pytest.raises(tn.DecodeRefusal, match=re.escape(words)):
        tn.decode_step({**ledger, "metadata": {**ledger["metadata"], f"llama.{key}": value}})


def test_a_width_that_only_the_blocks_contradict_is_named() -> None:
    ledger = HEADER.to_ledger()
    rows = [[n, t, [256, *d[1:]] if n == "blk.1.ffn_up.weight" else d] for n, t, d in ledger["tensors"]]
    with pytest.raises(tn.DecodeRefusal, match=r"embedding_length is 512, but 'blk\.1\.ffn_up\.weight' reads 256"):
        tn.decode_step({**ledger, "tensors": rows})


def test_an_architecture_that_nobody_heard_of_is_noted() -> None:
    made = dense("nosuch\x1b[2J", blocks=2, width=512, heads=8, kv_heads=2, head=64, columns=1024, vocabulary=2048)
    step = tn.decode_step(made, tn.Deployment(context=1024))
    assert step.to_dict() == STEP.to_dict() and STEP.notes == ()
    assert len(step.notes) == 1 and "nosuch\\x1b[2J" in step.notes[0]
    cost = tn.price(step, Machine(CHIP))
    assert cost.notes == step.notes and cost.to_dict()["notes"] == list(step.notes)
    assert tn.price_grid(step, CHIP, 1, 1024, rents={}).to_dict()["notes"] == list(step.notes)
    assert tn.price(STEP, Machine(CHIP)).notes == ()


def test_rows_that_no_block_divides_are_grouped_and_types_that_do_are_named() -> None:
    with pytest.raises(tn.DecodeRefusal) as refused:
        tn.decode_step(latent(8), tn.Deployment(weights="q4_k"))
    (reason,) = refused.value.reasons
    assert "8 tensors such as 'blk.0.attn_k_b.weight' have rows of 128 elements" in reason
    named = reason.rpartition(": ")[2].split(", ")
    assert "Q8_0" in named and "BF16" in named and "Q6_K" not in named and "I8" not in named
    for name in named:
        assert tn.decode_step(latent(8), tn.Deployment(weights=name)).totals.weight_bytes > 0


def test_more_sequences_than_rows_read_the_table_once() -> None:
    step = tn.decode_step(HEADER, tn.Deployment(context=16, sequences=1e6))
    told = step.to_dict()
    assert told["weight_bytes_read"] == told["weight_bytes"]
    for sequences in (1.0, 100.0, 2048.0):
        read = STEP.with_sequences(sequences).to_dict()["weight_bytes_read"]
        assert read == STEP.to_dict()["weight_bytes_read"] + (sequences - 1.0) * 512 * 2


@pytest.mark.parametrize("contexts", [[0], 0, [-1], [float("nan")], ["4k"]])
def test_contexts_are_above_0_everywhere(contexts: Any) -> None:
    for source in (HEADER, STEP):
        with pytest.raises(TinkerNomicsError, match=r"contexts = .*above 0"):
            tn.price_grid(source, CHIP, 1, contexts, rents={})


def test_axes_may_be_arrays() -> None:
    table = tn.price_grid(HEADER, CHIP, jnp.array([1, 2]), jnp.array([512.0, 1024.0]), rents={})
    assert table.axes == {"chip": ("mine",), "width": (1, 2), "context": (512.0, 1024.0)}
    assert tn.price_grid(HEADER, CHIP, np.int64(2), np.arange(1, 3) * 512, rents={}).width == (2,)


@pytest.mark.parametrize("width", [1e30, 10**40, 0, 1.5])
def test_a_width_says_its_limit(width: Any) -> None:
    with pytest.raises(TinkerNomicsError, match="1 to 9,007,199,254,740,992"):
        tn.price_grid(STEP, CHIP, width, 1024, rents={})
    with pytest.raises(TinkerNomicsError, match="1 to 9,007,199,254,740,992"):
        Machine(CHIP, width)


def test_what_is_printed_is_a_line() -> None:
    cost = tn.price(STEP, Machine(CHIP, 2))
    assert str(cost).startswith("2 x mine at bf16: floor 0.00") and "\n" not in str(cost) and len(str(cost)) < 200
    assert str(Machine(CHIP, 2, rent=2.5)) == "2 x mine: HBM 40 GB at 2 TB/s; bf16 300 TFLOP/s, 2.5 USD per chip-hour"
    silent = tn.price(STEP, Machine(hand_chip(None, rate=None, id="silent")))
    assert str(silent).startswith("silent".join(("1 x ", " at bf16: no floor, no prediction: the bandwidth of ")))
