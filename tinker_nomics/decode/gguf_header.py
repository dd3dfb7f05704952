"""A checkpoint as its header describes it: metadata, tensor table, and where the tensor data lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .ggml_types import UnknownType
from .gguf_error import GgufError
from .tensor_table import TensorRow

DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True)
class Shard:
    """One file of a checkpoint.

    Args:
        name: the file's name, empty where the source had none.
        data_offset: the byte of the file at which its data section starts [B].
        tensors: number of tensors that it holds.
        data_bytes: bytes of the data section that are there [B]; None where the source's length is unknown.
    """

    name: str
    data_offset: int
    tensors: int
    data_bytes: int | None = None


@dataclass(frozen=True, eq=False)
class GgufHeader:
    """The metadata and the whole tensor table of a checkpoint, without its data.

    Two headers are equal when their metadata (values and value types), tensors (names, types, dims) and version are.

    Args:
        metadata: key to value: int, float, bool, str, a tuple of those, or a `SkippedArray` where the items were
            skipped (every array of the tokenizer, and arrays of more than 65,536 items).
        value_types: key to the type of its value: "u32", "str", "arr[i32]", ...
        tensors: the tensor table, in the file's order.
        version: of the GGUF container, 2 or 3.
        shards: the files that it was read from; empty for a ledger.

    Source: the container as llama.cpp 0c1e57098 reads it (ggml/src/gguf.cpp).
    """

    metadata: dict[str, Any]
    value_types: dict[str, str]
    tensors: tuple[TensorRow, ...]
    version: int = 3
    shards: tuple[Shard, ...] = field(default=())

    @property
    def origin(self) -> str:
        """ "gguf" or "ledger": what the header was read from."""
        return "gguf"

    @property
    def architecture(self) -> str | None:
        """`general.architecture`; None where the file does not say."""
        value = self.metadata.get("general.architecture")
        return value if isinstance(value, str) else None

    @property
    def alignment(self) -> int:
        """Alignment of every tensor's data [B]."""
        return self.metadata.get("general.alignment", DEFAULT_ALIGNMENT)

    @property
    def data_offset(self) -> int | None:
        """The byte at which the (first) file's data section starts [B]; None for a ledger."""
        return self.shards[0].data_offset if self.shards else None

    @cached_property
    def parameters(self) -> int:
        """Elements of all tensors."""
        return sum(row.elements for row in self.tensors)

    @cached_property
    def weight_bytes(self) -> int:
        """Bytes of all tensors' data, without padding [B].

        Raises:
            GgufError: some tensors have unknown types; the message names them.
        """
        unknown = [f"{row.name!r} ({row.type.name})" for row in self.tensors if isinstance(row.type, UnknownType)]
        if unknown:
            shown = ", ".join(unknown[:5]) + (f" and {len(unknown) - 5} more" if len(unknown) > 5 else "")
            raise GgufError(
                f"the bytes of this checkpoint are unknown, for these tensors have unknown types: {shown}",
                allowed="types with known blocks (GGML_TYPES)",
            )
        return sum(row.bytes for row in self.tensors)

    @property
    def missing_data_bytes(self) -> int | None:
        """Bytes of tensor data after the end of the files [B]: 0 for whole files, all for a header alone.

        None where that is unknown: for a ledger, and for sources whose length is unknown.
        """
        present = [shard.data_bytes for shard in self.shards if shard.data_bytes is not None]
        if not present or len(present) < len(self.shards):
            return None
        ends = [0] * len(present)
        for row in self.tensors:
            if row.offset is not None and not isinstance(row.type, UnknownType):
                ends[row.shard] = row.offset + row.bytes
        return sum(max(end - there, 0) for end, there in zip(ends, present))

    @cached_property
    def tensor(self) -> dict[str, TensorRow]:
        """The tensor table by name."""
        return {row.name: row for row in self.tensors}

    def get(self, key: str, default: Any = None) -> Any:
        """The metadata value of `key`, or `default` where it is absent."""
        return self.metadata.get(key, default)

    def arch(self, key: str, default: Any = None) -> Any:
        """The value of `key` under the architecture's prefix, such as `arch("attention.head_count")`."""
        return self.metadata.get(f"{self.architecture}.{key}", default)

    def to_ledger(self) -> dict[str, Any]:
        """This header as a ledger that `json.dumps` takes: reading it gives an equal header.

        Beside "metadata" and "tensors" it has "types", for those values whose type their JSON form does not tell.
        """
        from .ledger import to_ledger

        return to_ledger(self)

    def to_gguf(self, path: str | Path, force: bool = False) -> Path:
        """Write a GGUF file that holds this header and no tensor data.

        Arrays that were skipped are written as that many zeros or empty strings, or as their summary text where the
        item type is not known (a ledger's).

        Args:
            path: the file to write.
            force: replace an existing file.

        Raises:
            GgufError: the header cannot be put in a GGUF file.
            OutputExistsError: the file exists and `force` is not set.
        """
        from .gguf_writer import write_header

        return write_header(self, path, force)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GgufHeader):
            return NotImplemented
        mine = (self.metadata, self.value_types, self.tensors, self.version)
        return mine == (other.metadata, other.value_types, other.tensors, other.version)

    def __hash__(self) -> int:
        return hash((self.tensors, tuple(self.metadata), self.version))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(architecture={self.architecture!r}, {len(self.metadata)} metadata values, "
            f"{len(self.tensors)} tensors, {self.parameters} parameters, version={self.version})"
        )
