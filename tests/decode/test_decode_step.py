"""The chain, its parts and their dependence on sequences, on checkpoints made from published configurations."""

from __future__ import annotations

import math
import random

import jax
import numpy as np
import pytest
from made_checkpoints import dense, experts, gated_ffn, grouped_attention, header, latent, llama_1b, outer, two_mixers

from tinker_nomics.boundary import x64
from tinker_nomics.decode import (
    DecodeRefusal,
    DecodeStep,
    Deployment,
    GgufError,
    HeaderSource,
    HeldClass,
    StageKind,
    decode_step,
)

BLOCK = [
    StageKind.mixer_norm,
    StageKind.mixer_in,
    StageKind.mixer,
    StageKind.mixer_out,
    StageKind.ffn_norm,
    StageKind.ffn_up,
    StageKind.ffn_down,
]


def kinds(step, block):
    return [stage.kind for stage in step.stages if stage.block == block]


def reduced(step, block):
    return [stage.kind for stage in step.stages if stage.block == block and stage.collective == "all_reduce"]


def units(step, kind, held_class, block=0):
    return {
        float(step.part_units[part])
        for part, stage in enumerate(step.part_stage)
        if step.stages[stage].kind is kind
        and step.stages[stage].block == block
        and step.part_class[part] == held_class.index
    }


def mixture(sequences: float = 1.0):
    rows = outer(256, 512)
    for block in range(2):
        rows += grouped_attention(block, 256, 4, 2, 64) + experts(block, 256, 128, 16)
    keys = {
        "block_count": 2,
        "embedding_length": 256,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "expert_count": 16,
        "expert_used_count": 2,
    }
    return decode_step(header("qwen3moe", keys, rows), Deployment(context=512, sequences=sequences))


def test_a_dense_model_is_seven_stages_a_block_and_three():
    step = decode_step(llama_1b(), Deployment(context=1024))
    assert len(step.stages) == 112 + 3
    assert [stage.kind for stage in step.stages[:1]] == [StageKind.embed]
    assert kinds(step, 7) == BLOCK
    assert [stage.kind for stage in step.stages[-2:]] == [StageKind.head_norm, StageKind.head]
    assert reduced(step, 7) == [StageKind.mixer_out, StageKind.ffn_down]
    assert step.stages[-1].collective == "argmax"
    figures = step.to_dict()
    assert figures["parameters"] == 1_235_814_400  # as published for Llama-3.2-1B
    # The tied table is read as the head, and once.
    assert figures["weight_bytes_read"] == figures["weight_bytes"]
    assert figures["matmul_flops"] == 2 * (1_235_814_400 - (2 * 16 + 1) * 2048)
    assert figures["attention_flops"] == 16 * 2 * 32 * 128 * 1024


def test_payloads_are_the_hidden_vector_and_eight_bytes():
    step = decode_step(llama_1b(), Deployment(context=1024, sequences=3))
    assert set(step.stage_payload[:-1]) == {0.0, 2048.0 * 3 * 2}
    assert step.stage_payload[-1] == 24.0


def test_what_divides_by_what():
    step = decode_step(llama_1b(), Deployment(context=1024, weights="Q4_K"))
    matrix, kv = HeldClass.matrix_weights, HeldClass.kv_cache
    assert units(step, StageKind.mixer_in, matrix) == {32.0, 8.0}
    assert units(step, StageKind.mixer, kv) == {32.0, 8.0}
    assert units(step, StageKind.mixer_out, matrix) == {32.0}
    assert units(step, StageKind.ffn_up, matrix) == {8192 / 256}
    assert units(step, StageKind.ffn_down, matrix) == {8192 / 256}
    assert units(step, StageKind.mixer_norm, HeldClass.small_weights) == {1.0}
    assert units(step, StageKind.head, HeldClass.head, None) == {128256.0}
    assert step.widest_units == 128256.0


def test_a_latent_cache_and_its_projections_down_are_replicated():
    step = decode_step(latent(2), Deployment(context=1024))
    assert kinds(step, 0) == [
        StageKind.mixer_norm, StageKind.mixer_in, StageKind.latent_up, StageKind.mixer, StageKind.mixer_out,
    ]  # fmt: skip
    assert units(step, StageKind.mixer_in, HeldClass.matrix_weights) == {1.0}
    assert units(step, StageKind.latent_up, HeldClass.matrix_weights) == {128.0}
    assert units(step, StageKind.mixer, HeldClass.kv_cache) == {1.0, 128.0}
    assert step.to_dict()["attention_flops"] == 2 * 2 * 128 * (576 + 512) * 1024


def test_two_mixers_are_two_stages_and_one_reduction():
    step = decode_step(two_mixers(2), Deployment(context=1024))
    assert kinds(step, 1) == [*BLOCK[:3], StageKind.mixer, *BLOCK[3:]]
    assert reduced(step, 1) == [StageKind.mixer_out, StageKind.ffn_down]


