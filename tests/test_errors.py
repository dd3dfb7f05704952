"""What an error looks like: one line per problem, whatever stood there."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from tinker_nomics.errors import ConfigError, Problem


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Path("run.toml"), "'run.toml'"),
        (datetime.date(2026, 7, 17), "'2026-07-17'"),
        (10**5000, "digits"),
        ({"a": "x" * 1000}, "..."),
    ],
    ids=["path", "date", "whole number", "table"],
)
def test_any_value_takes_one_short_line(value, words):
    text = str(Problem("path", value, "a number is allowed", "Write one."))
    assert words in text and len(text) < 250 and text.endswith("a number is allowed. Write one.")


def test_problems_of_a_file_stand_under_the_problem_of_its_name():
    inner = ConfigError([Problem("bandwidth", None, "is needed"), Problem("id", "", "a short name")], "this chip")
    text = str(ConfigError([Problem("chip", "mine.toml", str(inner))]))
    assert text.splitlines() == [
        "this configuration has 1 problem:",
        "  - chip = 'mine.toml': this chip has 2 problems:",
        "    - bandwidth = None: is needed.",
        "    - id = '': a short name.",
    ]
