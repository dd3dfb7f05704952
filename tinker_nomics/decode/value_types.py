"""The types that a GGUF metadata value can have, and the types that a ledger's JSON values stand for."""

from __future__ import annotations

import re
import reprlib
import struct
from typing import Any

from .gguf_error import GgufError

SCALAR_TYPES: tuple[str, ...] = (
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "arr", "u64", "i64", "f64",
)  # fmt: skip
"""Names of the value types in the order of their ids, 0 to 12 (llama.cpp 0c1e57098, ggml/include/gguf.h)."""

TYPE_IDS: dict[str, int] = {name: number for number, name in enumerate(SCALAR_TYPES)}
FORMATS: dict[str, str] = {
    "u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "bool": "B", "u64": "Q",
    "i64": "q", "f64": "d",
}  # fmt: skip
"""struct letters of the types of fixed size."""

SIZES: dict[str, int] = {name: struct.calcsize("<" + letter) for name, letter in FORMATS.items()}
"""Bytes of one value of each type of fixed size [B]."""

MAX_ITEMS = 2**30
"""Most items of an array that llama.cpp reads (0c1e57098, ggml/src/gguf.cpp)."""

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100
_WORDS = {"str": "strings", "f32": "numbers", "f64": "numbers", "bool": "booleans"}
_SUMMARY = re.compile(r"<(0|[1-9][0-9]{0,17}) (strings|numbers|integers|booleans)>")


_ARRAY = re.compile(r"arr\[(.*)\]")


class SkippedArray(str):
    """An array whose items were skipped: the text that a ledger gives it, "<151936 strings>", with its length.

    Args:
        item_type: the items' value type ("str", "f32", "i32", ...), None where only the text is known.
        length: number of items.
    """

    item_type: str | None
    length: int
    __slots__ = ("item_type", "length")

    def __new__(cls, item_type: str | None, length: int, word: str | None = None) -> SkippedArray:
        text = super().__new__(cls, f"<{length} {word or _WORDS.get(item_type or '', 'integers')}>")
        text.item_type, text.length = item_type, length
        return text

    def __getnewargs__(self) -> tuple[str | None, int, str]:
        return self.item_type, self.length, self[1:-1].split()[1]

    @classmethod
    def from_text(cls, text: str, item_type: str | None = None) -> SkippedArray | None:
        """The skipped array that `text` summarizes, or None where it is any other text."""
        match = _SUMMARY.fullmatch(text)
        if match is None:
            return None
        summary = cls(item_type, int(match[1]), match[2])
        fits = item_type is None or summary == cls(item_type, summary.length)
        return summary if fits else None


def inferred_type(value: Any) -> str:
    """The value type that a ledger's JSON value stands for.

    An integer is unsigned, or signed when negative, of 32 bits where they hold it and else of 64; a decimal that is
    exactly a binary32 number is f32, any other f64; an array has its first item's type, in the width and sign that
    hold all of its items; an empty array is taken as one of u32.

    Raises:
        GgufError: the value is null, an object, a nested array, an integer of more than 64 bits, or an array of mixed
            kinds. The caller adds the place.
    """
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "str"
    if isinstance(value, int):
        return _integer_type(value, value)
    if isinstance(value, float):
        return "f32" if is_binary32(value) else "f64"
    if isinstance(value, (list, tuple)):
        return f"arr[{_item_type(value)}]"
    raise GgufError(f"a {type(value).__name__} is no metadata value", allowed="number, boolean, string, array of those")


