"""What each layer of a checkpoint does with the past: which attend and how far, which recur, what cache they own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .architecture_rules import ArchitectureRules, WindowRule
from .geometry import MOST_BLOCKS, Geometry
from .recurrences import State, state_of

_QUERIES = frozenset({"attn_q", "attn_qkv", "attn_q_a", "attn_q_b"})
_OUTPUTS = frozenset({"attn_output", "attn_output_a", "attn_o"})
_BOTH = frozenset({"ssm_out", "attn_output"})
_INDEXED = frozenset({"indexer.attn_k", "indexer.k_proj"})


@dataclass(frozen=True)
class Attention:
    """The attention of one layer.

    Args:
        heads, kv_heads: query heads; key and value heads.
        key_length, value_length: elements per head.
        window: tokens that its cache must hold, infinite for a global layer [tokens].
        attended: most tokens that it attends to, no more than the window [tokens].
        owns_cache: it has a cache of its own; else it attends to an earlier layer's.
        has_values: its cache holds values beside keys; else they are a view of the keys.
    """

    heads: int
    kv_heads: int
    key_length: int
    value_length: int
    window: float
    attended: float
    owns_cache: bool
    has_values: bool


@dataclass(frozen=True)
class Indexer:
    """The indexer of one layer: `heads` queries of `key_length` elements, and whether its cache holds values too."""

    heads: int
    key_length: int
    has_values: bool


@dataclass(frozen=True)
class Layer:
    """One block of a checkpoint: its attention, its recurrence's state and its indexer, each None where it has none.

    `runs` is False for a block that serves multi-token prediction alone: plain decoding does not run it.
    """

    attention: Attention | None
    state: State | None
    indexer: Indexer | None
    runs: bool


def layers_of(
    geometry: Geometry, rules: ArchitectureRules, blocks: dict[int, dict[str, tuple[int, ...]]], decoder: bool
) -> tuple[Layer, ...]:
    """Every block of a checkpoint, those for multi-token prediction included.

    A block recurs where it carries tensors of a recurrence, and attends where it carries query and output projections
    and does not recur; it does both where it carries `ssm_out` and `attn_output`.

    Args:
        geometry: its metadata; faults are noted there.
        rules: its architecture's rules.
        blocks: dims of each block's tensors by name within the block.
        decoder: the blocks are the decoder's of an encoder-decoder.

    Source: llama.cpp 0c1e57098, src/llama-hparams.cpp and src/llama-model.cpp.
    """
    count = geometry.number("block_count")
    if decoder:
        count = geometry.number("decoder_block_count", count)
    if not 0 < count <= MOST_BLOCKS:
        geometry.faults.append(f"block_count is {count}: 1 to {MOST_BLOCKS} are allowed")
        return ()
    beyond = [block for block in blocks if block >= count]
    if beyond:
        geometry.faults.append(f"there are tensors of block {min(beyond)}, and block_count is {count}")
    trunk = count - min(geometry.number("nextn_predict_layers", 0), count)
    linear = _linear_layers(geometry, trunk) if rules.linear_attention else frozenset()
    states = [state_of(geometry, blocks.get(i, {}), i in linear) if i < trunk else None for i in range(count)]
    attends = [i < trunk and _attends(frozenset(blocks.get(i, {})), states[i]) for i in range(count)]
    attentions = _attentions(geometry, rules, attends, trunk)
    indexers = [_indexer(geometry, rules, blocks.get(i, {})) if attends[i] else None for i in range(count)]
    return tuple(
        Layer(_sparse(geometry, rules, a, x), s, x, i < trunk)
        for i, (a, s, x) in enumerate(zip(attentions, states, indexers, strict=True))
    )


def _attends(names: frozenset[str], state: State | None) -> bool:
    return bool(names & _QUERIES) and bool(names & _OUTPUTS) and (state is None or names >= _BOTH)


def _linear_layers(geometry: Geometry, trunk: int) -> frozenset[int]:
    if geometry.has("attention.recurrent_layers"):
        flags = geometry.per_layer("attention.recurrent_layers", trunk)
        return frozenset(i for i in range(trunk) if flags[i])
    interval = geometry.number("full_attention_interval")
    return frozenset(i for i in range(trunk) if (i + 1) % max(1, interval))


def _attentions(
    geometry: Geometry, rules: ArchitectureRules, attends: list[bool], trunk: int
) -> list[Attention | None]:
    count = len(attends)
    if not any(attends):
        return [None] * count
    heads = geometry.per_layer("attention.head_count", count)
    kv_heads = geometry.per_layer("attention.head_count_kv", count, heads)
    for key, values in (("head_count", heads), ("head_count_kv", kv_heads)):
        empty = [i for i in range(count) if attends[i] and not values[i]]
        if empty:
            geometry.faults.append(f"attention.{key} is 0 for block {empty[0]}, which carries attention projections")
    per_head = geometry.number("embedding_length") // max(1, *heads)
    lengths = [geometry.number(f"attention.{name}_length", per_head) for name in ("key", "value")]
    sliding = [
        geometry.number(f"attention.{name}_length_swa", length)
        for name, length in zip(("key", "value"), lengths, strict=True)
    ]
    latent = geometry.has("attention.key_length_mla") and geometry.has("attention.value_length_mla")
    windows = _windows(geometry, rules.window, count)
    own = count if rules.own_layers is None else rules.own_layers
    if rules.shared_layers_key is not None:
        own = trunk - geometry.number(rules.shared_layers_key, 0)
    return [
        Attention(
            heads=heads[i],
            kv_heads=1 if latent else kv_heads[i],
            key_length=(lengths if math.isinf(windows[i]) else sliding)[0],
            value_length=(lengths if math.isinf(windows[i]) else sliding)[1],
            window=windows[i],
            attended=windows[i],
            owns_cache=i < own,
            has_values=not latent,
        )
        if attends[i]
        else None
        for i in range(count)
    ]


def _windows(geometry: Geometry, rule: WindowRule | None, count: int) -> tuple[float, ...]:
    everywhere = (math.inf,) * count
    if rule is None or (rule.only_blocks is not None and count != rule.only_blocks):
        return everywhere
    window = geometry.number("attention.sliding_window", rule.window or 0)
    if window == 0:
        return everywhere
    window = rule.fixed or window
    key = "attention.sliding_window_pattern"
    if geometry.is_array(key) and not rule.ignore_pattern:
        return tuple(float(window) if slides else math.inf for slides in geometry.per_layer(key, count))
    period = rule.period
    if period is None or (geometry.has(key) and not rule.ignore_pattern):
        period = geometry.number(key)
    return tuple(float(window) if _slides(i, period, rule.dense_first) else math.inf for i in range(count))


def _slides(layer: int, period: int, dense_first: bool) -> bool:
    if period == 0:
        return True
    return layer % period != 0 if dense_first else layer % period < period - 1


def _indexer(geometry: Geometry, rules: ArchitectureRules, names: dict[str, tuple[int, ...]]) -> Indexer | None:
    if rules.indexer is None or not names.keys() & _INDEXED:
        return None
    heads, length = (geometry.number(f"attention.indexer.{name}") for name in ("head_count", "key_length"))
    return Indexer(heads, length, rules.indexer.values)


def _sparse(
    geometry: Geometry, rules: ArchitectureRules, attention: Attention | None, indexer: Indexer | None
) -> Attention | None:
    if attention is None or rules.indexer is None or not math.isinf(attention.window):
        return attention
    if indexer is None and not rules.indexer.every_layer:
        return attention
    picked = geometry.number("attention.indexer.top_k")
    return Attention(**{**vars(attention), "attended": float(picked)})
