"""Output files are written whole or not at all."""

from __future__ import annotations

import errno
import os

import pytest

from tinker_nomics.files import (
    OutputExistsError,
    atomic_path,
    refuse_clashes,
    remove_abandoned,
    version_of,
    write_bytes,
    write_text,
)


def test_written_and_not_overwritten(tmp_path):
    target = tmp_path / "a.txt"
    write_text(target, "one")
    with pytest.raises(OutputExistsError, match="--force"):
        write_text(target, "two")
    assert target.read_text() == "one"
    write_bytes(target, b"two", force=True)
    assert target.read_text() == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_nothing_is_left_of_a_failed_write(tmp_path):
    target = tmp_path / "a.txt"
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError("the disk is full")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_and_a_folder_are_named(tmp_path):
    with pytest.raises(OutputExistsError, match="does not exist"):
        write_text(tmp_path / "no" / "a.txt", "")
    with pytest.raises(OutputExistsError, match="is a folder"):
        write_text(tmp_path, "")


def test_a_device_is_never_replaced():
    with pytest.raises(OutputExistsError, match="device"):
        write_text("/dev/null", "", force=True)


def test_a_folder_that_cannot_be_written_to_is_told_by_the_file_asked_for():
    with pytest.raises(OSError, match=r"'/proc/a\.txt'"):
        write_text("/proc/a.txt", "")


def test_one_name_for_two_files_is_refused(tmp_path):
    refuse_clashes([tmp_path / "a", None, tmp_path / "b"])
    with pytest.raises(OutputExistsError, match="twice"):
        refuse_clashes([tmp_path / "a", tmp_path / "." / "a"])
    (tmp_path / "a").write_text("")
    with pytest.raises(OutputExistsError, match="--force"):
        refuse_clashes([tmp_path / "a"])


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_comes_to_exist_meanwhile_is_left_as_it_is(tmp_path, monkeypatch, links):
    """Two runs that both found the name free: the second to end says so, with or without hard links."""
    if not links:

        def refused(*_):
            raise PermissionError("no hard links here")

        monkeypatch.setattr("os.link", refused)
    target = tmp_path / "a.txt"
    with pytest.raises(OutputExistsError, match=r"came to exist.*--force"), atomic_path(target) as temporary:
        temporary.write_text("second")
        write_text(target, "first")
    assert target.read_text() == "first" and [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    with atomic_path(tmp_path / "b.txt", force=True) as temporary:
        temporary.write_text("second")
        write_text(tmp_path / "b.txt", "first")
    assert (tmp_path / "b.txt").read_text() == "second"


def test_a_link_is_kept_and_its_target_written(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "a.txt", tmp_path / "b.txt"
    link.symlink_to(target)
    for text, force in (("one", False), ("two", True)):
        write_text(link, text, force)
        assert link.is_symlink() and target.read_text() == text
    assert [path.name for path in target.parent.iterdir()] == ["a.txt"]


def test_only_the_version_that_is_known_is_replaced(tmp_path):
    target = write_text(tmp_path / "a.txt", "mine")
    mine = version_of(target)
    with atomic_path(target, only=mine) as temporary:
        temporary.write_text("mine again")
    assert target.read_text() == "mine again" and version_of(tmp_path / "none") is None
    with (
        pytest.raises(OutputExistsError, match="replaced by another run"),
        atomic_path(target, True, mine) as temporary,
    ):
        temporary.write_text("too late")
    assert target.read_text() == "mine again" and [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    target.unlink()
    with atomic_path(target, only=mine) as temporary:  # removed by hand: nothing is lost by writing it anew
        temporary.write_text("anew")
    assert target.read_text() == "anew"


def test_what_goes_wrong_in_a_write_names_the_file(tmp_path):
    target = tmp_path / "a.txt"
    for raised in (OSError(errno.ENOSPC, "No space left on device"), OSError("5 requested and 0 written")):
        with pytest.raises(OSError) as caught, atomic_path(target):
            raise raised
        assert str(target) in str(caught.value) and (raised.strerror or "5 requested") in str(caught.value)
    with pytest.raises(OSError) as caught, atomic_path(target):
        raise FileNotFoundError(errno.ENOENT, "No such file", "other")
    assert caught.value.filename == "other"


def test_abandoned_files_go_and_others_stay(tmp_path):
    names = (".a.0a_b1c2d.txt", ".a.ffffffff.txt", ".b.0a_b1c2d.txt", ".a.txt", ".a.0a_b1c2d.npz")
    for name in names:
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (100.0, 300.0 if "ffff" in name else 100.0))
    remove_abandoned(tmp_path / "a.txt", 200.0)
    assert {path.name for path in tmp_path.iterdir()} == set(names[1:])
