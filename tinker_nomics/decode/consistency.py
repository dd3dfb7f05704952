"""Where a checkpoint's metadata contradict the dims of its tensors, so that one of the two would be priced wrongly."""

from __future__ import annotations

from collections.abc import Mapping

from .layers import Attention, Layer

_INPUTS = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_qkv", "ffn_norm", "ffn_gate", "ffn_up")
Dims = tuple[int, ...]


def contradictions(architecture: str, width: int, dims: Mapping[str, Dims], layers: tuple[Layer, ...]) -> list[str]:
    """What the metadata say otherwise than the tensors, as sentences: each of the first block that shows it.

    The width of the hidden vector, which all-reduces carry, is held to the embedding and to what projections read; heads
    and their lengths, which caches hold, to the rows of the projections. A query may carry a gate, and then has a whole
    multiple of its rows; latent attention and recurrences, whose projections go elsewhere, are left aside.

    Args:
        architecture: the prefix of the metadata's keys.
        width: `embedding_length`.
        dims: of every tensor by name.
        layers: every block's attention and recurrence.
    """
    said = f"{architecture}.embedding_length is {width}"
    embedding = dims.get("token_embd.weight", ())
    if embedding and embedding[0] != width:
        return [f"{said}, but the rows of 'token_embd.weight' have {embedding[0]} elements"]
    faults: dict[str, str] = {}
    for block, layer in enumerate(layers):
        for name in (f"blk.{block}.{stem}.weight" for stem in _INPUTS):
            if (found := dims.get(name, ())) and found[0] != width:
                return [f"{said}, but {name!r} reads {found[0]} elements"]
        if layer.attention is None or not layer.attention.has_values or layer.state is not None:
            continue
        for name, words in _of_heads(layer.attention, f"blk.{block}", dims).items():
            faults.setdefault(name, f"'blk.{block}.{name}.weight' {words}")
    return list(faults.values())


def _of_heads(attention: Attention, prefix: str, dims: Mapping[str, Dims]) -> dict[str, str]:
    """Projections whose rows are not heads times their length, by name."""
    heads, kv_heads = attention.heads, attention.kv_heads
    key, value = attention.key_length, attention.value_length
    faults = {}
    for name, side, count, length, what in (
        ("attn_q", -1, heads, key, "query heads"),
        ("attn_k", -1, kv_heads, key, "key heads"),
        ("attn_v", -1, kv_heads, value, "value heads"),
        ("attn_output", 0, heads, value, "query heads"),
    ):
        found, wanted = dims.get(f"{prefix}.{name}.weight", ()), count * length
        if len(found) != 2 or found[side] == wanted or (name == "attn_q" and wanted and found[side] % wanted == 0):
            continue
        verb = "gives" if side else "reads"
        faults[name] = f"{verb} {found[side]} elements, but the metadata have {count} {what} of {length}: {wanted}"
    fused, wanted = dims.get(f"{prefix}.attn_qkv.weight", ()), heads * key + kv_heads * (key + value)
    if len(fused) == 2 and fused[1] != wanted:
        faults["attn_qkv"] = (
            f"gives {fused[1]} elements, but the metadata have {heads} query and {kv_heads} key and value heads of {key} "
            f"and {value}: {wanted}"
        )
    return faults
