"""Token streams of a run: what is sampled, trained and read as prompt.

Source of every formula here: the public calculator's documentation page (published edition). Units: tokens.
All arguments are pytrees of scalars or of arrays that broadcast; results have the broadcast shape.
"""

from __future__ import annotations

from ..config import Number, Workload


def growth_multiplier(factor: Number) -> Number:
    """Mean over a run of m(s) = 1 + (factor - 1)(s - 1/2)/S, which is (1 + factor)/2 for every S.

    Args:
        factor: value at the end of the run over that at its start [1].
    """
    return (1 + factor) / 2


def output_tokens_per_turn(workload: Workload) -> Number:
    """O' = L (1 + length_growth)/2: tokens that the model writes per turn, averaged over the run."""
    return workload.completion_tokens * growth_multiplier(workload.length_growth)


def effective_turns(workload: Workload) -> Number:
    """N' = N (1 + turns_growth)/2 (1 + failure_rate failure_extra_turns): turns of a rollout, averaged over the run."""
    longer = 1 + workload.failure_rate * workload.failure_extra_turns
    return workload.turns * growth_multiplier(workload.turns_growth) * longer


def rollouts(workload: Workload) -> Number:
    """B G S: trajectories sampled in the whole run."""
    return workload.prompts_per_step * workload.rollouts_per_prompt * workload.steps


def rollout_tokens(workload: Workload) -> Number:
    """B G S N' O': tokens sampled in the whole run."""
    return rollouts(workload) * effective_turns(workload) * output_tokens_per_turn(workload)


def train_tokens(workload: Workload) -> Number:
    """rollout_tokens K: the completions, trained K times."""
    return rollout_tokens(workload) * workload.epochs


def prefill_tokens(workload: Workload) -> Number:
    """B G S (N' P + (O' + Obs) N' (N' - 1)/2): every turn reads the prompt and all turns before it again.

    At N' = 1 this is B G S P. Polynomial in N', so smooth there too.
    """
    turns = effective_turns(workload)
    history = (output_tokens_per_turn(workload) + workload.observation_tokens) * turns * (turns - 1) / 2
    return rollouts(workload) * (turns * workload.prompt_tokens + history)
