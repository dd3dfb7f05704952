"""The editions of the model, and which one is taken where nobody says. Read without JAX."""

from __future__ import annotations

EDITIONS = ("published", "revised")
DEFAULT_EDITION = "revised"  # of Config.from_recipe, of configurations in TOML and of the command line
