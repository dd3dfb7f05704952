"""Reading an architecture from a GGUF header or ledger: widths from the tensor table, heads and windows from metadata.

The groups that come out are held to the table: their matrix parameters are the sum of the header's matrix tensors,
or the header is refused. Blocks for multi-token prediction are left out, as in a ``config.json``.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import listed
from .architecture import Architecture, ArchitectureError
from .layer_groups import Attention, DeltaNet, KimiDelta, LatentAttention, LayerGroup, Mamba2, Mlp, Moe

if TYPE_CHECKING:
    from ..decode.geometry import Geometry
    from ..decode.gguf_header import GgufHeader
    from ..decode.layers import Layer

Dims = dict[str, tuple[int, ...]]

# fmt: off
_MATRICES = frozenset({
    "attn_q", "attn_k", "attn_v", "attn_qkv", "attn_output", "attn_gate", "attn_q_a", "attn_q_b", "attn_kv_a_mqa",
    "attn_kv_b", "attn_k_b", "attn_v_b", "indexer.attn_k", "indexer.attn_q_b", "indexer.k_proj", "indexer.proj",
    "ffn_gate", "ffn_up", "ffn_down", "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps", "ffn_gate_up_exps",
    "ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp", "ffn_gate_inp", "ffn_gate_inp_shexp", "ffn_latent_down",
    "ffn_latent_up", "ssm_in", "ssm_out", "ssm_alpha", "ssm_beta", "ssm_ba", "ssm_f_a", "ssm_f_b", "ssm_g_a",
    "ssm_g_b",
})
# fmt: on
_APART = ("norm", "conv1d", "rope", "ssm_a", "ssm_d", "sinks", "scale", "exp_probs", ".bias")


def _blocks(header: GgufHeader) -> tuple[Dims, dict[int, Dims]]:
    """Dims of the tables outside blocks and of every block's tensors, by name without ".weight"."""
    outside: Dims = {}
    blocks: dict[int, Dims] = {}
    for row in header.tensors:
        name = row.name.removesuffix(".weight")
        first, _, rest = name.partition(".")
        number, _, inner = rest.partition(".")
        if first == "blk" and number.isdigit():
            blocks.setdefault(int(number), {})[inner] = row.dims
        else:
            outside[name] = row.dims
    return outside, blocks


def _elements(dims: tuple[int, ...]) -> int:
    return math.prod(dims)


def _attention(layer: Layer, dims: Dims) -> Attention:
    seen = layer.attention
    assert seen is not None
    value = seen.value_length
    fused = "attn_q" in dims and dims["attn_q"][1] == 2 * seen.heads * seen.key_length
    return Attention(
        1,
        seen.heads,
        seen.kv_heads,
        seen.key_length,
        value_dim=None if value == seen.key_length else value,
        window=None if math.isinf(seen.window) else int(seen.window),
        gate="fused" if fused else "separate" if "attn_gate" in dims else "none",
        stores_cache=seen.owns_cache,
        value_projection="attn_v" in dims or "attn_qkv" in dims,
    )


def _latent(geometry: Geometry, layer: Layer, dims: Dims) -> LatentAttention:
    assert layer.attention is not None
    rank = geometry.number("attention.kv_lora_rank")
    rope = dims["attn_kv_a_mqa"][1] - rank
    indexer = layer.indexer
    return LatentAttention(
        1,
        layer.attention.heads,
        rank,
        nope_dim=geometry.number("attention.key_length_mla") - rope,
        rope_dim=rope,
        value_dim=geometry.number("attention.value_length_mla"),
        q_rank=dims["attn_q_a"][1] if "attn_q_a" in dims else None,
        indexer_layers=0 if indexer is None else 1,
        indexer_heads=0 if indexer is None else indexer.heads,
        indexer_dim=0 if indexer is None else indexer.key_length,
        indexer_top_k=0 if indexer is None else geometry.number("attention.indexer.top_k"),
    )


