"""Which rent `tinker-nomics decode` takes of a chip, and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tinker_nomics as tn
from tinker_nomics.catalog.rent_table import RULE, rent_rows
from tinker_nomics.cli.main import main

pytestmark = pytest.mark.usefixtures("no_cache")


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
