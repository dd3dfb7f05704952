"""A geometry reduced to figures: totals agree with the catalog, experts with hand counts, decode with the pricer."""

from __future__ import annotations

import numpy as np
import pytest
from figures_by_hand import cluster, figures
from shared_folder import SHARED

from tinker_nomics import catalog
from tinker_nomics.architectures.architecture import Architecture
from tinker_nomics.architectures.model_figures import model_figures
from tinker_nomics.boundary import x64
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.formulas.decode_step import step_seconds


def test_figures_of_a_mixture() -> None:
    model = figures("Qwen3-30B-A3B")
    assert model.expert_bytes == 2 * 48 * 128 * 3 * 2048 * 768
    assert (model.experts, model.experts_per_token, model.blocks, model.kv_heads) == (128, 8, 48, 4)
    row = catalog.model("Qwen3-30B-A3B")
    assert model.weight_bytes == row.weight_bytes and model.kv_bytes_per_token == row.kv_bytes_per_token
    idle = 48 * 3 * (128 - 8) * 768
    assert model.lora_used_per_rank == row.lora_parameters_per_rank - idle


def test_figures_of_other_kinds() -> None:
    latent = figures("DeepSeek-V3.1")
    assert latent.kv_heads == 1 and latent.decode_attention_flops > latent.attention_flops
    windowed = figures("gpt-oss-20b")
    assert windowed.window == 128 and windowed.window_kv_bytes_per_token > 0
    dense = figures("Qwen3-8B")
    assert dense.experts == 0 and dense.expert_bytes == 0 and dense.window == float("inf")


def test_every_catalog_model_with_attention_has_figures() -> None:
    for row in catalog.models():
        if row.architecture is not None and len({g.span for g in row.architecture.groups if g.span is not None}) < 2:
            model = model_figures(row.architecture)
            assert 0 <= model.expert_bytes < model.weight_bytes
            assert 0 < model.lora_used_per_rank <= row.architecture.lora_parameters_per_rank


def test_bytes_per_weight() -> None:
    architecture = catalog.model("Qwen3-8B").architecture
    assert architecture is not None
    assert model_figures(architecture, 1.0).weight_bytes == architecture.parameters


def test_a_model_without_attention_is_refused() -> None:
    recurrent = Architecture.from_dict(
        {
            "kind": "mamba2",
            "hidden": 64,
            "vocab": 100,
            "tied": True,
            "mamba2": [{"layers": 2, "heads": 4, "head_dim": 16, "state": 16, "groups": 1, "conv_kernel": 4}],
        }
    )
    with pytest.raises(TinkerNomicsError, match="no attention"):
        model_figures(recurrent)


LEDGERS = ["qwen3-8b.q4_k_m.json", "qwen3-30b-a3b.q4_k_m.json", "qwen3-235b-a22b.q4_k_m.json"]


@pytest.mark.skipif(SHARED is None, reason="the ledgers are not here")
@pytest.mark.parametrize("ledger", LEDGERS)
@pytest.mark.parametrize("sequences", [1.0, 64.0])
def test_a_decode_step_reads_what_the_decode_pricer_reads(ledger: str, sequences: float) -> None:
    import tinker_nomics as tn

    assert SHARED is not None
    header = tn.HeaderSource.from_ledger(SHARED / "ledgers" / ledger)
    step = tn.decode_step(header, tn.Deployment(context=4096, weights="bf16", sequences=sequences))
    read = step.part_bytes + step.part_bytes_per_token * np.minimum(step.context, step.part_window)
    architecture = Architecture.from_header(header)
    with x64():
        seconds, margin = step_seconds(sequences, 4096.0, model_figures(architecture), cluster())
    assert float(margin) > 0
    assert float(seconds) * 3.35e12 == pytest.approx(float(np.sum(read)), rel=0.01)
