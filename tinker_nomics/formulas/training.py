"""Training on own GPUs. Tokens per second.

Source: the public calculator's documentation page (published edition).
"""

from __future__ import annotations

from ..config import Cluster, Lora, Model, Number

FLOP_PER_PARAMETER = {"lora": 4.0, "full": 6.0}


def train_flop_per_token(model: Model, lora: Lora) -> Number:
    """4 N for LoRA (forward 2 N, input gradients 2 N), 6 N for full fine-tuning (weight gradients too): FLOP.

    N are the parameters that a token uses: all of a dense model, the routed share of a mixture of experts.
    """
    return FLOP_PER_PARAMETER[lora.training] * model.active_parameters


def train_tokens_per_second(model: Model, cluster: Cluster, lora: Lora) -> Number:
    """GPUs matrix_rate MFU / FLOP per token: training speed of the whole cluster."""
    return cluster.gpus * cluster.chip.matrix_rate * cluster.mfu / train_flop_per_token(model, lora)
