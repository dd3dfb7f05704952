"""Writes a header as a GGUF file without tensor data, through the gguf package's writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tinker_nomics.files import atomic_path

from .ggml_types import UnknownType
from .gguf_error import GgufError
from .gguf_header import GgufHeader
from .tensor_table import TensorRow
from .value_types import TYPE_IDS, SkippedArray, encoded

_MOST_PLACEHOLDERS = 2**24
"""The largest vocabularies have a million tokens; each skipped item costs 9 bytes of memory while writing."""


def write_header(header: GgufHeader, path: str | Path, force: bool = False) -> Path:
    """Write `header` to `path`, whole or not at all; see `GgufHeader.to_gguf`."""
    from gguf import GGUFValueType, GGUFWriter

    class HeaderWriter(GGUFWriter):
        """gguf's writer, which else refuses arrays without items."""

        def _pack_val(self, val: Any, vtype: Any, add_vtype: bool, sub_type: Any = None) -> bytes:
            if vtype == GGUFValueType.ARRAY and len(val) == 0:
                prefix = self._pack("I", vtype) if add_vtype else b""
                return bytes(prefix + self._pack("I", sub_type) + self._pack("Q", 0))
            return super()._pack_val(val, vtype, add_vtype, sub_type)

    for row in header.tensors:
        if row.type.id is None:
            raise GgufError(
                f"tensor {row.name!r} has {row.type.name}, of which no id is known",
                allowed="types of GGML_TYPES, or ids",
            )
    sizes = _sizes(header)
    with atomic_path(path, force) as temporary:
        writer = HeaderWriter(temporary, "")
        writer.data_alignment = header.alignment
        for key, value in header.metadata.items():
            value_type = header.value_types[key]
            item_type = value_type[4:-1] if value_type.startswith("arr[") else None
            writer.add_key_value(
                encoded(key),  # type: ignore[arg-type]  # bytes: a key need not be UTF-8
                _written(value, item_type),
                GGUFValueType(TYPE_IDS["arr" if item_type else value_type]),
                GGUFValueType(TYPE_IDS[item_type]) if item_type else None,
            )
        for row, size in zip(header.tensors, sizes, strict=True):
            # the type goes in as its bare id: gguf's own list of types lacks some
            writer.add_tensor_info(encoded(row.name), row.dims[::-1], None, size, row.type.id)  # type: ignore[arg-type]
        try:
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_ti_data_to_file()
            for file in writer.fout or ():
                writer.write_padding(file, file.tell(), header.alignment)
        finally:
            writer.close()
    return Path(path)


def _written(value: Any, item_type: str | None) -> Any:
    """The value as gguf's writer takes it: texts as bytes, for they need not be UTF-8."""
    if item_type is None:
        return encoded(value) if isinstance(value, str) else value
    if isinstance(value, SkippedArray):
        if value.length > _MOST_PLACEHOLDERS:
            raise GgufError(
                f"an array of {value.length} skipped items is too long to stand in a header-only file",
                allowed=f"up to {_MOST_PLACEHOLDERS} items",
            )
        return ([b""] if item_type == "str" else [False] if item_type == "bool" else [0]) * value.length
    return [encoded(item) for item in value] if item_type == "str" else value


def _sizes(header: GgufHeader) -> list[int]:
    """Bytes of each tensor's data; of one of unknown type the bytes up to the next tensor."""
    following: list[TensorRow | None] = [*header.tensors[1:], None]
    sizes = []
    for row, after in zip(header.tensors, following):
        if not isinstance(row.type, UnknownType):
            sizes.append(row.bytes)
        elif after is None:
            sizes.append(0)
        elif row.offset is None or after.offset is None or after.offset < row.offset:
            raise GgufError(
                f"the offset of tensor {after.name!r} is unknown, for {row.name!r} before it has {row.type.name}",
                allowed="types with known blocks (GGML_TYPES), or a header read from a GGUF file",
            )
        else:
            sizes.append(after.offset - row.offset)
    return sizes
