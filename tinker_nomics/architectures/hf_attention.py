"""Attention layers from the fields of a ``config.json``: heads, windows and latent attention, as each model type reads them.

A default is taken only where the model type's own configuration class has it (Hugging Face ``transformers`` 5.24); a
width or a count that is missing is refused by name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from .layer_groups import Attention, LatentAttention, LayerGroup

if TYPE_CHECKING:
    from .hf_config import Fields

# lists by layer are built, so their number is bounded before
_MOST_LAYERS = 100_000
# their classes take as many key/value heads as heads, and head_dim = hidden_size / heads, where none is given
_KV_OF_HEADS = frozenset({"llama", "granite", "olmo2", "olmo3", "olmoe", "phi3"})
_DIM_OF_WIDTH = _KV_OF_HEADS | {"mistral", "mixtral", "qwen2", "qwen2_moe", "smollm3"}


def layers_of(f: Fields) -> int:
    """How many layers there are."""
    return f.number("num_hidden_layers", "n_layers", most=_MOST_LAYERS)


def heads_of(f: Fields) -> tuple[int, int, int]:
    """Heads, key/value heads and the width of one head."""
    heads = f.number("num_attention_heads")
    kv = f.number("num_key_value_heads", default=heads if f.family in _KV_OF_HEADS else None)
    if f.has("head_dim") or f.family not in _DIM_OF_WIDTH:
        return heads, kv, f.number("head_dim")
    f.known("head_dim")
    hidden = f.number("hidden_size")
    if heads and hidden % heads:
        f.missing.append(f"head_dim (hidden_size {hidden} is no multiple of num_attention_heads {heads})")
    return heads, kv, hidden // max(heads, 1)


def full_attention(f: Fields) -> list[LayerGroup]:
    """Attention to the whole context in every layer."""
    return [Attention(layers_of(f), *heads_of(f))]


def windowed_throughout(f: Fields, default: int | None = None) -> list[LayerGroup]:
    """The window `sliding_window` in every layer; null means none, and absent means the class's `default`."""
    window = f.optional("sliding_window") if "sliding_window" in f.table else default
    f.known("sliding_window")
    return [Attention(layers_of(f), *heads_of(f), window=window)]


def windowed_by_switch(f: Fields) -> list[LayerGroup]:
    """A window only where `use_sliding_window` says so, in the layers in which the model type has it."""
    layers = layers_of(f)
    used = f.value("use_sliding_window", default=False)
    if not isinstance(used, bool):
        f.missing.append(f"use_sliding_window (true or false, not {used!r})")
    f.known("sliding_window", "max_window_layers")
    kinds = None if f.family == "qwen3_moe" else f.kinds("layer_types", layers)
    if used is not True:
        if kinds is not None and "sliding_attention" in kinds:
            f.missing.append("use_sliding_window = true (layer_types has sliding_attention)")
        return [Attention(layers, *heads_of(f))]
    window = f.number("sliding_window")
    if kinds is None and f.family == "qwen3_moe":
        sliding = layers
    elif kinds is None and f.family == "smollm3":
        f.missing.append("layer_types")
        sliding = 0
    elif kinds is None:
        first = f.number("max_window_layers", most=_MOST_LAYERS)
        alternates = f.family == "qwen2_moe"
        sliding = len(range(0, min(first, layers), 2)) if alternates else max(layers - first, 0)
    else:
        sliding = _sliding(f, kinds)
    heads = heads_of(f)
    return [Attention(layers - sliding, *heads), Attention(sliding, *heads, window=window)]


def _sliding(f: Fields, kinds: list[str]) -> int:
    f.only("layer_types", kinds, "full_attention", "sliding_attention")
    return kinds.count("sliding_attention")


def windowed_by_period(f: Fields, period: int) -> list[LayerGroup]:
    """Global and windowed layers: by `layer_types`, else every `period`-th layer global."""
    layers = layers_of(f)
    kinds = f.kinds("layer_types", layers)
    if f.family == "gemma3_text":
        period = max(f.number("sliding_window_pattern", default=period), 1)
        f.known("_sliding_window_pattern")
        if f.value("use_bidirectional_attention", default=False):
            f.missing.append("use_bidirectional_attention = false (a model that generates)")
    if kinds is None:
        kinds = ["sliding_attention" if (i + 1) % period else "full_attention" for i in range(layers)]
    sliding = _sliding(f, kinds)
    heads, window = heads_of(f), f.number("sliding_window") if sliding else None
    f.known("sliding_window")
    return [Attention(layers - sliding, *heads), Attention(sliding, *heads, window=window)]


