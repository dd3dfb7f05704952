"""How ggml stores tensors: elements per block and bytes per block of every storage type that a GGUF file may name."""

from __future__ import annotations

from dataclasses import dataclass

from .gguf_error import GgufError

GGML_TYPES_SOURCE = "llama.cpp commit 0c1e57098 (ggml 0.25.3): ggml/include/ggml.h for ids, ggml/src/ggml.c type_traits"
"""Where the block arithmetic below is read from. (gguf 0.19's table gives Q8_1 as 40 bytes and lacks Q2_0.)"""


@dataclass(frozen=True)
class GgmlType:
    """One ggml storage type.

    $bytes = \\frac{elements}{block} \\cdot block\\_bytes$, where the row length is a multiple of the block.

    Args:
        id: the number that GGUF stores.
        name: its name, such as "Q4_K".
        block: elements per block.
        block_bytes: bytes per block [B].

    Source: `GGML_TYPES_SOURCE`.
    """

    id: int
    name: str
    block: int
    block_bytes: int

    @property
    def bytes_per_element(self) -> float:
        """Mean bytes per element [B]."""
        return self.block_bytes / self.block

    def bytes_of(self, elements: int) -> int:
        """Bytes of `elements` elements [B].

        Raises:
            GgufError: `elements` is not a multiple of the block.
        """
        if elements % self.block:
            raise GgufError(
                f"{elements} elements do not fill whole blocks of {self.name}", allowed=f"multiples of {self.block}"
            )
        return elements // self.block * self.block_bytes


@dataclass(frozen=True)
class UnknownType:
    """A type that a file names and this table does not hold: it keeps its tensor's row and has no bytes.

    Args:
        id: its id; None where a ledger gives a name alone.
        called: its name, where a ledger gives one.
    """

    id: int | None
    called: str = ""

    @property
    def name(self) -> str:
        """ "type N", with the name of a removed type where the id once had one; of a ledger's type "type 'NAME'"."""
        if self.id is None:
            return f"type {self.called!r}"
        removed = REMOVED_TYPES.get(self.id)
        return f"type {self.id}" + (f" ({removed}, removed from ggml)" if removed else "")


def _table(rows: str) -> dict[int, GgmlType]:
    types = {}
    for row in rows.strip().splitlines():
        number, name, block, block_bytes = row.split()
        types[int(number)] = GgmlType(int(number), name, int(block), int(block_bytes))
    return types


GGML_TYPES: dict[int, GgmlType] = _table("""
    0 F32 1 4
    1 F16 1 2
    2 Q4_0 32 18
    3 Q4_1 32 20
    6 Q5_0 32 22
    7 Q5_1 32 24
    8 Q8_0 32 34
    9 Q8_1 32 36
    10 Q2_K 256 84
    11 Q3_K 256 110
    12 Q4_K 256 144
    13 Q5_K 256 176
    14 Q6_K 256 210
    15 Q8_K 256 292
    16 IQ2_XXS 256 66
    17 IQ2_XS 256 74
    18 IQ3_XXS 256 98
    19 IQ1_S 256 50
    20 IQ4_NL 32 18
    21 IQ3_S 256 110
    22 IQ2_S 256 82
    23 IQ4_XS 256 136
    24 I8 1 1
    25 I16 1 2
    26 I32 1 4
    27 I64 1 8
    28 F64 1 8
    29 IQ1_M 256 56
    30 BF16 1 2
    34 TQ1_0 256 54
    35 TQ2_0 256 66
    39 MXFP4 32 17
    40 NVFP4 64 36
    41 Q1_0 128 18
    42 Q2_0 64 18
""")
"""Every storage type by its id."""

REMOVED_TYPES: dict[int, str] = {
    4: "Q4_2",
    5: "Q4_3",
    31: "Q4_0_4_4",
    32: "Q4_0_4_8",
    33: "Q4_0_8_8",
    36: "IQ4_NL_4_4",
    37: "IQ4_NL_4_8",
    38: "IQ4_NL_8_8",
}
"""Ids that ggml has withdrawn. 4 and 5 went before GGUF existed, so a file that names them is malformed; the others
stand in older files, and 36 means another type in ik_llama.cpp's files, so no bytes are computed for them."""

MALFORMED_TYPES = frozenset({4, 5})
"""Removed types that no GGUF writer ever had."""

_BY_NAME = {kind.name: kind for kind in GGML_TYPES.values()}


def ggml_type(name: str) -> GgmlType:
    """The storage type called `name`, in any case: "q8_0" and "Q8_0" are one.

    Raises:
        GgufError: no type has that name.
    """
    kind = _BY_NAME.get(name.upper())
    if kind is None:
        raise GgufError(f"no ggml type is called {name!r}", allowed=", ".join(_BY_NAME))
    return kind


def type_of_id(number: int) -> GgmlType | UnknownType:
    """The storage type with the id `number`, or an `UnknownType` that remembers it."""
    return GGML_TYPES.get(number) or UnknownType(number)
