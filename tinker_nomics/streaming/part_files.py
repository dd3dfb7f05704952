"""Parts of one run, computed anywhere, put together: every chunk once, or a refusal by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import listed
from .engine import merge_runs
from .reducer import Reducer
from .state_files import KINDS, StateFile, StateFileError, differences, read_states

_SHOWN = 5


class Whole(NamedTuple):
    """A run put together: its description, states, the chunks 0 <= number < stop, and all parts' seconds."""

    about: dict[str, Any]
    states: dict[str, Any]
    stop: int
    seconds: float


def whole_of(
    paths: Sequence[str | Path],
    kind: str,
    total: Callable[[Mapping[str, Any]], int],
    reducers: Callable[[Mapping[str, Any]], Mapping[str, Reducer]],
    states: Callable[[StateFile], dict[str, Any]],
) -> Whole:
    """The whole run, from the files of its parts in any order. One part is in memory at a time beside the sum.

    Args:
        paths: the files.
        kind: what `about["kind"]` has to say.
        total: how many chunks the run has, by its description.
        reducers: its reducers, by its description.
        states: the states in a file.

    Raises:
        StateFileError: a part that is missing, given twice or overlapping, unfinished, damaged, or of another run; it
            names the files and the chunks.
    """
    if not paths:
        raise StateFileError("no part is given; name the files, e.g. part*.npz")
    heads = sorted((_head(Path(path), kind) for path in paths), key=lambda head: (head.first, head.stop))
    _refuse_foreign(heads)
    _refuse_unfinished(heads)
    _refuse_gaps(heads, total(heads[0].about))
    about = heads[0].about
    merger, summed = reducers(about), states(read_states(heads[0].path))
    for head in heads[1:]:
        summed = merge_runs(merger, summed, states(read_states(head.path)))
    return Whole(about, summed, heads[-1].stop, sum(head.seconds for head in heads))


def kind_of(path: str | Path) -> str:
    """What a file of states holds: "monte-carlo", "grid-reduction".

    Raises:
        StateFileError: no such file, or it is none of these or damaged.
    """
    return str(read_states(path).about.get("kind"))


def _head(path: Path, kind: str) -> StateFile:
    """A part without its arrays, its checksum verified."""
    file = read_states(path)
    if file.about.get("kind") != kind:
        raise StateFileError(f"{path} holds {file.kind}, not a part of {KINDS[kind]}")
    return file._replace(leaves={})


def _refuse_foreign(heads: Sequence[StateFile]) -> None:
    counts: dict[str, int] = {}
    for head in heads:
        counts[head.about["hash"]] = counts.get(head.about["hash"], 0) + 1
    common = max(counts, key=lambda key: counts[key])
    model = next(head for head in heads if head.about["hash"] == common)
    foreign = [head for head in heads if differences(model.about, head.about)]
    if foreign:
        told = [text for text in differences(foreign[0].about, model.about) if not text.startswith("hash = ")]
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


def _refuse_gaps(heads: Sequence[StateFile], total: int) -> None:
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
        flags = [f"--chunks {chunks}" for chunks in missing]
        raise StateFileError(
            f"parts are missing: no file holds the chunks {', '.join(missing)} of 0:{total}; compute them with "
            f"{', '.join(flags[:-1]) + ' and ' if len(flags) > 1 else ''}{flags[-1]}{', each by itself' * (len(flags) > 1)}"
        )
