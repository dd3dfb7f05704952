"""Reads one GGUF file's header by walking its bytes, skipping the bodies of long arrays."""

from __future__ import annotations

import struct
from typing import Any

from .byte_window import MAX_STRING, ByteWindow, too_long
from .gguf_error import GgufError
from .gguf_header import DEFAULT_ALIGNMENT, GgufHeader, Shard
from .tensor_table import MAX_DIMS, MAX_NAME_BYTES, TensorTable
from .value_types import FORMATS, MAX_ITEMS, SCALAR_TYPES, SIZES, SkippedArray, shown

MAGIC = b"GGUF"
KEPT_ITEMS = 65_536
"""Arrays of more items are skipped like the tokenizer's: per-layer arrays have hundreds."""

_LEAST_VALUE = 14  # bytes of a key of one letter, its type, and a value of one byte
_LEAST_TENSOR = 24  # bytes of a row without a name or dims


def read_gguf(window: ByteWindow, name: str = "") -> GgufHeader:
    """Read a GGUF header from where `window` stands.

    Args:
        window: over the file's bytes, at their start.
        name: of the file, for errors and for the header's shard.

    Raises:
        GgufError: the bytes are no GGUF header, or end before it does (`bytes_needed`).

    Source: the container as llama.cpp 0c1e57098 reads and checks it (ggml/src/gguf.cpp).
    """
    try:
        version, tensor_count, value_count = _preamble(window)
        window.to_come = _LEAST_VALUE * value_count + _LEAST_TENSOR * tensor_count
        if window.size is not None and window.offset + window.to_come > window.size:
            raise window.ended(window.size, 0, f"{value_count} metadata values and {tensor_count} tensors")
        metadata, value_types = _metadata(window, value_count, tensor_count)
        alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
        table = _tensors(window, tensor_count, alignment)
    except GgufError as error:
        raise error.within(name) from None
    start = window.offset + (-window.offset) % alignment
    there = None if window.size is None else max(window.size - start, 0)
    shard = Shard(name, start, len(table.rows), there)
    return GgufHeader(metadata, value_types, tuple(table.rows), version, (shard,))


def _preamble(window: ByteWindow) -> tuple[int, int, int]:
    window.to_come = 20
    start = window.peek()[:64]
    magic = window.take(4, "the magic")
    if magic != MAGIC:
        what = f"the file starts with {magic!r}{_looks_like(start)}"
        raise GgufError(what, offset=0, allowed=f"{MAGIC!r}, or a ledger's {{")
    window.to_come = 16
    (version,) = struct.unpack("<I", window.take(4, "the version"))
    if version not in (2, 3):
        swapped = version and version & 0xFFFF == 0
        hint = ": the file is big-endian, convert it to little-endian" if swapped else ""
        raise GgufError(f"GGUF version {version}{hint}", offset=4, allowed="2 or 3")
    window.to_come = 0
    tensors, values = struct.unpack("<QQ", window.take(16, "the counts of tensors and metadata values"))
    for count, noun, offset in ((tensors, "tensors", 8), (values, "metadata values", 16)):
        if count >= 2**63:
            raise GgufError(f"the number of {noun} is {count - 2**64}", offset=offset, allowed="0 to 2^63 - 1")
    return version, tensors, values


def _looks_like(start: bytes) -> str:
    """What else than a GGUF file `start` is the start of, where it is one of the files that people take for one."""
    if start.startswith(b"version https://git-lfs"):
        return ": it is a Git LFS pointer, fetch the file itself"
    if start.lstrip().lower().startswith((b"<!doctype", b"<html")):
        return ": it is a web page, such as an error page in the file's place"
    if start[8:9] == b"{":
        return ": it looks like a safetensors file, convert it to GGUF"
    return ": it is an archive, unpack it" if start.startswith((b"PK\x03\x04", b"\x1f\x8b")) else ""


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _string(window: ByteWindow, what: str, most: int = MAX_STRING) -> bytes:
    start = window.offset
    (length,) = struct.unpack("<Q", window.take(8, what))
    if length > MAX_STRING:
        raise too_long(start, length, what)
    if length > most:
        raise GgufError(f"{what} has {length} bytes", offset=start, allowed=f"up to {most}")
    return window.take(length, what)


