"""A model from its own files: config.json, ledger, GGUF and TOML say the same of the same model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shared_folder import SHARED

from tinker_nomics import catalog
from tinker_nomics.architectures.architecture import ArchitectureError
from tinker_nomics.decode import HeaderSource

CONFIG = {
    "model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 2, "vocab_size": 32,
    "num_hidden_layers": 1, "tie_word_embeddings": True,
}  # fmt: skip


def _ledger() -> dict[str, Any]:
    keys = {"general.architecture": "llama", "general.name": "Small", "llama.block_count": 1}
    keys |= {"llama.embedding_length": 8, "llama.attention.head_count": 2, "llama.feed_forward_length": 16}
    tensors = [["token_embd.weight", "F16", [8, 32]]]
    tensors += [[f"blk.0.attn_{part}.weight", "F16", [8, 8]] for part in ("q", "k", "v", "output")]
    tensors += [["blk.0.ffn_gate.weight", "F16", [8, 16]], ["blk.0.ffn_up.weight", "F16", [8, 16]]]
    return {"metadata": keys, "tensors": [*tensors, ["blk.0.ffn_down.weight", "F16", [16, 8]]]}


def test_config_ledger_and_gguf_agree(tmp_path: Path) -> None:
    folder = tmp_path / "small-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "ledger.json").write_text(json.dumps(_ledger()))
    HeaderSource.from_ledger(_ledger()).to_gguf(folder / "small.gguf")
    rows = [catalog.model_from_file(folder / name) for name in ("config.json", "ledger.json", "small.gguf")]
    assert [row.id for row in rows] == ["small-model", "Small", "Small"]
    for row in rows:
        assert (row.parameters, row.weight_bytes) == (896, 1792)
        assert row.kv_bytes_per_token == rows[0].kv_bytes_per_token
        assert row.lora_parameters_per_rank == rows[0].lora_parameters_per_rank
        assert row.status == "U"


def test_a_toml_row_and_a_name_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | {"memory_banks": 2, "torch_dtype": "float16"}))
    (tmp_path / "row.toml").write_text('id = "mine/row"\nconfig = "config.json"\n')
    told = "fields not understood, which may change the numbers: memory_banks; weights are counted in float16, as dtype says"
    assert catalog.model_from_file(tmp_path / "row.toml").id == "mine/row"
    assert catalog.model_from_file(tmp_path / "row.toml").note == told
    row = catalog.model_from_file(tmp_path / "config.json", name="mine/config")
    assert row.id == "mine/config"
    assert row.note == told


def test_files_that_are_missing_or_no_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchitectureError, match="there is no file"):
        catalog.model_from_file(tmp_path / "config.json")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ArchitectureError, match="no reader for model_type"):
        catalog.model_from_file(tmp_path / "other.json")
    with pytest.raises(OSError, match=r"nothing\.gguf"):
        catalog.model_from_file(tmp_path / "nothing.gguf")


@pytest.mark.skipif(SHARED is None, reason="the specification folder is not here")
def test_weights_of_a_real_ledger_are_as_stored() -> None:
    assert SHARED is not None
    row = catalog.model_from_file(SHARED / "ledgers" / "qwen3-8b.q4_k_m.json")
    assert (row.parameters, row.weight_bytes) == (8_190_427_136, 5_021_827_072)
