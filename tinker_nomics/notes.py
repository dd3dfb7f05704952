"""What an estimate says about its own inputs, in words."""

from __future__ import annotations

from .config import Config


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
    if provenance.overridden:
        notes.append("overridden: " + ", ".join(provenance.overridden))
    return tuple(notes)
