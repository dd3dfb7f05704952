"""Geometry reduced to numbers: totals against plain sums of matrices, caches and states against published answers."""

from __future__ import annotations

import pytest

from tinker_nomics import catalog
from tinker_nomics.architectures.architecture import Architecture, ArchitectureError
from tinker_nomics.architectures.layer_groups import (
    Attention,
    DeltaNet,
    KimiDelta,
    LatentAttention,
    LayerGroup,
    Mamba2,
    Mlp,
    Moe,
)
from tinker_nomics.errors import ConfigError


def _architecture(*groups: LayerGroup, hidden: int = 64, vocab: int = 1000, tied: bool = False) -> Architecture:
    return Architecture("test", hidden, vocab, tied, groups)


def test_a_tied_head_is_counted_once_and_used_once() -> None:
    group = Mlp(1, 10)
    tied, untied = _architecture(group, tied=True), _architecture(group)
    matrices = 3 * 64 * 10
    assert tied.parameters == tied.active_parameters == tied.active_matrix_parameters == 64_000 + matrices
    assert untied.parameters == untied.active_parameters == 2 * 64_000 + matrices
    assert untied.active_matrix_parameters == 64_000 + matrices
    assert tied.lora_components["unembed"] == 64 + 1000


@pytest.mark.parametrize(
    ("group", "parameters", "lora"),
    [
        (Attention(2, 4, 2, 8), 2 * (64 * 32 * 2 + 64 * 16 * 2), 2 * (2 * (64 + 32) + 2 * (64 + 16))),
        (Attention(1, 4, 2, 8, gate="fused"), 64 * 64 + 64 * 32 + 64 * 32, (64 + 64) + (32 + 64) + 2 * (64 + 16)),
        (Attention(1, 4, 2, 8, gate="separate"), 3 * 64 * 32 + 64 * 32, 3 * (64 + 32) + 2 * (64 + 16)),
        (Attention(1, 4, 2, 8, relative_dim=3), 2 * 64 * 32 + 64 * 32 + 64 * 12, 2 * 96 + 2 * 80 + 76),
        (Attention(1, 4, 2, 8, value_dim=6), 64 * 32 + 64 * 16 + 64 * 12 + 24 * 64, 96 + 80 + 76 + 88),
        (Attention(1, 4, 2, 8, stores_cache=False), 2 * 64 * 32, 2 * 96),
        (Attention(1, 4, 2, 8, value_projection=False), 2 * 64 * 32 + 64 * 16, 2 * 96 + 80),
        (
            LatentAttention(1, 4, kv_rank=16, nope_dim=8, rope_dim=4, value_dim=8, q_rank=24),
            64 * 24 + 24 * 48 + 64 * 20 + 16 * 4 * 16 + 32 * 64,
            (64 + 24) + (64 + 20) + (32 + 64),
        ),
        (
            LatentAttention(1, 4, kv_rank=16, nope_dim=8, rope_dim=4, value_dim=8),
            64 * 48 + 64 * 20 + 16 * 4 * 16 + 32 * 64,
            (64 + 48) + (64 + 20) + (32 + 64),
        ),
        (DeltaNet(1, 2, 4, 8, 8, 4), 64 * (2 * 16 + 3 * 32 + 8), 2 * (64 + 16) + 3 * (64 + 32)),
        (KimiDelta(1, 4, 8, 4), 4 * 64 * 32 + 2 * (64 * 8 + 8 * 32) + 64 * 4, 4 * (64 + 32)),
        (Mamba2(1, 4, 8, 16, 2, 4), 64 * (2 * 32 + 2 * 2 * 16 + 4) + 32 * 64, 3 * (64 + 32)),
        (Mlp(1, 100, gated=False), 2 * 64 * 100, 2 * 164),
        (Mlp(1, 100, fused=True), 3 * 64 * 100, 2 * 64 + 3 * 100),
        (Moe(1, 8, 2, 32), 64 * 8 + 8 * 3 * 64 * 32, 3 * (8 * 32 + 64)),
        (Moe(1, 8, 2, 32, 48, True, 1), 64 * 9 + 8 * 3 * 64 * 32 + 3 * 64 * 48 + 64, 3 * (8 * 32 + 64) + 3 * (64 + 48)),
        (Moe(1, 8, 2, 32, gated=False, latent=16), 64 * 8 + 8 * 2 * 16 * 32 + 2 * 64 * 16, 2 * (256 + 16) + 2 * 80),
    ],
)
def test_matrix_and_lora_parameters_of_each_layer_kind(group: LayerGroup, parameters: int, lora: int) -> None:
    assert group.parameters(64) == parameters
    assert group.lora_parameters(64) == lora


