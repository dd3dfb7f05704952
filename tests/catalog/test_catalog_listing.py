"""Rows as text, and the rules that every row of the catalog's own tables keeps."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources

import pytest

from tinker_nomics import catalog
from tinker_nomics.catalog.listing import KINDS, listing
from tinker_nomics.cli import catalog_command
from tinker_nomics.cli.main import main

TABLES = ("models", "lora_table", "prices", "recipes", "sandboxes", "reference_runs")


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_has_a_source_a_date_and_a_status(kind: str) -> None:
    table = listing(kind)
    columns = {name: number for number, name in enumerate(table.header)}
    assert table.rows
    for row in table.rows:
        assert len(row) == len(table.header)
        assert row[columns["status"]] in ("V", "S", "D"), row
        assert row[columns["source"]] not in ("", "-"), row
        assert re.match(r"20\d\d", row[columns["date"]]), row


@pytest.mark.parametrize("name", TABLES)
def test_no_table_names_an_unnamed_source(name: str) -> None:
    text = resources.files("tinker_nomics.catalog").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    assert not re.search(r"unnamed|from memory|unknown source|TODO", text)


def test_words_narrow_the_rows() -> None:
    assert [row[0] for row in listing("models", "qwen3 32b").rows] == ["Qwen/Qwen3-32B"]
    assert {row[5] for row in listing("prices", "Kimi", "2026-01-05").rows} == {"2026-01-05"}


def test_no_row_and_no_kind_are_errors() -> None:
    with pytest.raises(catalog.CatalogError, match="nearest are"):
        listing("recipes", "maths")
    with pytest.raises(catalog.CatalogError, match="there are chips"):
        listing("colours")


def test_the_command_and_the_tables_have_the_same_kinds() -> None:
    assert tuple(KINDS) == tuple(catalog_command.KINDS)


def test_the_command_prints_rows_with_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "prices", "Qwen3-8B", "--date", "2026-01-05"]) == 0
    out = capsys.readouterr().out
    assert "Qwen/Qwen3-8B" in out and "sundial-org/skills" in out
    assert main(["catalog", "recipes", "math_rl", "--json"]) == 0
    assert '"name": "math_rl"' in capsys.readouterr().out
    assert main(["catalog", "models", "no-such-model"]) == 2
    assert "nearest" in capsys.readouterr().err
    assert main(["catalog", "chips", "--date", "2026-01-05"]) == 2
    assert "a date picks a price list" in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_rows_fit_a_screen_and_every_number_has_its_note(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", kind]) == 0
    rows, notes, _ = capsys.readouterr().out.split("\n\n")
    assert max(map(len, rows.splitlines())) <= 170
    used = {number for line in rows.splitlines()[2:] for number in re.findall(r"(\d+)(?:, |$)", line.split("  ")[-1])}
    written = re.findall(r"^ *(\d+) \S", notes, re.MULTILINE)
    assert used == set(written) and written == [str(number) for number in range(1, len(written) + 1)]
    table = listing(kind)
    sources = {row[table.header.index("source")] for row in table.rows}
    flat = " ".join(notes.split())
    assert all(" ".join(source.split()) in flat for source in sources)


def test_a_kind_left_out_lists_the_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.split("\n\n")[0].splitlines()]
    assert tuple(listed) == tuple(KINDS)
    for wrong in (["catalog", "--json"], ["catalog", "chip"]):
        assert main(wrong) == 2
        assert "chips" in capsys.readouterr().err


def test_the_catalog_does_not_import_jax() -> None:
    code = (
        "import sys; from tinker_nomics import catalog; from tinker_nomics.catalog.listing import KINDS, listing;"
        "[listing(kind) for kind in KINDS]; assert not {'jax', 'equinox', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_every_public_name_is_there() -> None:
    for name in catalog.__all__:
        assert getattr(catalog, name) is not None
    assert set(catalog.__all__) <= set(dir(catalog))
    with pytest.raises(AttributeError, match="no attribute 'colours'"):
        _ = catalog.colours
