"""Bytes of weights by a config.json: its dtype, mxfp4 experts, and a note for every quantization that is not applied."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from family_configs import FAMILY_CONFIGS
from shared_folder import SHARED

import tinker_nomics as tn
from tinker_nomics import catalog
from tinker_nomics.architectures.architecture import Architecture
from tinker_nomics.architectures.hf_storage import stored_weights

KEPT = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
MXFP4 = {"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": KEPT}}
GPT_OSS = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64, "num_attention_heads": 64,
    "num_hidden_layers": 36, "num_key_value_heads": 8, "num_local_experts": 128, "num_experts_per_tok": 4,
    "sliding_window": 128, "vocab_size": 201088, "tie_word_embeddings": False, "dtype": "bfloat16",
}  # fmt: skip
LLAMA = FAMILY_CONFIGS["llama"]


def _row(folder: Path, config: dict[str, Any]) -> catalog.ModelRow:
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return catalog.model_from_file(folder / "config.json", name="mine")


# sizes: OpenAI, gpt-oss-120b & gpt-oss-20b Model Card (August 2025), table of parameter counts, in GiB
@pytest.mark.parametrize(
    ("more", "gib"), [({}, 60.8), ({"num_hidden_layers": 24, "num_local_experts": 32}, 12.8)], ids=["120b", "20b"]
)
def test_gpt_oss_in_mxfp4_has_its_published_size(tmp_path: Path, more: dict[str, Any], gib: float) -> None:
    row = _row(tmp_path, GPT_OSS | MXFP4 | more)
    assert row.weight_bytes is not None and abs(row.weight_bytes / 2**30 - gib) < 0.15
    assert row.note == (
        "experts counted in mxfp4, 4.25 bits per weight; the rest: weights are counted in bfloat16, as dtype says"
    )


@pytest.mark.skipif(SHARED is None, reason="the specification folder is not here")
def test_experts_in_mxfp4_are_those_of_the_ledger(tmp_path: Path) -> None:
    assert SHARED is not None
    table = json.loads((SHARED / "ledgers" / "gpt-oss-120b.mxfp4_moe.json").read_text(encoding="utf-8"))
    held = [dims for name, kind, dims in table["tensors"] if kind == "MXFP4" and "exps" in name]
    bytes_held = sum(17 * (a * b * c) // 32 for a, b, c in held)
    row = _row(tmp_path, GPT_OSS | MXFP4)
    assert row.expert_bytes == bytes_held
    assert row.lookup_bytes == 2.0 * 201_088 * 2880


def test_a_token_reads_fewer_bytes_of_mxfp4_experts(tmp_path: Path) -> None:
    plain, packed = _row(tmp_path, GPT_OSS), _row(tmp_path, GPT_OSS | MXFP4)
    assert plain.expert_bytes is not None and plain.weight_bytes is not None and packed.expert_bytes is not None
    assert packed.expert_bytes == plain.expert_bytes * 17 / 64
    assert plain.weight_bytes - packed.weight_bytes == plain.expert_bytes - packed.expert_bytes  # type: ignore[operator]


@pytest.mark.parametrize("field", ["dtype", "torch_dtype"])
@pytest.mark.parametrize(("name", "width"), [("float32", 4), ("float16", 2), ("bfloat16", 2), ("torch.float32", 4)])
def test_a_dtype_is_honoured(tmp_path: Path, field: str, name: str, width: int) -> None:
    row = _row(tmp_path, LLAMA | {field: name})
    assert row.weight_bytes == width * row.parameters  # type: ignore[operator]
    assert row.note == f"weights are counted in {name.removeprefix('torch.')}, as dtype says"
    outside = {"model_type": "gemma3", "text_config": FAMILY_CONFIGS["gemma3_text"], field: name}
    outer = _row(tmp_path, outside)
    assert outer.weight_bytes == width * outer.parameters  # type: ignore[operator]


def test_a_dtype_of_another_kind_and_none_are_told(tmp_path: Path) -> None:
    row = _row(tmp_path, LLAMA | {"dtype": "float8_e4m3fn"})
    assert row.note.startswith("dtype 'float8_e4m3fn' is not applied: weights are counted in bf16; the true size")
    assert _row(tmp_path, LLAMA).note == "dtype is absent: weights are counted in bf16"


@pytest.mark.parametrize(
    ("config", "called"),
    [
        (LLAMA | {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}, " (fp8)"),
        (LLAMA | {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}}, " (gptq)"),
        (LLAMA | {"quantization_config": {"quant_method": "bitsandbytes"}}, " (bitsandbytes)"),
        (LLAMA | {"compression_config": {"quant_method": "compressed-tensors"}}, " (compressed-tensors)"),
        (LLAMA | {"quantization_config": "fp8"}, ""),
        (LLAMA | MXFP4, " (mxfp4)"),
        (GPT_OSS | {"quantization_config": {"quant_method": "mxfp4"}}, " (mxfp4)"),
        (GPT_OSS | {"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": KEPT[1:]}}, " (mxfp4)"),
        (GPT_OSS | MXFP4 | {"intermediate_size": 2888}, " (mxfp4)"),
    ],
)
def test_a_quantization_that_leaves_bytes_open_is_named(config: dict[str, Any], called: str, tmp_path: Path) -> None:
    row = _row(tmp_path, config | {"torch_dtype": "float32"})
    assert row.weight_bytes == 2.0 * row.parameters  # type: ignore[operator]
    assert row.note == (
        f"quantization_config{called} is not applied: weights are counted in bf16; the true size comes from a GGUF "
        "file of the model, or from --model.weight-bytes and, with experts, --model.expert-bytes"
    )


def test_a_quantization_of_the_text_tower_is_found() -> None:
    text = FAMILY_CONFIGS["deepseek_v3"] | {"quantization_config": {"quant_method": "compressed-tensors"}}
    config = {"model_type": "kimi_k25", "text_config": text}
    assert "compressed-tensors" in stored_weights(config, Architecture.from_hf_config(config)).note


def test_a_row_of_ones_own_takes_the_stored_bytes_unless_it_gives_them(tmp_path: Path) -> None:
    _row(tmp_path, LLAMA | {"dtype": "float32"})
    row = tmp_path / "row.toml"
    row.write_text('id = "mine/row"\nconfig = "config.json"\nnote = "tried"\n', encoding="utf-8")
    found = catalog.model_from_file(row)
    assert found.weight_bytes == 4.0 * found.parameters  # type: ignore[operator]
    assert found.note == "tried; weights are counted in float32, as dtype says"
    row.write_text('id = "mine/row"\nconfig = "config.json"\nweight_bytes = "5 MB"\n', encoding="utf-8")
    assert (catalog.model_from_file(row).weight_bytes, catalog.model_from_file(row).note) == (5e6, "")


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("gpt-oss-120b", "the experts are published in mxfp4"),
        ("gpt-oss-20b", "the experts are published in mxfp4"),
        ("DeepSeek-V3.1", "the weights are published in fp8"),
        ("Kimi-K2.6", "the experts are published in int4"),
    ],
)
def test_an_estimate_tells_in_what_the_catalogs_quantized_models_are_counted(name: str, stored: str) -> None:
    prices = {"prices.prefill": 0.1, "prices.sample": 0.4, "prices.train": 0.4}
    config = tn.Config.from_recipe("math_rl", model=name, assumptions="published", overrides=prices)
    told = [note for note in tn.estimate(config).notes if "weights are counted in bf16" in note]
    assert len(told) == 1 and stored in told[0]
    assert "--model.weight-bytes" in told[0]
