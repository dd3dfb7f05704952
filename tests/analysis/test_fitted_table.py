"""The table of fitted coefficients: one table is replaced, the others stay."""

from __future__ import annotations

import tomllib
from pathlib import Path

from analysis_scripts import script

from tinker_nomics.formulas.fitted import about, coefficients

writer = script("fitted_table")


def test_one_table_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "fitted.toml"
    writer.write_table("one", {"script": 'a "quoted" name', "error": 0.125}, {"x": 1.5}, path)
    writer.write_table("two", {"script": "b"}, {"y": 2.0, "z": 1e-5}, path)
    writer.write_table("one", {"script": "c"}, {"x": 3.25}, path)
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    assert tables["one"] == {"script": "c", "coefficients": {"x": 3.25}}
    assert tables["two"]["coefficients"] == {"y": 2.0, "z": 1e-5}


def test_the_packaged_tables_name_their_scripts() -> None:
    for name in ("rl_step", "staleness_queue"):
        assert (Path(__file__).resolve().parents[2] / about(name)["script"]).is_file()
        assert coefficients(name)
