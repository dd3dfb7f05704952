"""Output files are written whole or not at all."""

from __future__ import annotations

import pytest

from tinker_nomics.files import OutputExistsError, atomic_path, write_bytes, write_text


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
