"""The table of measured reinforcement-learning steps, and its rows as the pytrees that the formulas take."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tinker_nomics import catalog
from tinker_nomics.architectures.model_figures import model_figures
from tinker_nomics.config import ChipFigures
from tinker_nomics.formulas.figures import ModelFigures

PATH = Path(__file__).parent / "measured_runs.toml"


@dataclass(frozen=True)
class MeasuredStep:
    """One measured step; the fields are those of the table, absent ones None."""

    id: str
    source: str
    model: str
    chip: str
    precision: str
    gpus: float
    rollout_gpus: float
    prompts_per_step: float
    rollouts_per_prompt: float
    max_steps_off_policy: float
    logprob_passes: float
    step_seconds: float
    tensor_parallel: float | None = None
    mean_response_tokens: float | None = None
    prompt_tokens: float | None = None
    max_sequence_tokens: float | None = None
    max_response_tokens: float | None = None
    engine_memory_fraction: float | None = None
    recompute: float | None = None
    partial_rollouts: float = 0.0  # 1 where unfinished rollouts carry over to the next step
    tokens_per_second_per_gpu: float | None = None
    phases: Mapping[str, float] | None = None
    missing: tuple[str, ...] = ()
    bracket: Mapping[str, Sequence[float]] | None = None

    @property
    def sequences(self) -> float:
        """Rollouts of one step."""
        return self.prompts_per_step * self.rollouts_per_prompt

    @property
    def cap(self) -> float:
        """Tokens at which a response is cut."""
        if self.max_response_tokens is not None:
            return self.max_response_tokens
        return math.inf if self.max_sequence_tokens is None else self.max_sequence_tokens - (self.prompt_tokens or 0.0)

    @property
    def kind(self) -> str:
        """The schedule, in the words of the step formulas."""
        return "async" if self.max_steps_off_policy > 0 else "partial" if self.partial_rollouts else "sync"

    @property
    def family(self) -> str:
        """The model's name without its vendor."""
        return self.model.split("/")[-1]

    def corners(self) -> Iterator[MeasuredStep]:
        """Every combination of the ends of what is bracketed; the row itself where nothing is."""
        names = tuple(self.bracket or {})
        for ends in itertools.product(*((self.bracket or {})[name] for name in names)):
            yield replace(self, bracket=None, **dict(zip(names, map(float, ends), strict=True)))


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(PATH.read_text(encoding="utf-8"))


def steps() -> tuple[MeasuredStep, ...]:
    """Every measured step whose parameters suffice, or are bracketed."""
    rows = []
    for row in _table()["steps"]:
        values = {key: float(value) if isinstance(value, int) else value for key, value in row.items()}
        values["missing"] = tuple(row.get("missing", ()))
        rows.append(MeasuredStep(**values))
    return tuple(rows)


def others() -> tuple[Mapping[str, Any], ...]:
    """Measured runs that are left out, each with what is missing."""
    return tuple(_table()["others"])


def sources() -> Mapping[str, Mapping[str, Any]]:
    """Where the rows come from, by id."""
    return {row["id"]: row for row in _table()["sources"]}


def column(rows: Sequence[MeasuredStep], name: str) -> np.ndarray:
    """One field of every row."""
    return np.array([getattr(row, name) for row in rows], dtype=np.float64)


def model_columns(rows: Sequence[MeasuredStep]) -> ModelFigures:
    """The rows' models, stacked. At fp8 the rollout engine holds a byte per weight."""
    figures = []
    for row in rows:
        architecture = catalog.model(row.model).architecture
        if architecture is None:
            raise ValueError(f"{row.id}: the catalog has no architecture of {row.model}")
        figures.append(model_figures(architecture, 1.0 if row.precision == "fp8" else 2.0))
    return jax.tree.map(lambda *leaves: np.array(leaves, dtype=np.float64), *figures)


def chip_columns(rows: Sequence[MeasuredStep]) -> ChipFigures:
    """The rows' chips, stacked; memory as the driver reports it where the table says."""
    chips = [catalog.chip(row.chip) for row in rows]
    reported = _table()["memory"]
    memory = [
        reported[row.chip]["bytes"] if row.chip in reported else chip.memory_bytes
        for row, chip in zip(rows, chips, strict=True)
    ]
    return ChipFigures(
        np.array([chip.bandwidth for chip in chips], dtype=np.float64),
        np.array(memory, dtype=np.float64),
        np.array([chip.matrix_rate for chip in chips], dtype=np.float64),
    )
