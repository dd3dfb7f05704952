"""Steps against what llama.cpp itself reports for the checkpoints of the specification folder, digit for digit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shared_folder import SHARED

from tinker_nomics.decode import DecodeRefusal, Deployment, HeaderSource, decode_step

LEDGERS = sorted((SHARED / "ledgers").glob("**/*.json")) if SHARED else []
REFUSED = {
    "deepseek4", "dream", "eurobert", "gemma-embedding", "glm5-next", "hrm_text", "llada", "llada-moe", "modern-bert",
    "nanbeige", "neo-bert", "qwen4exp", "rnd1", "t5encoder", "wavtokenizer-dec",
}  # fmt: skip
NOT_ROUNDED = 0.00501  # MiB are printed to 0.01

pytestmark = pytest.mark.skipif(SHARED is None, reason="needs the specification folder")


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.stem)
def test_a_ledgers_truth(path: Path):
    ledger = json.loads(path.read_text())
    truth, header = ledger["truth"], HeaderSource.from_ledger(ledger)
    if header.architecture in REFUSED:
        with pytest.raises(DecodeRefusal) as caught:
            decode_step(header, Deployment(context=256))
        assert header.architecture in str(caught.value)
        assert caught.value.reasons
        return
    figures = decode_step(header, Deployment(context=4096)).to_dict()
    assert figures["parameters"] == truth.get("model_params", header.parameters)
    assert figures["weight_bytes"] == truth.get("model_bytes", header.weight_bytes)
    if graph := truth.get("decode_graph"):
        assert figures["weight_bytes_read"] == graph["weight_bytes_read"]
        assert figures["matmul_flops"] == graph["flops"]["matmul"]
        if "indexer" not in str(ledger["tensors"]) and "sliding_window" not in str(ledger["metadata"]):
            assert figures["attention_flops"] == graph["flops"].get("attention", 0)
    for reported in truth.get("contexts", []):
        cells, k_type, v_type, sequences = reported["combo"].split(":")
        deployment = Deployment(int(cells) / int(sequences), None, k_type, v_type, None, int(sequences))
        if reported["ok"]:
            got = decode_step(header, deployment).to_dict()
            pools = max(1, len(reported["kv"]))
            assert got["kv_bytes_reserved"] / 2**20 == pytest.approx(
                sum(pool["size_mib"] for pool in reported["kv"]), abs=NOT_ROUNDED * pools
            )
            assert got["state_bytes"] / 2**20 == pytest.approx(
                sum(state["size_mib"] for state in reported["rs"]), abs=NOT_ROUNDED
            )


@pytest.mark.skipif(SHARED is None, reason="needs the specification folder")
def test_logged_sizes_of_whole_checkpoints():
    """Parameters and sizes that public logs print, for the ledgers that are of the same file."""
    path = next(path for path in LEDGERS if path.name.startswith("kimi-k2-instruct"))
    ledger = json.loads(path.read_text())
    figures = decode_step(HeaderSource.from_ledger(ledger), Deployment(context=256)).to_dict()
    assert round(figures["parameters"] / 1e12, 3) == 1.026
    assert round(figures["weight_bytes"] / 2**30, 3) == ledger["truth"]["model_size_gib"]
    assert round(figures["weight_bytes"] * 8 / figures["parameters"], 3) == ledger["truth"]["bpw"]
