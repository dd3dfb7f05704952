"""What an estimate says about its own inputs, in words."""

from __future__ import annotations

from .config import Config
from .unread import unread_notes


def _long_tail_note(config: Config) -> list[str]:
    """Say so where lengths have no tail because their mean is a cap."""
    most, mean = config.workload.max_completion_tokens, config.workload.completion_tokens
    if config.assumptions.long_tail is not True or most is None or mean < most:
        return []
    return [
        "completion_tokens is at its cap, so every rollout is taken to run that long, and none longer: a mean below "
        "the cap brings the long tail in"
    ]


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
    notes += _long_tail_note(config)
    if provenance.changed:
        notes.append("overridden: " + ", ".join(provenance.changed))
    notes += unread_notes(config)
    return tuple(notes)
