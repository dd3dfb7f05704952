"""Reference runs: measured and published reinforcement-learning runs, to set beside an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .tables import packaged


@dataclass(frozen=True)
class ReferenceRun:
    """One published run; a figure that its source does not give is None.

    Args:
        name, model, gpu: what ran on what.
        gpus: how many GPUs.
        hours: wall time [h].
        gpu_hours: GPUs times hours [GPU-h].
        cost_usd: what it cost [USD], at `cost_basis`.
        prompts_per_step, rollouts_per_prompt, steps: B, G and S.
        mean_completion_tokens, max_completion_tokens: mean length and cap [tokens].
        step_seconds: time of one step [s].
        phases: {phase: seconds} of a step.
        speedup: asynchronous over synchronous, as the source compares them.
        missing: what the source does not give.
        source, date, status, note: where the row comes from.
    """

    name: str
    model: str
    source: str
    date: str
    status: str
    gpu: str | None = None
    gpus: float | None = None
    hours: float | None = None
    gpu_hours: float | None = None
    cost_usd: float | None = None
    cost_basis: str = ""
    prompts_per_step: float | None = None
    rollouts_per_prompt: float | None = None
    steps: float | None = None
    mean_completion_tokens: float | None = None
    max_completion_tokens: float | None = None
    step_seconds: float | None = None
    phases: Mapping[str, float] | None = None
    speedup: float | None = None
    missing: tuple[str, ...] = ()
    note: str = ""


def _row(table: Mapping[str, Any]) -> ReferenceRun:
    row: dict[str, Any] = {
        key: float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for key, value in table.items()
    }
    row["missing"] = tuple(row.get("missing", ()))
    return ReferenceRun(**row)


@cache
def reference_runs() -> tuple[ReferenceRun, ...]:
    """Every reference run."""
    return tuple(_row(row) for row in packaged("reference_runs.toml")["run"])
