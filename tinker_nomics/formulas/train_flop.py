"""Arithmetic of training per token: more than 4 N. FLOP.

Source: arithmetic. A forward pass costs 2 per matrix parameter that a token uses, plus attention over its context; a
backward pass costs the same for the inputs and, where weights train, once more for them.
"""

from __future__ import annotations

import jax.numpy as jnp

from ..config import Number
from .figures import ModelFigures

BACKWARD = {"lora": 1.0, "full": 2.0}  # matrix passes backward: gradients of the inputs, and of the weights


def forward_flop(sequence: Number, model: ModelFigures) -> Number:
    """2 N + a T/2 + a_window min(T/2, window): FLOP of a forward pass per token of a sequence of T tokens.

    N are the matrix parameters that a token multiplies with; a token attends to T/2 tokens in the mean, each at
    a = 2 x 2 x layers x heads x head_dim.

    **Kinks:** at T/2 = window.
    """
    context = sequence / 2
    within = jnp.where(context <= model.window, context, model.window)
    return 2 * model.matrix_parameters + model.attention_flops * context + model.window_attention_flops * within


def train_flop(
    sequence: Number,
    model: ModelFigures,
    adapter_parameters: Number,
    recompute: Number,
    logprob_passes: Number,
    kind: str,
) -> Number:
    """Forward + backward + recomputed forward + old-logprob forwards + adapter: FLOP per trained token.

    = 2 N (1 + backward + recompute + passes) + a T/2 (3 + recompute + passes) + 6 P_adapter, backward = 1 for LoRA and
    2 for full fine-tuning: 4 N and 6 N of the published edition when all the rest is zero.

    Args:
        sequence: T, tokens of a whole sequence.
        adapter_parameters: adapter parameters that a token uses; 0 for full fine-tuning.
        recompute: share of activations that is recomputed in the backward pass: 1 with full checkpointing, 0 without.
        logprob_passes: forward passes over the batch before training (old policy; 2 with a reference model).
        kind: "lora" or "full".

    **Kinks:** those of `forward_flop`.
    """
    forward = forward_flop(sequence, model)
    matrices = 2 * model.matrix_parameters
    attention = forward - matrices
    adapter = 6 * adapter_parameters if kind == "lora" else 0.0
    repeated = recompute + logprob_passes
    return matrices * (1 + BACKWARD[kind] + repeated) + attention * (3 + repeated) + adapter
