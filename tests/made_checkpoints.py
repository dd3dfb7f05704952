"""Small descriptions of published models, from their published configurations, as header ledgers for tests.

Only what accounting reads: geometry and the names, types and dims of tensors; the source of each is named beside it.
"""

from __future__ import annotations

from typing import Any

from tinker_nomics.decode import HeaderSource

Row = list[Any]


def header(architecture: str, metadata: dict[str, Any], tensors: list[Row]) -> HeaderSource:
    """A header of `architecture`, whose metadata keys are given without its prefix."""
    keys = {f"{architecture}.{key}": value for key, value in metadata.items()}
    return HeaderSource.from_ledger({"metadata": {"general.architecture": architecture, **keys}, "tensors": tensors})


def outer(width: int, vocabulary: int, tied: bool = False, kind: str = "BF16") -> list[Row]:
    """Embedding, head norm and, unless it is tied, the head."""
    rows: list[Row] = [["token_embd.weight", kind, [width, vocabulary]], ["output_norm.weight", "F32", [width]]]
    return rows if tied else [*rows, ["output.weight", kind, [width, vocabulary]]]


def grouped_attention(block: int, width: int, heads: int, kv_heads: int, head: int, kind: str = "BF16") -> list[Row]:
    """Norm, query, key, value and output projections of grouped attention."""
    name = f"blk.{block}"
    return [
        [f"{name}.attn_norm.weight", "F32", [width]],
        [f"{name}.attn_q.weight", kind, [width, heads * head]],
        [f"{name}.attn_k.weight", kind, [width, kv_heads * head]],
        [f"{name}.attn_v.weight", kind, [width, kv_heads * head]],
        [f"{name}.attn_output.weight", kind, [heads * head, width]],
    ]


def gated_ffn(block: int, width: int, columns: int, kind: str = "BF16", norm: bool = True) -> list[Row]:
    """Norm, gate, up and down projections of a gated FFN."""
    name = f"blk.{block}"
    rows: list[Row] = [[f"{name}.ffn_norm.weight", "F32", [width]]] if norm else []
    return [
        *rows,
        [f"{name}.ffn_gate.weight", kind, [width, columns]],
        [f"{name}.ffn_up.weight", kind, [width, columns]],
        [f"{name}.ffn_down.weight", kind, [columns, width]],
    ]


def experts(block: int, width: int, columns: int, count: int, kind: str = "BF16") -> list[Row]:
    """Norm, router and routed experts."""
    name = f"blk.{block}"
    return [
        [f"{name}.ffn_norm.weight", "F32", [width]],
        [f"{name}.ffn_gate_inp.weight", "F32", [width, count]],
        [f"{name}.ffn_gate_exps.weight", kind, [width, columns, count]],
        [f"{name}.ffn_up_exps.weight", kind, [width, columns, count]],
        [f"{name}.ffn_down_exps.weight", kind, [columns, width, count]],
    ]


def dense(
    architecture: str,
    *,
    blocks: int,
    width: int,
    heads: int,
    kv_heads: int,
    head: int,
    columns: int,
    vocabulary: int = 1024,
    tied: bool = False,
    kind: str = "BF16",
    **keys: Any,
) -> HeaderSource:
    """A dense model of grouped attention and gated FFN; further metadata keys by keyword, "." written "__"."""
    metadata = {
        "block_count": blocks,
        "embedding_length": width,
        "attention.head_count": heads,
        "attention.head_count_kv": kv_heads,
        "attention.key_length": head,
        "attention.value_length": head,
        **{key.replace("__", "."): value for key, value in keys.items()},
    }
    rows = outer(width, vocabulary, tied, kind)
    for block in range(blocks):
        rows += grouped_attention(block, width, heads, kv_heads, head, kind) + gated_ffn(block, width, columns, kind)
    return header(architecture, metadata, rows)


def llama_1b() -> HeaderSource:
    """Llama-3.2-1B (config.json of meta-llama/Llama-3.2-1B): 16 blocks, width 2048, 32 over 8 heads of 64, tied."""
    return dense(
        "llama", blocks=16, width=2048, heads=32, kv_heads=8, head=64, columns=8192, vocabulary=128256, tied=True
    )


def latent(blocks: int, absorbed: bool = True, keys: bool = True) -> HeaderSource:
    """Latent attention as DeepSeek-V3 has it (config.json of deepseek-ai/DeepSeek-V3): rank 512, 64 rotated, 128 heads.

    Args:
        blocks: number of blocks (61 in the model).
        absorbed: key and value projections in the absorbed form, beside the legacy one.
        keys: the metadata says that attention runs on the latent.
    """
    width, heads = 7168, 128
    metadata: dict[str, Any] = {
        "block_count": blocks,
        "embedding_length": width,
        "attention.head_count": heads,
        "attention.head_count_kv": 1 if keys else heads,
        "attention.key_length": 576 if keys else 192,
        "attention.value_length": 512 if keys else 128,
    }
    if keys:
        metadata |= {"attention.key_length_mla": 192, "attention.value_length_mla": 128}
    rows = outer(width, 1024)
    for block in range(blocks):
        name = f"blk.{block}"
        rows += [
            [f"{name}.attn_norm.weight", "F32", [width]],
            [f"{name}.attn_q_a.weight", "BF16", [width, 1536]],
            [f"{name}.attn_q_a_norm.weight", "F32", [1536]],
            [f"{name}.attn_q_b.weight", "BF16", [1536, heads * 192]],
            [f"{name}.attn_kv_a_mqa.weight", "BF16", [width, 576]],
            [f"{name}.attn_kv_a_norm.weight", "F32", [512]],
            [f"{name}.attn_kv_b.weight", "BF16", [512, heads * 256]],
            [f"{name}.attn_output.weight", "BF16", [heads * 128, width]],
        ]
        if absorbed:
            rows += [
                [f"{name}.attn_k_b.weight", "BF16", [128, 512, heads]],
                [f"{name}.attn_v_b.weight", "BF16", [512, 128, heads]],
            ]
    return header("deepseek2", metadata, rows)


