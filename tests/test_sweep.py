"""Sweeps: against one estimate at a time, in every mode and layout; choices, selection, files, bad input."""

from __future__ import annotations

import itertools
import json
import math
from functools import partial

import numpy as np
import pytest
from hand_config import hand_config
from random_configs import random_values, row

import tinker_nomics as tn
from tinker_nomics.config import TRAINING_KINDS, replace
from tinker_nomics.outputs import PUBLISHED_OUTPUTS, by_path
from tinker_nomics.sweeps import sweeping
from tinker_nomics.sweeps.points import ROW_CHUNK, GridPoints
from tinker_nomics.sweeps.sweeping import sweep

AXES = {
    "workload.rollouts_per_prompt": [4, 8, 16],
    "cluster.gpus": [1, 8],
    "schedule.max_steps_off_policy": [0, 1, 2, 4],
    "cluster.mfu": [0.1, 0.35],
}


def _one(values: dict) -> dict[str, float]:
    return by_path(tn.estimate(replace(hand_config(), values)))


def _points(batch: tn.Sweep):
    return itertools.product(*(values.tolist() for values in batch.axes.values()))


def _assert_equal_to_estimates(batch: tn.Sweep) -> None:
    for place, point in zip(np.ndindex(*batch.shape), _points(batch)):
        one = _one(dict(zip(batch.axes, point)))
        for name, value in one.items():
            # a margin that is zero up to rounding is compared to the size of what it is the difference of
            assert batch[name][place] == pytest.approx(value, rel=1e-12, abs=1e-6 if "kv_fits" in name else 1e-9), name


def test_a_grid_is_one_estimate_after_the_other():
    batch = sweep(hand_config(), AXES)
    assert batch.shape == (3, 2, 4, 2) and set(batch.outputs) == set(PUBLISHED_OUTPUTS)
    assert all(batch[name].dtype == np.float64 and batch[name].shape == batch.shape for name in batch.outputs)
    _assert_equal_to_estimates(batch)


def test_a_grid_in_blocks_equals_one_in_rows(monkeypatch):
    rows = sweep(hand_config(), AXES)
    monkeypatch.setattr(sweeping, "ROWS_UP_TO", 0)
    for target in (1, 3, 7, 16, 1 << 18):  # from single points to the whole grid in a block, ragged ones between
        monkeypatch.setattr(sweeping, "GridPoints", partial(GridPoints, target=target))
        blocks = sweep(hand_config(), AXES)
        for name in rows.outputs:
            np.testing.assert_allclose(blocks[name], rows[name], rtol=1e-12, atol=1e-6, err_msg=name)
    assert blocks.values["tinker.total"].shape == (3, 1, 1, 1)  # what does not depend on an axis is not stored along it
    assert blocks.values["self_hosted.train_tokens_per_second"].shape == (1, 2, 1, 2)
    assert blocks.values["lora.parameters"].shape == (1, 1, 1, 1)


@pytest.mark.parametrize("shape", [(1,), (7,), (5, 3), (4, 3, 2), (2, 9, 4)])
@pytest.mark.parametrize("target", [1, 2, 5, 8, 100])
def test_blocks_cover_a_grid(shape, target):
    points = GridPoints({}, shape, target)
    seen = np.zeros(shape, int)
    for number in range(points.stratum_chunks):
        block = seen[points.where(number)]
        assert block.size == points.chunk_size
        block += 1
    assert seen.min() >= 1 and seen.max() <= 2
    assert points.chunk_size <= max(target, 1)


def test_zip_pairs_the_axes():
    values = random_values(50, seed=5)
    del values["prices.cached_prefill"]
    batch = sweep(hand_config(), values, mode="zip")
    assert batch.shape == (50,) and len(batch) == 50
    for index in range(0, 50, 7):
        one = _one(row(values, index))
        for name, value in one.items():
            assert batch[name][index] == pytest.approx(value, rel=1e-11, abs=1e-6 * batch["self_hosted.total"][index])


