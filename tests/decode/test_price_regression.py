"""Public tables of decode speed, each at the tolerance that its rounding allows. Sources beside the numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hand_steps import LLAMA_8B, dense_step, hand_chip, hand_link, one_class, step_of

from tinker_nomics.decode.pricing import Bind, price
from tinker_nomics.decode.stages import HeldClass, Stage, StageKind
from tinker_nomics.decode.step import DecodeStep
from tinker_nomics.hardware import Machine, Tier, TierKind, Topology


def weights_and_cache(weights: float, cache: float, units: float = 2.0**40) -> DecodeStep:
    """Two classes that divide evenly over any power of two of chips."""
    matrix, kv = HeldClass.matrix_weights, HeldClass.kv_cache
    parts = [
        (0, matrix, units, math.inf, weights, 0.0, 0.0, 0.0),
        (1, kv, units, math.inf, cache, 0.0, 0.0, 0.0),
    ]
    return step_of([Stage(StageKind.ffn_up), Stage(StageKind.mixer)], parts, {matrix: weights, kv: cache}, [0.0, 0.0])


@pytest.mark.parametrize(("sequences", "milliseconds"), [(1, 4.521), (64, 7.045)])
def test_llama_8b_on_one_h100(sequences: int, milliseconds: float) -> None:
    """15.010 GB of matrices, head and F32 norms and 0.134 GB of cache per sequence over 3.35 TB/s (H100 SXM)."""
    step = dense_step(**LLAMA_8B, context=1024, sequences=sequences)
    cost = price(step, Machine(hand_chip(3.35e12, rate=989.4e12)))
    assert cost.moved_bytes == pytest.approx(15.010e9 + 0.1342e9 * sequences, rel=2e-4)
    assert cost.floor * 1e3 == pytest.approx(milliseconds, abs=6e-4)
    assert cost.binds is Bind.MEMORY


SCALING_BOOK = [(1, 4.98, 4.17), (8, 12.13, 5.60), (16, 20.30, 7.23), (32, 36.65, 10.50), (64, 69.33, 17.04)]


@pytest.mark.parametrize(("batch", "milliseconds", "a_fifth"), [*SCALING_BOOK, (240, 249.09, 52.99)])
def test_llama_2_13b_on_eight_tpu_v5e(batch: int, milliseconds: float, a_fifth: float) -> None:
    """Austin et al., How to Scale Your Model (2025): 26 GB of bf16, context 8192, 0.82 TB/s a chip."""
    cache = 2 * 40 * 40 * 128 * 8192 * 2.0
    machine = Machine(hand_chip(0.82e12, rate=197e12, link=hand_link(Topology.TORUS2D)), 8)
    full = price(weights_and_cache(26e9, batch * cache), machine).floor
    fifth = price(weights_and_cache(26e9, batch * cache / 5), machine).floor
    assert full * 1e3 == pytest.approx(milliseconds, rel=3e-3)
    assert fifth * 1e3 == pytest.approx(a_fifth, rel=3e-3)


@pytest.mark.parametrize(
    ("width", "residual", "at_4k", "at_128k"), [(8, 0.0, 86, 80), (32, 567e-6, 290, 271), (128, 567e-6, 776, 743)]
)
def test_liminal_llama_405b(width: int, residual: float, at_4k: int, at_128k: int) -> None:
    """LIMINAL (arXiv 2507.14397): one byte a parameter and a cache element, 4 TiB/s a chip, a constant residual."""
    machine = Machine(hand_chip(4 * 2.0**40, overhead=residual / 2, link=hand_link()), width)
    for context, tokens in ((4096, at_4k), (131072, at_128k)):
        cost = price(weights_and_cache(405.85e9, 2 * 126 * 8 * 128 * context), machine)
        assert cost.prediction is not None
        assert 1 / cost.prediction == pytest.approx(tokens, rel=7e-3)


def hazy(overhead: float | None) -> DecodeStep:
    """2.48 GB streamed by the 112 stages of 16 blocks."""
    kind = HeldClass.matrix_weights
    parts = [(s, kind, 1.0, math.inf, 2.48e9 / 112, 0.0, 0.0, 0.0) for s in range(112)]
    return step_of([Stage(StageKind.ffn_up, s // 7) for s in range(112)], parts, {kind: 2.48e9}, [0.0] * 112)


def test_hazy_llama_1b_on_h100() -> None:
    """Hazy Research, Look Ma, No Bubbles (2025-05-27): 1,350 tokens/s at the memory bound, 769 with 5 us a stage."""
    cost = price(hazy(5e-6), Machine(hand_chip(3.35e12, overhead=5e-6)))
    assert 1 / cost.floor == pytest.approx(1350, rel=1e-3)
    assert cost.prediction is not None and 1 / cost.prediction == pytest.approx(769, rel=1e-3)
    assert cost.floor < 1e-3, "the measured megakernel stayed under a millisecond"


GPT_FAST = {
    "Llama-2-7B bf16": (dict(layers=32, hidden=4096, ffn=11008, heads=32, kv_heads=32, vocabulary=32000), 
                        {1: 9.53, 2: 5.92, 4: 3.94, 8: 3.05}),
    "Llama-2-70B bf16": (dict(layers=80, hidden=8192, ffn=28672, heads=64, kv_heads=8, vocabulary=32000),
                         {2: 46.9, 4: 26.3, 8: 16.0}),
}  # fmt: skip


@pytest.mark.parametrize("model", GPT_FAST)
def test_gpt_fast_on_a100(model: str) -> None:
    """pytorch-labs/gpt-fast README @32971d3, A100-80 SXM (2.039 TB/s): the floor lies under each measured time."""
    geometry, measured = GPT_FAST[model]
    step = dense_step(**geometry, head_dim=128, context=5)
    for width, milliseconds in measured.items():
        cost = price(step, Machine(hand_chip(2.039e12, 80e9, 312e12, link=hand_link()), width))
        assert cost.floor * 1e3 < milliseconds
        assert cost.floor * 1e3 > 0.2 * milliseconds, "a floor of next to nothing would prove nothing"


@pytest.mark.parametrize(("ranks", "nodes", "microseconds"), [(2, 1, 8.0), (4, 1, 10.4), (8, 1, 15.2)])
def test_epoch_latency_of_an_all_reduce(ranks: int, nodes: int, microseconds: float) -> None:
    """Epoch AI (arXiv 2506.04645): NCCL latency 6.8 + 1.2 (r - 1) + 10 log2(nodes) us, as the latency of the link."""
    latency = (6.8 + 1.2 * (ranks - 1) + 10 * math.log2(nodes)) * 1e-6
    assert latency * 1e6 == pytest.approx(microseconds, abs=0.05)
    step = dense_step(**{**LLAMA_8B, "layers": 1})
    cost = price(step, Machine(hand_chip(link=hand_link(bandwidth=1e18, latency=latency)), ranks))
    reduced = [stage for stage in cost.stages if stage.stage.collective == "all_reduce"]
    assert len(reduced) == 2
    for stage in reduced:
        assert stage.collective * 1e6 == pytest.approx(microseconds, abs=0.05)


def test_waferllm_llama_8b_on_wse2() -> None:
    """WaferLLM (OSDI 25), Tables 4 and 8: 16 GB over 20 PB/s is 0.8 us, measured 370 us: link and stages rule."""
    wafer = hand_chip(20e15, 40e9, None, overhead=None)
    cost = price(one_class(16.06e9), Machine(wafer))
    assert cost.floor * 1e6 == pytest.approx(0.8, abs=0.01)
    assert cost.floor * 1e6 < 370
    assert cost.prediction is None and cost.refusal is not None
    assert any("stage overhead" in reason for reason in cost.refusal.reasons)


def test_two_tiers_of_corsair() -> None:
    """3 GB moved: 2 GB at 150 TB/s and 1 GB at 0.4 TB/s (d-Matrix Corsair)."""
    corsair = hand_chip(tiers=(Tier(TierKind.SRAM, 2e9, 150e12), Tier(TierKind.LPDDR, 256e9, 0.4e12)))
    cost = price(one_class(3e9), Machine(corsair))
    assert cost.floor == pytest.approx(13.3e-6 + 2.5e-3, rel=1e-4)
    assert cost.placement[0].tiers == pytest.approx((2 / 3, 1 / 3))


def test_a_launch_bound_card_is_not_predicted_from_bytes() -> None:
    """A 4.4 GB Q8_0 model on an RTX 3090 (936 GB/s) has a floor of 4.7 ms and measured 26.3 ms at any context."""
    cost = price(one_class(4.4e9), Machine(hand_chip(936e9, 24e9, None, overhead=None)))
    assert cost.floor * 1e3 == pytest.approx(4.7, abs=0.05)
    assert cost.prediction is None and cost.refusal is not None and len(cost.refusal.reasons) == 2


def test_the_cache_is_read_with_key_value_heads() -> None:
    """A viewer that read it with 32 attention heads said 14.98 ms; 8 key/value heads make it 7.04 ms."""
    right = dense_step(**LLAMA_8B, context=1024, sequences=64)
    wrong = dense_step(**{**LLAMA_8B, "kv_heads": 32}, context=1024, sequences=64)
    machine = Machine(hand_chip(3.35e12))
    cache_only = price(wrong, machine).moved_bytes - 32 * 2 * 4096 * 3072 * 2.0
    assert price(right, machine).floor * 1e3 == pytest.approx(7.04, abs=0.01)
    assert cache_only / 3.35e12 * 1e3 == pytest.approx(14.98, rel=0.02)


def test_latency_grows_with_every_sequence() -> None:
    machine = Machine(hand_chip(3.35e12, rate=989e12))
    floors = [price(dense_step(**LLAMA_8B, context=1024, sequences=b), machine).floor for b in (1, 2, 32, 64, 128, 256)]
    assert np.all(np.diff(floors) > 0)


def test_wider_machines_gain_less_than_their_width() -> None:
    """QwQ-32B in bf16 on A100-80 at 2, 4 and 8 chips: 36.2, 50 and 63 tokens/s, where a user expected near-linear."""
    geometry = dict(layers=64, hidden=5120, ffn=27648, heads=40, kv_heads=8, head_dim=128, vocabulary=152064)
    predicted = {}
    for width, measured in ((2, 36.2), (4, 50.0), (8, 63.0)):
        latency = (6.8 + 1.2 * (width - 1)) * 1e-6  # NCCL in one node, as in the test above
        chip = hand_chip(2.039e12, 80e9, 312e12, 1.39e-6, hand_link(latency=latency, bandwidth=3e11))
        cost = price(dense_step(**geometry, context=500), Machine(chip, width))
        assert cost.prediction is not None
        predicted[width] = 1 / cost.prediction
        assert measured < predicted[width] < 1 / cost.floor
    assert predicted[8] / predicted[2] < 3.0, "collectives and the chain of stages do not shrink with width"
