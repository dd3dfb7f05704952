"""Prompt tokens that an engine has seen before: within a group, and from turn to turn. Tokens.

The published edition bills every prompt token at the full price. Tinker's list has a cached price (20 % of prefill) and
its SDK reports `prompt_cache_hit_tokens`; own engines cache prefixes likewise.
"""

from __future__ import annotations

from ..config import Number, Workload
from .tokens import effective_turns, output_tokens_per_turn, prefill_tokens, rollouts


def repeated_across_turns(workload: Workload) -> Number:
    """B G S ((N' - 1) P + (O' + Obs) (N' - 1) (N' - 2)/2): prompt tokens that an earlier turn has prefilled.

    A turn reads the prompt and all turns before it; new in it are the last turn's output and observation. The engine's
    own output counts as new in the next turn, since it was sampled and not prefilled. Zero at N' = 1.

    Source: arithmetic; 25 turns with P = 2000, O = 350, Obs = 750 pay 0.31 of the sampling bill at a cached price of 20
    %.
    """
    turns = effective_turns(workload)
    each = output_tokens_per_turn(workload) + workload.observation_tokens
    return rollouts(workload) * (turns - 1) * (workload.prompt_tokens + each * (turns - 2) / 2)


def repeated_in_group(workload: Workload) -> Number:
    """B S (G - 1) P: first prompts that another rollout of the group has prefilled, if sampled as one request."""
    first = workload.prompts_per_step * workload.steps * workload.prompt_tokens
    return first * (workload.rollouts_per_prompt - 1)


def cached_tokens(workload: Workload, turn_hit_rate: Number, group_hit_rate: Number) -> Number:
    """Prompt tokens found in the cache: each kind of repeated token times its hit rate.

    Args:
        turn_hit_rate: share of the tokens repeated across turns that is found [1].
        group_hit_rate: share of those repeated within a group that is found; 1 where a group is one request [1].
    """
    return turn_hit_rate * repeated_across_turns(workload) + group_hit_rate * repeated_in_group(workload)


def new_tokens(workload: Workload, cached: Number) -> Number:
    """Prompt tokens that are computed, and billed at the full price: all of them less the cached ones."""
    return prefill_tokens(workload) - cached