def _metadata(window: ByteWindow, count: int, tensor_count: int) -> tuple[dict[str, Any], dict[str, str]]:
    metadata: dict[str, Any] = {}
    value_types: dict[str, str] = {}
    for index in range(count):
        window.to_come = _LEAST_VALUE * (count - index - 1) + _LEAST_TENSOR * tensor_count
        start = window.offset
        key = _text(_string(window, f"the key of metadata value {index}"))
        if not key:
            raise GgufError(
                f"the key of metadata value {index} is empty", offset=start, allowed="keys of at least one byte"
            )
        if key in metadata:
            raise GgufError(f"the key {shown(key)} stands twice", offset=start, allowed="unique keys")
        start = window.offset
        value_types[key], metadata[key] = _value(window, key)
        if key == "general.alignment":
            _check_alignment(metadata[key], value_types[key], start)
    return metadata, value_types


def _check_alignment(alignment: Any, value_type: str, offset: int) -> None:
    if value_type != "u32":
        raise GgufError(f"general.alignment is of type {value_type}", offset=offset, allowed="u32")
    if alignment == 0 or alignment & (alignment - 1):
        raise GgufError(f"general.alignment is {alignment}", offset=offset + 4, allowed="powers of two")


def _type(window: ByteWindow, what: str) -> str:
    start = window.offset
    (number,) = struct.unpack("<I", window.take(4, f"the type of {what}"))
    if number >= len(SCALAR_TYPES):
        raise GgufError(f"{what} has the value type {number}", offset=start, allowed="0 to 12")
    return SCALAR_TYPES[number]


def _value(window: ByteWindow, key: str) -> tuple[str, Any]:
    """The type and the value of `key`."""
    what = f"the value of {shown(key)}"
    kind = _type(window, what)
    if kind == "arr":
        return _array(window, key)
    if kind == "str":
        return kind, _plain(_text(_string(window, what)))
    (value,) = struct.unpack("<" + FORMATS[kind], window.take(SIZES[kind], what))
    return kind, value != 0 if kind == "bool" else value


def _plain(text: str) -> str:
    """`text`, as a `SkippedArray` where it is the summary that a ledger put in an array's place."""
    return SkippedArray.from_text(text) or text if len(text) < 64 else text


def _array(window: ByteWindow, key: str) -> tuple[str, Any]:
    what = f"the array of {shown(key)}"
    start = window.offset
    kind = _type(window, what)
    if kind == "arr":
        raise GgufError(f"{what} holds arrays", offset=start, allowed="arrays of numbers, booleans or strings")
    start = window.offset
    (count,) = struct.unpack("<Q", window.take(8, f"the length of {what}"))
    if count > MAX_ITEMS:
        raise GgufError(f"{what} declares {count} items", offset=start, allowed=f"up to {MAX_ITEMS}")
    value_type = f"arr[{kind}]"
    skipped = key.startswith("tokenizer.") or count > KEPT_ITEMS
    least = count * (8 if kind == "str" else SIZES[kind])
    if window.size is not None and window.offset + least > window.size:
        raise window.ended(window.size, least, what)
    if skipped:
        if kind == "str":
            window.skip_strings(count, what)
        else:
            window.skip(least, what)
        return value_type, SkippedArray(kind, count)
    if kind == "str":
        return value_type, tuple(_text(_string(window, what)) for _ in range(count))
    items = struct.unpack(f"<{count}{FORMATS[kind]}", window.take(least, what))
    return value_type, tuple(item != 0 for item in items) if kind == "bool" else items


def _tensors(window: ByteWindow, count: int, alignment: int) -> TensorTable:
    table = TensorTable(alignment)
    places: dict[str, int] = {}

    def fail(field: str, what: str, allowed: str) -> GgufError:
        return GgufError(what, offset=places[field], allowed=allowed)

    for index in range(count):
        window.to_come = _LEAST_TENSOR * (count - index - 1) + 16  # dims at least 0, then a type and an offset
        places["name"] = window.offset
        name = _text(_string(window, f"the name of tensor {index}", MAX_NAME_BYTES))
        start = window.offset
        (dim_count,) = struct.unpack("<I", window.take(4, f"the number of dims of tensor {name!r}"))
        if dim_count > MAX_DIMS:
            raise GgufError(f"tensor {name!r} has {dim_count} dims", offset=start, allowed=f"up to {MAX_DIMS}")
        places["dims"] = window.offset
        places["type"] = window.offset + 8 * dim_count
        places["offset"] = places["type"] + 4
        window.to_come -= 16
        rest = window.take(8 * dim_count + 12, f"the row of tensor {name!r}")
        *dims, type_id, offset = struct.unpack(f"<{dim_count}QiQ", rest)
        table.add(name, tuple(dims), type_id, offset, fail)
    return table
