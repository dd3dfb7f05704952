"""States in files: whole or not at all, checked by a sum, and carried with what they were computed from."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..errors import TinkerNomicsError
from ..files import Version, atomic_path

FORMAT = "tinker_nomics states 1"
_LONG = 60  # letters of a value that a message shows
_SPARSE_FROM = 4096  # longer integer arrays, histograms, are kept as their non-zero entries


# what a description's "kind" means, in words
KINDS = {"monte-carlo": "a Monte Carlo run", "grid-reduction": "a reduced sweep"}


class StateFileError(TinkerNomicsError):
    """A file of states that cannot be used: missing, damaged, unfinished, or of another run."""


class StateFile(NamedTuple):
    """What a file of states holds.

    Attributes:
        path: where it lies.
        about: what the states were computed from, as plain JSON values; equal in files that belong together.
        first, next, stop: chunks first <= number < next of first <= number < stop are done.
        seconds: computing time that went into it, over all processes.
        leaves: {leaf's path: array} of the states.
    """

    path: Path
    about: dict[str, Any]
    first: int
    next: int
    stop: int
    seconds: float
    leaves: dict[str, np.ndarray]

    @property
    def kind(self) -> str:
        """What was computed, in words."""
        kind = self.about.get("kind")
        return KINDS.get(str(kind), f"a run of the kind {kind!r}")

    @property
    def complete(self) -> bool:
        return self.next == self.stop

    def states(self, like: Any) -> Any:
        """The states as the pytree of `like` (arrays or jax.ShapeDtypeStruct)."""
        paths, structure = jax.tree_util.tree_flatten_with_path(like)
        leaves = []
        for path, wanted in paths:
            name = jax.tree_util.keystr(path)
            leaf = self.leaves.get(name)
            if leaf is None or leaf.shape != tuple(wanted.shape) or leaf.dtype != wanted.dtype:
                raise StateFileError(f"{self.path}: its {name} is not what this version of the program keeps")
            leaves.append(leaf)
        return jax.tree_util.tree_unflatten(structure, leaves)


def write_states(
    path: str | Path,
    states: Any,
    about: Mapping[str, Any],
    chunks: tuple[int, int, int],
    seconds: float,
    force: bool = False,
    only: Version | None = None,
) -> Path:
    """Write states with their description, under a temporary name that becomes `path` once all bytes are on the disk.

    Args:
        chunks: (first, next, stop), as in `StateFile`.
        force, only: as in `files.atomic_path`.

    Raises:
        OutputExistsError: `path` exists and `force` is not set, or is another version than `only`.
        StateFileError: the disk is full, or cannot be written to; what lay at `path` is untouched.
    """
    arrays: dict[str, np.ndarray] = {}
    shapes: dict[str, list[int]] = {}
    for tree_path, leaf in jax.tree_util.tree_flatten_with_path(states)[0]:
        name, leaf = jax.tree_util.keystr(tree_path), np.asarray(leaf)
        if leaf.size >= _SPARSE_FROM and leaf.dtype == np.int64:
            flat = leaf.reshape(-1)
            place = np.flatnonzero(flat)
            shapes[name] = list(leaf.shape)
            arrays[f"at:{name}"], arrays[f"of:{name}"] = place, flat[place]
        else:
            arrays[f"leaf:{name}"] = leaf
    first, following, stop = chunks
    head = {
        "format": FORMAT,
        "about": dict(about),
        "first": first,
        "next": following,
        "stop": stop,
        "seconds": seconds,
        "shapes": shapes,
    }
    text = json.dumps(head, sort_keys=True)
    try:
        with atomic_path(path, force, only) as temporary, temporary.open("wb") as file:
            np.savez(file, head=np.array(text), sum=np.array(_sum_of(text, arrays)), **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        cause = error.strerror or getattr(error.__cause__, "strerror", None) or error.__cause__ or error
        raise StateFileError(f"{path} cannot be written ({cause}); make room or name another place") from error
    return Path(path)


def _sum_of(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def read_states(path: str | Path) -> StateFile:
    """The file that `write_states` wrote, its sum checked.

    Raises:
        StateFileError: no such file, not one of these, truncated or changed since it was written.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise StateFileError(f"there is no file {path}") from None
    if not data.startswith(b"PK"):  # NumPy would speak of pickles
        raise StateFileError(
            f"{path} is not a part or result of this program, or it is truncated or damaged; name a file that --out wrote"
        )
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if "about" in arrays and "head" not in arrays:
            raise StateFileError(
                f"{path} holds every point of a sweep, which is whole already and has nothing to merge; read it with "
                "tinker_nomics.Sweep.from_npz, or reduce the sweep by --top, --pareto, --by or --winners"
            )
        text, told = str(arrays.pop("head")), str(arrays.pop("sum"))
        damaged = _sum_of(text, arrays) != told
        head = json.loads(text)
    except StateFileError:
        raise
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, OSError, NotImplementedError) as error:
        raise StateFileError(
            f"{path} is not a part or result of this program, or it is truncated or damaged ({error}); compute it anew"
        ) from None
    if damaged:
        raise StateFileError(f"{path} is damaged: its content does not match its checksum; compute it anew")
    if head.get("format") != FORMAT:
        raise StateFileError(f"{path} has the format {head.get('format')!r}; this version reads {FORMAT!r}")
    leaves = {name.removeprefix("leaf:"): array for name, array in arrays.items() if name.startswith("leaf:")}
    for name, shape in head["shapes"].items():
        dense = np.zeros(shape, np.int64)
        dense.reshape(-1)[arrays[f"at:{name}"]] = arrays[f"of:{name}"]
        leaves[name] = dense
    return StateFile(path, head["about"], head["first"], head["next"], head["stop"], head["seconds"], leaves)


def differences(one: Any, other: Any, name: str = "") -> list[str]:
    """Where two descriptions differ, as phrases "name = a here, b there"; of long lists where they first do."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        inside = f"{name}." if name else ""
        return [
            text
            for key in sorted(one.keys() | other.keys())
            for text in differences(one.get(key), other.get(key), inside + key)
        ]
    if one == other:
        return []
    long = max(len(json.dumps(one)), len(json.dumps(other))) > _LONG
    if long and isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return [f"{name} has {len(one)} values against {len(other)}"]
        place = next(index for index, (a, b) in enumerate(zip(one, other)) if a != b)
        return differences(one[place], other[place], f"{name}[{place}]")
    return [f"{name} = {_short(one)} against {_short(other)}"]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONG else text[: _LONG - 3] + "..."