@pytest.mark.parametrize("count", [1, 2, ROW_CHUNK, ROW_CHUNK + 1, 3 * ROW_CHUNK - 1])
def test_tables_of_any_length(count):
    steps = np.arange(1.0, count + 1)
    batch = sweep(hand_config(), {"workload.steps": steps}, mode="zip", outputs=["tinker.total"])
    np.testing.assert_allclose(batch["tinker.total"], steps * (_one({})["tinker.total"] / 180), rtol=1e-12)


def test_one_trace_for_any_number_of_points(monkeypatch):
    calls = []
    whole = sweeping.evaluate
    monkeypatch.setattr(sweeping, "evaluate", lambda *a, **k: calls.append(1) or whole(*a, **k))
    axes = ("workload.completion_tokens", "cluster.price_per_gpu_hour", "workload.prompt_tokens")
    for lengths in ((1, 1, 1), (3, 4, 5), (30, 40, 50)):
        sweep(hand_config(), {axis: np.linspace(1, 2, length) for axis, length in zip(axes, lengths)})
    for length in (2, 20_000, 100_000):
        sweep(replace(hand_config(), {"lora.rank": 8}), {axis: np.linspace(1, 2, length) for axis in axes}, mode="zip")
    assert len(calls) == 1


def test_memory_of_an_earlier_sweep_is_reused():
    first = sweep(hand_config(), AXES)
    arrays = {name: array.ctypes.data for name, array in first.values.items()}
    second = sweep(replace(hand_config(), {"workload.steps": 10}), AXES, out=first)
    assert {name: array.ctypes.data for name, array in second.values.items()} == arrays
    _sweep = sweep(replace(hand_config(), {"workload.steps": 10}), AXES)
    np.testing.assert_array_equal(second["tinker.total"], _sweep["tinker.total"])


def test_quantities_hyphens_and_array_types():
    import jax.numpy as jnp

    axes = {"cluster.chip.bandwidth": ["3.35 TB/s", 2e12], "cluster.chip.memory-bytes": ["80 GB"]}
    batch = sweep(hand_config(), axes)
    assert batch.axes["cluster.chip.bandwidth"].tolist() == [3.35e12, 2e12]
    for steps in (range(1, 4), np.array([1, 2, 3]), (1, 2.0, 3), jnp.array([1, 2, 3])):
        assert sweep(hand_config(), {"workload.steps": steps}).axes["workload.steps"].tolist() == [1, 2, 3]


# ---- kinds and choices -----------------------------------------------------------------------------------------------


def test_kinds_are_axes():
    axes = {"schedule.kind": ["sync", "stream_minibatch"], "workload.steps": [10, 20], "lora.training": TRAINING_KINDS}
    batch = sweep(hand_config(), axes)
    assert batch.shape == (2, 2, 2)
    for place, point in zip(np.ndindex(2, 2, 2), _points(batch)):
        one = _one(dict(zip(axes, point)))
        for name in batch.outputs:
            expected = one.get(name, math.nan)
            assert batch[name][place] == pytest.approx(expected, rel=1e-12, abs=1e-6, nan_ok=True), name
    assert np.isnan(batch["lora.parameters"][:, :, 1]).all()


def test_kinds_in_blocks(monkeypatch):
    axes = {"workload.steps": [10, 20, 30], "schedule.kind": ["sync", "async"], "cluster.mfu": [0.1, 0.2]}
    rows = sweep(hand_config(), axes)
    monkeypatch.setattr(sweeping, "ROWS_UP_TO", 0)
    blocks = sweep(hand_config(), axes)
    for name in rows.outputs:
        np.testing.assert_allclose(blocks[name], rows[name], rtol=1e-12, atol=1e-6, err_msg=name)


