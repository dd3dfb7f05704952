"""`tinker-nomics header` as a user meets it, and how sizes and figures are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_checkpoints import FOUR_BLOCKS as HEADER
from made_checkpoints import experts

from tinker_nomics.cli.decode_figures import bytes_text, context_label, digits
from tinker_nomics.cli.main import main

pytestmark = pytest.mark.usefixtures("no_cache")


def test_header_tells_sizes_types_and_caches(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["header", ledger, "--context", "4096"]) == 0
    text = capsys.readouterr().out
    for words in ("llama", "BF16", "F32", "4,096", "67.11 MB"):
        assert words in text
    assert main(["header", ledger, "--json", "--sequences", "2"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["weight_bytes"] == HEADER.weight_bytes == sum(row["bytes"] for row in document["types"])
    assert document["contexts"][0]["kv_bytes_read"] == 2 * 4 * 2 * 1024 * 4096 * 2


def test_a_header_within_its_capacity(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["header", ledger, "--capacity", "64k", "--json"]) == 0
    contexts = json.loads(capsys.readouterr().out)["contexts"]
    assert [part["context"] for part in contexts] == [4096, 32768, 65536]
    assert len({part["kv_bytes_reserved"] for part in contexts}) == 1
    assert main(["header", ledger, "--capacity", "64k", "--context", "128k"]) == 2


@given(st.floats(min_value=1e-30, max_value=1e20), st.integers(2, 6))
def test_figures_are_plain_digits(value: float, significant: int) -> None:
    text = digits(value, significant)
    assert "e" not in text and float(text.replace(",", "")) == pytest.approx(value, rel=0.5 * 10.0 ** (1 - significant))


def test_sizes_in_words() -> None:
    assert bytes_text(0) == "0 B" and bytes_text(999) == "999 B" and bytes_text(94371840) == "94.37 MB"
    assert bytes_text(2.0**27) == "134.2 MB (0.125 GiB)" and bytes_text(5e14) == "500 TB (454.747 TiB)"
    assert [context_label(n) for n in (4096, 131072, 2**20, 1000)] == ["4k", "128k", "1M", "1000"]


def test_an_encoder_keeps_its_sizes_and_says_why_it_has_no_step(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "encoder.json"
    tensors = [["token_embd.weight", "F16", [64, 100]], ["blk.0.attn_q.weight", "F16", [64, 64]]]
    path.write_text(json.dumps({"metadata": {"general.architecture": "bert"}, "tensors": tensors}))
    assert main(["header", str(path)]) == 1
    text = capsys.readouterr().out
    assert "10,496" in text and "no decode step" in text and "bert" in text
    assert main(["decode", str(path)]) == 2
    assert "bert" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("used", "words"),
    [(2, "8, of which a token uses 2"), ([2, 4], "uses 2 to 4"), (None, "8\n"), (float("inf"), "8\n")],
)
def test_a_header_tells_how_many_experts_are_used(tmp_path: Path, used, words: str, capsys) -> None:
    rows = [["token_embd.weight", "BF16", [256, 512]], *experts(0, 256, 256, 8), *experts(1, 256, 256, 8)]
    metadata = {"general.architecture": "llama", "llama.expert_count": 8, "llama.block_count": 2}
    if used is not None:
        metadata["llama.expert_used_count"] = used
    path = tmp_path / "moe.json"
    path.write_text(json.dumps({"metadata": metadata, "tensors": rows}))
    main(["header", str(path)])
    assert words in capsys.readouterr().out
    main(["header", str(path), "--json"])
    assert json.loads(capsys.readouterr().out)["experts_used"] == (None if used == float("inf") else used)
