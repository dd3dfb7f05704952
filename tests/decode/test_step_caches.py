"""Caches and states against published answers: figures of public logs and cases, made from published configurations."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from made_checkpoints import (
    delta_hybrid,
    dense,
    gated_ffn,
    grouped_attention,
    latent,
    outer,
    state_spaces,
    two_mixers,
)
from made_checkpoints import header as made
from shared_folder import SHARED

from tinker_nomics.decode import DecodeRefusal, Deployment, decode_step
from tinker_nomics.decode.architecture_rules import rules_of

GIB, MIB = 2.0**30, 2.0**20
TABLES = tomllib.loads((Path(__file__).parents[1] / "data" / "llamacpp_caches.toml").read_text())
LOGGED, STATES = TABLES["cache"], TABLES["state"]


def figures(header, **deployment) -> dict[str, float]:
    return decode_step(header, Deployment(**deployment)).to_dict()


@pytest.mark.parametrize(
    "row", LOGGED, ids=lambda row: f"{row['model']}-{row['cells']}-{row['k_type']}-{row['v_type']}"
)
def test_logged_cache_sizes(row):
    if "not_held" in row:
        assert rules_of("deepseek4").refusal is not None
        return
    if row["values"]:
        heads = row["keys"] // 128
        header = dense(
            "llama", blocks=row["layers"], width=256, heads=heads, kv_heads=heads, head=128, columns=256, vocabulary=32
        )
    else:
        header = latent(row["layers"])
    held = figures(header, context=row["cells"], k_type=row["k_type"], v_type=row["v_type"])["kv_bytes_reserved"]
    assert held / MIB == pytest.approx(row["mib"], abs=0.00501)


@pytest.mark.parametrize("row", STATES, ids=lambda row: f"{row['model']}-{row['sequences']}-{row['rs_seq']}")
def test_logged_state_sizes(row):
    if row["recurrence"] == 786432:
        header = delta_hybrid(row["layers"] * 4 // 3)
    elif row["recurrence"] == 524288:  # config.json of Qwen/Qwen3.5-9B and Qwen/Qwen3.5-35B-A3B: 32 value heads of 128
        header = delta_hybrid(row["layers"] * 4 // 3, width=4096, inner=4096)
    else:
        header = state_spaces(row["layers"], 2048)
    got = figures(header, context=256, sequences=row["sequences"], rs_seq=row["rs_seq"])["state_bytes"]
    elements = row["layers"] * (row["shift"] + row["recurrence"])
    assert got == 4 * elements * row["sequences"] * (1 + row["rs_seq"])
    # 299.25 and 448.875 are written with two digits; a half is rounded either way
    assert got / MIB == pytest.approx(row["mib"], abs=0.00501)


def test_states_kept_for_rollback_are_held_and_not_moved():
    plain = decode_step(delta_hybrid(4), Deployment(context=256))
    kept = decode_step(delta_hybrid(4), Deployment(context=256, rs_seq=3))
    assert kept.to_dict()["state_bytes"] == 4 * plain.to_dict()["state_bytes"]
    assert kept.moved_bytes().tolist() == plain.moved_bytes().tolist()
    assert kept.with_sequences(2.0).to_dict()["state_bytes"] == 8 * plain.to_dict()["state_bytes"]


@pytest.mark.skipif(SHARED is None, reason="needs the specification folder")
def test_the_table_holds_every_cache_and_state_that_the_folder_logs():
    assert SHARED is not None
    logs = json.loads((SHARED / "truth" / "llamacpp_logs.json").read_text())["tuples"]
    caches = [log for log in logs if log["kind"] == "kv" and log["agrees"]]
    keys = ("model", "cells", "k_type", "v_type", "mib")
    assert Counter(tuple(log[key] for key in keys) for log in caches) == Counter(
        tuple(row[key] for key in keys) for row in LOGGED
    )
    states = [log for log in logs if log["kind"] == "rs" and log["agrees"]]
    assert sorted((log["n_seqs"], log["rs_seq"], log["mib"]) for log in states) == sorted(
        (row["sequences"], row["rs_seq"], row["mib"]) for row in STATES
    )
    assert (len(LOGGED), len(STATES)) == (59, 8)


def test_gemma3_27b_reads_windows_and_global_layers():
    # config.json of google/gemma-3-27b-it: 62 blocks, every sixth global, window 1024, 16 KV heads of 128.
    header = dense(
        "gemma3", blocks=62, width=5376, heads=32, kv_heads=16, head=128, columns=512, attention__sliding_window=1024
    )
    got = figures(header, context=131072)
    assert got["kv_bytes_read"] == (10 * 131072 + 52 * 1024) * 16 * 256 * 2
    assert got["kv_bytes_read"] / GIB == pytest.approx(10.406, abs=5e-4)
    assert got["kv_bytes_reserved"] == (10 * 131072 + 52 * 1536) * 16 * 256 * 2


def test_a_hybrid_holds_a_cache_where_it_attends():
    got = figures(delta_hybrid(64), context=262144)
    assert got["kv_bytes_reserved"] / GIB == 16.0
    assert got["state_bytes"] / MIB == 149.625  # logged: 149.62 (R 5.62 + S 144.00)
    assert figures(delta_hybrid(64), context=4096, sequences=3)["state_bytes"] / MIB == 448.875


def test_blocks_for_prediction_hold_no_cache_and_are_not_read():
    plain, ahead = figures(delta_hybrid(4), context=4096), figures(delta_hybrid(4, predicted=1), context=4096)
    for name in ("kv_bytes_reserved", "kv_bytes_read", "state_bytes", "weight_bytes_read", "matmul_flops"):
        assert plain[name] == ahead[name]
    assert ahead["weight_bytes"] > plain["weight_bytes"]


def test_a_latent_cache_is_keys_alone():
    assert figures(latent(61), context=163840)["kv_bytes_reserved"] / GIB == pytest.approx(10.723, abs=5e-4)
    legacy = figures(latent(1, absorbed=False, keys=False), context=256)
    assert legacy["kv_bytes_reserved"] == 256 * 128 * (192 + 128) * 2


def test_head_length_is_not_width_over_heads():
    # config.json of Qwen/Qwen3-0.6B: width 1024, 16 heads, 8 KV heads of 128.
    header = dense("qwen3", blocks=28, width=1024, heads=16, kv_heads=8, head=128, columns=3072)
    assert figures(header, context=40960)["kv_bytes_reserved"] / GIB == 4.375


def test_heads_differ_by_layer_and_lengths_by_kind():
    # config.json of google/gemma-4-12b-it: 48 blocks, five local (8 x 256, window 1024) to one global (1 x 512).
    slides = [layer % 6 != 5 for layer in range(48)]
    metadata = {
        "block_count": len(slides),
        "embedding_length": 512,
        "attention.head_count": 8,
        "attention.head_count_kv": [8 if local else 1 for local in slides],
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.key_length_swa": 256,
        "attention.value_length_swa": 256,
        "attention.sliding_window": 1024,
        "attention.sliding_window_pattern": slides,
    }
    rows = outer(512, 1024)
    for block, local in enumerate(slides):
        rows += grouped_attention(block, 512, 8, 8 if local else 1, 256 if local else 512) + gated_ffn(block, 512, 256)
    header = made("gemma4", metadata, rows)
    got = figures(header, context=131072, k_type="q8_0", v_type="q8_0")
    assert got["kv_bytes_read"] / GIB == pytest.approx(1.229, abs=5e-4)


def test_read_and_reserved_are_two_figures():
    # gpt-oss-20b (config.json of openai/gpt-oss-20b): 24 blocks, every second local, window 128, 8 KV heads of 64.
    header = dense(
        "gpt-oss", blocks=24, width=2880, heads=64, kv_heads=8, head=64, columns=2880, attention__sliding_window=128
    )
    got = figures(header, context=8192, sequences=32)
    assert got["kv_bytes_read"] / GIB == pytest.approx(6.094, abs=5e-4)
    assert got["kv_bytes_reserved"] == 32 * (12 * 8192 + 12 * 768) * 2048
    assert got["kv_bytes_written"] == 32 * 24 * 2048


def test_sequences_multiply_the_cells():
    header = dense("llama", blocks=2, width=256, heads=4, kv_heads=2, head=64, columns=256)
    one, four = (figures(header, context=32768, sequences=n)["kv_bytes_reserved"] for n in (1, 4))
    assert four == 4 * one
    pool = figures(header, context=1000, sequences=3, kv_unified=True)["kv_bytes_reserved"]
    assert pool == 3072 * 2 * 2 * 2 * 64 * 2
    apart = figures(header, context=1000, sequences=3)["kv_bytes_reserved"]
    assert apart == 3 * 1024 * 2 * 2 * 2 * 64 * 2


def test_windows_of_one_pool_keep_room_for_every_sequence():
    header = dense(
        "gemma2", blocks=2, width=256, heads=4, kv_heads=2, head=64, columns=256, attention__sliding_window=1000
    )
    row = 2 * 2 * 64 * 2
    pool = figures(header, context=32768, sequences=4, kv_unified=True)["kv_bytes_reserved"]
    assert pool == (4 * 32768 + 4608) * row  # 4 x 1000 + 512 = 4512, padded to 256
    apart = figures(header, context=32768, sequences=4)["kv_bytes_reserved"]
    assert apart == 4 * (32768 + 1536) * row


def test_a_block_with_two_mixers_keeps_both():
    got = figures(two_mixers(24), context=32768)
    assert got["kv_bytes_reserved"] / MIB == 768.0  # logged for Falcon-H1-1.5B
    assert got["state_bytes"] / MIB == pytest.approx(72.98, abs=0.00501)


@pytest.mark.parametrize(("architecture", "cells"), [("phi3", 8192), ("llama", 8192), ("gemma2", 4096 + 1024)])
def test_the_window_key_counts_only_where_the_architecture_slides(architecture, cells):
    header = dense(
        architecture, blocks=2, width=256, heads=4, kv_heads=2, head=64, columns=256, attention__sliding_window=512
    )
    assert figures(header, context=4096)["kv_bytes_reserved"] == cells * 2 * 2 * 64 * 2


def test_rows_that_a_cache_type_does_not_divide_are_refused():
    header = dense("llama", blocks=1, width=160, heads=2, kv_heads=2, head=80, columns=256)
    with pytest.raises(DecodeRefusal, match="80 elements per head") as caught:
        figures(header, context=256, k_type="q8_0", v_type="q8_0")
    assert len(caught.value.reasons) == 2
