"""A geometry reduced to the numbers that the revised formulas need."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..errors import TinkerNomicsError
from .architecture import Architecture
from .layer_groups import Attention, LatentAttention, Moe

if TYPE_CHECKING:
    from ..formulas.figures import ModelFigures


def model_figures(architecture: Architecture, bytes_per_weight: float = 2.0) -> ModelFigures:
    """The figures of a model, as the pytree that the formulas take; the window is infinite where no layer has one.

    Args and Raises: those of `figure_values`.
    """
    from ..formulas.figures import ModelFigures  # imports JAX, which reading a catalog does not

    values = figure_values(architecture, bytes_per_weight)
    return ModelFigures(**{**values, "window": math.inf if values["window"] is None else values["window"]})


def figure_values(architecture: Architecture, bytes_per_weight: float = 2.0) -> dict[str, float | None]:
    """The figures of a model by name.

    Args:
        architecture: the geometry.
        bytes_per_weight: as the rollout engine holds them: 2 for bf16, 1 for fp8.

    Several mixture layers of unlike shape count as one with the parameters of all and the routing of the largest.

    Raises:
        TinkerNomicsError: a model without attention, whose decode these formulas do not describe.
    """
    attention = [group for group in architecture.groups if isinstance(group, (Attention, LatentAttention))]
    mixtures = [group for group in architecture.groups if isinstance(group, Moe)]
    if not attention:
        raise TinkerNomicsError(f"{architecture.kind} has no attention layer: the revised rollout formulas need one")
    routed = {id(group): float(routed_parameters(group, architecture.hidden)) for group in mixtures}
    largest = max(mixtures, key=lambda group: routed[id(group)], default=None)
    heads = [group.kv_heads if isinstance(group, Attention) else 1 for group in attention]
    return dict(
        parameters=architecture.parameters,
        matrix_parameters=architecture.active_matrix_parameters,
        weight_bytes=bytes_per_weight * architecture.parameters,
        lookup_bytes=0.0 if architecture.tied else bytes_per_weight * architecture.embedding_parameters,
        expert_bytes=bytes_per_weight * sum(routed.values()),
        experts=float(largest.experts) if largest else 0.0,
        experts_per_token=float(largest.used) if largest else 0.0,
        blocks=float(sum(group.layers for group in architecture.groups)) / 2,
        hidden=float(architecture.hidden),
        kv_heads=float(min(heads)),
        kv_bytes_per_token=architecture.kv_bytes_per_token,
        window_kv_bytes_per_token=architecture.window_kv_bytes_per_token,
        window=architecture.window,
        state_bytes_per_sequence=architecture.state_bytes_per_sequence,
        attention_flops=architecture.attention_flops_per_context_token,
        window_attention_flops=architecture.window_attention_flops_per_context_token,
        decode_attention_flops=architecture.absorbed_attention_flops_per_context_token,
        lora_used_per_rank=_lora_used(architecture, mixtures),
    )


def routed_parameters(group: Moe, hidden: int) -> int:
    """Parameters of the routed experts of a group."""
    inner = hidden if group.latent is None else group.latent
    return group.layers * group.experts * (3 if group.gated else 2) * inner * group.width


def _lora_used(architecture: Architecture, mixtures: list[Moe]) -> float:
    """LoRA parameters per rank that one token multiplies with: of routed experts, those that it uses."""
    idle = sum(g.layers * (3 if g.gated else 2) * (g.experts - g.used) * g.width for g in mixtures)
    return architecture.lora_parameters_per_rank - idle
