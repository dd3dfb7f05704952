"""Checkpoints in several files: finding the shards and joining their tensor tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .gguf_error import GgufError
from .gguf_header import GgufHeader
from .tensor_table import TensorRow

_NAME = re.compile(r"(?P<stem>.*)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf", re.DOTALL)
_PATTERN = "NAME-00001-of-00003.gguf"
_MAX_SHARDS = 65_535  # split.count is a u16
_SHOWN = 10


def first_of(folder: Path) -> Path:
    """The file to start reading a folder's checkpoint from: its only GGUF file, or the first of its only set of shards.

    Raises:
        GgufError: the folder holds no GGUF file, more than one checkpoint, or shards without their first.
    """
    names = sorted(entry.name for entry in folder.iterdir() if entry.suffix == ".gguf" and entry.is_file())
    starts: dict[str, None] = {}
    for name in names:
        match = _NAME.fullmatch(name)
        starts[_shard_name(match["stem"], 1, int(match["count"])) if match else name] = None
    if not starts:
        raise GgufError("the folder holds no GGUF file", source=str(folder), allowed="a folder with one checkpoint")
    if len(starts) > 1:
        raise GgufError(
            f"the folder holds {len(starts)} checkpoints: {_listed(list(starts))}",
            source=str(folder),
            allowed="a folder with one checkpoint, or the path of one file",
        )
    (start,) = starts
    if start not in names:
        raise GgufError(
            f"the folder lacks the first shard, {start}", source=str(folder), allowed="a folder with all shards"
        )
    return folder / start


def follow(header: GgufHeader, path: Path | None, read: Callable[[Path], GgufHeader]) -> GgufHeader:
    """The whole checkpoint that `header` starts: `header` itself, or joined with the shards beside `path`.

    A file that says `split.count` > 1 and holds `split.tensors.count` tensors is whole as it is.

    Args:
        header: of the file that was asked for.
        path: that file; None where the source is no file.
        read: reads the header of one shard.

    Raises:
        GgufError: it is not the first shard, or shards are missing (all are named), disagree or hold the same tensor.
    """
    count = _whole_number(header, "split.count", 1)
    if count <= 1 or _whole_number(header, "split.tensors.count", -1) == len(header.tensors):
        return header
    name = header.shards[0].name
    if count > _MAX_SHARDS:
        raise GgufError(f"split.count is {count}", source=name, allowed=f"up to {_MAX_SHARDS}")
    paths = _paths(header, count, path, name)
    shards = [header]
    for number, shard_path in enumerate(paths[1:], 1):
        shard = read(shard_path)
        for key, expected in (("split.count", count), ("split.no", number)):
            if _whole_number(shard, key, -1) != expected:
                raise GgufError(
                    f"{key} is {shard.get(key)!r}", source=shard_path.name, allowed=f"{expected}, as in the first shard"
                )
        shards.append(shard)
    return _joined(shards)


def _paths(header: GgufHeader, count: int, path: Path | None, name: str) -> list[Path]:
    """Paths of all shards, each of them there."""
    number = _whole_number(header, "split.no", 0)
    match = _NAME.fullmatch(name)
    if number != 0:
        first = _shard_name(match["stem"], 1, count) if match else "split.no 0"
        raise GgufError(f"this is shard {number + 1} of {count}", source=name, allowed=f"the first shard, {first}")
    if path is None:
        raise GgufError(
            f"this is the first of {count} shards, and shards 2 to {count} are missing: without a path there is no "
            "folder to find them in",
            source=name,
            allowed="the path of the first shard, or of the folder with all shards",
        )
    if match is None or int(match["count"]) != count or int(match["number"]) != 1:
        raise GgufError(
            f"this is the first of {count} shards, and shards 2 to {count} are missing: its name does not tell theirs",
            source=name,
            allowed=f"names like {_PATTERN}",
        )
    paths = [path.with_name(_shard_name(match["stem"], index + 1, count)) for index in range(count)]
    missing = [shard.name for shard in paths if not shard.is_file()]
    if missing:
        raise GgufError(
            f"{len(missing)} of {count} shards are missing: {_listed(missing)}",
            source=name,
            allowed="all shards in one folder",
        )
    return paths


def _joined(shards: list[GgufHeader]) -> GgufHeader:
    first = shards[0]
    seen: dict[str, TensorRow] = {}
    for number, shard in enumerate(shards):
        for row in shard.tensors:
            if row.name in seen:
                raise GgufError(
                    f"the tensor {row.name!r} stands in shards {seen[row.name].shard + 1} and {number + 1}",
                    source=shard.shards[0].name,
                    allowed="unique names",
                )
            seen[row.name] = replace(row, shard=number)
    metadata, value_types = dict(first.metadata), dict(first.value_types)
    declared = metadata.setdefault("split.tensors.count", len(seen))
    value_types.setdefault("split.tensors.count", "i32")
    if declared != len(seen):
        raise GgufError(
            f"the {len(shards)} shards hold {len(seen)} tensors, but split.tensors.count is {declared}",
            source=first.shards[0].name,
            allowed="shards of one checkpoint, all whole",
        )
    files = tuple(shard.shards[0] for shard in shards)
    return GgufHeader(metadata, value_types, tuple(seen.values()), first.version, files)


def _whole_number(header: GgufHeader, key: str, default: int) -> int:
    value = header.get(key, default)
    if type(value) is not int:
        raise GgufError(
            f"{key} is of type {header.value_types[key]}", source=header.shards[0].name, allowed="a whole number"
        )
    return value


def _shard_name(stem: str, number: int, count: int) -> str:
    return f"{stem}-{number:05d}-of-{count:05d}.gguf"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
