"""Reading GGUF headers: the catalog's totals come out, and caches, states and FLOP are those that llama.cpp reports."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from shared_folder import SHARED

from tinker_nomics import catalog
from tinker_nomics.architectures.architecture import Architecture, ArchitectureError
from tinker_nomics.decode import GgufError, HeaderSource

needs_ledgers = pytest.mark.skipif(SHARED is None, reason="the specification folder is not here")

SAME = {
    "llama-3.1-8b-instruct.q4_k_m": "meta-llama/Llama-3.1-8B-Instruct",
    "qwen3-8b.q4_k_m": "Qwen/Qwen3-8B",
    "qwen3-4b-instruct-2507.bf16.REAL-TENSORS": "Qwen/Qwen3-4B-Instruct-2507",
    "qwen3-30b-a3b.q4_k_m": "Qwen/Qwen3-30B-A3B",
    "qwen3-235b-a22b.q4_k_m": "Qwen/Qwen3-235B-A22B-Instruct-2507",
    "gpt-oss-120b.mxfp4_moe": "openai/gpt-oss-120b",
    "deepseek-v3.1-terminus.bf16.REAL-TENSORS": "deepseek-ai/DeepSeek-V3.1",
    "kimi-k2-thinking.bf16.REAL-TENSORS": "moonshotai/Kimi-K2-Thinking",
    "qwen3.5-4b.bf16.REAL-TENSORS": "Qwen/Qwen3.5-4B",
    "qwen3.5-9b.bf16.REAL-TENSORS": "Qwen/Qwen3.5-9B",
    "qwen3.5-27b.bf16.REAL-TENSORS": "Qwen/Qwen3.5-27B",
    "qwen3.5-35b-a3b.bf16.REAL-TENSORS": "Qwen/Qwen3.5-35B-A3B",
    "qwen3.5-397b-a17b.bf16.REAL-TENSORS": "Qwen/Qwen3.5-397B-A17B",
}
OTHERS = (
    "falcon-h1-7b-instruct.q4_k_m", "gemma-2-9b-it.q4_k_m", "gemma-3-27b-it.q4_k_m", "glm-4.5-air.q4_k_m",
    "gemma-4-31b-it.bf16.REAL-TENSORS", "kimi-linear-48b-a3b.q4_k_m", "mixtral-8x7b.q4_k_m", "phi-3-mini-4k.q4_k_m",
    "mamba-codestral-7b.q4_k_m", "nemotron-nano-9b-v2.q4_k_m", "qwen3-next-80b-a3b.q4_k_m", "granite-4.0-h-tiny.q4_k_m",
)  # fmt: skip


def _ledger(name: str) -> tuple[Architecture, dict[str, Any]]:
    assert SHARED is not None
    table = json.loads((SHARED / "ledgers" / f"{name}.json").read_text())
    return Architecture.from_header(HeaderSource.from_ledger(table)), table["truth"]


@needs_ledgers
@pytest.mark.parametrize(("ledger", "name"), SAME.items())
def test_a_header_and_the_catalog_agree(ledger: str, name: str) -> None:
    found, _ = _ledger(ledger)
    row = catalog.model(name)
    assert row.architecture is not None
    assert set(found.groups) == set(row.architecture.groups)
    assert (found.parameters, found.active_parameters) == (row.parameters, row.active_parameters)
    assert found.lora_components == row.architecture.lora_components
    assert found.tied == row.architecture.tied


@needs_ledgers
@pytest.mark.parametrize("ledger", [*SAME, *OTHERS])
def test_caches_states_and_flop_are_those_that_llama_cpp_reports(ledger: str) -> None:
    found, truth = _ledger(ledger)
    bytes_of = {"f16": 2.0, "q8_0": 34 / 32, "q4_0": 18 / 32}
    for context in truth["contexts"]:
        sequences = float(context["combo"].split(":")[3])
        # llama.cpp keeps one cache for global layers and, where there are any, a second for windowed ones
        for row, per_token in zip(context["kv"], _per_token(found), strict=True):
            if row["k_type"] == row["v_type"]:
                held = per_token / 2.0 * bytes_of[row["k_type"]] * row["cells"] * row["n_stream"]
                assert held / 2**20 == pytest.approx(row["size_mib"], abs=0.011), context
        if context["rs"]:
            state = found.state_bytes_per_sequence * sequences / 2**20
            assert state == pytest.approx(sum(row["size_mib"] for row in context["rs"]), abs=0.011), context
    flops = truth["decode_graph"]["flops"]
    assert flops["matmul"] == 2 * found.active_matrix_parameters
    seen = truth["decode_graph"]["n_ctx"]
    attention = found.absorbed_attention_flops_per_context_token * seen
    if found.window is None:
        assert flops.get("attention", 0) == attention
    else:
        # its graph attends to every cell of the windowed cache, we to the window alone
        windowed = found.window_attention_flops_per_context_token
        assert attention + windowed * found.window <= flops["attention"] <= attention + windowed * seen


def _per_token(found: Architecture) -> list[float]:
    return [size for size in (found.kv_bytes_per_token, found.window_kv_bytes_per_token) if size]


@needs_ledgers
@pytest.mark.parametrize(
    ("ledger", "match"),
    [
        ("gemma-3n-e4b-it.q4_k_m", "does not know the tensors altup"),
        ("rwkv7-world-2.9b.q4_k_m", "its recurrence is none of"),
        ("jamba-v0.1.q4_k_m", "its recurrence is none of"),
        ("lfm2-1.2b.q4_k_m", "its recurrence is none of"),
    ],
)
def test_layers_that_no_group_describes_are_refused_by_name(ledger: str, match: str) -> None:
    with pytest.raises(ArchitectureError, match=match):
        _ledger(ledger)


def _small(**metadata: Any) -> dict[str, Any]:
    keys = {"general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 8}
    keys |= {"llama.attention.head_count": 2, "llama.feed_forward_length": 16}
    tensors = [["token_embd.weight", "F32", [8, 32]], ["output_norm.weight", "F32", [8]]]
    tensors += [[f"blk.0.attn_{part}.weight", "F32", [8, 8]] for part in ("q", "k", "v", "output")]
    tensors += [["blk.0.ffn_gate.weight", "F32", [8, 16]], ["blk.0.ffn_up.weight", "F32", [8, 16]]]
    tensors += [["blk.0.ffn_down.weight", "F32", [16, 8]], ["blk.0.attn_norm.weight", "F32", [8]]]
    return {"metadata": keys | metadata, "tensors": tensors}


def test_a_small_header_without_the_specification_folder() -> None:
    found = Architecture.from_header(HeaderSource.from_ledger(_small()))
    assert found.tied
    assert found.parameters == 8 * 32 + 4 * 64 + 3 * 8 * 16
    assert found.kv_bytes_per_token == 2 * 2 * 8


def test_a_header_whose_tensors_disagree_with_its_metadata_is_refused() -> None:
    ledger = _small(**{"llama.attention.head_count": 1, "llama.attention.key_length": 4})
    with pytest.raises(ArchitectureError, match="parameters and the layers read from it"):
        Architecture.from_header(HeaderSource.from_ledger(ledger))


def test_missing_metadata_and_tables_are_named() -> None:
    ledger = _small()
    del ledger["metadata"]["llama.block_count"]
    with pytest.raises(ArchitectureError, match="block_count"):
        Architecture.from_header(HeaderSource.from_ledger(ledger))
    ledger = _small()
    ledger["tensors"] = ledger["tensors"][1:]
    with pytest.raises(ArchitectureError, match="token_embd"):
        Architecture.from_header(HeaderSource.from_ledger(ledger))


def test_config_and_header_of_one_model_agree(tmp_path: Path) -> None:
    config = {
        "model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 2, "vocab_size": 32,
        "num_hidden_layers": 1, "tie_word_embeddings": True,
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    header = Architecture.from_header(HeaderSource.from_ledger(_small()))
    found = Architecture.from_hf_config(path)
    assert (found.groups, found.parameters, found.tied) == (header.groups, header.parameters, header.tied)


def test_no_metadata_or_dims_do_worse_than_a_clear_error() -> None:
    draw = random.Random(0)
    refused = 0
    for _ in range(1500):
        ledger = _small(**{"llama.attention.head_count_kv": 2})
        for _ in range(draw.randint(1, 2)):
            if draw.random() < 0.6:
                key = draw.choice(list(ledger["metadata"]))
                ledger["metadata"][key] = draw.choice([-1, 0, 1, 3, 1.5, "x", [1, 2], True, 10**12])
            else:
                number = draw.randrange(len(ledger["tensors"]))
                name, kind, dims = ledger["tensors"][number]
                ledger["tensors"][number] = [name, kind, draw.choice([[32], [32, 32], [0, 32], [*dims, 2]])]
        try:
            assert Architecture.from_header(HeaderSource.from_ledger(ledger)).parameters > 0
        except (ArchitectureError, GgufError):
            refused += 1
    assert 500 < refused < 1500
