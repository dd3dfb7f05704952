"""Parameters, tensors and sizes of whole checkpoints, as public logs print them, digit for digit."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from made_checkpoints import dense
from shared_folder import SHARED

from tinker_nomics.decode import Deployment, GgufHeader, HeaderSource, decode_step, read_header
from tinker_nomics.decode.ggml_types import GgmlType, UnknownType, ggml_type

GIB = 2.0**30
LOGGED: list[dict[str, Any]] = tomllib.loads((Path(__file__).parents[1] / "data" / "llamacpp_sizes.toml").read_text())[
    "size"
]
# the start of a model's name, as logs spell it -> its ledger; DeepSeek's V3 and R1 are one architecture
LEDGERS = {
    "Qwen3-30B-A3B": "qwen3-30b-a3b.q4_k_m",
    "Qwen3 30B A3B": "qwen3-30b-a3b.q4_k_m",
    "Kimi-K2-Instruct": "kimi-k2-instruct.ud-iq3_xxs.REAL",
    "Gemma 3 27b": "gemma-3-27b-it.q4_k_m",
    "gemma-3-27b": "gemma-3-27b-it.q4_k_m",
    "DeepSeek R1": "deepseek-v3.1-terminus.bf16.REAL-TENSORS",
    "DeepSeek V3": "deepseek-v3.1-terminus.bf16.REAL-TENSORS",
    "unsloth_DeepSeek R1": "deepseek-v3.1-terminus.bf16.REAL-TENSORS",
    "Qwen3.5-397B": "qwen3.5-397b-a17b.bf16.REAL-TENSORS",
    "GLM-4.5-Air": "glm-4.5-air.q4_k_m",
    "Qwen3 235B": "qwen3-235b-a22b.q4_k_m",
    "Meta_Llama_3.1_8b": "llama-3.1-8b-instruct.q4_k_m",
    "gpt-oss-120b": "gpt-oss-120b.mxfp4_moe",
}
FORM_OF = {1086: "absorbed", 1025: "legacy", 1147: "both"}


def latent_form(header: GgufHeader, form: str) -> GgufHeader:
    """`header` of absorbed latent attention with its key and value projections in another form."""
    if form == "absorbed":
        return header
    rows: list[Any] = []
    for name, kind, dims in header.to_ledger()["tensors"]:
        if name.endswith("attn_k_b.weight"):  # [head, rank, heads], beside v_b [rank, head, heads]
            rows.append([name.replace("attn_k_b", "attn_kv_b"), kind, [dims[1], 2 * dims[0] * dims[2]]])
        if form == "both" or not name.endswith(("attn_k_b.weight", "attn_v_b.weight")):
            rows.append([name, kind, dims])
    return HeaderSource.from_ledger({"metadata": header.to_ledger()["metadata"], "tensors": rows})


@cache
def ledger_of(model: str, form: str) -> GgufHeader:
    """The header of `model`: made from its published configuration, or its ledger."""
    if model == "LLaMA v2":  # config.json of meta-llama/Llama-2-13b-hf
        return dense("llama", blocks=40, width=5120, heads=40, kv_heads=40, head=128, columns=13824, vocabulary=32000)
    if model == "Qwen3-32B":  # config.json of Qwen/Qwen3-32B; every head's query and key are normed
        plain = dense(
            "qwen3", blocks=64, width=5120, heads=64, kv_heads=8, head=128, columns=25600, vocabulary=151936
        ).to_ledger()
        norms = [[f"blk.{i}.attn_{x}_norm.weight", "F32", [128]] for i in range(64) for x in "qk"]
        return HeaderSource.from_ledger({**plain, "tensors": plain["tensors"] + norms})
    name = next(ledger for start, ledger in LEDGERS.items() if model.startswith(start))
    if SHARED is None:
        pytest.skip("needs the folder of ledgers")
    return latent_form(read_header(SHARED / "ledgers" / f"{name}.json"), form)


def stored_bytes(header: GgufHeader, storage: str) -> float:
    """Bytes of all tensors, stored as the log says. A log's table of embeddings has the matrices' type too."""
    if storage == "as stored":
        return header.weight_bytes
    if " for " in storage:
        new, _, old = storage.partition(" for ")
        assert not any(isinstance(row.type, UnknownType) for row in header.tensors)
        return sum(
            ggml_type(new).bytes_of(row.elements) if row.type.name == old else row.bytes for row in header.tensors
        )
    kind, table = ggml_type(storage), header.tensor["token_embd.weight"]
    assert isinstance(kind, GgmlType)
    figures = decode_step(header, Deployment(weights=storage)).to_dict()
    return figures["weight_bytes"] - table.bytes + kind.bytes_of(table.elements)


def as_printed(value: float, like: str) -> str:
    return f"{value:.{len(like.partition('.')[2])}f}"


@pytest.mark.parametrize("row", LOGGED, ids=lambda row: f"{row['model']}-{row['quant']}")
def test_a_logged_size(row: dict[str, Any]) -> None:
    header = ledger_of(row["model"], row.get("form", "absorbed"))
    assert as_printed(header.parameters / 1e9, row["parameters"]) == row["parameters"]
    if "tensors" in row:
        assert len(header.tensors) == row["tensors"]
    if "gib" in row:
        size = stored_bytes(header, row["storage"])
        assert as_printed(size / GIB, row["gib"]) == row["gib"]
        assert as_printed(8.0 * size / header.parameters, row["bits"]) == row["bits"]


def test_a_token_reads_one_form_of_the_latent_projections() -> None:
    """Where a file holds both, the legacy one is dead weight; the cache is the latent either way."""
    read = {form: decode_step(ledger_of("DeepSeek V3", form), Deployment()).to_dict() for form in FORM_OF.values()}
    assert read["both"]["weight_bytes"] > read["absorbed"]["weight_bytes"] == read["legacy"]["weight_bytes"]
    assert len({one["weight_bytes_read"] for one in read.values()}) == 1
    assert len({one["kv_bytes_read"] for one in read.values()}) == 1


@pytest.mark.skipif(SHARED is None, reason="needs the specification folder")
def test_every_logged_size_of_a_model_with_a_ledger() -> None:
    """All logs of the folder, whatever the storage: parameters and number of tensors."""
    assert SHARED is not None
    logs = json.loads((SHARED / "truth" / "llamacpp_logs.json").read_text())["tuples"]
    sizes = [log for log in logs if log["kind"] == "size"]
    held = [log for log in sizes if log["model"].startswith(tuple(LEDGERS))]
    assert (len(sizes), len(held)) == (34, 27)
    for log in held:
        header = ledger_of(log["model"], FORM_OF.get(log["n_tensors"], "absorbed"))
        if log["params_b"] is not None:
            assert as_printed(header.parameters / 1e9, str(log["params_b"])) == str(log["params_b"]), log
        if log["n_tensors"] is not None:
            assert len(header.tensors) == log["n_tensors"], log
        if log["types"]:
            vectors = sum(row.type.name == "F32" for row in header.tensors)
            assert vectors == log["types"]["f32"], log