def test_kinds_in_a_zip():
    k = "schedule.max_steps_off_policy"
    axes = {"schedule.kind": ["sync", "async", "sync"], k: [0, 3, 0], "workload.steps": [10, 20, 30]}
    batch = sweep(hand_config(), axes, mode="zip")
    for index in range(3):
        one = _one({path: values[index] for path, values in axes.items()})
        assert batch["self_hosted.hours"][index] == pytest.approx(one["self_hosted.hours"], rel=1e-12)


def test_a_kind_alone_is_an_axis():
    batch = sweep(hand_config(), {"schedule.kind": ["sync", "stream_minibatch"]})
    hours = [_one({"schedule.kind": kind})["self_hosted.hours"] for kind in ("sync", "stream_minibatch")]
    np.testing.assert_allclose(batch["self_hosted.hours"], hours, rtol=1e-13)


def test_an_on_policy_kind_and_a_staleness_bound_are_refused():
    with pytest.raises(tn.ConfigError, match=r"it is on-policy, but schedule\.max_steps_off_policy is 2"):
        sweep(hand_config(), {"schedule.kind": ["sync", "async"], "schedule.max_steps_off_policy": [0, 2]})


@pytest.fixture(scope="module")
def from_catalog() -> tn.Config:
    return tn.Config.from_recipe(
        "math_rl", model="Qwen/Qwen3-8B", chip="h100-sxm", gpus=8, prices="2026-01-05", assumptions="published"
    )


CATALOG_AXES = {
    "model": ["Qwen/Qwen3-8B", "Qwen3-32B"],
    "chip": ["h100-sxm", "h200-sxm"],
    "prices": ["2026-01-05", "2026-05-02"],
    "workload.steps": [100, 200],
}


def test_choices_are_rows_of_the_catalog(from_catalog):
    batch = sweep(from_catalog, CATALOG_AXES)
    assert batch.shape == (2, 2, 2, 2)
    for place, (model, chip, prices, steps) in zip(np.ndindex(2, 2, 2, 2), _points(batch)):
        config = tn.Config.from_recipe(
            "math_rl",
            model=model,
            chip=chip,
            gpus=8,
            prices=prices,
            assumptions="published",
            overrides={"workload.steps": steps},
        )
        for name, value in by_path(tn.estimate(config)).items():
            assert batch[name][place] == pytest.approx(value, rel=1e-12, abs=1e-6), (name, model, chip, prices)
    chosen = batch.sel({"model": "Qwen3-32B", "prices": "2026-05-02"})
    assert list(chosen.axes) == ["chip", "workload.steps"]
    assert chosen.provenance["selected"] == {"model": "Qwen3-32B", "prices": "2026-05-02"}


def test_choices_can_be_paired(from_catalog):
    grid = sweep(from_catalog, CATALOG_AXES)
    paired = sweep(from_catalog, CATALOG_AXES, mode="zip")
    diagonal = [grid["difference.total"][(i,) * 4] for i in range(2)]
    np.testing.assert_allclose(paired["difference.total"], diagonal, rtol=1e-12)


def test_an_override_outlives_a_choice(from_catalog):
    config = replace(from_catalog, {"cluster.price_per_gpu_hour": 1.0})
    batch = sweep(config, {"chip": ["h100-sxm", "h200-sxm"]})
    np.testing.assert_allclose(batch["self_hosted.total"], batch["self_hosted.gpu_hours"], rtol=1e-14)
    own_axis = sweep(from_catalog, {"chip": ["h100-sxm", "h200-sxm"], "cluster.price_per_gpu_hour": [1.0, 2.0]})
    np.testing.assert_allclose(own_axis["self_hosted.total"][:, 0], batch["self_hosted.total"], rtol=1e-14)


def test_choices_that_the_catalog_refuses_are_all_named(from_catalog):
    with pytest.raises(tn.ConfigError) as caught:
        sweep(from_catalog, {"model": ["Qwen3-8B", "Qwen3-9000B"], "chip": ["h100-sxm", "zx81"]})
    assert "Qwen3-9000B" in str(caught.value) and "zx81" in str(caught.value) and "nearest" in str(caught.value)


