"""Which layers a model family has, by its ``model_type``, from the fields of its ``config.json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from .layer_groups import Attention, DeltaNet, KimiDelta, LatentAttention, LayerGroup, Mamba2, Mlp, Moe

if TYPE_CHECKING:
    from .hf_config import Fields

TIED_BY_DEFAULT = frozenset({"gemma", "gemma2", "gemma3_text", "gemma4_text", "smollm3"})
# multimodal wrappers and text-tower names -> the family whose layers the text tower has
WRAPPERS = {
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "gemma4_unified": "gemma4_text",
    "gemma4_unified_text": "gemma4_text",
    "glm5_next_text": "glm5_next",
    "inkling_mm_model": "inkling",
    "inkling_text": "inkling",
    "inkling2_text": "inkling2",
    "kimi_k25": "deepseek_v3",
    "kimi_k2": "deepseek_v3",
    "mistral3": "mistral",
    "ministral3": "mistral",
    "qwen3_vl": "qwen3",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_5_text": "qwen3_5",
    "qwen3_5_moe_text": "qwen3_5_moe",
}

# lists by layer are built, so their number is bounded before
_MOST_LAYERS = 100_000


def _layers(f: Fields) -> int:
    return f.number("num_hidden_layers", "n_layers", most=_MOST_LAYERS)


def _heads(f: Fields) -> tuple[int, int, int]:
    heads = f.number("num_attention_heads")
    kv = f.number("num_key_value_heads", default=heads)
    head_dim = f.number("head_dim", default=f.number("hidden_size") // max(heads, 1))
    return heads, kv, head_dim


def _windowed(f: Fields, period: int | None = None, first_full: int | None = None) -> list[LayerGroup]:
    """Attention layers, global and windowed: by `layer_types`, else every `period`-th layer global."""
    layers = _layers(f)
    heads, kv, head_dim = _heads(f)
    window = f.optional("sliding_window")
    kinds = f.kinds("layer_types", layers)
    period = f.optional("sliding_window_pattern", "_sliding_window_pattern") or period
    if kinds is None and period and window is not None:
        first = period - 1 if first_full is None else first_full
        kinds = ["full_attention" if i % period == first else "sliding_attention" for i in range(layers)]
    count = Counter(kinds or ["full_attention"] * layers)
    unknown = set(count) - {"full_attention", "sliding_attention"}
    if unknown:
        f.missing.append(f"layer_types of full_attention and sliding_attention only, not {sorted(unknown)}")
    if count["sliding_attention"] and window is None:
        f.missing.append("sliding_window")
    return [
        Attention(count["full_attention"], heads, kv, head_dim),
        Attention(count["sliding_attention"], heads, kv, head_dim, window=1 if window is None else window),
    ]


def _dense(f: Fields) -> list[LayerGroup]:
    f.known("sliding_window", "layer_types", "head_dim")
    heads, kv, head_dim = _heads(f)
    return [Attention(_layers(f), heads, kv, head_dim), Mlp(_layers(f), f.number("intermediate_size"))]


def _dense_windowed(period: int | None) -> Callable[[Fields], list[LayerGroup]]:
    return lambda f: [*_windowed(f, period), Mlp(_layers(f), f.number("intermediate_size"))]


def _gemma4(f: Fields) -> list[LayerGroup]:
    layers = _layers(f)
    heads, kv, head_dim = _heads(f)
    kinds = f.kinds("layer_types", layers)
    if kinds is None:
        kinds = ["sliding_attention" if (i + 1) % 6 else "full_attention" for i in range(layers)]
        kinds[-1:] = ["full_attention"] * bool(layers)
    same = bool(f.value("attention_k_eq_v", default=False))
    global_dim = f.number("global_head_dim", default=512)
    global_kv = f.number("num_global_key_value_heads", default=kv) if same else kv
    f.known("num_global_key_value_heads", "vocab_size_per_layer_input")
    # these change layers in ways that no group here describes: refuse by name
    for name in ("hidden_size_per_layer_input", "num_kv_shared_layers", "enable_moe_block", "use_double_wide_mlp"):
        if f.value(name):
            f.missing.append(f"{name} = 0 (a model with it is not read from a config.json)")
    full = kinds.count("full_attention")
    return [
        Attention(full, heads, global_kv, global_dim, value_projection=not same),
        Attention(layers - full, heads, kv, head_dim, window=f.number("sliding_window")),
        Mlp(layers, f.number("intermediate_size")),
    ]


def _sparse(f: Fields, shared: int = 0, shared_gate: bool = False) -> list[LayerGroup]:
    """Feed-forward layers with experts in all layers but the leading, listed or skipped dense ones."""
    layers = _layers(f)
    experts = f.number("num_experts", "n_routed_experts", "num_local_experts")
    used = f.number("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts")
    width = f.number("moe_intermediate_size", "intermediate_size")
    kinds = f.kinds("mlp_layer_types", layers)
    if kinds is not None:
        dense = kinds.count("dense")
    else:
        only, step = f.items("mlp_only_layers") or [], f.number("decoder_sparse_step", default=1)
        first = f.number("first_k_dense_replace", default=0)
        dense = sum(1 for i in range(layers) if i < first or i in only or (step and (i + 1) % step))
    f.known("first_k_dense_replace", "mlp_only_layers", "decoder_sparse_step", "intermediate_size")
    return [
        Mlp(dense, f.number("intermediate_size") if dense else 1),
        Moe(layers - dense, experts, used, width, shared_width=shared, shared_gate=shared_gate),
    ]


def _shared_experts(f: Fields) -> int:
    return f.number("n_shared_experts", "num_shared_experts", default=0) * f.number("moe_intermediate_size", default=0)


def _gqa_moe(f: Fields) -> list[LayerGroup]:
    f.known("sliding_window", "layer_types", "max_window_layers")
    heads, kv, head_dim = _heads(f)
    shared = f.number("shared_expert_intermediate_size", default=0) or _shared_experts(f)
    gate = f.has("shared_expert_intermediate_size") and shared > 0
    return [Attention(_layers(f), heads, kv, head_dim), *_sparse(f, shared, gate)]


def _gpt_oss(f: Fields) -> list[LayerGroup]:
    return [*_windowed(f, 2), *_sparse(f)]


def _latent(f: Fields, layers: int, indexed: bool = False) -> LatentAttention:
    f.known("num_key_value_heads", "head_dim", "qk_head_dim")
    indexers = _full_indexers(f, layers) if indexed else 0
    return LatentAttention(
        layers,
        heads=f.number("num_attention_heads"),
        kv_rank=f.number("kv_lora_rank"),
        nope_dim=f.number("qk_nope_head_dim"),
        rope_dim=f.number("qk_rope_head_dim"),
        value_dim=f.number("v_head_dim"),
        q_rank=f.optional("q_lora_rank"),
        indexer_layers=min(indexers, layers),
        indexer_heads=f.number("index_n_heads") if indexed else 0,
        indexer_dim=f.number("index_head_dim") if indexed else 0,
        indexer_top_k=f.number("index_topk") if indexed else 0,
    )


def _full_indexers(f: Fields, layers: int) -> int:
    """Layers that run an indexer of their own: by list, by pattern ("F" runs, "S" shares), else by frequency."""
    f.known("layer_types")
    kinds = f.kinds("indexer_types", _layers(f))
    pattern = f.value("index_topk_pattern")
    frequency, offset = f.number("index_topk_freq", default=1), f.number("index_skip_topk_offset", default=2)
    if kinds is not None:
        return kinds.count("full")
    if pattern is not None:
        if not isinstance(pattern, str) or len(pattern) != _layers(f):
            f.missing.append("index_topk_pattern (a letter F or S per layer)")
        return str(pattern).count("F")
    return sum(max(i - offset + 1, 0) % max(frequency, 1) == 0 for i in range(layers))


def _mla_moe(indexed: bool) -> Callable[[Fields], list[LayerGroup]]:
    return lambda f: [_latent(f, _layers(f), indexed), *_sparse(f, _shared_experts(f))]


def _full_and_linear(f: Fields, interval: int | None) -> tuple[int, int]:
    layers = _layers(f)
    kinds = f.kinds("layer_types", layers)
    interval = f.optional("full_attention_interval") or interval or 0
    if kinds is None and not interval:
        f.missing.append("layer_types")
        return layers, 0
    if kinds is None:
        kinds = ["linear_attention" if (i + 1) % interval else "full_attention" for i in range(layers)]
    linear = kinds.count("linear_attention")
    return layers - linear, linear


def _qwen_hybrid(f: Fields) -> list[LayerGroup]:
    heads, kv, head_dim = _heads(f)
    full, linear = _full_and_linear(f, 4)
    mixers = [
        Attention(full, heads, kv, head_dim, gate="fused"),
        DeltaNet(
            linear,
            f.number("linear_num_key_heads"),
            f.number("linear_num_value_heads"),
            f.number("linear_key_head_dim"),
            f.number("linear_value_head_dim"),
            f.number("linear_conv_kernel_dim"),
        ),
    ]
    if f.has("num_experts"):
        return [*mixers, *_sparse(f, f.number("shared_expert_intermediate_size", default=0), shared_gate=True)]
    f.known("mlp_only_layers")
    return [*mixers, Mlp(_layers(f), f.number("intermediate_size"))]


def _kimi_delta(f: Fields, indexed: bool) -> list[LayerGroup]:
    nested = f.nested("linear_attn_config")
    layers = _layers(f)
    linear = nested.get("kda_layers")
    if linear is None:
        _, count = _full_and_linear(f, 4)
    elif isinstance(linear, list) and len(linear) <= layers:
        f.known("layer_types")
        count = len(linear)
    else:
        f.missing.append("linear_attn_config.kda_layers (a list of layers)")
        count = 0

    def at(inner: str, outer: str) -> int:
        return f.number(outer) if nested.get(inner) is None else f.within(nested, inner)

    f.known("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim", "index_kpool", "hc_mult")
    delta = KimiDelta(
        count,
        at("num_heads", "linear_num_heads"),
        at("head_dim", "linear_head_dim"),
        at("short_conv_kernel_size", "linear_conv_kernel_dim"),
    )
    return [_latent(f, layers - count, indexed), delta, *_sparse(f, _shared_experts(f))]


def _nemotron_h(f: Fields) -> list[LayerGroup]:
    letters = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
    pattern = f.value("layers_block_type", "layer_types", "hybrid_override_pattern")
    if not isinstance(pattern, (str, list)):
        f.missing.append("layers_block_type (a list of layer kinds, or hybrid_override_pattern)")
        return []
    names = {"linear_attention": "mamba", "full_attention": "attention"}
    count = Counter(letters.get(kind, names.get(kind, kind)) for kind in map(str, pattern))
    f.known("num_hidden_layers", "sliding_window")
    unknown = sorted(set(count) - set(letters.values()))
    if unknown:
        f.missing.append(f"layers_block_type of {', '.join(letters.values())} only, not {unknown}")
    heads, kv, head_dim = _heads(f)
    groups: list[LayerGroup] = [
        Attention(count["attention"], heads, kv, head_dim),
        Mamba2(
            count["mamba"],
            f.number("mamba_num_heads"),
            f.number("mamba_head_dim"),
            f.number("ssm_state_size"),
            f.number("n_groups", "mamba_n_groups"),
            f.number("conv_kernel", "mamba_d_conv"),
        ),
    ]
    if count["mlp"]:
        groups.append(Mlp(count["mlp"], f.number("intermediate_size"), gated=False))
    if count["moe"]:
        shared = f.number("n_shared_experts", default=1) * f.number("moe_shared_expert_intermediate_size")
        groups.append(
            Moe(
                count["moe"],
                f.number("n_routed_experts"),
                f.number("num_experts_per_tok"),
                f.number("moe_intermediate_size"),
                shared_width=shared,
                gated=False,
                latent=f.optional("moe_latent_size"),
            )
        )
    f.known("intermediate_size", "moe_latent_size", "n_routed_experts", "moe_intermediate_size")
    return groups


def _inkling(f: Fields, second: bool = False) -> list[LayerGroup]:
    layers = _layers(f)
    heads, kv, head_dim = _heads(f)
    local = f.items("local_layer_ids")
    kinds = f.kinds("layer_types", layers)
    if kinds is not None:
        sliding = kinds.count("hybrid_sliding")
    else:
        sliding = len(local) if local is not None else sum(1 for i in range(layers) if (i + 1) % 6)
    f.known("rel_extent", "conv_kernel_size", "log_scaling_n_floor", "log_scaling_alpha", "unpadded_vocab_size")
    relative, gate = f.number("d_rel"), "separate" if second else "none"
    mixers = [
        Attention(layers - sliding, heads, kv, head_dim, gate=gate, relative_dim=relative),
        Attention(
            sliding,
            f.number("swa_num_attention_heads"),
            f.number("swa_num_key_value_heads"),
            f.number("swa_head_dim"),
            window=f.number("sliding_window_size"),
            gate=gate,
            relative_dim=relative,
        ),
    ]
    experts, used = f.number("n_routed_experts"), f.number("num_experts_per_tok")
    width = f.number("moe_intermediate_size")
    if second:
        return [*mixers, Moe(layers, experts, used, width)]
    mlps = f.kinds("mlp_layer_types", layers)
    dense = mlps.count("dense") if mlps is not None else f.number("dense_mlp_idx")
    f.known("dense_mlp_idx", "shared_expert_sink")
    rows = f.number("n_shared_experts")
    moe = Moe(layers - dense, experts, used, width, shared_width=rows * width, router_rows=rows)
    ffn = f.number("dense_intermediate_size", "intermediate_size")
    return [*mixers, Mlp(dense, ffn, fused=True), moe]


FAMILIES: dict[str, Callable[[Fields], list[LayerGroup]]] = {
    **dict.fromkeys(
        ("llama", "mistral", "qwen2", "qwen3", "granite", "olmo2", "smollm3", "phi3", "seed_oss", "gemma"), _dense
    ),
    "gemma2": _dense_windowed(2),
    "gemma3_text": _dense_windowed(6),
    "olmo3": _dense_windowed(4),
    "gemma4_text": _gemma4,
    **dict.fromkeys(("mixtral", "qwen2_moe", "qwen3_moe", "glm4_moe", "olmoe"), _gqa_moe),
    "gpt_oss": _gpt_oss,
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "glm4_moe_lite"), _mla_moe(False)),
    **dict.fromkeys(("deepseek_v32", "glm_moe_dsa"), _mla_moe(True)),
    **dict.fromkeys(("qwen3_next", "qwen3_5", "qwen3_5_moe"), _qwen_hybrid),
    "kimi_linear": lambda f: _kimi_delta(f, False),
    "glm5_next": lambda f: _kimi_delta(f, True),
    "nemotron_h": _nemotron_h,
    "inkling": _inkling,
    "inkling2": lambda f: _inkling(f, second=True),
}
