"""Titles and notes of the decode pictures, wrapped so that they run into nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .style import NEUTRAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLE = 60  # letters left of a legend of two entries on 1200 px
_NOTE = 170  # letters across 1200 px
_MOST_LINES = 4


def set_title(figure: Figure, title: str, letters: int = _TITLE) -> None:
    """A bold title at the upper left, in lines of `letters` that leave room for a legend at the right."""
    lines = textwrap.wrap(title, letters, max_lines=_MOST_LINES, placeholder=" ...")
    # a name of a checkpoint is no formula, whatever dollars it holds
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=12, fontweight="bold", parse_math=False)


def set_notes(figure: Figure, notes: Sequence[str]) -> None:
    """Grey notes below everything, one after the other."""
    lines = [line for note in notes for line in textwrap.wrap(note, _NOTE, max_lines=_MOST_LINES, placeholder=" ...")]
    if lines:
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=9, color=NEUTRAL, parse_math=False)
