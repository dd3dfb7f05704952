"""Numbers with units, as people type and read them: "3.35 TB/s", "80 GiB", "$2.50/h", "989 TFLOP/s"."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from .errors import TinkerNomicsError, shown

_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_SMALL = {"": 1.0, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9, "p": 1e-12}

_TIMES = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}


def _spelled(prefixes: dict[str, float], *names: str) -> dict[str, float]:
    return {prefix + name: factor for name in names for prefix, factor in prefixes.items()}


def _per_time(seconds: float) -> dict[str, float]:
    """Dollars per any unit of time, as factors of dollars per `seconds`."""
    return {f"{usd}/{name}": seconds / length for usd in ("", "USD") for name, length in _TIMES.items()}


# canonical unit -> every spelling of it with its factor; the canonical unit is what the package computes in
UNITS: dict[str, dict[str, float]] = {
    "1": {"": 1.0, "x": 1.0},
    "tokens": {"": 1.0, **_spelled(_DECIMAL, " tokens", " token", "tokens", "tok", "")},
    "B": _spelled({**_DECIMAL, **_BINARY}, "B"),
    "B/s": _spelled({**_DECIMAL, **_BINARY}, "B/s"),
    "B/token": _spelled({**_DECIMAL, **_BINARY}, "B/token", "B"),
    "FLOP/s": _spelled(_DECIMAL, "FLOP/s", "FLOPS", "FLOPs", "OP/s", "OPS"),
    "s": {**_spelled(_SMALL, "s"), **_TIMES},
    "USD/h": {**_per_time(3600.0), "/GPU-h": 1.0, "USD/GPU-h": 1.0, "USD": 1.0, "": 1.0},
    "USD/Mtok": {"/Mtok": 1.0, "USD/Mtok": 1.0, "/M": 1.0, "/ktok": 1e3, "USD/ktok": 1e3, "USD": 1.0, "": 1.0},
    "USD/GB-month": {"/GB-month": 1.0, "USD/GB-month": 1.0, "USD": 1.0, "": 1.0},
    "USD/s": {**_per_time(1.0), "USD": 1.0, "": 1.0},
    "USD": {"": 1.0, "USD": 1.0, "k": 1e3, "M": 1e6},
    "parameters": {**_spelled(_DECIMAL, ""), "B": 1e9},
    "GiB": {"GiB": 1.0, "MiB": 2.0**-10, "GB": 1e9 / 2**30, "": 1.0},
}
# commas and underscores group three digits, or the number is another one than was meant: 3,35 is no 335
_WHOLE = r"\d{1,3}(?:,\d{3})+(?![\d,])|\d{1,3}(?:_\d{3})+(?![\d_])|\d+"
_NUMBER = re.compile(
    rf"^\s*(\$?)\s*([-+]?(?:(?:{_WHOLE})\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|nan))\s*(.*?)\s*$", re.ASCII
)


def parse_quantity(given: object, unit: str) -> float:
    """The value of `given` in `unit`.

    Args:
        given: a number (already in `unit`) or text: a number, then a unit of the same dimension, e.g. "3.35 TB/s".
        unit: the canonical unit; a key of `UNITS`, or any other text, which then only takes plain numbers or itself.

    Returns:
        The value as a float, in `unit`.

    Raises:
        TinkerNomicsError: text that is no number, or a unit of another dimension; it lists some that are allowed.
    """
    if isinstance(given, bool) or given is None:
        raise TinkerNomicsError(f"{given!r} is not a number [{unit}]")
    if not isinstance(given, str):
        try:
            return float(given)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise TinkerNomicsError(f"{shown(given)} is not a number that fits [{unit}]") from None
    match = _NUMBER.match(given)
    if match is None:
        raise TinkerNomicsError(f"{given!r} is not a number with a unit; write e.g. {_examples(unit)}")
    dollar, digits, suffix = match.groups()
    if dollar and "USD" not in unit:
        raise TinkerNomicsError(f"{given!r} is in dollars where the unit is {unit}; write e.g. {_examples(unit)}")
    digits = digits.replace("_", "").replace(",", "")
    if suffix == "%" and unit == "1":
        return float(digits) / 100.0
    spellings = UNITS.get(unit, {"": 1.0, unit: 1.0})
    factor = 1.0 if suffix in ("", unit) else spellings.get(suffix, spellings.get(" " + suffix))
    if factor is None and suffix[:1] in (",", "_", "."):
        raise TinkerNomicsError(
            f"{given!r} is not a number: the decimal sign is a point and commas group three digits; {_examples(unit)}"
        )
    if factor is None:
        raise TinkerNomicsError(f"{given!r} has an unknown unit {suffix!r}; here it is {unit}: {_examples(unit)}")
    plain = float(digits)
    if factor == 1.0 or not math.isfinite(plain * factor) or plain == 0:
        return plain * factor
    # in exact decimals, so that "8.19B" is the float nearest to 8.19e9
    return float(Fraction(digits) * Fraction(repr(factor)))


def _examples(unit: str) -> str:
    examples = {
        "B": '"80 GB" or "80 GiB"',
        "B/s": '"3.35 TB/s"',
        "FLOP/s": '"989 TFLOP/s"',
        "USD/h": '"$2.50/h"',
        "s": '"2 us"',
        "1": '"0.35" or "35%"',
    }
    return examples.get(unit, f'"12" or "12 {unit}"')


def grouped(value: float, decimals: int = 0) -> str:
    """`value` with its digits in threes: 1,234,567; from 1e15 on, where no digit after the fourth is read, 1.235e+15."""
    return f"{value:,.{decimals}f}" if abs(value) < 1e15 else f"{value:.4g}"


def show(value: float, unit: str) -> str:
    """`value` [unit] for people, with a decimal prefix where the unit takes one: 3.35e12, "B/s" -> "3.35 TB/s"."""
    if not math.isfinite(value):
        return f"{value} {unit}"
    if unit in ("B", "B/s", "FLOP/s"):
        for prefix, factor in reversed(list(_DECIMAL.items())):
            if prefix not in ("K",) and abs(value) >= factor:
                return f"{value / factor:.4g} {prefix}{unit}"
        return f"{value:.4g} {unit}"
    if unit == "s" and value != 0:
        for prefix, factor in (("", 1.0), ("m", 1e-3), ("u", 1e-6)):
            if abs(value) >= factor:
                return f"{value / factor:.4g} {prefix}s"
        return f"{value / 1e-9:.4g} ns"
    if unit.startswith("USD"):
        sign, size = "-" if value < 0 else "", abs(value)
        return f"{sign}${grouped(size, 2)}{unit[3:]}" if size >= 0.1 else f"{sign}${size:.4g}{unit[3:]}"
    text = grouped(value) if abs(value) >= 1e4 else f"{value:.6g}"
    return text if unit == "1" else f"{text} {unit}"
