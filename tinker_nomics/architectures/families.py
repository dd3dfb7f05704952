"""Which layers a model family has, by its ``model_type``, from the fields of its ``config.json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .hf_attention import (
    full_attention,
    gemma4_attention,
    heads_of,
    latent_attention,
    layers_of,
    windowed_by_period,
    windowed_by_switch,
    windowed_throughout,
)
from .hf_experts import expert_layers
from .layer_groups import Attention, DeltaNet, KimiDelta, LayerGroup, Mamba2, Mlp, Moe

if TYPE_CHECKING:
    from .hf_config import Fields

# their configuration classes (Hugging Face transformers 5.24) tie the head where the file does not say
TIED_BY_DEFAULT = frozenset({"gemma", "gemma2", "gemma3_text", "gemma4_text", "smollm3"})
# the class of the whole and that of its text tower tie differently where the file does not say
TIED_ONLY_IF_SAID = frozenset({"kimi_k25", "mistral3", "qwen3_vl_moe", "qwen3_vl_moe_text"})
# widths that published files of the type leave out, being those of its configuration class (Gemma3TextConfig of Hugging Face
# transformers; google/gemma-3-4b-it and gemma-3-12b-it)
CLASS_WIDTHS = {
    "gemma3_text": {"vocab_size": 262_208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256},
}
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
    "qwen3_vl": "qwen3",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_5_text": "qwen3_5",
    "qwen3_5_moe_text": "qwen3_5_moe",
}


def _gated(attention: Callable[[Fields], list[LayerGroup]]) -> Callable[[Fields], list[LayerGroup]]:
    """A dense model: `attention` and a gated feed-forward layer in every layer."""
    return lambda f: [*attention(f), Mlp(layers_of(f), f.number("intermediate_size"))]


def _experts(attention: Callable[[Fields], list[LayerGroup]]) -> Callable[[Fields], list[LayerGroup]]:
    return lambda f: [*attention(f), *expert_layers(f)]


def _windows(period: int) -> Callable[[Fields], list[LayerGroup]]:
    return lambda f: windowed_by_period(f, period)


def _mistral(f: Fields) -> list[LayerGroup]:
    return windowed_throughout(f, default=4096)


def _ministral3(f: Fields) -> list[LayerGroup]:
    return windowed_throughout(f)


def _mla(indexed: bool) -> Callable[[Fields], list[LayerGroup]]:
    def read(f: Fields) -> list[LayerGroup]:
        kinds = f.kinds("layer_types", layers_of(f)) if indexed else None
        f.only("layer_types", kinds or [], "indexed_attention", "full_attention")
        if len(set(kinds or [])) > 1:
            f.missing.append("layer_types of one kind")
        return [latent_attention(f, layers_of(f), range(layers_of(f)) if indexed else ())]

    return read


def _linear_layers(f: Fields, kinds: list[str] | None) -> int:
    """Layers of linear attention: by `layer_types`, else all but every fourth."""
    layers = layers_of(f)
    if kinds is not None:
        f.only("layer_types", kinds, "linear_attention", "full_attention", "indexed_attention")
        return kinds.count("linear_attention")
    qwen = f.family.startswith("qwen")
    interval = f.number("full_attention_interval", default=4) if qwen else 4
    if interval < 1:
        f.missing.append("full_attention_interval (at least 1)")
    return layers - layers // max(interval, 1)


def _qwen_hybrid(f: Fields) -> list[LayerGroup]:
    layers = layers_of(f)
    kinds = f.kinds("layer_types", layers)
    f.known("full_attention_interval")
    linear = _linear_layers(f, kinds)
    if f.value("attn_output_gate", default=True) is not True:
        f.missing.append("attn_output_gate = true (these layers have the gate)")
    keys, values = f.number("linear_num_key_heads"), f.number("linear_num_value_heads")
    if keys and values % keys:
        f.missing.append(f"linear_num_value_heads (a multiple of linear_num_key_heads {keys}, not {values})")
    mixers = [
        Attention(layers - linear, *heads_of(f), gate="fused"),
        DeltaNet(
            linear,
            keys,
            values,
            f.number("linear_key_head_dim"),
            f.number("linear_value_head_dim"),
            f.number("linear_conv_kernel_dim"),
        ),
    ]
    if f.family == "qwen3_5":
        f.known("mlp_only_layers")
        return [*mixers, Mlp(layers, f.number("intermediate_size"))]
    return [*mixers, *expert_layers(f)]


def _kimi_layers(f: Fields, nested: Mapping[str, Any]) -> int:
    """Layers of Kimi delta attention: by `kda_layers`, by `layer_types`, else all but every fourth of glm5_next."""
    layers = layers_of(f)
    listed, kinds = nested.get("kda_layers"), f.kinds("layer_types", layers)
    if listed is None:
        if kinds is None and f.family == "kimi_linear":
            f.missing.append("linear_attn_config.kda_layers (or layer_types)")
        return _linear_layers(f, kinds)
    full = nested.get("full_attn_layers")
    if not _numbers(listed, layers) or (full is not None and not _numbers(full, layers)):
        f.missing.append("linear_attn_config.kda_layers (a list of layers) and full_attn_layers, the other ones")
        return 0
    if full is not None and len(full) + len(listed) != layers:
        f.missing.append(f"linear_attn_config.kda_layers and full_attn_layers with {layers} layers between them")
    if kinds is not None and kinds.count("linear_attention") != len(listed):
        f.missing.append("layer_types with as many linear_attention as linear_attn_config.kda_layers has layers")
    return len(listed)


def _numbers(listed: object, layers: int) -> bool:
    """Whether these are different numbers of layers, counted from 0 or from 1."""
    if not isinstance(listed, list) or not all(isinstance(i, int) and 0 <= i <= layers for i in listed):
        return False
    return len(set(listed)) == len(listed) <= layers


def _kimi_delta(indexed: bool) -> Callable[[Fields], list[LayerGroup]]:
    def read(f: Fields) -> list[LayerGroup]:
        nested = f.nested("linear_attn_config")
        count = _kimi_layers(f, nested)

        def at(inner: str, outer: str) -> int:
            if nested.get(inner) is None and not f.has(outer):
                f.missing.append(f"linear_attn_config.{inner} (or {outer})")
                return 1
            return f.number(outer) if nested.get(inner) is None else f.within(nested, inner)

        f.known("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim", "index_kpool", "hc_mult")
        delta = KimiDelta(
            count,
            at("num_heads", "linear_num_heads"),
            at("head_dim", "linear_head_dim"),
            at("short_conv_kernel_size", "linear_conv_kernel_dim"),
        )
        kinds = f.kinds("layer_types", layers_of(f)) or [
            "full_attention" if i % 4 == 3 else "linear_attention" for i in range(layers_of(f))
        ]
        attending = [i for i, kind in enumerate(kinds) if kind != "linear_attention"]
        if indexed and len(attending) + count != layers_of(f):
            f.missing.append("layer_types (linear_attn_config.kda_layers is not all layers but every fourth)")
        return [latent_attention(f, layers_of(f) - count, attending if indexed else ()), delta]

    return read


def _nemotron_h(f: Fields) -> list[LayerGroup]:
    letters = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
    pattern = f.value("layers_block_type", "layer_types", "hybrid_override_pattern")
    if not isinstance(pattern, (str, list)):
        f.missing.append("layers_block_type (a list of layer kinds, or hybrid_override_pattern)")
        return []
    layers = f.number("num_hidden_layers", default=len(pattern))
    if layers != len(pattern):
        f.missing.append(
            f"hybrid_override_pattern or layers_block_type with one kind for each of num_hidden_layers {layers}, "
            f"not {len(pattern)}"
        )
    names = {"linear_attention": "mamba", "full_attention": "attention"}
    count = Counter(letters.get(kind, names.get(kind, kind)) for kind in map(str, pattern))
    unknown = sorted(set(count) - set(letters.values()))
    if unknown:
        f.missing.append(f"layers_block_type of {', '.join(letters.values())} only, not {unknown}")
    heads = f.number("mamba_num_heads")
    groups_of = f.number("n_groups", "mamba_n_groups")
    if groups_of < 1 or heads % groups_of:
        f.missing.append(f"n_groups (a divisor of mamba_num_heads {heads}, not {groups_of})")
    groups: list[LayerGroup] = [
        Attention(count["attention"], *heads_of(f)),
        Mamba2(
            count["mamba"],
            heads,
            f.number("mamba_head_dim"),
            f.number("ssm_state_size"),
            groups_of,
            f.number("conv_kernel", "mamba_d_conv"),
        ),
    ]
    if count["mlp"]:
        groups.append(Mlp(count["mlp"], f.number("intermediate_size"), gated=False))
    if count["moe"]:
        shared = f.number("n_shared_experts", default=1)
        groups.append(
            Moe(
                count["moe"],
                f.number("n_routed_experts"),
                f.number("num_experts_per_tok"),
                f.number("moe_intermediate_size"),
                shared_width=shared * f.number("moe_shared_expert_intermediate_size"),
                gated=False,
                latent=f.optional("moe_latent_size"),
            )
        )
    f.known("intermediate_size", "moe_latent_size", "n_routed_experts", "moe_intermediate_size")
    f.known("num_experts_per_tok", "n_shared_experts", "moe_shared_expert_intermediate_size")
    return groups


def _sliding_of_inkling(f: Fields, layers: int, second: bool) -> int:
    local, kinds = None if second else f.items("local_layer_ids"), f.kinds("layer_types", layers)
    if kinds is not None:
        f.only("layer_types", kinds, "hybrid", "hybrid_sliding")
        return kinds.count("hybrid_sliding")
    if local is None:
        return layers - layers // 6
    if not _numbers(local, layers - 1):
        f.missing.append(f"local_layer_ids (different numbers of layers below {layers})")
    return len(local)


def _inkling(f: Fields, second: bool = False) -> list[LayerGroup]:
    layers = layers_of(f)
    sliding = _sliding_of_inkling(f, layers, second)
    f.known("rel_extent", "conv_kernel_size", "log_scaling_n_floor", "log_scaling_alpha", "unpadded_vocab_size")
    relative, gate = f.number("d_rel"), "separate" if second else "none"
    mixers = [
        Attention(layers - sliding, *heads_of(f), gate=gate, relative_dim=relative),
        Attention(
            sliding,
            f.number("swa_num_attention_heads"),
            f.number("swa_num_key_value_heads"),
            f.number("swa_head_dim"),
            window=f.number("sliding_window_size", "sliding_window"),
            gate=gate,
            relative_dim=relative,
        ),
    ]
    experts, used = f.number("n_routed_experts"), f.number("num_experts_per_tok")
    if second:
        return [*mixers, Moe(layers, experts, used, f.number("moe_intermediate_size", "intermediate_size"))]
    mlps = f.kinds("mlp_layer_types", layers)
    if mlps is not None:
        f.only("mlp_layer_types", mlps, "dense", "sparse")
    dense = mlps.count("dense") if mlps is not None else f.number("dense_mlp_idx", most=layers)
    f.known("dense_mlp_idx", "shared_expert_sink", "moe_intermediate_size", "intermediate_size")
    # with a width of the dense layers apart, the plain one is the experts'
    apart = f.has("dense_intermediate_size")
    width = f.number("intermediate_size" if apart else "moe_intermediate_size")
    rows = f.number("n_shared_experts")
    moe = Moe(layers - dense, experts, used, width, shared_width=rows * width, router_rows=rows)
    ffn = f.number("dense_intermediate_size" if apart else "intermediate_size") if dense else 1
    return [*mixers, Mlp(dense, ffn, fused=True), moe]


FAMILIES: dict[str, Callable[[Fields], list[LayerGroup]]] = {
    **dict.fromkeys(("llama", "granite", "olmo2", "seed_oss", "gemma"), _gated(full_attention)),
    "mistral": _gated(_mistral),
    **dict.fromkeys(("ministral3", "phi3"), _gated(_ministral3)),
    **dict.fromkeys(("qwen2", "qwen3", "smollm3"), _gated(windowed_by_switch)),
    "gemma2": _gated(_windows(2)),
    "gemma3_text": _gated(_windows(6)),
    "olmo3": _gated(_windows(4)),
    "gemma4_text": _gated(gemma4_attention),
    "mixtral": _experts(_ministral3),
    **dict.fromkeys(("qwen2_moe", "qwen3_moe"), _experts(windowed_by_switch)),
    **dict.fromkeys(("glm4_moe", "olmoe"), _experts(full_attention)),
    "gpt_oss": _experts(_windows(2)),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "glm4_moe_lite"), _experts(_mla(False))),
    **dict.fromkeys(("deepseek_v32", "glm_moe_dsa"), _experts(_mla(True))),
    **dict.fromkeys(("qwen3_next", "qwen3_5", "qwen3_5_moe"), _qwen_hybrid),
    "kimi_linear": _experts(_kimi_delta(False)),
    "glm5_next": _experts(_kimi_delta(True)),
    "nemotron_h": _nemotron_h,
    "inkling": _inkling,
    "inkling2": lambda f: _inkling(f, second=True),
}
