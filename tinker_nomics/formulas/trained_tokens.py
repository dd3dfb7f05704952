"""Tokens that training bills: whole sequences, not completions alone.

The cookbook's `trajectory_to_data` makes one datum of prompt, observations and completions, and `train_step` sends it
once; `num_substeps` splits the pass and multiplies nothing. No official text says so, hence a switch.
"""

from __future__ import annotations

from ..config import Number, Workload
from .tokens import effective_turns, output_tokens_per_turn, prefill_tokens, rollout_tokens, rollouts


def sequence_tokens(workload: Workload) -> Number:
    """P + N' O' + (N' - 1) Obs: tokens of one whole rollout; no observation follows the last turn."""
    turns = effective_turns(workload)
    written = turns * output_tokens_per_turn(workload)
    return workload.prompt_tokens + written + (turns - 1) * workload.observation_tokens


def whole_sequences(workload: Workload) -> Number:
    """B G S K (P + N' O' + (N' - 1) Obs): every rollout once per epoch."""
    return rollouts(workload) * sequence_tokens(workload) * workload.epochs


def sequences_by_turn(workload: Workload) -> Number:
    """(prefill + rollout) K: a datum per turn with all of its prefix, where a renderer strips earlier thinking.

    Then no two turns share a sequence, and the tokens grow with the square of the turns.
    """
    return (prefill_tokens(workload) + rollout_tokens(workload)) * workload.epochs
