"""Files that a user names for reading: opened and read here, so that every command says alike why one cannot be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import TinkerNomicsError, shown


class UnreadableFileError(TinkerNomicsError, OSError):
    """A file that cannot be read: which one, why, and what to give instead."""


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """A file that is not there."""


def unreadable(path: str | os.PathLike[str], error: Exception, wanted: str) -> str:
    """Why `path` cannot be read, in words.

    Args:
        path: the file, as the user named it.
        error: what opening or reading it raised.
        wanted: what to give, such as "the path of a TOML file".
    """
    name = os.fspath(path)
    name = name if isinstance(name, str) and name.isprintable() and name else shown(path)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"there is no file {name}; give {wanted}"
    if isinstance(error, IsADirectoryError):
        return f"{name} is a folder; give {wanted}"
    if isinstance(error, PermissionError):
        return f"{name} cannot be read: permission denied; make it readable, or give {wanted}"
    if isinstance(error, UnicodeDecodeError):
        return f"{name} is not UTF-8 text (byte {error.start:,}); give {wanted}"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{name} cannot be read: {reason}; give {wanted}"


@contextmanager
def reading(
    path: str | os.PathLike[str], wanted: str, refuse: Callable[[str], Exception] | None = None
) -> Iterator[None]:
    """Turn whatever keeps the block from reading `path` into one error.

    Args:
        path: the file.
        wanted: what to give instead.
        refuse: makes the error of its words; None for `UnreadableFileError`.

    Raises:
        UnreadableFileError: `path` cannot be read; a `MissingFileError` where it is not there.
    """
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, TinkerNomicsError):
            raise
        words = unreadable(path, error, wanted)
        if refuse is not None:
            raise refuse(words) from None
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        raise (MissingFileError if missing else UnreadableFileError)(words) from None


def read_text(
    path: str | os.PathLike[str],
    wanted: str,
    refuse: Callable[[str], Exception] | None = None,
    encoding: str = "utf-8-sig",
) -> str:
    """The text of a UTF-8 file, without the mark that some editors put before it.

    Args:
        path: the file.
        wanted: what to give where it cannot be read.
        refuse: makes the error of its words; None for `UnreadableFileError`.
        encoding: "utf-8" keeps the mark.

    Raises:
        UnreadableFileError: `path` cannot be read, or `refuse`'s.
    """
    if "\0" in os.fspath(path):
        words = unreadable(path, ValueError("no name holds a null byte"), wanted)
        raise (refuse or UnreadableFileError)(words)
    with reading(path, wanted, refuse):
        return Path(path).read_text(encoding=encoding)