def delta_hybrid(
    blocks: int, interval: int = 4, predicted: int = 0, width: int = 5120, inner: int = 6144
) -> HeaderSource:
    """Gated delta recurrences with every `interval`-th block attending, as Qwen3.5-27B has them.

    Source: config.json of Qwen/Qwen3.5-27B: width 5120, 24 over 4 heads of 256, 48 value heads of 128, 16 key heads.
    """
    metadata = {
        "block_count": blocks + predicted,
        "embedding_length": width,
        "attention.head_count": 24,
        "attention.head_count_kv": 4,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": inner,
        "ssm.state_size": 128,
        "ssm.group_count": 16,
        "ssm.time_step_rank": inner // 128,
        "nextn_predict_layers": predicted,
    }
    rows = outer(width, 1024)
    for block in range(blocks + predicted):
        if block >= blocks or (block + 1) % interval == 0:
            rows += grouped_attention(block, width, 24, 4, 256)
        else:
            name = f"blk.{block}"
            rows += [
                [f"{name}.attn_norm.weight", "F32", [width]],
                [f"{name}.attn_qkv.weight", "BF16", [width, inner + 2 * 16 * 128]],
                [f"{name}.attn_gate.weight", "BF16", [width, inner]],
                [f"{name}.ssm_conv1d.weight", "F32", [4, inner + 2 * 16 * 128]],
                [f"{name}.ssm_a", "F32", [inner // 128]],
                [f"{name}.ssm_dt.bias", "F32", [inner // 128]],
                [f"{name}.ssm_norm.weight", "F32", [128]],
                [f"{name}.ssm_out.weight", "BF16", [inner, width]],
            ]
        rows += gated_ffn(block, width, 17408)
    rows += [
        [f"blk.{block}.nextn.eh_proj.weight", "BF16", [2 * width, width]] for block in range(blocks, blocks + predicted)
    ]
    return header("qwen35", metadata, rows)


def two_mixers(blocks: int) -> HeaderSource:
    """Attention and a state space side by side in every block, as Falcon-H1-1.5B has them.

    Source: config.json of tiiuae/Falcon-H1-1.5B-Instruct: width 2048, 8 over 2 heads of 128, inner 3072, state 256.
    """
    width = 2048
    metadata = {
        "block_count": blocks,
        "embedding_length": width,
        "attention.head_count": 8,
        "attention.head_count_kv": 2,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 3072,
        "ssm.state_size": 256,
        "ssm.group_count": 1,
        "ssm.time_step_rank": 48,
    }
    rows = outer(width, 1024)
    for block in range(blocks):
        name = f"blk.{block}"
        rows += grouped_attention(block, width, 8, 2, 128) + gated_ffn(block, width, 4096)
        rows += [
            [f"{name}.ssm_in.weight", "BF16", [width, 2 * 3072 + 2 * 256 + 48]],
            [f"{name}.ssm_conv1d.weight", "F32", [4, 3072 + 2 * 256]],
            [f"{name}.ssm_a", "F32", [1, 48]],
            [f"{name}.ssm_out.weight", "BF16", [3072, width]],
        ]
    return header("falcon-h1", metadata, rows)


def state_spaces(blocks: int, width: int) -> HeaderSource:
    """Selective state spaces alone, as the mamba models have them.

    Source: config.json of state-spaces/mamba-1.4b-hf: 48 blocks of width 2048, inner 4096, state 16, kernel 4.
    """
    inner, state, rank = 2 * width, 16, width // 16
    metadata = {
        "block_count": blocks,
        "embedding_length": width,
        "attention.head_count": 0,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": rank,
    }
    rows = outer(width, 1024, tied=True)
    for block in range(blocks):
        name = f"blk.{block}"
        rows += [
            [f"{name}.attn_norm.weight", "F32", [width]],
            [f"{name}.ssm_in.weight", "BF16", [width, 2 * inner]],
            [f"{name}.ssm_conv1d.weight", "F32", [4, inner]],
            [f"{name}.ssm_x.weight", "BF16", [inner, rank + 2 * state]],
            [f"{name}.ssm_dt.weight", "BF16", [rank, inner]],
            [f"{name}.ssm_a", "F32", [state, inner]],
            [f"{name}.ssm_out.weight", "BF16", [inner, width]],
        ]
    return header("mamba", metadata, rows)


FOUR_BLOCKS = dense("llama", blocks=4, width=4096, heads=32, kv_heads=8, head=128, columns=14336, vocabulary=32000)
