"""Sweeps asked for wrongly, and their files damaged: one clear error each."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hand_config import hand_config

import tinker_nomics as tn

AXES = {"workload.steps": [10, 20], "cluster.gpus": [4, 8, 16]}


@pytest.fixture(scope="module")
def batch() -> tn.Sweep:
    return tn.sweep(hand_config(), AXES, outputs=["tinker.total", "self_hosted.total"])


@pytest.mark.parametrize("axes", [None, [("workload.steps", [1])], "workload.steps"])
def test_axes_are_a_mapping(axes):
    with pytest.raises(tn.ConfigError, match="a mapping is expected"):
        tn.sweep(hand_config(), axes)


def test_one_output_is_a_list_of_one():
    with pytest.raises(tn.ConfigError, match=r"Write \['tinker\.total'\]") as caught:
        tn.sweep(hand_config(), AXES, outputs="tinker.total")
    assert len(caught.value.problems) == 1


def test_a_missing_value_is_named_as_it_stood():
    with pytest.raises(tn.ConfigError, match=r"workload\.steps\[1\] = None: a whole number") as caught:
        tn.sweep(hand_config(), {"workload.steps": [1, None]})
    assert len(caught.value.problems) == 1


def test_wrong_names_and_wrong_choices_are_told_together():
    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", assumptions="published")
    with pytest.raises(tn.ConfigError) as caught:
        tn.sweep(config, {"workload.stepz": [1], "model": ["Qwen3-8B", "Qwen3-9000B"], "chip": ["zx81"]})
    for words in ("workload.stepz", "Qwen3-9000B", "zx81"):
        assert words in str(caught.value)


@pytest.mark.parametrize("value", [[], np.array([]), slice(1, 2), {1, 2}, [[10]], {"a": 1}])
def test_a_selection_that_is_no_value_or_list(batch, value):
    with pytest.raises(tn.TinkerNomicsError, match="a value of this axis, or a list"):
        batch.sel({"workload.steps": value})


def test_a_selection_is_a_mapping(batch):
    with pytest.raises(tn.TinkerNomicsError, match="mapping"):
        batch.sel([("workload.steps", 10)])


def test_damage_is_refused_or_harmless(batch, tmp_path):
    whole = batch.to_npz(tmp_path / "a.npz").read_bytes()
    file = tmp_path / "b.npz"
    rng = random.Random(0)
    refused = 0
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        try:
            again = tn.Sweep.from_npz(file)
        except tn.TinkerNomicsError:
            refused += 1
        else:
            np.testing.assert_array_equal(again["self_hosted.total"], batch["self_hosted.total"])
    assert refused > 100
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(tn.TinkerNomicsError, match="not a sweep"):
            tn.Sweep.from_npz(file)
    with pytest.raises(tn.TinkerNomicsError, match="is a folder"):
        tn.Sweep.from_npz(tmp_path)


@pytest.mark.parametrize("name", ["about", "axis:workload.steps", "output:tinker.total"])
def test_a_file_without_a_part_of_it_is_refused(batch, tmp_path, name):
    parts = dict(np.load(batch.to_npz(tmp_path / "a.npz")))
    del parts[name]
    np.savez(tmp_path / "b.npz", **parts)
    with pytest.raises(tn.TinkerNomicsError, match="not a sweep"):
        tn.Sweep.from_npz(tmp_path / "b.npz")


@pytest.mark.parametrize("name", ["axis:workload.steps", "output:tinker.total"])
@pytest.mark.parametrize("other", [np.arange(7.0), np.array(["a", "b"]), np.arange(2)])
def test_a_part_of_another_shape_or_kind_is_refused(batch, tmp_path, name, other):
    parts = dict(np.load(batch.to_npz(tmp_path / "a.npz")))
    if name.startswith("axis") and other.dtype.kind == "U":
        other = other.reshape(2, 1)
    np.savez(tmp_path / "b.npz", **parts | {name: other})
    with pytest.raises(tn.TinkerNomicsError, match="damaged"):
        tn.Sweep.from_npz(tmp_path / "b.npz")
