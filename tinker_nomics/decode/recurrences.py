"""The state that a recurrent layer keeps per sequence, by the kind of its recurrence."""

from __future__ import annotations

from dataclasses import dataclass

from .geometry import Geometry

STATE_BYTES = 4
"""Bytes per element of a recurrent state, kept in F32 (llama.cpp 0c1e57098, src/llama-memory-recurrent.cpp)."""


@dataclass(frozen=True)
class State:
    """The state of one recurrent layer.

    Args:
        shift: elements of the convolution's or token shift's memory, per sequence.
        recurrence: elements of the recurrence's own state, per sequence.
        value_heads: equal parts that the recurrence can be cut into.
    """

    shift: int
    recurrence: int
    value_heads: int

    @property
    def bytes(self) -> int:
        """Bytes held per sequence [B]; a step reads and writes them once each."""
        return STATE_BYTES * (self.shift + self.recurrence)


def state_of(geometry: Geometry, dims: dict[str, tuple[int, ...]], linear_attention: bool) -> State | None:
    """The state of a layer whose tensors have these dims; None where it keeps none.

    $shift + recurrence$ elements, with $w$ the width, $k$ the kernel, $n$ the heads:

    - time mixing: $w \\cdot shifts$ and $w \\cdot head$
    - short convolution: $w (k - 1)$ and nothing
    - delta attention with a convolution each for queries, keys, values: $3 (k - 1) n\\, head$ and $n\\, head^2$
    - state spaces: $(k - 1)(inner + 2\\, groups\\, state)$ and $state \\cdot inner$, with no groups where the input
      and output matrices are projected after the convolution
    - linear attention: nothing and $n\\, head^2$

    Args:
        geometry: the checkpoint's metadata.
        dims: dims of the layer's tensors by name within the block.
        linear_attention: the metadata says that its attention is a linear recurrence.

    Source: llama.cpp 0c1e57098, src/llama-hparams.cpp (n_embd_r, n_embd_s).
    """
    width = geometry.number("embedding_length")
    if any(name.startswith("time_mix_") for name in dims):
        head = geometry.number("wkv.head_size")
        return State(geometry.number("token_shift_count", 2) * width, width * head, max(1, width // max(1, head)))
    if "shortconv.conv" in dims:
        return State(width * _shifts(geometry, "shortconv.l_cache"), 0, width)
    if "ssm_conv1d_q" in dims:
        head, heads = geometry.number("kda.head_dim"), geometry.number("attention.head_count")
        return State(3 * _shifts(geometry, "ssm.conv_kernel") * heads * head, head * head * heads, heads)
    if any(name.startswith("ssm_") for name in dims):
        inner, state = geometry.number("ssm.inner_size"), geometry.number("ssm.state_size")
        groups = 0 if "ssm_x" in dims else geometry.number("ssm.group_count", 0)
        shift = _shifts(geometry, "ssm.conv_kernel") * (inner + 2 * groups * state)
        return State(shift, state * inner, dims["ssm_a"][-1] if dims.get("ssm_a") else 1)
    if linear_attention:
        heads = geometry.number("attention.head_count")
        head = geometry.number("attention.key_length", width // max(1, heads))
        return State(0, head * head * heads, heads)
    return None


def _shifts(geometry: Geometry, key: str) -> int:
    """Inputs of the past that a convolution with this kernel keeps."""
    return max(0, geometry.number(key) - 1)
