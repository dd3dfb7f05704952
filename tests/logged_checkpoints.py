"""Whole checkpoints whose sizes public logs print, from their published configurations."""

from __future__ import annotations

from typing import Any

from made_checkpoints import dense, experts, gated_ffn, grouped_attention, header, outer

from tinker_nomics.decode import HeaderSource


def llama2_13b() -> HeaderSource:
    """Llama-2-13B. Source: config.json of meta-llama/Llama-2-13b-hf."""
    return dense("llama", blocks=40, width=5120, heads=40, kv_heads=40, head=128, columns=13824, vocabulary=32000)


def qwen3_32b() -> HeaderSource:
    """Qwen3-32B, whose queries and keys are normed by head. Source: config.json of Qwen/Qwen3-32B."""
    plain = dense(
        "qwen3", blocks=64, width=5120, heads=64, kv_heads=8, head=128, columns=25600, vocabulary=151936
    ).to_ledger()
    norms = [[f"blk.{i}.attn_{x}_norm.weight", "F32", [128]] for i in range(64) for x in "qk"]
    return HeaderSource.from_ledger({**plain, "tensors": plain["tensors"] + norms})


def latent_lite() -> HeaderSource:
    """DeepSeek-V2-Lite, whose latent attention is stored in the legacy form and whose queries have no latent.

    Source: config.json of deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct: 27 blocks of width 2048, 16 heads of 128 + 64,
    rank 512, one dense block of 10944 columns, then 64 experts of 1408 beside a shared one of 2816.
    """
    width, heads = 2048, 16
    metadata: dict[str, Any] = {
        "block_count": 27,
        "embedding_length": width,
        "attention.head_count": heads,
        "attention.head_count_kv": heads,
        "attention.key_length": 192,
        "attention.value_length": 128,
        "expert_count": 64,
        "expert_used_count": 6,
    }
    rows = outer(width, 102400)
    for block in range(27):
        name = f"blk.{block}"
        rows += [
            [f"{name}.attn_norm.weight", "F32", [width]],
            [f"{name}.attn_q.weight", "BF16", [width, heads * 192]],
            [f"{name}.attn_kv_a_mqa.weight", "BF16", [width, 576]],
            [f"{name}.attn_kv_a_norm.weight", "F32", [512]],
            [f"{name}.attn_kv_b.weight", "BF16", [512, heads * 256]],
            [f"{name}.attn_output.weight", "BF16", [heads * 128, width]],
        ]
        if block == 0:
            rows += gated_ffn(block, width, 10944)
            continue
        rows += experts(block, width, 1408, 64)
        rows += [[f"{name}.ffn_{x}_shexp.weight", "BF16", [width, 2816]] for x in ("gate", "up")]
        rows.append([f"{name}.ffn_down_shexp.weight", "BF16", [2816, width]])
    return header("deepseek2", metadata, rows)


def fused_ffn(blocks: int) -> HeaderSource:
    """Gate and up projection in one tensor, and four norms in a block, as GLM-Z1-Rumination-32B has them.

    Source: config.json of THUDM/GLM-Z1-Rumination-32B-0414: 61 blocks of width 6144, 48 over 8 heads of 128, 23040
    columns, 151552 tokens.
    """
    width, columns = 6144, 23040
    metadata = {
        "block_count": blocks,
        "embedding_length": width,
        "attention.head_count": 48,
        "attention.head_count_kv": 8,
    }
    rows = outer(width, 151552)
    for block in range(blocks):
        name = f"blk.{block}"
        rows += grouped_attention(block, width, 48, 8, 128)
        rows += [[f"{name}.{x}.weight", "F32", [width]] for x in ("post_attention_norm", "ffn_norm", "post_ffw_norm")]
        rows += [
            [f"{name}.ffn_up.weight", "BF16", [width, 2 * columns]],
            [f"{name}.ffn_down.weight", "BF16", [columns, width]],
        ]
    return header("glm4", metadata, rows)


def with_sinks(blocks: int, count: int) -> HeaderSource:
    """Experts with biases and attention with sinks, as the gpt-oss models have them.

    Source: config.json of openai/gpt-oss-20b: 24 blocks of width 2880, 64 over 8 heads of 64, 32 experts of 2880.
    """
    width = 2880
    metadata = {
        "block_count": blocks,
        "embedding_length": width,
        "attention.head_count": 64,
        "attention.head_count_kv": 8,
        "attention.key_length": 64,
        "attention.value_length": 64,
        "attention.sliding_window": 128,
        "expert_count": count,
        "expert_used_count": 4,
    }
    rows = outer(width, 201088)
    for block in range(blocks):
        name = f"blk.{block}"
        rows += grouped_attention(block, width, 64, 8, 64)
        rows += [[f"{name}.attn_{x}.bias", "F32", [size]] for x, size in (("q", 4096), ("k", 512), ("v", 512))]
        rows += [[f"{name}.attn_output.bias", "F32", [width]], [f"{name}.attn_sinks.weight", "F32", [64]]]
        rows += [row for row in experts(block, width, width, count, "MXFP4") if "ffn_norm" not in row[0]]
        rows += [[f"{name}.post_attention_norm.weight", "F32", [width]], [f"{name}.ffn_gate_inp.bias", "F32", [count]]]
        rows += [[f"{name}.ffn_{x}_exps.bias", "F32", [width, count]] for x in ("gate", "up", "down")]
    return header("gpt-oss", metadata, rows)


def ternary() -> HeaderSource:
    """Matrices of a type that ggml does not have, as a fork of llama.cpp stores BitNet-b1.58-2B (its id 36, I2_S).

    Source: metadata of the file, https://github.com/ikawrakow/ik_llama.cpp/pull/337: 30 blocks of width 2560, 20 over 5
    heads of 128, 6912 columns, 128256 tokens, a norm more before either output.
    """
    width, columns = 2560, 6912
    rows = outer(width, 128256, kind="F16")
    for block in range(30):
        name = f"blk.{block}"
        plain = grouped_attention(block, width, 20, 5, 128) + gated_ffn(block, width, columns)
        rows += [[name_, 36 if kind == "BF16" else kind, dims] for name_, kind, dims in plain]
        rows += [[f"{name}.attn_sub_norm.weight", "F32", [width]], [f"{name}.ffn_sub_norm.weight", "F32", [columns]]]
    keys = {"block_count": 30, "embedding_length": width, "attention.head_count": 20, "attention.head_count_kv": 5}
    return header("bitnet-25", keys, rows)
