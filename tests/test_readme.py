"""The README's Python example runs and prints what stands beneath it; its commands name what exists."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def _block(after: str) -> str:
    match = re.search(re.escape(after) + r"\s*```\w*\n(.*?)```", README, re.DOTALL)
    assert match, f"the README has no block after {after!r}"
    return match.group(1)


def test_the_example_prints_what_stands_beneath_it():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(_block("<!-- example -->"), "README.md", "exec"), {})
    assert printed.getvalue().strip() == _block("<!-- example output -->").strip()
    assert len(_block("<!-- example -->").strip().splitlines()) <= 12


def test_pictures_and_files_that_are_named_exist():
    root = Path(__file__).parents[1]
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (root / target).exists(), target


def test_commands_name_what_the_command_line_has():
    from tinker_nomics.cli.main import COMMANDS

    for command in re.findall(r"tinker-nomics ([a-z-]+)", README):
        assert command in COMMANDS, command
