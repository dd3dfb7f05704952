"""A run's progress in a file, so that a process that dies loses seconds and not hours."""

from __future__ import annotations

import glob
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..files import OutputExistsError, refuse_existing, remove_abandoned, version_of
from .state_files import StateFileError, differences, read_states, write_states

_SHARE = re.compile(r"\.\d+-of-(\d+)$")


def _processes(path: Path) -> int:
    """How many processes share the run that a file keeps the progress of, by its name."""
    found = _SHARE.search(path.stem)
    return 1 if found is None else int(found[1])


def _refuse_other_shares(path: Path) -> None:
    """Refuse to begin anew where another number of processes has begun: what it did would be lost unnoticed."""
    stem, count = _SHARE.sub("", path.stem), _processes(path)
    whole = path.with_name(stem + path.suffix)
    begun = [(whole, 1)] if count > 1 and whole.exists() and not read_states(whole).complete else []
    for other in sorted(path.absolute().parent.glob(f"{glob.escape(stem)}.*{glob.escape(path.suffix)}")):
        if _SHARE.sub("", other.stem) == stem and _processes(other) not in (1, count):
            begun.append((other, _processes(other)))
    for other, of in begun:
        raise StateFileError(
            f"{other} keeps the progress of {of} process{'es' * (of > 1)}, and this run has {count}: start {of} to go "
            "on from it, or remove it to begin anew"
        )


class ProgressFile:
    """Manifest and partial states in one file, replaced whole every few seconds: the `store` of `streaming.run`.

    At any moment the file on the disk is whole, so a kill, a power cut or a full disk costs what was done since the
    last write. The last write holds the finished part. A file that another run has put there meanwhile is not replaced.

    Args:
        path: the file. Of several processes each has its own: PATH.2-of-4.npz.
        about: what the run computes, as plain JSON values; a file with another description is refused.
        like: the states' structure (arrays or jax.ShapeDtypeStruct).
        resume: go on from the file where there is one; without it an existing file is refused.
        force: overwrite an existing file.
        every: seconds between writes; longer where a write takes more than a twentieth of that.
    """

    def __init__(
        self,
        path: str | Path,
        about: Mapping[str, Any],
        like: Any,
        resume: bool = False,
        force: bool = False,
        every: float = 5.0,
    ):
        self.path, self.about, self.like, self.resume = Path(path), dict(about), like, resume
        self.force, self.every = force, every
        self.chunks, self._before, self._kept = range(0), 0.0, False
        self._started = self._written = time.monotonic()
        self._cost = 0.0
        self.began, self._seen = time.time(), version_of(self.path)
        if not (resume and self.path.exists()):
            refuse_existing(self.path, force)

    def begin(self, chunks: range) -> tuple[dict[str, Any], int] | None:
        """Kept states and the next chunk, where there are some to go on from.

        Raises:
            StateFileError: the file is damaged, or belongs to another run or other chunks.
        """
        self.chunks = chunks
        self._started = self._written = time.monotonic()
        if not self.path.exists() or not self.resume:
            if self.path.exists() and not self.force:
                raise OutputExistsError(f"{self.path} exists; give --resume to go on from it, or another name")
            if self.resume:
                _refuse_other_shares(self.path)
            return None
        self._seen = version_of(self.path)
        kept = read_states(self.path)
        if kept.about.get("kind") != self.about.get("kind"):
            raise StateFileError(f"{self.path} holds {kept.kind}, which this run cannot go on from; name another file")
        other = [text for text in differences(kept.about, self.about) if not text.startswith("hash = ")]
        if other:
            raise StateFileError(
                f"{self.path} belongs to another run and cannot be resumed: {'; '.join(other[:5])} (there against here)"
            )
        if (kept.first, kept.stop) != (chunks.start, chunks.stop):
            raise StateFileError(
                f"{self.path} is for the chunks {kept.first}:{kept.stop} and this run for {chunks.start}:{chunks.stop}"
            )
        self._before, self._kept = kept.seconds, True
        return kept.states(self.like), kept.next

    def keep(self, fetch: Callable[[], dict[str, Any]], number: int, last: bool) -> None:
        """Write the states, when it is time for it or nothing follows.

        Raises:
            OutputExistsError: another run has written the file since this one last did.
            StateFileError: the disk is full, or cannot be written to.
        """
        now = time.monotonic()
        if not last and now - self._written < max(self.every, 20 * self._cost):
            return
        ends = (self.chunks.start, number, self.chunks.stop)
        if self._seen is None and self.path.exists():
            raise OutputExistsError(
                f"{self.path} came to exist while this run computed: another run writes it, and it is left as it is; give "
                "each run a file of its own"
            )
        seconds = round(self._before + now - self._started, 3)
        try:
            write_states(self.path, fetch(), self.about, ends, seconds, only=self._seen)
        except StateFileError as error:
            kept = (
                "go on with --resume: what was written there before is whole"
                if self._kept
                else "start again: nothing of this run was written yet"
            )
            raise StateFileError(f"{error}, then {kept}") from error
        self._seen, self._kept = version_of(self.path), True
        if last:
            remove_abandoned(self.path, self.began)
        self._written = time.monotonic()
        self._cost = self._written - now
