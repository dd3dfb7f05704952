"""Header ledgers: a checkpoint's metadata and tensor table as JSON, read into a header and written from one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..reading import UnreadableFileError, reading
from .ggml_types import GGML_TYPES, GgmlType, UnknownType, ggml_type
from .gguf_error import GgufError
from .gguf_header import DEFAULT_ALIGNMENT, GgufHeader
from .tensor_table import MAX_DIMS, MAX_NAME_BYTES, TensorTable
from .value_types import encoded, inferred_type, shown, typed_value

_FORM = '{"metadata": {key: value, ...}, "tensors": [[name, type, [dims]], ...]}'
MAX_TEXT = 256 * 2**20


class HeaderSource(GgufHeader):
    """A header ledger read as a checkpoint's description, with a `GgufHeader`'s interface; `.origin` is "ledger"."""

    @property
    def origin(self) -> str:
        """ "ledger"."""
        return "ledger"

    @classmethod
    def from_ledger(cls, source: str | os.PathLike[str] | bytes | dict[str, Any]) -> HeaderSource:
        """Read a ledger.

        A JSON integer is unsigned, or signed when negative; a decimal that is exactly a binary32 number is float32, any
        other float64; an array has its first item's type; a summarized value such as "<151936 strings>" is that
        string. A "types" entry, as `to_ledger` writes it, overrides that per key, and other entries are ignored.

        Args:
            source: a path, the JSON text, its bytes, or the parsed object.

        Raises:
            GgufError: it is no ledger, or holds what no GGUF header may hold; the message names the place.
            UnreadableFileError: the file cannot be opened.
        """
        if isinstance(source, dict):
            return _from_object(cls, source)
        if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("{")):
            return _from_object(cls, _parsed(source))
        if not isinstance(source, (str, os.PathLike)):
            raise GgufError(f"a {type(source).__name__} is no ledger", allowed=f"a path, or {_FORM}")
        path = Path(source)
        try:
            with reading(path, "the path of a ledger"), path.open("rb") as file:
                return _from_object(cls, _parsed(file.read(MAX_TEXT + 1)))
        except GgufError as error:
            raise error.within(path.name) from None
        except UnreadableFileError:
            raise
        except ValueError as error:  # a path with a NUL in it
            raise GgufError(f"{shown(str(source))} is neither a path nor a ledger ({error})", allowed=_FORM) from None


def to_ledger(header: GgufHeader) -> dict[str, Any]:
    """The ledger of `header`; see `GgufHeader.to_ledger`."""
    metadata: dict[str, Any] = {}
    types: dict[str, str] = {}
    for key, value in header.metadata.items():
        metadata[key] = list(value) if isinstance(value, tuple) else str(value) if isinstance(value, str) else value
        if header.value_types[key] != inferred_type(metadata[key]):
            types[key] = header.value_types[key]
    rows = [[row.name, _type_in_ledger(row.type), list(row.dims)] for row in header.tensors]
    ledger: dict[str, Any] = {"metadata": metadata, "tensors": rows}
    if types:
        ledger["types"] = types
    if header.version != 3:
        ledger["version"] = header.version
    return ledger


def _type_in_ledger(kind: GgmlType | UnknownType) -> str | int:
    """A type's name, or the id of one that no name is known of."""
    if not isinstance(kind, UnknownType):
        return kind.name
    return kind.called if kind.id is None else kind.id


def _parsed(text: str | bytes) -> Any:
    if len(text) > MAX_TEXT:
        raise GgufError(f"a ledger of more than {MAX_TEXT} bytes", allowed=f"up to {MAX_TEXT} bytes")
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        return json.loads(text.lstrip("\ufeff"), object_pairs_hook=_unique)
    except GgufError:
        raise
    except RecursionError:
        raise GgufError("JSON nested too deeply for a ledger", allowed=_FORM) from None
    except ValueError as error:
        raise GgufError(f"not JSON: {error}", allowed=_FORM) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise GgufError(f"the key {shown(name)} stands twice in one object", allowed="unique keys")
        found[name] = value
    return found


