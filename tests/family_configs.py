"""A small config.json of every model type, each with all fields that say how large its layers are, made for tests."""

from __future__ import annotations

from typing import Any

_HEADS = {"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 12}
_DENSE = {
    "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 8, **_HEADS, "intermediate_size": 96,
    "tie_word_embeddings": False,
}  # fmt: skip
_WINDOW = {"sliding_window": 32}
_SWITCHED = {**_WINDOW, "use_sliding_window": True, "max_window_layers": 3}
_KINDS = ["sliding_attention", "full_attention"] * 4
_EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2}
_ROUTED = {"n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "n_shared_experts": 2}
_LATENT = {
    "num_key_value_heads": 8, "kv_lora_rank": 16, "q_lora_rank": 20, "qk_nope_head_dim": 10, "qk_rope_head_dim": 6,
    "v_head_dim": 14, "first_k_dense_replace": 2,
}  # fmt: skip
_INDEXED = {"index_n_heads": 2, "index_head_dim": 8, "index_topk": 16}
_SHARING = {"index_topk_freq": 4, "index_skip_topk_offset": 3}
_LINEAR = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 10, "linear_value_head_dim": 14,
    "linear_conv_kernel_dim": 5, "full_attention_interval": 2,
}  # fmt: skip
_STEP = {"moe_intermediate_size": 24, "decoder_sparse_step": 2, "mlp_only_layers": [1]}
_DELTA = {"linear_attn_config": {
    "num_heads": 4, "head_dim": 10, "short_conv_kernel_size": 5, "kda_layers": [1, 2, 3, 5, 6, 7],
}}  # fmt: skip
_SWA = {
    "swa_num_attention_heads": 6, "swa_num_key_value_heads": 3, "swa_head_dim": 10, "sliding_window_size": 32,
    "d_rel": 4,
}  # fmt: skip

FAMILY_CONFIGS: dict[str, dict[str, Any]] = {
    **{name: _DENSE for name in ("llama", "granite", "olmo2", "seed_oss", "gemma")},
    **{name: _DENSE | _WINDOW for name in ("mistral", "ministral3", "phi3")},
    **{name: _DENSE | _SWITCHED for name in ("qwen2", "qwen3")},
    "smollm3": _DENSE | _WINDOW | {"use_sliding_window": True, "layer_types": _KINDS},
    **{name: _DENSE | _WINDOW for name in ("gemma2", "olmo3")},
    "gemma3_text": _DENSE
    | _WINDOW
    | {"sliding_window_pattern": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16},
    "gemma4_text": _DENSE | _WINDOW | {
        "attention_k_eq_v": True, "global_head_dim": 20, "num_global_key_value_heads": 1,
        "hidden_size_per_layer_input": 0,
    },
    "mixtral": _DENSE | _WINDOW | {"num_local_experts": 6, "num_experts_per_tok": 2},
    "olmoe": _DENSE | _EXPERTS,
    "gpt_oss": _DENSE | _WINDOW | {"num_local_experts": 6, "num_experts_per_tok": 2},
    "qwen2_moe": _DENSE | _SWITCHED | _EXPERTS | _STEP | {"shared_expert_intermediate_size": 40},
    "qwen3_moe": _DENSE | _SWITCHED | _EXPERTS | _STEP,
    "glm4_moe": _DENSE | _ROUTED | {"first_k_dense_replace": 2},
    **{name: _DENSE | _ROUTED | _LATENT for name in ("deepseek_v2", "deepseek_v3", "glm4_moe_lite")},
    "deepseek_v32": _DENSE | _ROUTED | _LATENT | _INDEXED,
    "glm_moe_dsa": _DENSE | _ROUTED | _LATENT | _INDEXED | _SHARING,
    "qwen3_next": _DENSE | _LINEAR | _EXPERTS | _STEP | {"shared_expert_intermediate_size": 40},
    "qwen3_5": _DENSE | _LINEAR,
    "qwen3_5_moe": _DENSE | _LINEAR | _EXPERTS | _STEP | {"shared_expert_intermediate_size": 40},
    "kimi_linear": _DENSE | _ROUTED | _LATENT | _DELTA,
    "glm5_next": _DENSE | _ROUTED | _LATENT | _INDEXED | _SHARING | _DELTA | {"index_topk_freq": 3},
    "nemotron_h": _DENSE | _ROUTED | {
        "hybrid_override_pattern": "ME*-ME*-", "mamba_num_heads": 8, "mamba_head_dim": 10, "ssm_state_size": 12,
        "n_groups": 2, "conv_kernel": 5, "moe_shared_expert_intermediate_size": 28, "moe_latent_size": 30,
    },
    "inkling": _DENSE | _ROUTED | _SWA | {"local_layer_ids": [0, 1, 2], "dense_mlp_idx": 2},
    "inkling2": _DENSE | _SWA | {"n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24},
}  # fmt: skip
del FAMILY_CONFIGS["inkling2"]["intermediate_size"]  # there another name of moe_intermediate_size
FAMILY_CONFIGS = {name: {"model_type": name, **config} for name, config in FAMILY_CONFIGS.items()}
