"""Model FLOP utilisation of training as a function of what is trained. Shares.

Measured steps: 17 % of the whole step's FLOP rate for Qwen3-32B, 11 % for Llama-3.1-8B, 4 % for Qwen3-30B-A3B, 0.4 %
for DeepSeek-V3 (NeMo RL on H100). Mixtures reach less, and so does a step that leaves each GPU few tokens.
"""

from __future__ import annotations

import jax.numpy as jnp

from ..config import Number

REFERENCE_TOKENS = 1e5


def utilisation(tokens_per_gpu: Number, experts: Number, dense: Number, moe: Number, power: Number) -> Number:
    """m (tokens per GPU and step / 1e5)^beta, at most 1: share of the matrix rate that training reaches.

    m is one figure for dense models and one for mixtures of experts.

    Args:
        tokens_per_gpu: trained tokens of a step over training GPUs.
        experts: of a layer; 0 for a dense model.
        dense, moe, power: m of either kind, and beta.

    Source: `analysis/accuracy_rl.py`, fitted to measured steps of which only the total time is known: MFU and the
    decode efficiency trade off against each other, and `fitted.toml` gives their joint range.

    **Kinks:** where it reaches 1; between 0 experts and any.
    """
    # a power by its definition: XLA's own takes three times as long
    growth = jnp.exp(power * jnp.log(tokens_per_gpu / REFERENCE_TOKENS))
    share = jnp.where(experts > 0, moe, dense) * growth
    return jnp.where(share <= 1, share, 1.0)
