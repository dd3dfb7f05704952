"""LoRA adapters: parameters, bytes of a checkpoint.

Source: the public calculator's documentation page (published edition).
"""

from __future__ import annotations

from ..config import Lora, Number


def dense_gqa_parameters_per_rank(hidden: Number, kv_width: Number, ffn: Number, layers: Number) -> Number:
    """layers (2 d + 2 (kv + d) + 2 d + 3 (ffn + d)): adapter parameters per unit of rank of a dense grouped-query model.

    Args:
        hidden: d, width of the residual stream.
        kv_width: kv heads times head dimension.
        ffn: width of the MLP.
        layers: blocks.
    """
    attention = 2 * hidden + 2 * (kv_width + hidden) + 2 * hidden
    return layers * (attention + 3 * (ffn + hidden))


def adapter_parameters(per_rank: Number, lora: Lora) -> Number:
    """per_rank rank: parameters of the adapter."""
    return per_rank * lora.rank


def checkpoint_bytes(parameters: Number) -> Number:
    """2 B a parameter: bytes of a saved adapter in bf16."""
    return parameters * 2
