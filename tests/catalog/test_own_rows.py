"""Rows of one's own: the template reads back, marks before UTF-8 are read over, a wrong file says where to start."""

from __future__ import annotations

import pytest

import tinker_nomics as tn
from tinker_nomics.catalog.own_rows import own_row

FILES = {"chip": ("chips", ["b200"]), "model": ("models", ["Qwen3-8B"]), "prices": ("prices", ["Qwen3-8B"])}


@pytest.mark.parametrize("edition", ["published", "revised"])
def test_templates_price_a_run_as_their_rows_do(tmp_path, edition):
    choices = {}
    for choice, (kind, words) in FILES.items():
        path = tmp_path / f"{choice}.toml"
        date = "2026-05-01" if kind == "prices" else None
        path.write_bytes(b"\xef\xbb\xbf" + own_row(kind, words, date).encode())
        choices[choice] = str(path)
    rent = {"cluster.price_per_gpu_hour": 6.0}
    own = tn.Config.from_recipe("math_rl", assumptions=edition, overrides=rent, **choices)
    listed = tn.Config.from_recipe(
        "math_rl", assumptions=edition, overrides=rent, chip="b200", model="Qwen3-8B", prices="2026-05-01"
    )
    assert {path: value for path, value in own.to_dict().items() if not path.startswith("published_prices.")} == {
        path: value for path, value in listed.to_dict().items() if not path.startswith("published_prices.")
    }


@pytest.mark.parametrize(
    ("kind", "words", "said"),
    [("runs", ["x"], "not read from files"), ("chips", [], "name one row"), ("models", ["no", "such"], "nearest"),
     ("chips", ["h100"], "family")],
)  # fmt: skip
def test_what_has_no_template(kind, words, said):
    with pytest.raises(tn.TinkerNomicsError, match=said):
        own_row(kind, words)


@pytest.mark.parametrize("choice", FILES)
def test_a_wrong_file_names_its_keys_and_the_template(tmp_path, choice):
    path = tmp_path / "mine.toml"
    path.write_text('bandwith = "4 TB/s"\n')
    with pytest.raises(tn.ConfigError) as caught:
        tn.Config.from_recipe("math_rl", assumptions="published", **{choice: str(path)})
    lines = str(caught.value).splitlines()
    assert lines[0] == "this configuration has 1 problem:" and "bandwith" in lines[2]
    assert f"catalog {FILES[choice][0]}" in lines[-1] and ".." not in str(caught.value)