def test_a_parallel_block_reduces_once():
    rows = outer(256, 512) + grouped_attention(0, 256, 4, 4, 64) + gated_ffn(0, 256, 512, norm=False)
    keys = {"block_count": 1, "embedding_length": 256, "attention.head_count": 4}
    step = decode_step(header("command-r", keys, rows), Deployment(context=256))
    assert kinds(step, 0) == [kind for kind in BLOCK if kind is not StageKind.ffn_norm]
    assert reduced(step, 0) == [StageKind.ffn_down]


def test_a_block_of_an_ffn_alone_and_one_of_a_mixer_alone():
    rows = outer(256, 512) + grouped_attention(0, 256, 4, 4, 64) + gated_ffn(1, 256, 512, norm=False)
    rows.append(["blk.1.attn_norm.weight", "F32", [256]])
    keys = {
        "block_count": 2,
        "embedding_length": 256,
        "attention.head_count": [4, 0],
        "attention.head_count_kv": [4, 0],
    }
    step = decode_step(header("nemotron_h", keys, rows), Deployment(context=256))
    assert kinds(step, 0) == BLOCK[:4]
    assert kinds(step, 1) == BLOCK[4:]


def test_held_and_moved_by_class():
    step = mixture()
    held = {part.held_class: part for part in step.held}
    assert sum(part.bytes for part in step.held) == step.to_dict()["weight_bytes"] + 2 * 512 * 2 * 128 * 2
    routed = held[HeldClass.routed_experts]
    assert routed.bytes == 2 * 3 * 256 * 128 * 16 * 2
    assert routed.moved == routed.bytes * 2 / 16
    assert held[HeldClass.embedding_rows].moved == 256 * 2
    assert held[HeldClass.head].moved == held[HeldClass.head].bytes == 256 * 512 * 2
    assert units(step, StageKind.router, HeldClass.small_weights) == {1.0}


@pytest.mark.parametrize("sequences", [1.0, 2.0, 7.5, 64.0])
def test_sequences_share_weights_and_spread_over_experts(sequences):
    one, many = mixture(), mixture(sequences)
    held, held_one = ({part.held_class: part for part in step.held} for step in (many, one))
    routed = held[HeldClass.routed_experts]
    assert routed.moved == pytest.approx(routed.bytes * (1 - (1 - 2 / 16) ** sequences), rel=1e-12)
    assert held[HeldClass.matrix_weights] == held_one[HeldClass.matrix_weights]
    assert held[HeldClass.kv_cache].moved == sequences * held_one[HeldClass.kv_cache].moved
    assert held[HeldClass.embedding_rows].moved == sequences * held_one[HeldClass.embedding_rows].moved
    np.testing.assert_allclose(many.flops(), sequences * one.flops(), rtol=1e-15)
    again = one.with_sequences(sequences)
    for ours, theirs in zip(jax.tree.leaves(again), jax.tree.leaves(many), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_sequences_and_context_can_be_traced_and_differentiated():
    step = mixture()

    def moved(sequences, context):
        return step.with_sequences(sequences).with_context(context).moved_bytes().sum()

    with x64():
        value = jax.jit(moved)(np.float64(3.0), np.float64(400.0))
        slopes = jax.jit(jax.grad(moved, argnums=(0, 1)))(np.float64(3.0), np.float64(400.0))
    assert float(value) == pytest.approx(float(moved(3.0, 400.0)), rel=1e-14)
    small = 1e-4
    assert float(slopes[0]) == pytest.approx((moved(3 + small, 400.0) - moved(3 - small, 400.0)) / 2 / small, rel=1e-6)
    assert float(slopes[1]) == pytest.approx(3 * 2 * 2 * 128 * 2, rel=1e-12)


def test_reserved_bytes_have_a_slope_in_sequences_only_where_pools_are_apart():
    windowed = dense(
        "gemma2", blocks=2, width=256, heads=4, kv_heads=2, head=64, columns=256, attention__sliding_window=1000
    )
    for unified, slope in ((False, (32768 + 1536) * 512.0), (True, 0.0)):
        step = decode_step(windowed, Deployment(context=32768, sequences=2, kv_unified=unified))
        with x64():
            got = jax.grad(lambda b, step=step: step.with_sequences(b).held_bytes.sum())(np.float64(2.5))
        assert float(got) == slope


def test_weights_are_retyped_where_they_are_matrices():
    stored = decode_step(llama_1b(), Deployment(context=256)).to_dict()
    typed = decode_step(llama_1b(), Deployment(context=256, weights="Q8_0")).to_dict()
    norms = (2 * 16 + 1) * 2048 * 4
    assert typed["weight_bytes"] - norms == (stored["weight_bytes"] - norms) / 2 * 34 / 32
    assert typed["matmul_flops"] == stored["matmul_flops"]


def test_rows_that_a_type_does_not_divide_are_refused_by_name():
    thin = dense("llama", blocks=1, width=96, heads=2, kv_heads=2, head=48, columns=256)
    with pytest.raises(DecodeRefusal) as caught:
        decode_step(thin, Deployment(context=256, weights="Q4_K"))
    assert any("'blk.0.attn_q.weight'" in reason and "Q4_K" in reason for reason in caught.value.reasons)


@pytest.mark.parametrize(
    ("architecture", "words"),
    [
        ("bert", "not an autoregressive decoder"),
        ("gemma-embedding", "no KV cache"),
        ("llada", "diffusion"),
        ("wavtokenizer-dec", "vocoder"),
        ("deepseek4", "not known"),
        ("nanbeige", "num_loops"),
    ],
)
def test_what_is_not_decoded_or_not_accounted_for_is_refused_by_name(architecture, words):
    made = dense(architecture, blocks=1, width=64, heads=1, kv_heads=1, head=64, columns=64)
    with pytest.raises(DecodeRefusal, match=words) as caught:
        decode_step(made, Deployment(context=256))
    assert repr(architecture) in str(caught.value)


def test_a_tensor_without_a_role_is_refused_by_name():
    rows = [*outer(64, 128), *grouped_attention(0, 64, 1, 1, 64), ["blk.0.attn_magic.weight", "F32", [64, 64]]]
    made = header("llama", {"block_count": 1, "embedding_length": 64, "attention.head_count": 1}, rows)
    with pytest.raises(DecodeRefusal, match=r"blk\.0\.attn_magic\.weight"):
        decode_step(made, Deployment(context=256))


def test_a_tensor_of_unknown_type_is_refused_by_name():
    rows = [*outer(64, 128), *grouped_attention(0, 64, 1, 1, 64)]
    rows[-1] = [rows[-1][0], 39999, rows[-1][2]]
    made = header("llama", {"block_count": 1, "embedding_length": 64, "attention.head_count": 1}, rows)
    with pytest.raises(DecodeRefusal, match=r"blk\.0\.attn_output\.weight.*39999"):
        decode_step(made, Deployment(context=256))


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ({"block_count": None}, "llama.block_count"),
        ({"embedding_length": "wide"}, "llama.embedding_length is 'wide'"),
        ({"attention.head_count": [2, 2, 2]}, None),
        ({"attention.head_count": [2]}, "an array of 2 counts"),
        ({"attention.head_count": 0}, "attention.head_count is 0 for block 0"),
        ({"block_count": 1}, "tensors of block 1"),
        ({"block_count": 2**31}, "block_count is 2147483648"),
    ],
)
def test_missing_or_malformed_metadata_is_named(missing, named):
    keys = {"block_count": 2, "embedding_length": 64, "attention.head_count": 1, **missing}
    rows = [*outer(64, 128), *grouped_attention(0, 64, 1, 1, 64), *grouped_attention(1, 64, 1, 1, 64)]
    made = header("llama", {key: value for key, value in keys.items() if value is not None}, rows)
    if named is None:
        assert decode_step(made, Deployment(context=256)).to_dict()["kv_bytes_written"] > 0
        return
    with pytest.raises(DecodeRefusal) as caught:
        decode_step(made, Deployment(context=256))
    assert named in str(caught.value)


