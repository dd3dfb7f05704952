"""Checkpoints of measured rows whose configuration is published: exact bytes per token without a file of theirs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tinker_nomics.decode import HeaderSource

TABLE = Path(__file__).parent / "data" / "dense_models.toml"
ONE_TYPE = {"F16": "F16", "bf16": "BF16", "16-bit": "BF16", "Q8_0": "Q8_0"}
"""Storages in which every matrix has one type."""
CACHE_ELEMENT_BYTES = 2.0
"""Bytes per element of a cache in 16 bits [B]."""


@dataclass(frozen=True)
class DenseModel:
    """Geometry of a dense model of grouped attention and gated FFN, as its configuration gives it."""

    blocks: int
    width: int
    heads: int
    kv_heads: int
    head: int
    columns: int
    vocabulary: int
    source: str
    values_of_four_bits: str = "Q4_K"

    @property
    def cache_bytes(self) -> float:
        """Bytes of cache that one token of context has in 16 bits [B]."""
        return 2.0 * self.blocks * self.kv_heads * self.head * CACHE_ELEMENT_BYTES

    def header(self, storage: str) -> HeaderSource | None:
        """The checkpoint's header with its matrices stored so; None where it is not known which type each has."""
        if storage not in ONE_TYPE and storage not in ("Q4_0", "Q4_K_M"):
            return None
        rows: list[list] = [
            ["token_embd.weight", self._type(storage, "token_embd", 0), [self.width, self.vocabulary]],
            ["output_norm.weight", "F32", [self.width]],
            ["output.weight", self._type(storage, "output", 0), [self.width, self.vocabulary]],
        ]
        shapes = {
            "attn_q": [self.width, self.heads * self.head],
            "attn_k": [self.width, self.kv_heads * self.head],
            "attn_v": [self.width, self.kv_heads * self.head],
            "attn_output": [self.heads * self.head, self.width],
            "ffn_gate": [self.width, self.columns],
            "ffn_up": [self.width, self.columns],
            "ffn_down": [self.columns, self.width],
        }
        for block in range(self.blocks):
            rows += [[f"blk.{block}.{name}_norm.weight", "F32", [self.width]] for name in ("attn", "ffn")]
            rows += [
                [f"blk.{block}.{name}.weight", self._type(storage, name, block), dims] for name, dims in shapes.items()
            ]
        metadata = {
            "general.architecture": "llama",
            "llama.block_count": self.blocks,
            "llama.embedding_length": self.width,
            "llama.attention.head_count": self.heads,
            "llama.attention.head_count_kv": self.kv_heads,
        }
        return HeaderSource.from_ledger({"metadata": metadata, "tensors": rows})

    def _type(self, storage: str, name: str, block: int) -> str:
        """The type of a tensor in a storage. Source of the mixes: llama.cpp 0c1e57098, src/llama-quant.cpp."""
        if storage in ONE_TYPE:
            return ONE_TYPE[storage]
        if name == "output":
            return "Q6_K"
        if storage == "Q4_0":
            return "Q4_0"
        eighth = self.blocks // 8
        more = block < eighth or block >= 7 * self.blocks // 8 or (block - eighth) % 3 == 2
        if name in ("attn_v", "ffn_down") and more:
            return "Q6_K"
        return self.values_of_four_bits if name == "attn_v" else "Q4_K"


@cache
def dense_models() -> dict[str, DenseModel]:
    """The models of the table by the name that rows call them."""
    return {name: DenseModel(**row) for name, row in tomllib.loads(TABLE.read_text(encoding="utf-8")).items()}
