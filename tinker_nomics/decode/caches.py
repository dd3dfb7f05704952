"""The caches of a step: what attention, indexers and recurrences hold, read and write."""

from __future__ import annotations

from .deployment import Deployment
from .ggml_types import GgmlType
from .layers import Attention, Indexer, Layer
from .recurrences import State
from .stages import HeldClass
from .step_parts import StepParts


def cache_faults(layers: tuple[Layer, ...], deployment: Deployment) -> list[str]:
    """The rows of caches that the blocks of their types do not divide, as sentences, each once.

    Source: llama.cpp 0c1e57098, src/llama-context.cpp: the type's block must divide a head's row.
    """
    faults: list[str] = []
    for layer in layers:
        rows = []
        if layer.attention is not None:
            rows.append(("key", layer.attention.key_length, deployment.key_type))
            if layer.attention.has_values:
                rows.append(("value", layer.attention.value_length, deployment.value_type))
        if layer.indexer is not None:
            rows.append(("indexer key", layer.indexer.key_length, deployment.key_type))
        for what, length, kind in rows:
            fault = f"a {what} row of {length} elements per head is not divided by the {kind.block} of {kind.name}"
            if length % kind.block and fault not in faults:
                faults.append(fault)
    return faults


def add_attention(parts: StepParts, block: int, attention: Attention, deployment: Deployment) -> None:
    """Add a layer's attention to the parts: cache read and written, scores and weighted sums.

    Per attended token the cache's row is read, $2 \\cdot heads (key + value)$ FLOP are done; the new token's row is
    written where the layer owns its cache.
    """
    key = _row(attention.kv_heads * attention.key_length, deployment.key_type)
    value = _row(attention.kv_heads * attention.value_length, deployment.value_type) if attention.has_values else 0.0
    own = key + value if attention.owns_cache else 0.0
    units = attention.kv_heads if attention.has_values else 1
    if own:
        parts.reserve(attention.window, own)
    parts.add(
        "mixer", block, HeldClass.kv_cache, units, attention.attended, bytes_each=own, bytes_each_per_token=key + value
    )
    flops = 2.0 * attention.heads * (attention.key_length + attention.value_length)
    parts.add("mixer", block, HeldClass.kv_cache, attention.heads, attention.attended, flops_each_per_token=flops)


def add_indexer(parts: StepParts, block: int, indexer: Indexer, deployment: Deployment) -> None:
    """Add a layer's indexer: every key of the past is read and scored, $2 \\cdot heads \\cdot key$ FLOP per token."""
    key = _row(indexer.key_length, deployment.key_type)
    value = _row(indexer.key_length, deployment.value_type) if indexer.has_values else 0.0
    parts.reserve(float("inf"), key + value)
    parts.add(
        "indexer",
        block,
        HeldClass.kv_cache,
        1,
        bytes_each=key + value,
        bytes_each_per_token=key,
        flops_each_per_token=2.0 * indexer.heads * indexer.key_length,
    )


def add_state(parts: StepParts, block: int, state: State, deployment: Deployment) -> None:
    """Add a layer's recurrent state, read and written once per step, and held once more for every rollback."""
    parts.hold_state(state.bytes * (1.0 + deployment.rs_seq))
    parts.add("recurrence", block, HeldClass.recurrent_state, state.value_heads, bytes_each=2.0 * state.bytes)


def _row(elements: int, kind: GgmlType) -> float:
    return float(elements // kind.block * kind.block_bytes)
