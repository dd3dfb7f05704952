"""One row of a checkpoint's tensor table, and the checks that a table passes row by row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from .ggml_types import MALFORMED_TYPES, GgmlType, UnknownType, type_of_id
from .gguf_error import GgufError
from .value_types import shown

MAX_DIMS = 4
MAX_NAME_BYTES = 63
_INT64 = 2**63
_SIZE = 2**64


@dataclass(frozen=True)
class TensorRow:
    """One tensor of a checkpoint, as its header declares it.

    Args:
        name: the tensor's name.
        type: its storage type.
        dims: lengths, the contiguous dimension first.
        offset: where its data start, from the start of its file's data section [B]; None where it cannot be known.
        shard: index of the file that holds it, 0 for a checkpoint in one file.
    """

    name: str
    type: GgmlType | UnknownType
    dims: tuple[int, ...]
    offset: int | None = field(default=None, compare=False)
    shard: int = field(default=0, compare=False)

    @property
    def elements(self) -> int:
        """Number of elements, the product of the dims."""
        return math.prod(self.dims)

    @property
    def bytes(self) -> int:
        """Bytes of its data by block arithmetic [B], $\\prod dims / block \\cdot block\\_bytes$.

        Raises:
            GgufError: the tensor's type is unknown; the message names both.
        """
        if isinstance(self.type, UnknownType):
            raise GgufError(
                f"tensor {self.name!r} has {self.type.name}, which is not in the table of ggml types, so its bytes "
                "are unknown",
                allowed="types with known blocks (GGML_TYPES)",
            )
        return self.elements // self.type.block * self.type.block_bytes


class TensorTable:
    """Collects rows, refusing what llama.cpp refuses, and derives each row's offset from those before it.

    A file's offsets must be the running sum of the padded sizes: no gap, no overlap, no other order. After a tensor of
    unknown type the sum starts again at whatever aligned offset the next row declares.

    Args:
        alignment: of the data section [B], a power of two.

    Source: llama.cpp 0c1e57098, ggml/src/gguf.cpp.
    """

    def __init__(self, alignment: int):
        self.alignment = alignment
        self.rows: list[TensorRow] = []
        self._names: set[str] = set()
        self._end: int | None = 0  # where the next tensor's data must start
        self._start = -1  # where the previous tensor's data started

    def add(
        self, name: str, dims: tuple[int, ...], type_id: int | UnknownType, offset: int | None, fail: Callable
    ) -> None:
        """Check one row and append it.

        Args:
            name: its name, already checked for length.
            dims: as declared.
            type_id: as declared, or a type of which no id is known.
            offset: as declared [B], or None where the source has no offsets.
            fail: called with (field, what, allowed); returns the GgufError to raise, placed at that field.
        """
        if name in self._names:
            raise fail("name", f"two tensors are called {name!r}", "unique names")
        for index, length in enumerate(dims):
            if not 0 <= length < _INT64:
                # a file's 64 bits are signed to whoever reads them, a ledger's number is what it says
                signed = length - _SIZE if length >= _INT64 and offset is not None else length
                raise fail("dims", f"tensor {name!r}: dims[{index}] is {shown(signed)}", "0 to 2^63 - 1")
        if math.prod(max(length, 1) for length in dims) >= _INT64:
            raise fail("dims", f"tensor {name!r}: dims {list(dims)} have a product past 2^63 - 1", "up to 2^63 - 1")
        if not isinstance(type_id, UnknownType) and (type_id < 0 or type_id in MALFORMED_TYPES):
            raise fail("type", f"tensor {name!r} has {UnknownType(type_id).name}", "ids of GGML_TYPES")
        kind = type_id if isinstance(type_id, UnknownType) else type_of_id(type_id)
        if isinstance(kind, GgmlType) and (dims[0] if dims else 1) % kind.block:
            raise fail(
                "dims",
                f"tensor {name!r}: rows of {dims[0] if dims else 1} elements do not fill whole blocks of {kind.name}",
                f"multiples of {kind.block}",
            )
        start = self._place(name, offset, fail)
        row = TensorRow(name, kind, dims, start)
        if isinstance(kind, GgmlType) and start is not None:
            self._advance(row, start, fail)
        else:
            self._end = None
        self._start = self._start if start is None else start
        self._names.add(name)
        self.rows.append(row)

    def _place(self, name: str, offset: int | None, fail: Callable) -> int | None:
        if offset is None:
            return self._end
        if self._end is not None and offset != self._end:
            raise fail(
                "offset", f"tensor {name!r} starts at offset {offset}", f"{self._end}, where the data before end"
            )
        if self._end is None and (offset <= self._start or offset % self.alignment or offset >= _INT64):
            raise fail(
                "offset",
                f"tensor {name!r} starts at offset {offset}",
                f"multiples of {self.alignment} above {self._start}, where the tensor of unknown type before it starts",
            )
        return offset

    def _advance(self, row: TensorRow, start: int, fail: Callable) -> None:
        size = row.bytes
        end = start + size + (-size) % self.alignment
        if end >= _SIZE:
            raise fail(
                "dims",
                f"tensor {row.name!r} of {size} bytes ends at byte {end} of the data",
                "sums up to 2^64 - 1 bytes",
            )
        self._end = end
