"""Reading config.json: the catalog's geometries come out, caches are right, and what is missing or unknown is named."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

import tinker_nomics as tn
from tinker_nomics import catalog
from tinker_nomics.architectures.architecture import Architecture, ArchitectureError
from tinker_nomics.architectures.families import FAMILIES
from tinker_nomics.errors import ConfigError

KIMI = {
    "model_type": "kimi_k25", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 64,
    "num_key_value_heads": 64, "intermediate_size": 18432, "vocab_size": 163840, "n_routed_experts": 384,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 1,
    "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "moe_layer_freq": 1, "tie_word_embeddings": False, "vision_config": {"patch_size": 14},
}  # fmt: skip
QWEN35 = {
    "model_type": "qwen3_5_moe", "tie_word_embeddings": False,
    "text_config": {
        "model_type": "qwen3_5_moe_text", "hidden_size": 4096, "num_hidden_layers": 60, "full_attention_interval": 4,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 256, "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 64, "mlp_only_layers": [],
        "linear_value_head_dim": 128, "moe_intermediate_size": 1024, "num_experts": 512, "num_experts_per_tok": 10,
        "shared_expert_intermediate_size": 1024, "vocab_size": 248320, "mtp_num_hidden_layers": 1,
    },
}  # fmt: skip
GPT_OSS = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64, "num_attention_heads": 64,
    "num_hidden_layers": 36, "num_key_value_heads": 8, "num_local_experts": 128, "num_experts_per_tok": 4,
    "experts_per_token": 4, "sliding_window": 128, "vocab_size": 201088,
}  # fmt: skip
LLAMA = {
    "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64,
    "num_hidden_layers": 80, "num_key_value_heads": 8, "vocab_size": 128256, "rope_theta": 500000.0,
}  # fmt: skip
NEMOTRON = {
    "model_type": "nemotron_h", "hidden_size": 4096, "vocab_size": 131072, "num_attention_heads": 32, "head_dim": 128,
    "num_key_value_heads": 2, "hybrid_override_pattern": "ME" * 40 + "*" * 8, "num_hidden_layers": 88,
    "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4,
    "n_routed_experts": 512, "num_experts_per_tok": 22, "moe_intermediate_size": 2688, "n_shared_experts": 1,
    "moe_shared_expert_intermediate_size": 5376, "moe_latent_size": 1024,
}  # fmt: skip
GLM_FLASH = {
    "model_type": "glm5_next", "hidden_size": 4096, "vocab_size": 154880, "intermediate_size": 12288,
    "moe_intermediate_size": 2048, "num_hidden_layers": 45, "num_attention_heads": 64, "n_routed_experts": 288,
    "n_shared_experts": 1, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 0, "v_head_dim": 256,
    "qk_nope_head_dim": 256, "num_experts_per_tok": 8, "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 32,
    "linear_attn_config": {
        "num_heads": 64, "head_dim": 128, "short_conv_kernel_size": 4,
        "kda_layers": [i for i in range(45) if i % 4 != 3],
    },
    "mlp_layer_types": ["dense"] * 3 + ["sparse"] * 42, "indexer_types": ["full"] * 45,
}  # fmt: skip
INKLING2 = {
    "model_type": "inkling2_text", "hidden_size": 4608, "vocab_size": 201024, "num_hidden_layers": 48, "head_dim": 128,
    "num_attention_heads": 48, "num_key_value_heads": 8, "swa_num_attention_heads": 48, "swa_num_key_value_heads": 8,
    "swa_head_dim": 128, "sliding_window_size": 1024, "d_rel": 16, "moe_intermediate_size": 2304,
    "n_routed_experts": 384, "num_experts_per_tok": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("Kimi-K2.5", KIMI),
        ("Qwen3.5-397B-A17B", QWEN35),
        ("gpt-oss-120b", GPT_OSS),
        ("Llama-3.3-70B-Instruct", LLAMA),
        ("Nemotron-3-Super-120B-A12B", NEMOTRON),
        ("GLM-5.3-Flash", GLM_FLASH),
        ("Inkling-2-Small", INKLING2),
    ],
)
def test_the_catalogs_geometry_comes_out(name: str, config: dict[str, Any]) -> None:
    row = catalog.model(name)
    found = Architecture.from_hf_config(config)
    assert row.architecture is not None
    assert set(found.groups) == set(row.architecture.groups)
    assert found.parameters == row.parameters
    assert found.lora_parameters_per_rank == row.lora_parameters_per_rank
    assert found.unknown_fields == ()


def test_one_in_six_layers_of_gemma_3_is_global() -> None:
    text = {
        "model_type": "gemma3_text", "hidden_size": 5376, "num_hidden_layers": 62, "num_attention_heads": 32,
        "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024, "sliding_window_pattern": 6,
        "intermediate_size": 21504, "vocab_size": 262208,
    }  # fmt: skip
    found = Architecture.from_hf_config({"model_type": "gemma3", "text_config": text})
    assert round(found.kv_cache_bytes(131_072) / 2**30, 3) == 10.406
    assert found.tied
    listed = text | {"layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 10 + ["sliding_attention"] * 2}
    assert Architecture.from_hf_config(listed).groups == found.groups


def test_local_and_global_heads_of_gemma_4_differ() -> None:
    config = {
        "model_type": "gemma4_text", "hidden_size": 3840, "num_hidden_layers": 48, "num_attention_heads": 16,
        "num_key_value_heads": 8, "num_global_key_value_heads": 1, "attention_k_eq_v": True, "global_head_dim": 512,
        "head_dim": 256, "sliding_window": 1024, "intermediate_size": 15360, "vocab_size": 262144,
        "hidden_size_per_layer_input": 0,
    }  # fmt: skip
    assert round(Architecture.from_hf_config(config).kv_cache_bytes(131_072, 1, 34 / 32) / 2**30, 3) == 1.229
    with pytest.raises(ArchitectureError, match="num_kv_shared_layers = 0"):
        Architecture.from_hf_config(config | {"num_kv_shared_layers": 20})


def test_a_head_may_be_wider_than_width_over_heads() -> None:
    config = {
        "model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16, "head_dim": 128,
        "num_key_value_heads": 8, "intermediate_size": 3072, "vocab_size": 151936, "tie_word_embeddings": True,
    }  # fmt: skip
    found = Architecture.from_hf_config(json.dumps(config))
    assert found.kv_cache_bytes(40_960) / 2**30 == 4.375
    assert found.parameters == 595_984_384


def test_experts_may_skip_layers() -> None:
    config = {
        "model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4,
        "vocab_size": 100, "num_key_value_heads": 2, "head_dim": 16,
        "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "intermediate_size": 128,
        "decoder_sparse_step": 2, "mlp_only_layers": [1],
    }  # fmt: skip
    kinds = {type(group).__name__: group.layers for group in Architecture.from_hf_config(config).groups}
    assert kinds == {"Attention": 6, "Mlp": 4, "Moe": 2}


def test_missing_fields_are_named_all_at_once() -> None:
    with pytest.raises(ArchitectureError) as caught:
        Architecture.from_hf_config({"model_type": "deepseek_v3", "hidden_size": "wide"})
    for field in (
        "hidden_size (a whole number from 0 to 1099511627776, not 'wide')",
        "vocab_size",
        "num_hidden_layers",
        "kv_lora_rank",
        "v_head_dim",
    ):
        assert field in str(caught.value)


def test_fields_that_nobody_reads_are_named_not_guessed() -> None:
    assert Architecture.from_hf_config(LLAMA | {"memory_banks": 4}).unknown_fields == ("memory_banks",)


@pytest.mark.parametrize(
    ("config", "match"),
    [
        ({}, "no reader for model_type None"),
        ({"model_type": "qwen9"}, "nearest of .* are qwen"),
        ("[1]", r"there is no file \[1\]"),
        ('{"a":', "is no JSON"),
        ("missing/config.json", "there is no file missing/config.json"),
        ({"model_type": "llama", "text_config": 3}, "text_config is 3"),
        (LLAMA | {"num_hidden_layers": 0}, "above zero"),
        (QWEN35 | {"text_config": QWEN35["text_config"] | {"layer_types": ["full_attention"]}}, "a list of 60"),
        (NEMOTRON | {"hybrid_override_pattern": "MX"}, "not \\['X'\\]"),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(config: Any, match: str) -> None:
    with pytest.raises(ArchitectureError, match=match):
        Architecture.from_hf_config(config)


def test_an_indexer_runs_where_a_list_a_pattern_or_a_frequency_says() -> None:
    base = {
        "model_type": "glm_moe_dsa", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 8, "num_experts": 4,
        "num_experts_per_tok": 2, "moe_intermediate_size": 8, "num_attention_heads": 4, "kv_lora_rank": 16,
        "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "index_n_heads": 2, "index_head_dim": 8,
        "index_topk": 16, "q_lora_rank": 16, "first_k_dense_replace": 0, "n_shared_experts": 1,
    }  # fmt: skip

    def indexers(**more: Any) -> int:
        return Architecture.from_hf_config(base | more).groups[0].indexer_layers  # type: ignore[attr-defined]

    assert indexers() == 8
    assert indexers(index_topk_freq=4) == 3
    assert indexers(index_topk_pattern="FFSSFSSS") == 3
    assert indexers(indexer_types=["full"] * 2 + ["shared"] * 6, index_topk_pattern="FFSSFSSS") == 2
    with pytest.raises(ArchitectureError, match="a letter F or S per layer"):
        indexers(index_topk_pattern="FS")


def test_no_value_of_a_field_does_worse_than_a_clear_error() -> None:
    wrong: list[Any] = [
        None,
        -1,
        0,
        1,
        1.5,
        "x",
        "",
        [],
        ["a"],
        {},
        {"a": 1},
        True,
        10**30,
        float("nan"),
        [1, 2],
        "ME*",
    ]
    draw = random.Random(0)
    refused = 0
    for _ in range(4000):
        config = copy.deepcopy(draw.choice([KIMI, QWEN35, GPT_OSS, LLAMA, NEMOTRON, GLM_FLASH, INKLING2]))
        table: dict[str, Any] = config.get("text_config", config)  # type: ignore[assignment]
        if draw.random() < 0.3:
            table["model_type"] = draw.choice(list(FAMILIES))
        more = ["layer_types", "linear_attn_config", "mlp_only_layers", "sliding_window", "text_config", "q_lora_rank"]
        for _ in range(draw.randint(1, 3)):
            table[draw.choice([*table, *more])] = draw.choice(wrong)
        try:
            found = Architecture.from_hf_config(config)
            assert found.parameters > 0 and found.lora_parameters_per_rank > 0
        except ArchitectureError:
            refused += 1
    assert 1000 < refused < 4000


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"num_attention_heads": 0, "head_dim": 128}, "heads, kv_heads and head_dim must be above zero"),
        ({"num_key_value_heads": 0}, "heads, kv_heads and head_dim must be above zero"),
        ({"head_dim": 0}, "heads, kv_heads and head_dim must be above zero"),
    ],
)
def test_layers_that_cannot_be_are_refused(fields, words):
    with pytest.raises(ArchitectureError, match=words):
        Architecture.from_hf_config(LLAMA | fields)


def test_a_token_uses_no_more_experts_than_there_are():
    moe = {
        "model_type": "qwen3_moe", "hidden_size": 2048, "moe_intermediate_size": 768, "intermediate_size": 6144,
        "num_experts": 4, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936,
    }  # fmt: skip
    with pytest.raises(ArchitectureError, match="a token uses 8 of 4 experts"):
        Architecture.from_hf_config(moe)
    row = {"layers": 2, "experts": 4, "used": 5, "width": 16}
    with pytest.raises(ConfigError, match="a token uses 5 of 4 experts"):
        Architecture.from_dict({"hidden": 64, "vocab": 100, "tied": False, "moe": [row]})


def test_unknown_fields_are_told_with_the_estimate(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(LLAMA | {"memory_banks": 4}), encoding="utf-8")
    prices = {"prices.prefill": 0.1, "prices.sample": 0.4, "prices.train": 0.4}
    config = tn.Config.from_recipe("math_rl", model=str(path), assumptions="published", overrides=prices)
    note = (
        "model mine: fields not understood, which may change the numbers: memory_banks; dtype is absent: weights are "
        "counted in bf16"
    )
    assert note in tn.estimate(config).notes
