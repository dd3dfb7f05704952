"""Files that a user names: one error that says which, why and what to give, whatever reads them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import tinker_nomics as tn
from tinker_nomics.cli.main import main
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.reading import MissingFileError, UnreadableFileError, read_text, reading, unreadable


def test_why_a_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"there is no file .*none\.toml; give a TOML file") as caught:
        read_text(tmp_path / "none.toml", "a TOML file")
    assert isinstance(caught.value, FileNotFoundError) and isinstance(caught.value, TinkerNomicsError)
    with pytest.raises(UnreadableFileError, match="is a folder; give a TOML file"):
        read_text(tmp_path, "a TOML file")
    (tmp_path / "file").write_bytes(b"abc\xff")
    with pytest.raises(UnreadableFileError, match=r"is not UTF-8 text \(byte 3\)"):
        read_text(tmp_path / "file", "a TOML file")
    with pytest.raises(MissingFileError, match="there is no file"):  # a file is no folder
        read_text(tmp_path / "file" / "x.toml", "a TOML file")
    with pytest.raises(UnreadableFileError, match=r"'a\\x00b' cannot be read"):
        read_text("a\0b", "a TOML file")
    with pytest.raises(UnreadableFileError, match="cannot be read: File name too long"):
        read_text("x" * 300, "a TOML file")


def test_a_file_without_permission(tmp_path: Path) -> None:
    denied = PermissionError(13, "Permission denied")
    assert unreadable("secret.toml", denied, "a TOML file") == (
        "secret.toml cannot be read: permission denied; make it readable, or give a TOML file"
    )
    with pytest.raises(UnreadableFileError, match="permission denied"), reading("secret.toml", "a TOML file"):
        raise denied
    path = tmp_path / "secret.gguf"
    path.write_bytes(b"GGUF")
    path.chmod(0)
    if not os.access(path, os.R_OK):  # an administrator reads everything
        with pytest.raises(UnreadableFileError, match="permission denied"):
            tn.read_header(path)


def test_another_error_of_the_same_words() -> None:
    with pytest.raises(tn.ConfigError, match="there is no file none"):
        read_text("none", "a file", lambda words: tn.ConfigError([], words))


def test_an_error_of_ones_own_passes() -> None:
    with pytest.raises(MissingFileError, match="inner"), reading("outer", "a file"), reading("inner", "a file"):
        raise FileNotFoundError(2, "No such file or directory")


@pytest.mark.parametrize(
    "asked",
    [
        ["decode", "none.gguf"],
        ["header", "none.gguf"],
        ["header", "none.json"],
        ["decode", "here.json", "--chip", "none.toml"],
        ["estimate", "--config", "none.toml"],
        ["estimate", "math_rl", "--model", "none.gguf"],
        ["estimate", "math_rl", "--model", "none.json"],
        ["estimate", "math_rl", "--model", "none.toml"],
        ["estimate", "math_rl", "--prices", "none.toml"],
        ["estimate", "math_rl", "--chip", "none.toml"],
    ],
    ids=" ".join,
)
def test_every_command_says_alike_that_there_is_no_file(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.json").write_text("{}")
    assert main(asked) == 2
    told = capsys.readouterr().err
    assert "there is no file none." in told and "give " in told and "Errno" not in told


def test_a_folder_and_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["header", str(tmp_path)]) == 2
    assert "the folder holds no GGUF file" in capsys.readouterr().err
    (tmp_path / "model.gguf").mkdir()
    assert main(["estimate", "math_rl", "--model", str(tmp_path / "model.gguf")]) == 2
    assert "the folder holds no GGUF file" in capsys.readouterr().err
