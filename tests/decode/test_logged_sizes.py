"""Parameters, tensors and sizes of whole checkpoints, as public logs print them, digit for digit."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from logged_checkpoints import fused_ffn, latent_lite, llama2_13b, qwen3_32b, ternary, with_sinks
from shared_folder import SHARED

from tinker_nomics.decode import Deployment, GgufError, GgufHeader, HeaderSource, decode_step, read_header
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


MADE: dict[str, Callable[[], GgufHeader]] = {
    "LLaMA v2": llama2_13b,
    "Qwen3-32B": qwen3_32b,
    "DeepSeek-Coder-V2-Lite-Instruct": latent_lite,
    "GLM Z1 Rumination 32B 0414": lambda: fused_ffn(61),
    "gpt-oss-20b": lambda: with_sinks(24, 32),
    "bitnet2b_2501": ternary,
}


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
def header_of(model: str, form: str) -> GgufHeader:
    """The header of `model`: made from its published configuration, or its ledger."""
    if model in MADE:
        return MADE[model]()
    name = next(ledger for start, ledger in LEDGERS.items() if model.startswith(start))
    if SHARED is None:
        pytest.skip("needs the folder of ledgers")
    return latent_form(read_header(SHARED / "ledgers" / f"{name}.json"), form)


def retyped(header: GgufHeader, rules: list[list[str]]) -> GgufHeader:
    """`header` whose tensors, those in F32 aside, have the type of the first expression found in their name."""
    ledger = header.to_ledger()
    rows = [
        [name, kind if kind == "F32" else next(new for found, new in rules if re.search(found, name)), dims]
        for name, kind, dims in ledger["tensors"]
    ]
    return HeaderSource.from_ledger({**ledger, "tensors": rows})


def stored(row: dict[str, Any], header: GgufHeader) -> GgufHeader | None:
    """`header` stored as the log says, tensor by tensor; None where every matrix has one type."""
    if "types" in row:
        return retyped(header, row["types"])
    if row["storage"] == "as stored":
        return header
    new, _, old = row["storage"].partition(" for ")
    if not old:
        return None
    assert not any(isinstance(tensor.type, UnknownType) for tensor in header.tensors)
    return retyped(header, [[f"^{tensor.name}$", new] for tensor in header.tensors if tensor.type.name == old]
                   + [[f"^{tensor.name}$", tensor.type.name] for tensor in header.tensors])  # fmt: skip


def one_type_bytes(header: GgufHeader, storage: str) -> float:
    """Bytes with every matrix, and as logs have it the table of embeddings, in one type."""
    kind, table = ggml_type(storage), header.tensor["token_embd.weight"]
    assert isinstance(kind, GgmlType)
    figures = decode_step(header, Deployment(weights=storage)).to_dict()
    return figures["weight_bytes"] - table.bytes + kind.bytes_of(table.elements)


def as_printed(value: float, like: str) -> str:
    return f"{value:.{len(like.partition('.')[2])}f}"


@pytest.mark.parametrize("row", LOGGED, ids=lambda row: f"{row['model']}-{row['quant']}-{row.get('gib', '')}")
def test_a_logged_size(row: dict[str, Any]) -> None:
    header = header_of(row["model"], row.get("form", "absorbed"))
    if "parameters" in row:
        assert as_printed(header.parameters / 1e9, row["parameters"]) == row["parameters"]
    if "tensors" in row:
        assert len(header.tensors) == row["tensors"]
    if "counts" in row:
        assert sum(tensor.type.name == "F32" for tensor in header.tensors) == row["counts"]["F32"]
    if "not_held" in row:
        return
    as_logged = stored(row, header)
    if as_logged is not None and "counts" in row:
        assert Counter(tensor.type.name for tensor in as_logged.tensors) == row["counts"]
    size = one_type_bytes(header, row["storage"]) if as_logged is None else as_logged.weight_bytes
    assert as_printed(size / GIB, row["gib"]) == row["gib"]
    assert as_printed(8.0 * size / header.parameters, row["bits"]) == row["bits"]


def test_every_row_is_held_or_says_why_not() -> None:
    assert len(LOGGED) == 34
    for row in LOGGED:
        assert ("not_held" in row) != ("types" in row or "storage" in row), row
        assert "not_held" in row or "gib" in row
    assert sum("not_held" not in row for row in LOGGED) == 16


def test_a_type_that_ggml_does_not_have_is_refused_by_id() -> None:
    """What is left of the logged size is two bits for each of its elements, which the reader does not presume."""
    header, row = ternary(), next(row for row in LOGGED if row["model"].startswith("bitnet"))
    with pytest.raises(GgufError, match="36"):
        _ = header.weight_bytes
    known = sum(tensor.bytes for tensor in header.tensors if not isinstance(tensor.type, UnknownType))
    rest = sum(tensor.elements for tensor in header.tensors if isinstance(tensor.type, UnknownType)) / 4
    assert as_printed((known + rest) / GIB, row["gib"]) == row["gib"]


def test_a_token_reads_one_form_of_the_latent_projections() -> None:
    """Where a file holds both, the legacy one is dead weight; the cache is the latent either way."""
    forms = ("absorbed", "legacy", "both")
    read = {form: decode_step(header_of("DeepSeek V3", form), Deployment()).to_dict() for form in forms}
    assert read["both"]["weight_bytes"] > read["absorbed"]["weight_bytes"] == read["legacy"]["weight_bytes"]
    assert len({one["weight_bytes_read"] for one in read.values()}) == 1
    assert len({one["kv_bytes_read"] for one in read.values()}) == 1


@pytest.mark.skipif(SHARED is None, reason="needs the specification folder")
def test_the_table_holds_every_log_of_the_folder() -> None:
    assert SHARED is not None
    logs = json.loads((SHARED / "truth" / "llamacpp_logs.json").read_text())["tuples"]
    told = [log for log in logs if log["kind"] == "size" and log.get("agrees", True)]

    def figures(model: str, *numbers: Any) -> tuple:
        return (model, *(None if number is None else float(number) for number in numbers))

    theirs = [figures(log["model"], log["params_b"], log["n_tensors"], log["size_gib"], log["bpw"]) for log in told]
    ours = [figures(row["model"], *(row.get(x) for x in ("parameters", "tensors", "gib", "bits"))) for row in LOGGED]
    assert Counter(theirs) == Counter(ours)
