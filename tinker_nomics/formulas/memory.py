"""Memory: how many GPUs a run needs, and whether its cache fits. Bytes, GPUs.

Source: the public calculator's documentation page (published edition).
"""

from __future__ import annotations

import jax.numpy as jnp

from ..config import Cluster, Lora, Model, Number, Workload
from .tokens import output_tokens_per_turn

COPIES = {"lora": 2.0, "full": 3.0}
OVERHEAD = 1.8


def training_and_rollout_bytes(model: Model, lora: Lora) -> Number:
    """parameters 2 B copies 1.8: bytes that weights take, all copies and their overhead counted.

    Copies: 2 for LoRA (a base that actor and reference share, and the rollout engine's), 3 for full fine-tuning.
    """
    return model.parameters * 2 * COPIES[lora.training] * OVERHEAD


def min_gpus(weights_bytes: Number, cluster: Cluster) -> tuple[Number, dict[str, Number]]:
    """max(2, ceil(weights_bytes / memory of a chip)).

    Returns:
        GPUs, and the margins `min_gpus_ceil` (distance of the quotient up to the next whole number), `min_gpus_two` =
        ceil - 2 and `weights_fit` = GPUs of the cluster - GPUs needed.

    **Kinks:** jumps by one where the quotient is whole; the gradient is zero everywhere else.
    """
    quotient = weights_bytes / cluster.chip.memory_bytes
    whole = jnp.ceil(quotient)
    needed = jnp.where(whole >= 2, whole, 2.0)
    margins = {"min_gpus_ceil": whole - quotient, "min_gpus_two": whole - 2, "weights_fit": cluster.gpus - needed}
    return needed, margins


def kv_cache_bytes(workload: Workload, kv: Number) -> Number:
    """kv B G O': bytes of cache of the whole batch's completions.

    Args:
        kv: bytes of cache per token of context.
    """
    return kv * workload.prompts_per_step * workload.rollouts_per_prompt * output_tokens_per_turn(workload)


def kv_room(kv_bytes: Number, model: Model, cluster: Cluster) -> Number:
    """GPUs memory - 2 weight_bytes - kv_bytes: bytes to spare once the cache lies beside two copies of the weights."""
    return cluster.gpus * cluster.chip.memory_bytes - 2 * model.weight_bytes - kv_bytes