def gemma4_attention(f: Fields) -> list[LayerGroup]:
    """Global layers with heads of their own and windowed ones; the last layer is always global."""
    layers = layers_of(f)
    heads, kv, head_dim = heads_of(f)
    kinds = f.kinds("layer_types", layers)
    if kinds is None:
        kinds = ["sliding_attention" if (i + 1) % 6 else "full_attention" for i in range(layers)]
    kinds[-1:] = ["full_attention"] * bool(layers)
    same = bool(f.value("attention_k_eq_v", default=False))
    global_dim = f.number("global_head_dim", default=512)
    global_kv = f.number("num_global_key_value_heads", default=kv) if same else kv
    f.known("num_global_key_value_heads", "vocab_size_per_layer_input")
    if f.value("use_bidirectional_attention") == "all":
        f.missing.append("use_bidirectional_attention other than 'all' (a model that generates)")
    # these change layers in ways that no group here describes: refuse by name
    switches = ["num_kv_shared_layers", "enable_moe_block", "use_double_wide_mlp"]
    if f.value("hidden_size_per_layer_input") or "hidden_size_per_layer_input" not in f.table:
        f.missing.append("hidden_size_per_layer_input = 0 (the class has 256 where it is absent)")
    for name in switches:
        if f.value(name):
            f.missing.append(f"{name} = 0 (a model with it is not read from a config.json)")
    f.known("num_experts", "top_k_experts", "moe_intermediate_size")
    sliding = _sliding(f, kinds)
    return [
        Attention(layers - sliding, heads, global_kv, global_dim, value_projection=not same),
        Attention(sliding, heads, kv, head_dim, window=f.number("sliding_window")),
    ]


def latent_attention(f: Fields, layers: int, indexed: Collection[int] = ()) -> LatentAttention:
    """Latent attention in `layers` of the layers; `indexed`: the numbers of those that choose with a sparse indexer."""
    f.known("head_dim")
    heads, kv = f.number("num_attention_heads"), f.optional("num_key_value_heads")
    if kv is not None and (kv < 1 or heads % kv):
        f.missing.append(f"num_key_value_heads (a divisor of num_attention_heads {heads}, not {kv})")
    if "q_lora_rank" not in f.table and f.family != "kimi_linear":
        f.missing.append("q_lora_rank (a rank, or null for none)")
    nope, rope = f.number("qk_nope_head_dim"), f.number("qk_rope_head_dim")
    both = f.number("qk_head_dim", default=nope + rope)
    if both != nope + rope:
        f.missing.append(f"qk_head_dim (qk_nope_head_dim + qk_rope_head_dim = {nope + rope}, not {both})")
    indexers = _full_indexers(f, indexed) if indexed else 0
    return LatentAttention(
        layers,
        heads=heads,
        kv_rank=f.number("kv_lora_rank"),
        nope_dim=nope,
        rope_dim=rope,
        value_dim=f.number("v_head_dim"),
        q_rank=f.optional("q_lora_rank"),
        indexer_layers=indexers,
        indexer_heads=f.number("index_n_heads") if indexed else 0,
        indexer_dim=f.number("index_head_dim") if indexed else 0,
        indexer_top_k=f.number("index_topk") if indexed else 0,
    )


def _full_indexers(f: Fields, indexed: Collection[int]) -> int:
    """Of the indexed layers, those that run an indexer of their own: by list, by pattern ("F" runs, "S" shares), else
    by frequency."""
    layers = layers_of(f)
    kinds = f.kinds("indexer_types", layers)
    pattern = f.value("index_topk_pattern")
    frequency, offset = f.number("index_topk_freq", default=1), f.number("index_skip_topk_offset", default=2)
    if kinds is not None:
        f.only("indexer_types", kinds, "full", "shared")
        return sum(kinds[i] == "full" for i in indexed)
    if pattern is None:
        return sum(max(i - offset + 1, 0) % max(frequency, 1) == 0 for i in indexed)
    if not isinstance(pattern, str) or len(pattern) != layers or set(pattern) - {"F", "S"}:
        f.missing.append("index_topk_pattern (a letter F or S per layer)")
        return 0
    return sum(pattern[i] == "F" for i in indexed)