# ---- selection and files ---------------------------------------------------------------------------------------------


def test_selection():
    batch = sweep(hand_config(), AXES)
    at = batch.sel({"cluster.gpus": 8, "cluster.mfu": 0.35, "workload.rollouts-per-prompt": 16})
    assert at.shape == (4,) and list(at.axes) == ["schedule.max_steps_off_policy"]
    np.testing.assert_array_equal(at["self_hosted.total"], batch["self_hosted.total"][2, 1, :, 1])
    point = batch.sel(
        {
            "cluster.gpus": 8,
            "cluster.mfu": 0.1 + 1e-13,
            "workload.rollouts_per_prompt": 4,
            "schedule.max_steps_off_policy": 2,
        }
    )
    assert point.shape == () and float(point["difference.total"]) == batch["difference.total"][0, 1, 2, 0]
    some = batch.sel({"schedule.max_steps_off_policy": [4, 0]})
    np.testing.assert_array_equal(some["self_hosted.hours"], batch["self_hosted.hours"][:, :, [3, 0]])
    with pytest.raises(tn.TinkerNomicsError, match="this axis has 1, 8"):
        batch.sel({"cluster.gpus": 4})
    with pytest.raises(tn.TinkerNomicsError, match="no axis of this sweep"):
        batch.sel({"workload.steps": 4})


def test_selection_of_rows():
    batch = sweep(hand_config(), {"workload.steps": [1, 2, 1, 3], "cluster.gpus": [1, 2, 4, 8]}, mode="zip")
    ones = batch.sel({"workload.steps": 1})
    assert ones.axes["cluster.gpus"].tolist() == [1, 4]
    np.testing.assert_array_equal(ones["self_hosted.total"], batch["self_hosted.total"][[0, 2]])


def test_an_axis_can_be_read_at_every_point():
    batch = sweep(hand_config(), AXES)
    np.testing.assert_array_equal(batch["cluster.gpus"][1, :, 2, 0], [1, 8])
    with pytest.raises(tn.TinkerNomicsError, match=r"tinker\.total"):
        batch["tinker.totl"]


def test_to_dict_is_plain():
    batch = sweep(hand_config(), {"workload.steps": [10, 20], "cluster.gpus": [4]})
    plain = json.loads(json.dumps(batch.to_dict()))
    assert plain["axes"] == {"workload.steps": [10, 20], "cluster.gpus": [4]}
    assert plain["outputs"]["tinker.total"] == batch["tinker.total"].tolist()
    assert plain["units"]["tinker.total"] == "USD" and plain["units"]["cluster.gpus"] == "GPUs"


def test_csv(tmp_path):
    batch = sweep(hand_config(), {"schedule.kind": ["sync", "async"], "workload.steps": [10, 20]})
    path = batch.to_csv(tmp_path / "batch.csv")
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line for line in lines if line.startswith("# ")]
    assert any(line.startswith("# parameters = ") and "workload.prompts_per_step" in line for line in comments)
    header, *rows = [line.split(",") for line in lines[len(comments) :]]
    assert header[:2] == ["schedule.kind", "workload.steps [steps]"]
    column = header.index("tinker.total [USD]")
    assert [float(row[column]) for row in rows] == batch["tinker.total"].ravel().tolist()
    assert [row[0] for row in rows] == ["sync", "sync", "async", "async"]
    with pytest.raises(tn.TinkerNomicsError, match="force"):
        batch.to_csv(path)
    batch.to_csv(path, force=True)


