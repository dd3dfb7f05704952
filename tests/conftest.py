"""What every test shares: strict JAX, and a deterministic hypothesis profile."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import pytest
from hand_steps import hand_chip, hand_link
from hypothesis import HealthCheck, settings
from made_checkpoints import FOUR_BLOCKS

jax.config.update("jax_numpy_dtype_promotion", "standard")
jax.config.update("jax_numpy_rank_promotion", "raise")
settings.register_profile(
    "project", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("project")


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiled program is kept between the commands of a test."""
    monkeypatch.setenv("TINKER_NOMICS_CACHE", "off")


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    """The file of `FOUR_BLOCKS`."""
    path = tmp_path / "four-blocks.json"
    path.write_text(json.dumps(FOUR_BLOCKS.to_ledger()))
    return str(path)


@pytest.fixture
def chip_file(tmp_path: Path) -> str:
    """The file of a chip of one's own."""
    path = tmp_path / "mine.toml"
    path.write_text(hand_chip(2e12, 40e9, 3e14, 2e-6, hand_link(domain=4), id="mine").to_toml())
    return str(path)
