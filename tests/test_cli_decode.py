"""`tinker-nomics header` and `decode` as a user meets them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hand_steps import hand_chip, hand_link
from hypothesis import given
from hypothesis import strategies as st
from made_checkpoints import delta_hybrid, dense, experts, gated_ffn, latent

import tinker_nomics as tn
from tinker_nomics.catalog.rent_table import RULE, rent_rows
from tinker_nomics.cli.decode_command import _EXAMPLES
from tinker_nomics.cli.decode_figures import bytes_text, context_label, digits
from tinker_nomics.cli.main import main
from tinker_nomics.decode.stages import StageKind

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


def test_header_tells_sizes_types_and_caches(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["header", ledger, "--context", "4096"]) == 0
    text = capsys.readouterr().out
    for words in ("llama", "BF16", "F32", "4,096", "67.11 MB"):
        assert words in text
    assert main(["header", ledger, "--json", "--sequences", "2"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["weight_bytes"] == HEADER.weight_bytes == sum(row["bytes"] for row in document["types"])
    assert document["contexts"][0]["kv_bytes_read"] == 2 * 4 * 2 * 1024 * 4096 * 2


def test_numbers_as_people_write_them(ledger: str, capsys: pytest.CaptureFixture) -> None:
    asked = ["decode", ledger, "--context", "1M,1e3,2_000,1000", "--sequences", "1.5k", "--rent", "$2.50/h", "--json"]
    assert main([*asked, "--chip", "b300", "--tp", "8", "--weights", "bf16"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [part["context"] for part in document["contexts"]] == [2**20, 1000, 2000]
    assert {part["sequences"] for part in document["contexts"]} == {1536.0}
    small = document["contexts"][1]["points"][0]
    assert small["usd_per_chip_hour"] == 2.5 and small["usd_per_chip_hour_from"] == "as given"


def test_a_checkpoint_from_a_pipe(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("header", "decode"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(HEADER.to_ledger()).encode())))
        assert main([command, "-"]) == 0
        assert capsys.readouterr().out.startswith("standard input")


def test_a_folder_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    HEADER.to_gguf(tmp_path / "only.gguf")
    monkeypatch.chdir(tmp_path)
    assert main(["header", "."]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0] == tmp_path.name
    assert "missing" in text and "header is whole" in text
    assert main(["header", "only.gguf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing_data_bytes"] >= HEADER.weight_bytes


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


def test_a_header_within_its_capacity(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["header", ledger, "--capacity", "64k", "--json"]) == 0
    contexts = json.loads(capsys.readouterr().out)["contexts"]
    assert [part["context"] for part in contexts] == [4096, 32768, 65536]
    assert len({part["kv_bytes_reserved"] for part in contexts}) == 1
    assert main(["header", ledger, "--capacity", "64k", "--context", "128k"]) == 2


def test_a_picture_of_one_machine_of_many_says_so(ledger: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    asked = ["decode", ledger, "--tp", "1,2", "--context", "4k,8k", "--plot", str(tmp_path / "one.png")]
    assert main([*asked, "--picture", "stages"]) == 0
    assert "1 x h100-sxm at context 4,096 alone; 3 more" in capsys.readouterr().err
    assert main([*asked, "--force"]) == 0
    assert "alone" not in capsys.readouterr().err


@given(st.floats(min_value=1e-30, max_value=1e20), st.integers(2, 6))
def test_figures_are_plain_digits(value: float, significant: int) -> None:
    text = digits(value, significant)
    assert "e" not in text and float(text.replace(",", "")) == pytest.approx(value, rel=0.5 * 10.0 ** (1 - significant))


def test_the_chip_that_the_help_shows_is_one() -> None:
    text = _EXAMPLES.partition("mine.toml")[2].partition("\n")[2]
    machine = tn.Machine(tn.Chip.from_toml(text.replace("\n  ", "\n")), 8)
    cost = tn.price(tn.decode_step(HEADER), machine)
    assert cost.prediction is not None and cost.machine.chip.id == "mine"


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


def test_a_missing_or_a_wrong_file(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", str(tmp_path / "none.gguf")]) == 2
    assert "none.gguf" in capsys.readouterr().err
    (tmp_path / "text.gguf").write_text("hello")
    assert main(["header", str(tmp_path / "text.gguf")]) == 2
    assert "text.gguf" in capsys.readouterr().err


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


def test_a_rent_is_told_with_its_day_and_can_be_chosen(ledger: str, capsys: pytest.CaptureFixture) -> None:
    newest = tn.catalog.rent("h100-sxm", max(row.date for row in rent_rows() if row.chip == "h100-sxm"))
    assert main(["decode", ledger]) == 0
    text = capsys.readouterr().out
    assert f"h100-sxm {newest.usd_per_hour:g} ({newest.provider}, {newest.date}); --rent-date" in text
    for flags, meant in (
        (["--rent-date", "2026-09-25"], tn.catalog.rent("h100-sxm", "2026-09-25")),
        (["--provider", "nebius"], tn.catalog.rent("h100-sxm", newest.date, "nebius")),
    ):
        assert main(["decode", ledger, *flags, "--json"]) == 0
        point = json.loads(capsys.readouterr().out)["contexts"][0]["points"][0]
        assert point["usd_per_chip_hour"] == meant.usd_per_hour
        assert point["usd_per_chip_hour_from"] == f"{meant.provider}, {meant.date}"
        assert meant.source.document in point["usd_per_chip_hour_source"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--rent", "2", "--provider", "nebius"], "leave one of them out"),
        (["--rent", "2", "--rent-date", "2026-09"], "leave one of them out"),
        (["--rent-date", "soon"], "'soon' is no date"), (["--provider", "nobody"], "no rent of h100-sxm from 'nobody'"),
    ],
)  # fmt: skip
def test_a_rent_that_there_is_not(ledger: str, flags: list[str], words: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, *flags]) == 2
    assert words in capsys.readouterr().err.lower()


def test_a_provider_of_some_chips_only(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--chip", "h100-sxm,mi300x,m3-max", "--provider", "nebius"]) == 0
    text = capsys.readouterr().out
    assert "no rent of mi300x from 'nebius'" in text and "the catalog has no rent of m3-max" in text


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


def test_a_file_states_the_rent_of_its_chip(ledger: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'id = "h100-sxm"\ntiers = [{kind = "HBM", capacity = "96 GB", bandwidth = "3 TB/s"}]\n'
        'rent = "1.25 USD/h"\nsources = {rent = {text = "my invoice", date = "2026-11"}}\n'
    )
    for more in ([], ["--provider", "nebius"]):  # which asks for the rents of the catalog's chips
        assert main(["decode", ledger, "--chip", f"{path},h100-sxm", "--json", *more]) == 0
        own, catalogs = json.loads(capsys.readouterr().out)["contexts"][0]["points"]
        assert own["usd_per_chip_hour"] == 1.25 and own["usd_per_chip_hour_from"] == "the chip's own, 2026-11"
        assert own["usd_per_chip_hour_source"] == "my invoice" and catalogs["usd_per_chip_hour"] == 3.85
    path.write_text(path.read_text().replace('rent = "1.25 USD/h"\n', ""))
    assert main(["decode", ledger, "--chip", str(path)]) == 0
    assert "states no rent of its own" in capsys.readouterr().out


def test_a_rent_before_the_first_is_refused_and_the_rule_is_told(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--rent-date", "2020-01-01"]) == 2
    assert "the earliest is of 2026-05-07" in capsys.readouterr().err
    told = []
    for flags in ([], ["--rent-date", "2026-12-31"]):
        assert main(["decode", ledger, *flags]) == 0
        told.append(capsys.readouterr().out.splitlines())
    assert "last 90 days of rows, each provider's newest" in told[0][-3]
    assert told[0] == told[1]
    assert main(["catalog", "rents", "h100"]) == 0
    text = capsys.readouterr().out
    assert RULE in text and "no: family name" in text
    assert main(["decode", "--help"]) == 0
    assert RULE in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["header", "decode"])
def test_no_letter_of_a_file_reaches_the_terminal_as_a_command(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture
) -> None:
    made = dense("odd\x1b[2J", blocks=1, width=256, heads=4, kv_heads=2, head=64, columns=256, vocabulary=512)
    ledger = made.to_ledger()
    ledger["metadata"]["general.name"] = "a\x1b]0;title\x07\nb\0\u202e$x^$"
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(ledger))
    more = ["--plot", str(tmp_path / "odd.png")] if command == "decode" else []
    assert main([command, str(path), *more]) == 0
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert text.splitlines()[0].startswith(r"a\x1b]0;title\x07\nb\x00\u202e$x^$") and "none that is known here" in text
    assert main([command, str(path), "--json"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    path.write_text(json.dumps({**ledger, "tensors": [["\x1b[2Jodd", "F32", [1]]]}))
    main([command, str(path)])
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err and r"\x1b[2Jodd" in printed.out + printed.err


@pytest.mark.parametrize("redirect", [">&-", ">&- 2>&-"])
def test_a_closed_standard_output_is_told_and_no_traceback(ledger: str, redirect: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m tinker_nomics decode "{ledger}" {redirect}'],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert ("standard output is closed" in done.stderr) is ("2>&-" not in redirect) and "Traceback" not in done.stderr


def test_a_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["header", "-"]) == 2 and "standard input is closed" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_ends_the_program_quietly(ledger: str) -> None:
    command = f'"{sys.executable}" -m tinker_nomics decode "{ledger}" --chip all --json --stages; echo "status $?" >&2'
    done = subprocess.run(
        ["/bin/sh", "-c", f"({command}) | head -1"], capture_output=True, text=True, check=False,
        env={**os.environ, "TINKER_NOMICS_CACHE": "off"},
    )  # fmt: skip
    assert done.stdout == "{\n" and done.stderr.splitlines() == ["status 0"]


def test_a_picture_of_too_many_rows_says_so(ledger: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    asked = ["decode", ledger, "--chip", "all", "--tp", "1,2", "--plot", str(tmp_path / "all.png")]
    assert main(asked) == 0
    assert f"the first 100 of {2 * len(tn.catalog.chips())} rows" in capsys.readouterr().err
    assert int.from_bytes((tmp_path / "all.png").read_bytes()[20:24]) < 5000


def test_stages_tell_what_is_hidden(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--stages"]) == 0
    assert "us of compute pass while memory binds" in capsys.readouterr().out


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


def test_numbers_say_their_limit(ledger: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["decode", ledger, "--tp", "1e30"]) == 2
    assert "from 1 to 9,007,199,254,740,992" in capsys.readouterr().err
