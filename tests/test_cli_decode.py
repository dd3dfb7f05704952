"""`tinker-nomics decode` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hand_steps import hand_chip
from made_checkpoints import FOUR_BLOCKS as HEADER
from made_checkpoints import delta_hybrid, dense, experts, gated_ffn, latent

import tinker_nomics as tn
from tinker_nomics.cli.decode_command import _EXAMPLES
from tinker_nomics.cli.decode_figures import bytes_text
from tinker_nomics.cli.main import main
from tinker_nomics.decode.stages import StageKind

pytestmark = pytest.mark.usefixtures("no_cache")


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
        (["--sequences", "0"], "sequences"), (["--sequences", "nan"], "--sequences"), (["--context", "4096.5"], "128k"),
        (["--context", "1e17"], "--context"), (["--capacity", "1k"], "capacity"), (["--rent", "-1"], "--rent"),
        (["--rent", "cheap"], "$2.50/h"), (["--ubatch", "x"], "--ubatch"), (["--tp", "1.5"], "such as 8"),
        (["--rs-seq", "-1"], "--rs-seq"), (["--rs-seq", "1.5"], "0 or 6"),
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


def test_numbers_as_people_write_them(ledger: str, capsys: pytest.CaptureFixture) -> None:
    asked = ["decode", ledger, "--context", "1M,1e3,2_000,1000", "--sequences", "1.5k", "--rent", "$2.50/h", "--json"]
    assert main([*asked, "--chip", "b300", "--tp", "8", "--weights", "bf16"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [part["context"] for part in document["contexts"]] == [2**20, 1000, 2000]
    assert {part["sequences"] for part in document["contexts"]} == {1536.0}
    small = document["contexts"][1]["points"][0]
    assert small["usd_per_chip_hour"] == 2.5 and small["usd_per_chip_hour_from"] == "as given"


def test_two_chips_of_one_name_are_told_apart_and_one_chip_is_told_once(
    ledger: str, chip_file: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    other = tmp_path / "other"  # a chip's file need not end in .toml
    other.write_text(hand_chip(1e12, 40e9, 3e14, 2e-6, id="mine").to_toml())
    assert main(["decode", ledger, "--chip", f"{chip_file},{other},h200,h200-sxm,{chip_file}"]) == 0
    text = capsys.readouterr().out
    rows = [line for line in text.splitlines() if line.startswith(("mine", "h200"))]
    assert len(rows) == 3 and chip_file in rows[0] and str(other) in rows[1] and rows[2].startswith("h200-sxm ")
    assert "USD per chip-hour: h200-sxm" in text and "providers" in text


def test_every_chip_of_the_catalog_at_once(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--chip", "all"]) == 0
    text = capsys.readouterr().out
    assert sum(text.count(f"\n{chip.id} ") for chip in tn.catalog.chips()) == len(tn.catalog.chips())
    notes = [line for line in text.splitlines() if line.startswith("[")]
    assert len(notes) <= 12 and all(" is " in note or "has" in note for note in notes)


def test_what_counts_together_and_what_the_model_was_not_trained_for(tmp_path: Path, capsys) -> None:
    short = dense(
        "llama", blocks=1, width=256, heads=4, kv_heads=2, head=64, columns=256, context_length=2048, vocabulary=512
    )
    (tmp_path / "short.json").write_text(json.dumps(short.to_ledger()))
    assert main(["decode", str(tmp_path / "short.json"), "--sequences", "3"]) == 0
    text = capsys.readouterr().out
    assert "trained for 2,048 tokens" in text and "all 3 sequences together" in text
    assert main(["decode", str(tmp_path / "short.json"), "--context", "2k"]) == 0
    text = capsys.readouterr().out
    assert "trained for" not in text and "together" not in text


def test_chunked_attention_says_which_token_is_priced(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "chunked.json"
    made = dense("llama4", blocks=4, width=256, heads=4, kv_heads=2, head=64, columns=256, vocabulary=512)
    path.write_text(json.dumps(made.to_ledger()))
    for context, told in (("8k", False), ("32k", True)):
        assert main(["decode", str(path), "--context", context]) == 0
        assert ("end of a chunk of 8,192" in capsys.readouterr().out) is told


def test_the_stages_stand_in_their_order_and_say_what_they_leave_out(tmp_path: Path, capsys) -> None:
    """A model whose first block has no router still has it between the norm and the FFN."""
    made = latent(2)
    rows = [row for row in made.to_ledger()["tensors"] if not row[0].startswith("blk.1.ffn")]
    rows += gated_ffn(0, 7168, 512) + experts(1, 7168, 512, 4)
    metadata = made.to_ledger()["metadata"] | {"deepseek2.expert_count": 4, "deepseek2.expert_used_count": 2}
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps({"metadata": metadata, "tensors": rows}))
    assert main(["decode", str(path), "--chip", "h200", "--tp", "8", "--stages"]) == 0
    text = capsys.readouterr().out
    told = [line.split()[0] for line in text.splitlines() if line.split() and line.split()[0] in StageKind.__members__]
    assert told == sorted(told, key=list(StageKind.__members__).index) and "router" in told
    assert "counts nothing here" in text


def test_a_picture_of_one_machine_of_many_says_so(ledger: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    asked = ["decode", ledger, "--tp", "1,2", "--context", "4k,8k", "--plot", str(tmp_path / "one.png")]
    assert main([*asked, "--picture", "stages"]) == 0
    assert "1 x h100-sxm at context 4,096 alone; 3 more" in capsys.readouterr().err
    assert main([*asked, "--force"]) == 0
    assert "alone" not in capsys.readouterr().err


def test_the_chip_that_the_help_shows_is_one() -> None:
    text = _EXAMPLES.partition("mine.toml")[2].partition("\n")[2]
    machine = tn.Machine(tn.Chip.from_toml(text.replace("\n  ", "\n")), 8)
    cost = tn.price(tn.decode_step(HEADER), machine)
    assert cost.prediction is not None and cost.machine.chip.id == "mine"


def test_states_to_roll_back_to_are_told(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "hybrid.json"
    path.write_text(json.dumps(delta_hybrid(4).to_ledger()))
    held = []
    for kept in ("0", "2"):
        assert main(["header", str(path), "--context", "4k", "--rs-seq", kept, "--json"]) == 0
        held.append(json.loads(capsys.readouterr().out)["contexts"][0]["state_bytes"])
    assert held[1] == 3 * held[0] > 0
    assert main(["decode", str(path), "--rs-seq", "2"]) == 0
    text = capsys.readouterr().out
    assert "2 more kept to roll back to" in text and f"reads and writes {bytes_text(held[0])} of state" in text


def test_json_tells_the_deployment(ledger: str, capsys: pytest.CaptureFixture) -> None:
    asked = ["--context", "1k", "--capacity", "4k", "--kv", "q8_0,F16", "--weights", "q4_k", "--kv-unified"]
    for command in ("header", "decode"):
        assert main([command, ledger, *asked, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["contexts"][0]["deployment"]
        assert told == {
            "context": 1024.0, "capacity": 4096.0, "k_type": "q8_0", "v_type": "f16", "weights": "Q4_K",
            "sequences": 1.0, "ubatch": 512.0, "kv_unified": True, "rs_seq": 0.0,
        }  # fmt: skip


def test_a_picture_needs_a_file(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--picture", "roofline"]) == 2
    assert "--plot FILE" in capsys.readouterr().err


def test_a_chip_that_nothing_bounds_has_no_bound_in_text_json_and_pictures(
    ledger: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "nobw.toml"
    path.write_text('id = "x"\ntiers = [{kind = "HBM", capacity = "96 GB"}]\nrent = 2.5\n')
    assert main(["decode", ledger, "--chip", str(path)]) == 0
    text = capsys.readouterr().out
    row = next(line for line in text.splitlines() if line.startswith("x "))
    assert row.count("no bound") == 3 and "inf" not in text
    assert main(["decode", ledger, "--chip", str(path), "--json"]) == 0
    point = json.loads(capsys.readouterr().out)["contexts"][0]["points"][0]
    names = ("floor_s", "prediction_s", "tokens_per_second", "usd_per_million_tokens", "basis", "binds")
    assert [point[name] for name in names] == [None] * 6 and point["usd_per_chip_hour"] == 2.5
    for picture in ("grid", "stages", "roofline"):
        asked = ["--plot", str(tmp_path / f"{picture}.png"), "--picture", picture]
        assert main(["decode", ledger, "--chip", str(path), *asked]) == 0


def test_a_picture_of_too_many_rows_says_so(ledger: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    asked = ["decode", ledger, "--chip", "all", "--tp", "1,2", "--plot", str(tmp_path / "all.png")]
    assert main(asked) == 0
    assert f"the first 100 of {2 * len(tn.catalog.chips())} rows" in capsys.readouterr().err
    assert int.from_bytes((tmp_path / "all.png").read_bytes()[20:24]) < 5000


def test_stages_tell_what_is_hidden(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--stages"]) == 0
    assert "us of compute pass while memory binds" in capsys.readouterr().out


def test_numbers_say_their_limit(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--tp", "1e30"]) == 2
    assert "from 1 to 9,007,199,254,740,992" in capsys.readouterr().err
