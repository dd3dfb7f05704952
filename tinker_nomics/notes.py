"""What an estimate says about its own inputs, in words."""

from __future__ import annotations

from .catalog import recipes
from .config import Config
from .formulas.tokens import effective_turns, output_tokens_per_turn
from .formulas.trained_tokens import sequence_tokens
from .unread import unread_notes


def ends_at_cap(config: Config) -> bool:
    """Whether every rollout is taken to be equally long, because the mean over the run is at the cap or above it."""
    most, work = config.workload.max_completion_tokens, config.workload
    return most is not None and not output_tokens_per_turn(work) < most


def _long_tail_note(config: Config) -> list[str]:
    """Say so where lengths have no tail because their mean is a cap."""
    if config.assumptions.long_tail is not True or not ends_at_cap(config):
        return []
    work = config.workload
    most = work.max_completion_tokens
    if work.completion_tokens > most:
        what = (
            f"completion_tokens = {work.completion_tokens:g} is above its cap of {most:,.0f} "
            "(workload.max_completion_tokens), which is taken as raised to the mean"
        )
    elif work.completion_tokens == most:
        what = "completion_tokens is at its cap"
    else:
        what = (
            f"completion_tokens = {work.completion_tokens:g}, growing x{work.length_growth:g}, is "
            f"{output_tokens_per_turn(work):,.0f} in the mean of the run, at its cap of {most:,.0f} or above"
        )
    return [
        f"{what}, so every rollout is taken to run that long, and none longer: a mean below the cap brings the long "
        "tail in"
    ]


def _idle_queue_note(config: Config) -> list[str]:
    """Say how an asynchronous run at k = 0 is priced on own GPUs."""
    schedule = config.schedule
    if schedule.kind != "async" or schedule.max_steps_off_policy >= 1:
        return []
    text = "async at k = 0: no rollout may be older than the newest weights, so on own GPUs nothing overlaps and steps are priced"
    text += " as synchronous ones"
    if config.assumptions.staleness_queue is True:
        text += "; Tinker's workers go on while it trains, so its queue throws most away at this setting"
    return [text + " (--schedule sync, or k of 1 or more)"]


def trajectory_notes(config: Config) -> list[str]:
    """Say by how much the mean rollout is longer than the recipe lets one be."""
    name = config.provenance.choices.get("recipe")
    most = next((row.trajectory_tokens for row in recipes() if row.name == name), None)
    mean = sequence_tokens(config.workload)
    if most is None or not mean > most:
        return []
    work = config.workload
    return [
        f"{name} ends a trajectory at {most:,.0f} tokens, and the mean one here has {mean:,.0f} (prompt "
        f"{work.prompt_tokens:,.0f}, {effective_turns(work):,.3g} turns of {output_tokens_per_turn(work):,.0f} written "
        f"and {work.observation_tokens:,.0f} read): the estimate is of {mean / most:.2f} times the longest that the "
        "recipe allows; give fewer --workload.turns or --workload.completion-tokens"
    ]


def warnings_of(config: Config) -> list[str]:
    """What a user should know before believing a number: what exceeds the recipe, and what is given and not read."""
    return trajectory_notes(config) + unread_notes(config)


def notes_of(config: Config) -> tuple[str, ...]:
    """The provenance of a configuration as sentences: its own notes, then what was overridden."""
    provenance = config.provenance
    notes = list(provenance.notes)
    published = not config.assumptions.lora_parameters
    if config.lora.training == "lora" and published and config.model.lora_parameters_per_rank_published is None:
        notes.append(
            "lora.parameters is absent: the published page counts grouped-query and latent attention with MLPs, and "
            f"{provenance.choices.get('model', 'this model')} has other layers too"
        )
    notes += _long_tail_note(config) + _idle_queue_note(config)
    if provenance.changed:
        notes.append("overridden: " + ", ".join(provenance.changed))
    notes += warnings_of(config)
    return tuple(notes)
