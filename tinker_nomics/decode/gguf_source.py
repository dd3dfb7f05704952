"""Opens whatever holds a checkpoint's header: a file, a folder of shards, bytes, an object with `read`, a ledger."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import Any

from ..reading import reading
from .byte_window import ByteWindow
from .gguf_error import GgufError
from .gguf_header import GgufHeader
from .gguf_reader import read_gguf
from .ledger import MAX_TEXT, HeaderSource
from .shards import first_of, follow
from .value_types import shown

_WANTED = "the path of a GGUF file, of the folder that holds one checkpoint's shards, or of a ledger"
_SOURCES = "a path of a GGUF file, of a folder of shards or of a ledger; bytes; an object with read; a ledger's dict"


def read_header(source: Any) -> GgufHeader:
    """Read the header of a checkpoint, never its tensor data.

    The first megabytes of a file suffice; where they do not, the error's `bytes_needed` says how many bytes at least.
    Arrays of the tokenizer are skipped and their length kept. A checkpoint in several files is followed by its
    `split.count` from the first shard's path or from the folder that holds the shards.

    Args:
        source: a path (of a GGUF file, of a folder, of a JSON ledger), the bytes of such a file, an open binary file or
            any object with `read` (read forward from where it stands, never sought), a ledger's text or parsed
            object; a header is given back as it is.

    Returns:
        A `GgufHeader`, or for a ledger a `HeaderSource`, which is one too.

    Raises:
        GgufError: what was read is no header, ends too early, or lacks shards; it names what, where and what is
            allowed.
        UnreadableFileError: the file cannot be opened; it is an `OSError` too, and where there is no such file a
            `FileNotFoundError`.
    """
    if isinstance(source, GgufHeader):
        return source
    if isinstance(source, dict):
        return HeaderSource.from_ledger(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _from_window(_window_of(io.BytesIO(source), memoryview(source).nbytes), "", None)
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("{"):
        return HeaderSource.from_ledger(source)
    if isinstance(source, (str, os.PathLike)):
        return _from_path(os.fsdecode(source))
    if callable(getattr(source, "read", None)):
        return _from_reader(source)
    raise GgufError(f"a {type(source).__name__} holds no header", allowed=_SOURCES)


def _from_reader(source: Any) -> GgufHeader:
    path, stood = _named_path(source), _position(source)
    try:
        return _from_window(ByteWindow(source.read), path.name if path else "", path)
    except GgufError as error:
        if not stood or error.offset != 0:
            raise
        where = f"{error.what} where the object stood, at byte {stood}"
        raise GgufError(where, offset=0, allowed=error.allowed, source=error.source) from None


def _position(source: Any) -> int:
    """Where an open file stands, so that an error can tell of one that was read before; 0 where it does not say."""
    try:
        position = source.tell()
    except (AttributeError, OSError, ValueError, TypeError):
        return 0
    return position if isinstance(position, int) else 0


def _from_path(given: str) -> GgufHeader:
    if "\0" in given or not given:
        raise GgufError(f"{shown(given)} is no path", allowed=_SOURCES)
    path = Path(given)
    with reading(path, _WANTED):
        if path.is_dir():
            path = first_of(path)
        with path.open("rb", buffering=0) as file:
            return _from_window(_window_of(file, _size(file)), path.name, path)


def _size(file: Any) -> int | None:
    """Bytes of a regular file [B]; None for a pipe or a device, whose size does not tell how many bytes will come."""
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _window_of(file: Any, size: int | None) -> ByteWindow:
    return ByteWindow(file.read, size, None if size is None else lambda count: file.seek(count, io.SEEK_CUR))


def _named_path(source: Any) -> Path | None:
    """The path that an open file was opened by, where that is still a file: its further shards lie beside it."""
    name = getattr(source, "name", None)
    return Path(name) if isinstance(name, str) and "\0" not in name and Path(name).is_file() else None


def _from_window(window: ByteWindow, name: str, path: Path | None) -> GgufHeader:
    start = window.peek()[:64].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if start.startswith((b"{", b"[")):
        try:
            return HeaderSource.from_ledger(window.rest(MAX_TEXT))
        except GgufError as error:
            raise error.within(name) from None
    return follow(read_gguf(window, name), path, _one_shard)


def _one_shard(path: Path) -> GgufHeader:
    with reading(path, "a shard that can be read"), path.open("rb", buffering=0) as file:
        return read_gguf(_window_of(file, _size(file)), path.name)
