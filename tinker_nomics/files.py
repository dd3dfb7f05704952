"""Output files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .errors import TinkerNomicsError

try:
    import fcntl
except ImportError:  # not on this system: two writers are then told apart a moment less sharply
    fcntl = None


class OutputExistsError(TinkerNomicsError):
    """An output file is there already and nobody said that it may be replaced."""


class Version(NamedTuple):
    """Which writing of a file this is: another one has another place on the disk, time or size."""

    inode: int
    modified: int
    size: int


def version_of(path: str | Path) -> Version | None:
    """The version of the file at `path`; None where there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return Version(found.st_ino, found.st_mtime_ns, found.st_size)


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
def atomic_path(path: str | Path, force: bool = False, only: Version | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path` that becomes `path` when the block ends well, and is removed otherwise.

    Of a symbolic link the file that it points to is written.

    Args:
        path: the file.
        force: replace it where it exists.
        only: the version of it that may be replaced, whatever `force` says; one that came since is another's.

    Raises:
        OutputExistsError: `path` exists and `force` is not set, or its folder does not exist. It may have come to exist
            meanwhile, of another run: it is left as it is then too.
        OSError: it or its folder cannot be written to; the error names it.
    """
    asked = refuse_existing(path, force or only is not None)
    path = Path(os.path.realpath(asked)) if asked.is_symlink() else asked
    try:
        handle, name = tempfile.mkstemp(prefix=_prefix(path), suffix=path.suffix, dir=path.absolute().parent)
    except OSError as error:
        # of the file that was asked for, not of the temporary one
        raise type(error)(error.errno, error.strerror, str(asked)) from None
    os.close(handle)
    temporary = Path(name)
    try:
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        try:
            yield temporary
        except OSError as error:
            raise _named(error, temporary, asked) from error
        if only is not None:
            _put_in_place_of(temporary, path, only)
        elif force:
            os.replace(temporary, path)
        else:
            _put_where_nothing_is(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _prefix(path: Path) -> str:
    return f".{path.stem[:40]}."


def remove_abandoned(path: str | Path, before: float) -> None:
    """Remove the temporary files that writes of `path` left when they were killed.

    Args:
        before: only those last changed before this time [s since 1970], which no write in hand has.
    """
    path = Path(os.path.realpath(path))
    pattern = re.compile(re.escape(_prefix(path)) + r"[a-z0-9_]{8}" + re.escape(path.suffix))
    for other in path.parent.iterdir():
        if pattern.fullmatch(other.name):
            with suppress(OSError):  # gone already, or not ours to remove
                if other.stat().st_mtime < before:
                    other.unlink()


def _named(error: OSError, temporary: Path, path: Path) -> OSError:
    """`error` as one of the file that was asked for, where it names none or the temporary one."""
    if error.filename is not None and str(error.filename) != str(temporary):
        return error
    if error.errno is None:
        return OSError(f"{path} cannot be written ({error})")
    return OSError(error.errno, error.strerror, str(path))


def _put_in_place_of(temporary: Path, path: Path, only: Version) -> None:
    """Give `temporary` the name `path` unless that is another file than this version by now."""
    with _alone_in(path.absolute().parent):
        found = version_of(path)
        if found is None:
            _put_where_nothing_is(temporary, path)
        elif found == only:
            os.replace(temporary, path)
        else:
            raise OutputExistsError(
                f"{path} was replaced by another run while this one wrote to it, and is left as it is; give each run a "
                "file of its own"
            )


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """No two such blocks of one folder at a time, so far as the file system can lock; a killed process holds nothing."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


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
