"""Parts of one Monte Carlo run, computed anywhere, put together: every chunk once, or a refusal by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..streaming.part_files import whole_of
from .result import CostDistribution, distribution_from, reducers_of, states_of


def merge_parts(paths: Sequence[str | Path]) -> CostDistribution:
    """The whole run, from the files of its parts in any order. One part is in memory at a time beside the sum.

    Raises:
        StateFileError: a part that is missing, given twice or overlapping, unfinished, damaged, or of another run; it
            names the files and the chunks.
    """
    about, states, stop, seconds = whole_of(paths, "monte-carlo", _chunks, reducers_of, states_of)
    return distribution_from(about, states, stop << about["log2_chunk"], True, seconds, (0, stop))


def _chunks(about: Mapping[str, Any]) -> int:
    return about["replicates"] << (about["log2_points"] - about["log2_chunk"])
