"""Texts that come out of files, as a terminal or a picture may show them."""

from __future__ import annotations


def printable(text: str, keep: str = "") -> str:
    """`text` with every letter that does not print written as its escape: newlines, NUL, terminal sequences, surrogates.

    A checkpoint's name may hold anything, and a terminal obeys what it is sent.

    Args:
        text: any text.
        keep: letters to leave as they are, such as the newlines of a message.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in keep else letter.encode("unicode_escape", "surrogatepass").decode()
        for letter in text
    )