def _recurrence(geometry: Geometry, dims: Dims) -> LayerGroup | None:
    kernel = geometry.number("ssm.conv_kernel")
    if "ssm_conv1d_q" in dims:
        return KimiDelta(1, geometry.number("attention.head_count"), geometry.number("kda.head_dim"), kernel)
    inner, state = geometry.number("ssm.inner_size"), geometry.number("ssm.state_size")
    heads, groups = geometry.number("ssm.time_step_rank"), geometry.number("ssm.group_count", 0)
    if "attn_gate" in dims or "ssm_ba" in dims:
        return DeltaNet(1, groups, heads, state, inner // heads, kernel)
    if "ssm_in" in dims and "ssm_x" not in dims and groups:
        return Mamba2(1, heads, inner // heads, state, groups, kernel)
    return None


def _feed_forward(geometry: Geometry, dims: Dims) -> LayerGroup | None:
    if "ffn_gate_inp" in dims:
        experts, used = geometry.number("expert_count"), geometry.number("expert_used_count")
        latent = dims["ffn_latent_down"][1] if "ffn_latent_down" in dims else None
        shared = dims["ffn_down_shexp"][0] if "ffn_down_shexp" in dims else 0
        gated = "ffn_gate_exps" in dims or "ffn_gate_up_exps" in dims
        return Moe(
            1, experts, used, dims["ffn_down_exps"][0], shared, "ffn_gate_inp_shexp" in dims, gated=gated, latent=latent
        )
    if "ffn_down" not in dims:
        return None
    width = dims["ffn_down"][0]
    return Mlp(1, width, gated="ffn_gate" in dims or dims["ffn_up"][1] == 2 * width)


def _merge(groups: list[LayerGroup]) -> tuple[LayerGroup, ...]:
    """Equal single layers joined into groups, in their first order."""
    merged = [replace(group, layers=count) for group, count in Counter(groups).items()]  # type: ignore[type-var]
    indexed = [group for group in merged if isinstance(group, LatentAttention)]
    if len(indexed) == 2:  # layers that differ by their indexer alone are one group
        first, second = sorted(indexed, key=lambda group: -group.indexer_layers)
        plain = {"layers": 1, "indexer_layers": 0, "indexer_heads": 0, "indexer_dim": 0, "indexer_top_k": 0}
        if replace(first, **plain) == replace(second, **plain):
            joined = replace(first, layers=first.layers + second.layers, indexer_layers=first.layers)
            merged = [joined, *(group for group in merged if group not in indexed)]
    elif len(indexed) == 1 and indexed[0].indexer_layers:
        whole = replace(indexed[0], indexer_layers=indexed[0].layers)
        merged = [whole if group is indexed[0] else group for group in merged]
    return tuple(merged)


def _matrix_parameters(outside: Dims, trunk: list[Dims], refuse: Any) -> int:
    total = _elements(outside["token_embd"]) + _elements(outside.get("output", ()) or (0,))
    strange = [
        name for name, dims in outside.items() if name not in ("token_embd", "output") and _is_strange(name, dims)
    ]
    for dims in trunk:
        both = "attn_k_b" in dims and "attn_kv_b" in dims
        for name, shape in dims.items():
            if name in _MATRICES:
                total += 0 if both and name == "attn_kv_b" else _elements(shape)
            elif _is_strange(name, shape):
                strange.append(name)
    if strange:
        refuse(f"this reader does not know the tensors {listed(sorted(set(strange)))}")
    return total


def _is_strange(name: str, dims: tuple[int, ...]) -> bool:
    return len(dims) > 1 and not any(part in name for part in _APART)


def read_header_architecture(header: GgufHeader) -> Architecture:
    """See `Architecture.from_header`."""
    from ..decode.architecture_rules import rules_of
    from ..decode.geometry import Geometry
    from ..decode.layers import layers_of

    kind = header.architecture or "unnamed"

    def refuse(why: str) -> None:
        raise ArchitectureError(f"the architecture of this {kind} header cannot be read: {why}")

    outside, blocks = _blocks(header)
    if "token_embd" not in outside:
        refuse("it has no token_embd.weight")
    geometry = Geometry(header)
    layers = layers_of(geometry, rules_of(kind), blocks, decoder=False)
    if geometry.faults:
        refuse(listed(geometry.faults))
    trunk = [blocks.get(number, {}) for number, layer in enumerate(layers) if layer.runs]
    groups: list[LayerGroup] = []
    try:
        for layer, dims in zip([layer for layer in layers if layer.runs], trunk, strict=True):
            recurrence = _recurrence(geometry, dims) if layer.state is not None else None
            if layer.state is not None and recurrence is None:
                refuse("its recurrence is none of gated DeltaNet, Kimi delta attention and Mamba-2")
            attention = None
            if layer.attention is not None:
                latent = "attn_kv_a_mqa" in dims
                attention = _latent(geometry, layer, dims) if latent else _attention(layer, dims)
            groups += [group for group in (attention, recurrence, _feed_forward(geometry, dims)) if group is not None]
    except (KeyError, TypeError, IndexError, ZeroDivisionError) as error:
        refuse(f"a tensor that its layers need is missing or malformed ({error})")
    if geometry.faults:
        refuse(listed(geometry.faults))
    if len(outside["token_embd"]) != 2:
        refuse(f"token_embd.weight has dims {outside['token_embd']}, not width and vocabulary")
    hidden, vocab = outside["token_embd"]
    found = Architecture(kind, hidden, vocab, "output" not in outside, _merge(groups))
    held = _matrix_parameters(outside, trunk, refuse)
    if found.parameters != held:
        refuse(f"its matrix tensors hold {held:,} parameters and the layers read from it {found.parameters:,.0f}")
    return found