def test_experts_need_their_counts():
    rows = outer(256, 512) + grouped_attention(0, 256, 4, 4, 64) + experts(0, 256, 128, 16)
    keys = {"block_count": 1, "embedding_length": 256, "attention.head_count": 4, "expert_count": 16}
    for used in ({}, {"expert_used_count": 0}, {"expert_used_count": 17}):
        with pytest.raises(DecodeRefusal, match="expert_used_count"):
            decode_step(header("qwen3moe", {**keys, **used}, rows), Deployment(context=256))


def test_a_pattern_that_must_be_given_is_named():
    made = dense("gemma4", blocks=2, width=64, heads=1, kv_heads=1, head=64, columns=64, attention__sliding_window=32)
    with pytest.raises(DecodeRefusal, match=r"gemma4\.attention\.sliding_window_pattern"):
        decode_step(made, Deployment(context=256))


def test_no_header_gets_anything_but_a_step_or_a_refusal():
    made = [two_mixers(2), latent(2), llama_1b()]
    chance, outcomes = random.Random(7), set()
    for _ in range(400):
        ledger = chance.choice(made).to_ledger()
        metadata, tensors = ledger["metadata"], ledger["tensors"]
        key = chance.choice(sorted(metadata)[1:])
        row = chance.choice(tensors)
        mutation = chance.randrange(5)
        if mutation == 0:
            del metadata[key]
        elif mutation == 1:
            metadata[key] = chance.choice([0, 1, 3, -1, 2**40, "x", 1.5, True, [1, 0], [0, 0], 2**63])
        elif mutation == 2:
            row[2] = chance.choice([[], [0], [1], [32, 0], [7, 3], [1, 1, 1, 1]])
        elif mutation == 3:
            tensors.remove(row)
        else:
            row[0] = row[0].replace(".0.", chance.choice([".99.", ".1.5.", ".x."]))
        ledger.pop("types", None)
        try:
            step = decode_step(HeaderSource.from_ledger(ledger), Deployment(context=300, sequences=2))
        except (DecodeRefusal, GgufError) as refusal:
            outcomes.add(type(refusal))
            continue
        outcomes.add(type(step))
        assert all(math.isfinite(figure) and figure >= 0 for figure in step.to_dict().values())
        assert np.all(step.part_units >= 1)
    assert {DecodeStep, DecodeRefusal} <= outcomes
