"""What the revised formulas need of a model and of a cluster: pytrees of numbers, by the names of their parameters."""

from __future__ import annotations

import equinox as eqx

from ..config import ChipFigures, Number


class ModelFigures(eqx.Module):
    """A model's architecture, reduced to numbers; window is infinite where no layer has one, experts 0 where dense."""

    parameters: Number  # all experts counted
    matrix_parameters: Number  # that one token multiplies with; the embedding row is looked up, not multiplied
    weight_bytes: Number  # as the rollout engine holds them [B]
    lookup_bytes: Number  # of those, an embedding table that a step only looks rows up in [B]
    expert_bytes: Number  # of those, routed experts [B]
    experts: Number
    experts_per_token: Number
    blocks: Number  # a mixer and a feed-forward layer each
    hidden: Number
    kv_heads: Number  # ways in which a sequence's cache can be split over GPUs
    kv_bytes_per_token: Number  # [B/token]
    window_kv_bytes_per_token: Number  # [B/token within the window]
    window: Number  # [tokens]
    state_bytes_per_sequence: Number  # [B]
    attention_flops: Number  # [FLOP per token and token of context], forward
    window_attention_flops: Number
    decode_attention_flops: Number  # the same where the cache is a compressed latent that attention reads directly
    lora_used_per_rank: Number  # adapter parameters per unit of rank that one token multiplies with


class ClusterFigures(eqx.Module):
    """The own cluster's engine and trainer: how wide, how much memory, how well each does."""

    chip: ChipFigures
    gpus: Number
    tensor_parallel: Number  # GPUs of one rollout replica
    engine_memory_fraction: Number  # share of a chip's memory that the rollout engine may fill [1]
    decode_efficiency: Number  # share of the decode roof that is reached [1]
    block_seconds: Number  # of a decode step per block that no roof explains [s]
    token_seconds: Number  # host work of a replica's engine per sampled token [s]
    prefill_efficiency: Number  # share of the matrix rate in prefill [1]
    sequences: Number = None  # in flight on a replica at most; None for as many as fit
    limited: Number = 1.0  # 0 where memory does not limit what is in flight (the published edition), else 1
