"""Parts of one Monte Carlo run, computed anywhere, put together: every chunk once, or a refusal by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import listed
from ..streaming.engine import merge_runs
from ..streaming.state_files import StateFile, StateFileError, differences, read_states
from .result import CostDistribution, distribution_from, reducers_of, states_of

_SHOWN = 5


def merge_parts(paths: Sequence[str | Path]) -> CostDistribution:
    """The whole run, from the files of its parts in any order. One part is in memory at a time beside the sum.

    Raises:
        StateFileError: a part that is missing, given twice or overlapping, unfinished, damaged, or of another run; it
            names the files and the chunks.
    """
    if not paths:
        raise StateFileError("no part is given; name the files, e.g. part*.npz")
    heads = sorted((_head(Path(path)) for path in paths), key=lambda head: (head.first, head.stop))
    _refuse_foreign(heads)
    _refuse_unfinished(heads)
    _refuse_gaps(heads)
    about, reducers = heads[0].about, reducers_of(heads[0].about)
    states = states_of(read_states(heads[0].path))
    for head in heads[1:]:
        states = merge_runs(reducers, states, states_of(read_states(head.path)))
    stop = heads[-1].stop
    seconds = sum(head.seconds for head in heads)
    return distribution_from(about, states, stop << about["log2_chunk"], True, seconds, (0, stop))


def _head(path: Path) -> StateFile:
    """A part without its arrays, its checksum verified."""
    file = read_states(path)
    if file.about.get("kind") != "monte-carlo":
        raise StateFileError(f"{path} holds {file.about.get('kind')!r}, not a part of a Monte Carlo run")
    return file._replace(leaves={})


def _refuse_foreign(heads: Sequence[StateFile]) -> None:
    counts: dict[str, int] = {}
    for head in heads:
        counts[head.about["hash"]] = counts.get(head.about["hash"], 0) + 1
    common = max(counts, key=lambda key: counts[key])
    model = next(head for head in heads if head.about["hash"] == common)
    foreign = [head for head in heads if differences(model.about, head.about)]
    if foreign:
        told = [text for text in differences(foreign[0].about, model.about) if not text.startswith("hash")]
        how = "; ".join(told[:3])
        raise StateFileError(
            f"{listed(str(head.path) for head in foreign[:_SHOWN])}: part of another run than {model.path} ({how})"
        )


def _refuse_unfinished(heads: Sequence[StateFile]) -> None:
    for head in heads:
        if not head.complete:
            raise StateFileError(
                f"{head.path} is unfinished: {head.next - head.first} of its {head.stop - head.first} chunks are done; "
                "run it again with --resume"
            )


def _refuse_gaps(heads: Sequence[StateFile]) -> None:
    about = heads[0].about
    total = about["replicates"] << (about["log2_points"] - about["log2_chunk"])
    missing, reached, last = [], 0, None
    for head in heads:
        if head.first < reached and last is not None:
            ends = f"(chunks {last.first}:{last.stop}) and {head.path} (chunks {head.first}:{head.stop})"
            raise StateFileError(f"{last.path} {ends} overlap")
        if head.first > reached:
            missing.append(f"{reached}:{head.first}")
        reached, last = head.stop, head
    if reached < total:
        missing.append(f"{reached}:{total}")
    if missing:
        more = f" and {len(missing) - _SHOWN} more ranges" if len(missing) > _SHOWN else ""
        raise StateFileError(
            f"parts are missing: no file holds the chunks {', '.join(missing[:_SHOWN])}{more} of 0:{total}; compute "
            f"them with --chunks {missing[0]}"
        )