def typed_value(value: Any, value_type: str) -> Any:
    """A ledger's JSON value as a metadata value of `value_type`: a number, a text, a tuple or a `SkippedArray`.

    Raises:
        GgufError: there is no such type, or the value is not of it. The caller adds the place.
    """
    array = _ARRAY.fullmatch(value_type)
    if array is None:
        if value_type not in FORMATS and value_type != "str":
            raise GgufError(
                f"no value type is called {shown(value_type)}", allowed=", ".join(SCALAR_TYPES) + ", arr[...]"
            )
        scalar = _scalar(value, value_type)
        return SkippedArray.from_text(scalar) or scalar if value_type == "str" else scalar
    item_type = array[1]
    if item_type not in FORMATS and item_type != "str":
        raise GgufError(f"no items have the type {shown(item_type)}", allowed="arrays of numbers, booleans or strings")
    if isinstance(value, str):
        skipped = SkippedArray.from_text(value, item_type)
        if skipped is None or skipped.length > MAX_ITEMS:
            raise GgufError(f"{shown(value)} is no {value_type}", allowed=f"arrays, or {SkippedArray(item_type, 3)!r}")
        return skipped
    if not isinstance(value, (list, tuple)):
        raise GgufError(f"a {type(value).__name__} is no {value_type}", allowed="arrays")
    if len(value) > MAX_ITEMS:
        raise GgufError(f"an array of {len(value)} items", allowed=f"up to {MAX_ITEMS}")
    return tuple(_scalar(item, item_type) for item in value)


def _scalar(value: Any, value_type: str) -> Any:
    """`value` itself where it is of `value_type`; a binary32 number is rounded to, an integer made a float."""
    if value_type == "str":
        if isinstance(value, str):
            encoded(value)
            return value
    elif value_type == "bool":
        if isinstance(value, bool):
            return value
    elif value_type in ("f32", "f64"):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            try:
                return rounded_to_binary32(float(value)) if value_type == "f32" else float(value)
            except OverflowError:
                raise GgufError(f"{shown(value)} does not fit {value_type}", allowed="numbers that fit it") from None
    elif isinstance(value, int) and not isinstance(value, bool):
        bits = 8 * SIZES[value_type]
        low, high = (0, 2**bits) if value_type[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        if low <= value < high:
            return value
    raise GgufError(f"{shown(value)} is no {value_type}", allowed=f"values of the type {value_type}")


def encoded(text: str) -> bytes:
    """The bytes of `text` in a GGUF file; bytes that are no UTF-8 stand in it as surrogate escapes.

    Raises:
        GgufError: it holds surrogates that escape no byte.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise GgufError(f"{shown(text)} cannot be written as UTF-8", allowed="texts without lone surrogates") from None


def is_binary32(value: float) -> bool:
    """Whether `value` is exactly a binary32 number (infinities and NaN are)."""
    try:
        return value != value or struct.unpack("<f", struct.pack("<f", value))[0] == value
    except OverflowError:
        return False


def rounded_to_binary32(value: float) -> float:
    """The binary32 number nearest to `value`; OverflowError where there is none."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _item_type(items: list[Any] | tuple[Any, ...]) -> str:
    if not items:
        return "u32"
    if isinstance(items[0], (list, tuple, dict)):
        raise GgufError("an array of arrays is no metadata value", allowed="arrays of numbers, booleans or strings")
    first = inferred_type(items[0])
    kind = type(items[0])
    for index, item in enumerate(items):
        same = isinstance(item, kind) and isinstance(item, bool) == (kind is bool)
        if not same and not (kind is float and type(item) is int):
            raise GgufError(
                f"item {index} is {shown(item)}, but the array has its first item's type, {first}",
                allowed="items of one type",
            )
    return _integer_type(min(items), max(items)) if kind is int else first


def shown(value: Any) -> str:
    """`value` in few letters, for an error: a hostile ledger may nest it deeply or make it very long."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    return _SHORT.repr(value) if isinstance(value, (bool, int, float, str, bytes)) else f"a {type(value).__name__}"


def _integer_type(low: int, high: int) -> str:
    if low >= 0:
        if high < 2**32:
            return "u32"
        if high < 2**64:
            return "u64"
    elif low >= -(2**31) and high < 2**31:
        return "i32"
    elif low >= -(2**63) and high < 2**63:
        return "i64"
    raise GgufError("an integer does not fit 64 bits", allowed="-2^63 to 2^64 - 1")
