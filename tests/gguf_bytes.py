"""Builds GGUF files byte by byte for tests, right ones and wrong ones, independently of the package and of gguf."""

from __future__ import annotations

import struct

TYPES = ("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "arr", "u64", "i64", "f64")
LETTERS = dict(zip(TYPES, "BbHhIifB  Qqd"))
F32, F16, Q4_K, Q8_1 = 0, 1, 12, 9


def string(text: str | bytes) -> bytes:
    """A string: its length, then its bytes."""
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def scalar(kind: str, value: object) -> bytes:
    """One value without its type."""
    return string(value) if kind == "str" else struct.pack("<" + LETTERS[kind], value)  # type: ignore[arg-type]


def value(key: str | bytes, kind: str, content: object) -> bytes:
    """One metadata value; for an array `kind` is its item type in brackets, "[i32]"."""
    if not kind.startswith("["):
        return string(key) + struct.pack("<I", TYPES.index(kind)) + scalar(kind, content)
    item = kind[1:-1]
    items = b"".join(scalar(item, each) for each in content)  # type: ignore[attr-defined]
    count = len(content)  # type: ignore[arg-type]
    return string(key) + struct.pack("<IIQ", TYPES.index("arr"), TYPES.index(item), count) + items


def tensor(name: str | bytes, dims: list[int], kind: int, offset: int, dim_count: int | None = None) -> bytes:
    """One row of the tensor table; numbers wrap to 64 bits, so that wrong ones can be written."""
    count = len(dims) if dim_count is None else dim_count
    lengths = b"".join(struct.pack("<Q", length % 2**64) for length in dims)
    return string(name) + struct.pack("<I", count) + lengths + struct.pack("<iQ", kind, offset % 2**64)


def gguf(
    values: list[bytes] | None = None,
    tensors: list[bytes] | None = None,
    *,
    version: int = 3,
    magic: bytes = b"GGUF",
    counts: tuple[int, int] | None = None,
) -> bytes:
    """A GGUF file without tensor data; `counts` (tensors, values) overrides the true numbers."""
    values, tensors = values or [], tensors or []
    tensor_count, value_count = counts or (len(tensors), len(values))
    start = magic + struct.pack("<IQQ", version, tensor_count % 2**64, value_count % 2**64)
    return start + b"".join(values) + b"".join(tensors)


def llama(blocks: int = 2, tokens: int = 300, expert_count: int = 0) -> bytes:
    """A small header with everything that a real one has: every kind of value, a tokenizer, a whole tensor table."""
    values = [
        value("general.architecture", "str", "llama"),
        value("general.name", "str", "Lämmchen"),
        value("general.tags", "[str]", ["text", "test", "ü"]),
        value("general.file_type", "u32", 15),
        value("llama.block_count", "u32", blocks),
        value("llama.context_length", "u64", 131072),
        value("llama.embedding_length", "u32", 256),
        value("llama.attention.head_count", "u16", 8),
        value("llama.attention.head_count_kv", "[i32]", [4] * blocks),
        value("llama.attention.sliding_window_pattern", "[bool]", [True, False] * (blocks // 2)),
        value("llama.attention.layer_norm_rms_epsilon", "f32", 1e-5),
        value("llama.rope.freq_base", "f32", 500000.0),
        value("llama.logit_scale", "f64", 0.1),
        value("llama.use_parallel_residual", "bool", 0),
        value("llama.expert_count", "i32", expert_count),
        value("llama.small", "i8", -3),
        value("llama.tiny", "u8", 200),
        value("llama.short", "i16", -300),
        value("llama.long", "i64", -(2**40)),
        value("tokenizer.ggml.model", "str", "gpt2"),
        value("tokenizer.ggml.tokens", "[str]", [f"token{number}" for number in range(tokens)]),
        value("tokenizer.ggml.scores", "[f32]", [0.5] * tokens),
        value("tokenizer.ggml.token_type", "[i32]", [1] * tokens),
        value("tokenizer.ggml.merges", "[str]", ["a b"] * (tokens // 2)),
        value("tokenizer.ggml.bos_token_id", "u32", 1),
        value("tokenizer.chat_template", "str", "{{ messages }}" * 20),
    ]
    shapes: list[tuple[str, list[int], int, int]] = [("token_embd.weight", [256, tokens], Q4_K, tokens * 144)]
    for block in range(blocks):
        for name, dims in (("attn_q", [256, 256]), ("attn_k", [256, 128]), ("attn_v", [256, 128])):
            shapes.append((f"blk.{block}.{name}.weight", dims, Q4_K, dims[0] * dims[1] // 256 * 144))
        shapes.append((f"blk.{block}.attn_norm.weight", [256], F32, 1024))
        if expert_count:
            shapes.append((f"blk.{block}.ffn_up_exps.weight", [256, 512, expert_count], F16, 262144 * expert_count))
        shapes.append((f"blk.{block}.ffn_down.weight", [512, 256], F16, 262144))
    tensors, offset = [], 0
    for name, dims, kind, size in shapes:
        tensors.append(tensor(name, dims, kind, offset))
        offset += size + -size % 32
    return gguf(values, tensors)
