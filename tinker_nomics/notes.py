"""What an estimate says about its own inputs, in words."""

from __future__ import annotations

from .config import Config


def notes_of(config: Config) -> tuple[str, ...]:
    """The provenance of a configuration as sentences: its own notes, then what was overridden."""
    provenance = config.provenance
    if not provenance.overridden:
        return provenance.notes
    return (*provenance.notes, "overridden: " + ", ".join(provenance.overridden))
