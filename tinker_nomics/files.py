"""Output files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import TinkerNomicsError


class OutputExistsError(TinkerNomicsError):
    """An output file is there already and nobody said that it may be replaced."""


def refuse_existing(path: str | Path, force: bool = False) -> Path:
    """`path` as a Path, or an `OutputExistsError` where it exists and `force` is not set."""
    path = Path(path)
    if path.is_dir():
        raise OutputExistsError(f"{path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise OutputExistsError(f"{path} is a device or a pipe and is left as it is; name a file")
    if path.exists() and not force:
        raise OutputExistsError(f"{path} exists and is left as it is; give --force (force=True) or another name")
    if not path.absolute().parent.is_dir():
        raise OutputExistsError(f"the folder {path.absolute().parent} does not exist; make it first")
    return path


def refuse_clashes(paths: Iterable[str | Path | None], force: bool = False) -> None:
    """`refuse_existing` for every file that a command will write; two of one name are refused too."""
    seen: dict[Path, str | Path] = {}
    for path in paths:
        if path is None:
            continue
        place = refuse_existing(path, force).resolve()
        if place in seen:
            raise OutputExistsError(f"{path} is to be written twice; name two files")
        seen[place] = path


@contextmanager
def atomic_path(path: str | Path, force: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path` that becomes `path` when the block ends well, and is removed otherwise.

    Raises:
        OutputExistsError: `path` exists and `force` is not set, or its folder does not exist. It may have come to exist
            meanwhile, of another run: it is left as it is then too.
        OSError: its folder cannot be written to.
    """
    path = refuse_existing(path, force)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.stem[:40]}.", suffix=path.suffix, dir=path.absolute().parent)
    except OSError as error:
        # of the file that was asked for, not of the temporary one
        raise type(error)(error.errno, error.strerror, str(path)) from None
    os.close(handle)
    temporary = Path(name)
    try:
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        yield temporary
        if force:
            os.replace(temporary, path)
        else:
            _put_where_nothing_is(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _put_where_nothing_is(temporary: Path, path: Path) -> None:
    """Give `temporary` the name `path` in one step that fails where something has that name by now."""
    try:
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: take the name first, then put the file there
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.replace(temporary, path)
    except FileExistsError:
        raise OutputExistsError(
            f"{path} came to exist while it was being written and is left as it is; give --force (force=True) or another "
            "name"
        ) from None


def write_text(path: str | Path, text: str, force: bool = False) -> Path:
    """Write `text` to `path` as UTF-8, whole or not at all."""
    with atomic_path(path, force) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def write_bytes(path: str | Path, data: bytes, force: bool = False) -> Path:
    """Write `data` to `path`, whole or not at all."""
    with atomic_path(path, force) as temporary:
        temporary.write_bytes(data)
    return Path(path)