def test_npz_reads_back(tmp_path):
    batch = sweep(hand_config(), {"schedule.kind": ["sync", "async"], "workload.steps": [10, 20]})
    path = batch.to_npz(tmp_path / "batch.npz")
    again = tn.Sweep.from_npz(path)
    assert again.mode == batch.mode and again.shape == batch.shape and again.provenance == batch.provenance
    assert again.units == batch.units
    for name in (*batch.outputs, *batch.axes):
        np.testing.assert_array_equal(again[name], batch[name])
    with pytest.raises(tn.TinkerNomicsError, match="force"):
        batch.to_npz(path)
    (tmp_path / "other.npz").write_bytes(b"nothing")
    with pytest.raises(tn.TinkerNomicsError, match="not a sweep"):
        tn.Sweep.from_npz(tmp_path / "other.npz")
    with pytest.raises(tn.TinkerNomicsError, match="no file"):
        tn.Sweep.from_npz(tmp_path / "none.npz")


# ---- bad input -------------------------------------------------------------------------------------------------------


def test_every_problem_is_listed_at_once():
    with pytest.raises(tn.ConfigError) as caught:
        sweep(
            hand_config(),
            {
                "workload.step": [1],
                "cluster.mfu": [0.1, 2.0, math.nan],
                "lora.rank": [],
                "workload.steps": np.array([1.5, 2.0]),
                "schedule.kind": ["sometimes"],
                "cluster.gpus": 3,
                "workload.prompt_tokens": ["3 parsecs"],
                "workload.turns": [[1, 2], [3, 4]],
            },
            outputs=["tinker.totl"],
        )
    text = str(caught.value)
    assert len(caught.value.problems) == 10
    for said in (
        "are workload.steps",
        "cluster.mfu[1] = 2.0",
        "cluster.mfu[2] = nan",
        "tinker.total, ",
        "lora.rank = []: the axis is empty",
        "workload.steps[0] = 1.5",
        "schedule.kind[0] = 'sometimes'",
        "cluster.gpus = 3",
        "Write [3] for one",
        "3 parsecs",
        "one dimension",
    ):
        assert said in text, said


@pytest.mark.parametrize(
    ("axes", "mode", "said"),
    [
        ({}, "grid", "at least one axis"),
        ({"workload.steps": [1, 2], "cluster.gpus": [1, 2, 3]}, "zip", "workload.steps has 2, cluster.gpus has 3"),
        ({"workload.steps": [1]}, "cross", "grid or zip"),
        ({"workload.steps": "12"}, "grid", "a list of values"),
        ({"workload.steps": [None]}, "grid", "workload.steps[0]"),
        ({"workload.steps": -np.arange(1.0, 10)}, "grid", "4 more values"),
        ({"workload.prompt_tokens": [1], "workload.prompt-tokens": [2]}, "grid", "given twice"),
        ({"workload.steps": [1], "workload.steps ": [2]}, "grid", "nearest"),
        ({"model": [3]}, "grid", "text is expected"),
    ],
)
def test_bad_input(axes, mode, said):
    with pytest.raises(tn.ConfigError) as caught:
        sweep(hand_config(), axes, mode=mode)
    assert said in str(caught.value)


def test_results_that_do_not_fit_are_refused_before_anything_is_allocated():
    axes = {
        "workload.steps": range(1, 30_001),
        "cluster.price_per_gpu_hour": np.linspace(1, 5, 30_000),
        "cluster.mfu": np.linspace(0.1, 0.5, 3_000),
    }
    with pytest.raises(tn.TinkerNomicsError) as caught:
        sweep(hand_config(), axes)
    assert "2,700,000,000,000 points" in str(caught.value) and "outputs=" in str(caught.value)
    assert "points of this kind fit" in str(caught.value)


def test_a_choice_of_outputs_fits_where_all_do_not(monkeypatch):
    monkeypatch.setattr(sweeping, "available_bytes", lambda: 3_000)
    with pytest.raises(tn.TinkerNomicsError, match="outputs="):
        sweep(hand_config(), {"workload.steps": range(1, 101)})
    batch = sweep(hand_config(), {"workload.steps": range(1, 101)}, outputs=["tinker.total"])
    assert batch.outputs == ("tinker.total",)
