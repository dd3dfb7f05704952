"""A configuration made by hand, without the catalog: the worked example of the published page."""

from __future__ import annotations

from tinker_nomics.assumptions import Assumptions
from tinker_nomics.config import (
    ChipFigures,
    Cluster,
    Config,
    Lora,
    Model,
    Prices,
    Provenance,
    Sandbox,
    Schedule,
    Workload,
)


def hand_config() -> Config:
    """Qwen3-8B on 8 H100, B=64 G=16 L=512 P=200 S=180, prices of January 2026."""
    return Config(
        workload=Workload(64.0, 16.0, 512.0, 200.0, 180.0, 1.0, 1.5, 1.0, 1.0, 0.0, 0.0, 0.5, 1.0),
        model=Model(8190427136.0, 8190427136.0, 2 * 8190427136.0, 147456.0, 2883968.0, 2727936.0),
        prices=Prices(0.13, None, 0.4, 0.4, 0.1),
        cluster=Cluster(8.0, 2.95, 0.5, 0.1, 0.0, ChipFigures(3.35e12, 80e9, 989e12)),
        schedule=Schedule(0.0),
        lora=Lora(32.0),
        sandbox=Sandbox(None, 0.0, 0.0, 0.0, 0.0),
        assumptions=Assumptions(),
        provenance=Provenance(),
    )
