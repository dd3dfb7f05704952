"""Feed-forward layers with experts from the fields of a ``config.json``, as each model type reads them.

Defaults: those of the model type's own configuration class (Hugging Face ``transformers`` 5.24) for switches; widths
and counts that are missing are refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .hf_attention import layers_of
from .layer_groups import LayerGroup, Mlp, Moe

if TYPE_CHECKING:
    from .hf_config import Fields

# experts in every layer, of the width intermediate_size
_ONE_WIDTH = frozenset({"mixtral", "olmoe", "gpt_oss"})
# which layers have experts stands in decoder_sparse_step and mlp_only_layers
_BY_STEP = frozenset({"qwen2_moe", "qwen3_moe", "qwen3_next", "qwen3_5_moe"})
_SHARED_WIDTH = frozenset({"qwen2_moe", "qwen3_next", "qwen3_5_moe"})


def expert_layers(f: Fields) -> list[LayerGroup]:
    """Dense layers and layers with experts: by list, by the leading dense ones, or by step."""
    layers = layers_of(f)
    experts = f.number("num_experts", "n_routed_experts", "num_local_experts")
    used = f.number("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts")
    width = f.number("intermediate_size" if f.family in _ONE_WIDTH else "moe_intermediate_size")
    dense = _dense_layers(f, layers)
    shared = _shared_width(f)
    f.known("intermediate_size")
    return [
        Mlp(dense, f.number("intermediate_size") if dense else 1),
        Moe(layers - dense, experts, used, width, shared_width=shared, shared_gate=f.family in _SHARED_WIDTH),
    ]


def _dense_layers(f: Fields, layers: int) -> int:
    if f.family in _ONE_WIDTH:
        return 0
    if f.family in _BY_STEP:
        return _dense_by_step(f, layers)
    if f.value("moe_layer_freq", default=1) not in (1, [1] * layers):
        f.missing.append("moe_layer_freq = 1 (experts in every layer after the leading dense ones)")
    kinds = f.kinds("mlp_layer_types", layers)
    if kinds is not None:
        f.known("first_k_dense_replace")
        f.only("mlp_layer_types", kinds, "dense", "sparse")
        return kinds.count("dense")
    first = f.number("first_k_dense_replace", default=0 if f.family == "deepseek_v2" else None)
    if first > layers:
        f.missing.append(f"first_k_dense_replace (at most the {layers} layers, not {first})")
    return min(first, layers)


def _dense_by_step(f: Fields, layers: int) -> int:
    only, step = f.items("mlp_only_layers") or [], f.number("decoder_sparse_step", default=1)
    if step < 1:
        f.missing.append("decoder_sparse_step (at least 1)")
    for layer in only:
        if isinstance(layer, bool) or not isinstance(layer, int) or not 0 <= layer < layers:
            f.missing.append(f"mlp_only_layers (numbers of layers below {layers}, not {layer!r})")
            return 0
    listed = set(only)
    return sum(1 for i in range(layers) if i in listed or (i + 1) % max(step, 1))


def _shared_width(f: Fields) -> int:
    if f.family in _SHARED_WIDTH:
        return f.number("shared_expert_intermediate_size")
    if f.family in _ONE_WIDTH | _BY_STEP:
        return 0
    name = "n_shared_experts" if "n_shared_experts" in f.table else "num_shared_experts"
    if "num_shared_experts" not in f.table and name not in f.table:
        f.missing.append("n_shared_experts (a number, or null for none)")
    return f.number(name, default=0) * f.number("moe_intermediate_size")
