"""A measured path of mean completion lengths, one per training step, in the place of the growth factor."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..config import Config, replace
from ..errors import ConfigError, Problem, TinkerNomicsError
from ..reading import read_text

_REPLACED = ("workload.completion_tokens", "workload.length_growth")


def read_lengths(source: str | Path | Sequence[float] | np.ndarray) -> np.ndarray:
    """Mean completion tokens per step, float64 [steps].

    Args:
        source: an array, or a CSV file: one column of lengths, or two of which the first is the step; a header line and
            lines that begin with "#" are passed over.

    Raises:
        TinkerNomicsError: no such file, a line that is no number, no value, or a value that is not > 0.
    """
    if isinstance(source, str | Path):
        lengths, name = _column(Path(source)), str(source)
    else:
        lengths, name = np.asarray(source, dtype=np.float64), "lengths"
    if lengths.ndim != 1 or lengths.size == 0:
        raise TinkerNomicsError(f"{name}: one mean length per step is needed, not an array of shape {lengths.shape}")
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if bad.size:
        raise TinkerNomicsError(f"{name}: the length of step {bad[0] + 1} is {lengths[bad[0]]}; lengths are tokens > 0")
    return lengths


def _column(path: Path) -> np.ndarray:
    text = read_text(path, "the path of a CSV file with one mean length per step")
    values, first = [], True
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        cells = [cell.strip() for cell in row if cell.strip()]
        if not cells or cells[0].startswith("#"):
            continue
        try:
            values.append(float(cells[-1]))
        except ValueError:
            if not first:
                raise TinkerNomicsError(f"{path}, line {number}: {cells[-1]!r} is no number of tokens") from None
        first = False
    return np.array(values)


def with_lengths(config: Config, lengths: np.ndarray, uncertain: Mapping[str, Any]) -> Config:
    """`config` with the path in the place of m(s): its mean is the run's mean length, and there is no growth beside it.

    Raises:
        ConfigError: a growth factor or a length is given as well, or the path is not as long as the run.
    """
    problems = []
    for path in (*_REPLACED, "workload.steps"):
        if path in uncertain:
            problems.append(Problem(path, "uncertain", "a measured path of lengths fixes it", "Leave one of them out."))
    if "workload.length_growth" in config.provenance.overridden:
        given = config.workload.length_growth
        problems.append(
            Problem(
                "workload.length_growth", given, "a measured path of lengths takes its place", "Leave one of them out."
            )
        )
    steps = config.workload.steps
    if len(lengths) != steps:
        problems.append(
            Problem(
                "workload.steps",
                steps,
                f"the path of lengths has {len(lengths)} steps",
                f"Give --workload.steps {len(lengths)}, or a path of {steps:g} values.",
            )
        )
    if problems:
        raise ConfigError(problems)
    changed = replace(config, {"workload.completion_tokens": float(lengths.mean()), "workload.length_growth": 1.0})
    return changed
