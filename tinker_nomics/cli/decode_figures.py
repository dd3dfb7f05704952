"""Figures of the decode commands as people read them: plain digits, never an exponent."""

from __future__ import annotations

_PREFIXES = (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
_BINARY = (("EiB", 2.0**60), ("PiB", 2.0**50), ("TiB", 2.0**40), ("GiB", 2.0**30))
_LEAST_BINARY = 2.0**27  # B: below it a size in GiB has no digits to show
_MOST = 1e21


def digits(value: float, significant: int = 4) -> str:
    """0.00001843, 1.539 or 30,710: `significant` digits at least, and every digit before the point."""
    if value != value or abs(value) >= _MOST:
        return f"{value:.{significant}g}"
    if abs(value) >= 10.0 ** (significant - 1):
        return f"{value:,.0f}"
    text = f"{value:.{significant}g}"
    if "e" not in text:
        return text
    power = int(text.partition("e")[2])
    return f"{value:.{significant - 1 - power}f}".rstrip("0").rstrip(".")


def bytes_text(count: float) -> str:
    """4.913 GB (4.575 GiB), from 128 MiB on."""
    binary = next((f" ({count / size:.3f} {unit})" for unit, size in _BINARY if count >= size), "")
    if not binary and count >= _LEAST_BINARY:
        binary = f" ({count / 2.0**30:.3f} GiB)"
    return (f"{count:.0f} B" if count < 1e3 else f"{si(count)}B") + binary


def count_text(count: float) -> str:
    """8.03 billion."""
    for word, size in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if count >= size:
            return f"{digits(count / size)} {word}"
    return f"{count:,.0f}"


def si(count: float) -> str:
    """8.03 G, to be followed by a unit: a number with a decimal prefix."""
    for prefix, size in _PREFIXES:
        if count >= size:
            return f"{digits(count / size)} {prefix}"
    return f"{digits(count)} "


def tokens_text(count: float) -> str:
    """4,096 or 1.5."""
    return f"{count:,.0f}" if count == int(count) else f"{count:,g}"


def context_label(count: float) -> str:
    """4k, 1M or 5000: a context in few letters."""
    for letter, size in (("M", 2**20), ("k", 2**10)):
        if count % size == 0:
            return f"{count / size:.0f}{letter}"
    return f"{count:g}"