def _from_object(cls: type[HeaderSource], ledger: Any) -> HeaderSource:
    if not isinstance(ledger, dict):
        raise GgufError(f"a ledger is an object, not a {type(ledger).__name__}", allowed=_FORM)
    for name, kind in (("metadata", dict), ("tensors", (list, tuple))):
        if name not in ledger:
            config = ": it looks like a model's config.json, which names no tensors" if "model_type" in ledger else ""
            raise GgufError(f"the ledger has no {name!r}{config}", allowed=_FORM)
        if not isinstance(ledger[name], kind):
            raise GgufError(f"{name!r} is a {type(ledger[name]).__name__}", where=name, allowed=_FORM)
    version = ledger.get("version", 3)
    if isinstance(version, bool) or version not in (2, 3):
        raise GgufError(f"version {shown(version)}", where="version", allowed="2 or 3")
    types = ledger.get("types", {})
    if not isinstance(types, dict):
        raise GgufError(f"'types' is a {type(types).__name__}", where="types", allowed='{key: "u32", ...}')
    metadata, value_types = _metadata(ledger["metadata"], types)
    table = TensorTable(metadata.get("general.alignment", DEFAULT_ALIGNMENT))
    for index, row in enumerate(ledger["tensors"]):
        _add_row(table, f"tensors[{index}]", row)
    return cls(metadata, value_types, tuple(table.rows), int(version))


def _metadata(values: dict[str, Any], types: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    metadata: dict[str, Any] = {}
    value_types: dict[str, str] = {}
    for key, value in values.items():
        where = f"metadata[{shown(key)}]"
        if not isinstance(key, str) or not key:
            raise GgufError(f"the key {shown(key)}", where=where, allowed="texts that are not empty")
        try:
            encoded(key)
            value_type = types.get(key)
            if value_type is None:
                value_type = inferred_type(value)
            if not isinstance(value_type, str):
                raise GgufError(f"the type {shown(value_type)}", allowed='texts such as "u32" or "arr[i32]"')
            metadata[key] = typed_value(value, value_type)
        except GgufError as error:
            raise GgufError(error.what, where=where, allowed=error.allowed) from None
        value_types[key] = value_type
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if value_types.get("general.alignment", "u32") != "u32" or alignment <= 0 or alignment & (alignment - 1):
        raise GgufError(
            f"general.alignment is {shown(alignment)}",
            where="metadata['general.alignment']",
            allowed="powers of two, as u32",
        )
    return metadata, value_types


def _add_row(table: TensorTable, where: str, row: Any) -> None:
    def fail(field: str, what: str, allowed: str) -> GgufError:
        return GgufError(what, where=where, allowed=allowed)

    if not isinstance(row, (list, tuple)) or len(row) != 3:
        raise fail("", f"{shown(row)} is no tensor row", "[name, type, [dims]]")
    name, kind, dims = row
    if not isinstance(name, str):
        raise fail("name", f"the name {shown(name)}", "a text")
    if len(encoded(name)) > MAX_NAME_BYTES:
        raise fail("name", f"the name {shown(name)} has {len(encoded(name))} bytes", f"up to {MAX_NAME_BYTES} bytes")
    if not isinstance(dims, (list, tuple)):
        raise fail("dims", f"tensor {name!r}: dims are {shown(dims)}", "a list of integers")
    for index, length in enumerate(dims):
        if type(length) is not int:
            raise fail("dims", f"tensor {name!r}: dims[{index}] is {shown(length)}", "a list of integers")
    if len(dims) > MAX_DIMS:
        raise fail("dims", f"tensor {name!r} has {len(dims)} dims", f"up to {MAX_DIMS}")
    if type(kind) is int and 0 <= kind < 2**31:
        if kind in GGML_TYPES:
            raise fail("type", f"tensor {name!r} has the type id {kind}", f"its name, {GGML_TYPES[kind].name!r}")
        type_id: int | UnknownType = kind
    elif isinstance(kind, str):
        if not kind or len(encoded(kind)) > MAX_NAME_BYTES:
            raise fail("type", f"tensor {name!r} has the type {shown(kind)}", "a ggml type's name")
        try:
            type_id = ggml_type(kind).id
        except GgufError:  # as of a file that gives an unknown id: the row stays, and has no bytes
            type_id = UnknownType(None, kind)
    else:
        raise fail("type", f"tensor {name!r} has the type {shown(kind)}", "a ggml type's name")
    table.add(name, tuple(dims), type_id, None, fail)
