"""`tinker-nomics header` and `decode` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hand_steps import hand_chip, hand_link
from made_checkpoints import dense

import tinker_nomics as tn
from tinker_nomics.cli.main import main

HEADER = dense("llama", blocks=4, width=4096, heads=32, kv_heads=8, head=128, columns=14336, vocabulary=32000)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKER_NOMICS_CACHE", "off")


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    path = tmp_path / "four-blocks.json"
    path.write_text(json.dumps(HEADER.to_ledger()))
    return str(path)


@pytest.fixture
def chip_file(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(hand_chip(2e12, 40e9, 3e14, 2e-6, hand_link(domain=4), id="mine").to_toml())
    return str(path)


def test_decode_prints_every_machine_and_every_reason(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--chip", "h100-sxm,m3-max,groq-lpu1", "--tp", "1,2,8"]) == 0
    text = capsys.readouterr().out
    rows = [line.split() for line in text.splitlines() if line.startswith(("h100-sxm", "m3-max", "groq-lpu1"))]
    assert [(row[0], row[1]) for row in rows] == [(c, n) for c in ("h100-sxm", "m3-max", "groq-lpu1") for n in "128"]
    cost = tn.price(tn.decode_step(HEADER, tn.Deployment(context=4096)), tn.Machine(tn.catalog.chip("h100-sxm")))
    assert float(rows[0][3]) == pytest.approx(cost.floor * 1e3, rel=1e-3)
    assert cost.prediction is not None and float(rows[0][4]) == pytest.approx(cost.prediction * 1e3, rel=1e-3)
    for words in ("link latency", "matrix rate", "stage overhead", "no rent of m3-max", "bytes", "cannot run"):
        assert words in text


def test_a_chip_of_the_users_own(ledger: str, chip_file: str, capsys: pytest.CaptureFixture) -> None:
    asked = [ledger, "--chip", chip_file, "--tp", "1,4,8", "--rent", "3", "--context", "1k,32k", "--kv", "q8_0"]
    assert main(["decode", *asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [part["context"] for part in document["contexts"]] == [1024, 32768]
    points = document["contexts"][1]["points"]
    assert points[1]["prediction_s"] > points[1]["floor_s"] > 0 and points[1]["usd_per_million_tokens"] > 0
    assert "link domain of 4" in points[2]["cannot_run"][0] and points[2]["floor_s"] is None
    assert "stages" not in points[0]
    assert document["contexts"][1]["step"]["kv_bytes_read"] == 4 * 2 * 1024 * 32768 * 34 / 32


def test_stages_are_told(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--chip", "h100-sxm", "--stages"]) == 0
    text = capsys.readouterr().out
    assert "ffn_up" in text and "100.0%" in text
    assert main(["decode", ledger, "--chip", "h100-sxm", "--stages", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["contexts"][0]["points"][0]["stages"]) == 4 * 7 + 3


@pytest.mark.parametrize("picture", ["grid", "stages", "roofline"])
def test_pictures(ledger: str, tmp_path: Path, picture: str, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "out.png"
    asked = ["decode", ledger, "--chip", "h100-sxm,m3-max", "--tp", "1,4", "--plot", str(path), "--picture", picture]
    assert main(asked) == 0
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and len(path.read_bytes()) > 10_000
    assert int.from_bytes(path.read_bytes()[16:20]) == 1200
    assert main(asked) == 2 and "--force" in capsys.readouterr().err
    assert main([*asked, "--force"]) == 0


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--chip", "h100-smx"], "h100-sxm"), (["--tp", "0"], "--tp"), (["--tp", "1,x"], "--tp"),
        (["--context", "-5"], "--context"), (["--kv", "q9_9"], "q8_0"), (["--kv", "f16,f16,f16"], "--kv"),
        (["--precision", "bf17"], "bf16, fp16"), (["--plot", "out.jpg"], ".png"), (["--weights", "q4_z"], "q4_z"),
        (["--sequences", "0"], "sequences"),
    ],
)  # fmt: skip
def test_bad_flags_say_what_is_allowed(
    ledger: str, flags: list[str], words: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["decode", ledger, *flags]) == 2
    assert words.lower() in capsys.readouterr().err.lower()


def test_a_status_of_its_own_where_no_machine_can_run_it(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--chip", "groq-lpu1"]) == 1
    assert "memory capacity" in capsys.readouterr().out


def test_header_tells_sizes_types_and_caches(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["header", ledger, "--context", "4096"]) == 0
    text = capsys.readouterr().out
    for words in ("llama", "BF16", "F32", "4,096", "67.11 MB"):
        assert words in text
    assert main(["header", ledger, "--json", "--sequences", "2"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["weight_bytes"] == HEADER.weight_bytes == sum(row["bytes"] for row in document["types"])
    assert document["contexts"][0]["kv_bytes_read"] == 2 * 4 * 2 * 1024 * 4096 * 2


def test_an_encoder_keeps_its_sizes_and_says_why_it_has_no_step(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "encoder.json"
    tensors = [["token_embd.weight", "F16", [64, 100]], ["blk.0.attn_q.weight", "F16", [64, 64]]]
    path.write_text(json.dumps({"metadata": {"general.architecture": "bert"}, "tensors": tensors}))
    assert main(["header", str(path)]) == 1
    text = capsys.readouterr().out
    assert "10,496" in text and "no decode step" in text and "bert" in text
    assert main(["decode", str(path)]) == 2
    assert "bert" in capsys.readouterr().err


def test_a_missing_or_a_wrong_file(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", str(tmp_path / "none.gguf")]) == 2
    assert "none.gguf" in capsys.readouterr().err
    (tmp_path / "text.gguf").write_text("hello")
    assert main(["header", str(tmp_path / "text.gguf")]) == 2
    assert "text.gguf" in capsys.readouterr().err