def test_a_token_uses_its_experts_and_the_shared_one() -> None:
    assert Moe(2, 8, 2, 32, 48).active_parameters(64) == 2 * (64 * 8 + 2 * 3 * 64 * 32 + 3 * 64 * 48)


@pytest.mark.parametrize(
    ("name", "context", "bytes_per_element", "gib"),
    [("DeepSeek-V3.1", 163_840, 2.0, 10.723), ("Qwen3.5-27B", 262_144, 2.0, 16.000)],
)
def test_caches_that_others_got_wrong(name: str, context: float, bytes_per_element: float, gib: float) -> None:
    architecture = catalog.model(name).architecture
    assert architecture is not None
    assert round(architecture.kv_cache_bytes(context, 1.0, bytes_per_element) / 2**30, 3) == gib


def test_a_window_is_read_short_and_may_be_reserved_whole() -> None:
    small = catalog.model("gpt-oss-20b").architecture
    large = catalog.model("gpt-oss-120b").architecture
    assert small is not None and large is not None
    # 12 global layers hold the context and 12 the window: in GiB 6.0 and 0.094
    assert round(small.kv_cache_bytes(8192, 32) / 2**30, 3) == 6.094
    assert round(small.kv_cache_bytes(8192, 32, whole_windows=True) / 2**30, 3) == 12.0
    assert large.kv_cache_bytes(1, whole_windows=True) == 73_728


def test_four_slots_hold_four_contexts() -> None:
    architecture = catalog.model("Qwen3-8B").architecture
    assert architecture is not None
    assert architecture.kv_cache_bytes(32_768, 4) == architecture.kv_cache_bytes(131_072)


def test_attention_arithmetic() -> None:
    dense = catalog.model("Qwen3-8B").architecture
    latent = catalog.model("DeepSeek-V3.1").architecture
    windowed = catalog.model("gpt-oss-120b").architecture
    assert dense is not None and latent is not None and windowed is not None
    assert dense.attention_flops_per_context_token == 4 * 36 * 32 * 128
    assert latent.attention_flops_per_context_token == 61 * 2 * 128 * (192 + 128)
    assert latent.absorbed_attention_flops_per_context_token == 61 * 2 * 128 * (576 + 512)
    assert (
        windowed.attention_flops_per_context_token == windowed.window_attention_flops_per_context_token == 4 * 18 * 4096
    )
    assert (dense.attention_layers, latent.attention_layers, windowed.attention_layers) == (36, 61, 36)


def test_two_windows_have_no_one_number() -> None:
    architecture = _architecture(Attention(1, 4, 2, 8, window=16), Attention(1, 4, 2, 8, window=32))
    with pytest.raises(ArchitectureError, match=r"windows of \[16, 32\]"):
        _ = architecture.window
    assert architecture.kv_cache_bytes(20) == 2 * 32 * (16 + 20)


@pytest.mark.parametrize("name", ["Qwen3-8B", "Kimi-K2.6", "Qwen3.6-35B-A3B", "Nemotron-3-Super-120B-A12B", "Inkling"])
def test_the_table_form_round_trips(name: str) -> None:
    architecture = catalog.model(name).architecture
    assert architecture is not None
    assert Architecture.from_dict(architecture.to_dict()) == architecture


def test_every_problem_of_a_table_is_named_at_once() -> None:
    table = {"hidden": 0, "tied": "no", "mlp": [{"layers": 2.5, "width": 8, "depth": 1}], "rnn": [], "moe": 3}
    with pytest.raises(ConfigError) as caught:
        Architecture.from_dict(table)
    paths = {problem.path for problem in caught.value.problems}
    assert paths == {
        "architecture.hidden",
        "architecture.vocab",
        "architecture.tied",
        "architecture.mlp[0].layers",
        "architecture.mlp[0].depth",
        "architecture.rnn",
        "architecture.moe[0]",
    }


def test_a_model_without_layers_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one list of layers"):
        Architecture.from_dict({"hidden": 8, "vocab": 8, "tied": True})
