"""`tinker-nomics header` and `decode` on files, pipes and terminals as they come."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_checkpoints import FOUR_BLOCKS as HEADER
from made_checkpoints import dense

from tinker_nomics.cli.main import main

pytestmark = pytest.mark.usefixtures("no_cache")


def test_a_checkpoint_from_a_pipe(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("header", "decode"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(HEADER.to_ledger()).encode())))
        assert main([command, "-"]) == 0
        assert capsys.readouterr().out.startswith("standard input")


def test_a_folder_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    HEADER.to_gguf(tmp_path / "only.gguf")
    monkeypatch.chdir(tmp_path)
    assert main(["header", "."]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0] == tmp_path.name
    assert "missing" in text and "header is whole" in text
    assert main(["header", "only.gguf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing_data_bytes"] >= HEADER.weight_bytes


def test_a_missing_or_a_wrong_file(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", str(tmp_path / "none.gguf")]) == 2
    assert "none.gguf" in capsys.readouterr().err
    (tmp_path / "text.gguf").write_text("hello")
    assert main(["header", str(tmp_path / "text.gguf")]) == 2
    assert "text.gguf" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["header", "decode"])
def test_no_letter_of_a_file_reaches_the_terminal_as_a_command(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture
) -> None:
    made = dense("odd\x1b[2J", blocks=1, width=256, heads=4, kv_heads=2, head=64, columns=256, vocabulary=512)
    ledger = made.to_ledger()
    ledger["metadata"]["general.name"] = "a\x1b]0;title\x07\nb\0\u202e$x^$"
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(ledger))
    more = ["--plot", str(tmp_path / "odd.png")] if command == "decode" else []
    assert main([command, str(path), *more]) == 0
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert text.splitlines()[0].startswith(r"a\x1b]0;title\x07\nb\x00\u202e$x^$") and "none that is known here" in text
    assert main([command, str(path), "--json"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    path.write_text(json.dumps({**ledger, "tensors": [["\x1b[2Jodd", "F32", [1]]]}))
    main([command, str(path)])
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err and r"\x1b[2Jodd" in printed.out + printed.err


@pytest.mark.parametrize("redirect", [">&-", ">&- 2>&-"])
def test_a_closed_standard_output_is_told_and_no_traceback(ledger: str, redirect: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m tinker_nomics decode "{ledger}" {redirect}'],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert ("standard output is closed" in done.stderr) is ("2>&-" not in redirect) and "Traceback" not in done.stderr


def test_a_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["header", "-"]) == 2 and "standard input is closed" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_ends_the_program_quietly(ledger: str) -> None:
    command = f'"{sys.executable}" -m tinker_nomics decode "{ledger}" --chip all --json --stages; echo "status $?" >&2'
    done = subprocess.run(
        ["/bin/sh", "-c", f"({command}) | head -1"], capture_output=True, text=True, check=False,
        env={**os.environ, "TINKER_NOMICS_CACHE": "off"},
    )  # fmt: skip
    assert done.stdout == "{\n" and done.stderr.splitlines() == ["status 0"]
