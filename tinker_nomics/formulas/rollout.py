"""Rollouts on own GPUs: memory-bound decode under a compute roof, and prefill. Tokens per second, hours.

Source: the public calculator's documentation page (published edition), where not said otherwise; the roofline itself:
kipp.ly, "Transformer inference arithmetic", and the JAX scaling book.
"""

from __future__ import annotations

import jax.numpy as jnp

from ..config import Cluster, Model, Number, Workload
from .tokens import effective_turns, output_tokens_per_turn


def kv_bytes_heuristic(active_parameters: Number) -> Number:
    """0.016 MB per billion active parameters: bytes of cache per token of context.

    The page prints KB; its own worked numbers need MB (1e6 B).
    """
    return active_parameters / 1e9 * 0.016e6


def decode_context(workload: Workload) -> Number:
    """s = P + (O' + Obs)(N' - 1)/2 + O'/2: mean tokens of context that a decoded token attends to.

    At N' = 1 this is P + O'/2.
    """
    output = output_tokens_per_turn(workload)
    turns = effective_turns(workload)
    return workload.prompt_tokens + (output + workload.observation_tokens) * (turns - 1) / 2 + output / 2


def bandwidth_tokens_per_second(batch: Number, context: Number, kv: Number, model: Model, bandwidth: Number) -> Number:
    """bandwidth / (weight_bytes + kv s batch) batch: decode speed of one GPU by memory traffic alone.

    Args:
        batch: sequences in flight on the GPU. At batch 1 and no context this is bandwidth / weight_bytes.
        context: s, tokens of context per sequence.
        kv: bytes of cache per token of context.
        bandwidth: B/s.
    """
    return bandwidth / (model.weight_bytes + kv * context * batch) * batch


def compute_tokens_per_second(model: Model, matrix_rate: Number) -> Number:
    """matrix_rate / (2 N_active): decode speed of one GPU by arithmetic alone."""
    return matrix_rate / (2 * model.active_parameters)


def ridge_batch(bandwidth: Number, matrix_rate: Number) -> Number:
    """matrix_rate / bandwidth: FLOP per byte at which memory and arithmetic take equal time (295 for an H100)."""
    return matrix_rate / bandwidth


def rollout_tokens_per_second(
    workload: Workload, model: Model, cluster: Cluster, kv: Number
) -> tuple[Number, dict[str, Number]]:
    """GPUs min(bandwidth side, compute side) efficiency: decode speed of the cluster, every GPU holding the whole model.

    The batch of a GPU is B G / GPUs; it is not limited by memory in this edition.

    Returns:
        Tokens per second, and the margin `decode_roof` = bandwidth side - compute side [tokens/s per GPU]: negative
        where memory binds.

    **Kinks:** the roof's crossover, where the two sides are equal; the slope there is the memory side's.
    """
    batch = workload.prompts_per_step * workload.rollouts_per_prompt / cluster.gpus
    memory = bandwidth_tokens_per_second(batch, decode_context(workload), kv, model, cluster.chip.bandwidth)
    compute = compute_tokens_per_second(model, cluster.chip.matrix_rate)
    speed = jnp.where(memory <= compute, memory, compute)
    return cluster.gpus * speed * cluster.rollout_efficiency, {"decode_roof": memory - compute}


def prefill_tokens_per_second(model: Model, cluster: Cluster) -> Number:
    """GPUs matrix_rate efficiency / (2 N_active): prefill speed of the cluster. The page gives none; our reading."""
    rate = cluster.gpus * cluster.chip.matrix_rate * cluster.rollout_efficiency
    return rate / (2 * model.active_parameters)


def uncached_prefill(prefill_tokens: Number, cluster: Cluster) -> Number:
    """prefill (1 - hit): tokens that the own engine has to compute."""
    return prefill_tokens * (1 - cluster.prefix_cache_hit_rate)


def hours(tokens: Number, tokens_per_second: Number) -> Number:
    """tokens / tokens_per_second / 3600."""
    return tokens / tokens_per_second / 3600
