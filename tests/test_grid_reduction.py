"""Reducers over a grid against the sweep that keeps every point."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import tinker_nomics as tn
from tinker_nomics.boundary import x64
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming import Groups, Moments, NonFinite, Pareto, TopK, Winners
from tinker_nomics.streaming.reducer import Reducer
from tinker_nomics.sweeps.grid_model import Places
from tinker_nomics.sweeps.grid_reduction import reduce_grid

CHIPS, GPUS = ("h100-sxm", "a100-80-sxm", "b200"), (1.0, 2.0, 4.0, 8.0, 16.0)
AXES = {
    "chip": CHIPS,
    "cluster.gpus": GPUS,
    "workload.completion_tokens": np.linspace(100.0, 4000.0, 47),
    "workload.rollouts_per_prompt": [4, 8, 16, 32],
    "cluster.mfu": [0.1, 0.2, 0.3],
}
REDUCERS = {
    "cheapest": TopK("self_hosted.total", 5, where="memory.weights_fit == 1"),
    "front": Pareto(["self_hosted.total", "self_hosted.hours"], capacity=256),
    "groups": Groups({"chip": CHIPS, "cluster.gpus": GPUS}, ["self_hosted.total"]),
    "winners": Winners(["tinker.total", "self_hosted.total"], by={"chip": CHIPS, "cluster.gpus": GPUS}),
}
OUTPUTS = ("tinker.total", "self_hosted.total", "self_hosted.hours", "memory.weights_fit")


@pytest.fixture(scope="module")
def config() -> tn.Config:
    return tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", assumptions="published")


@pytest.fixture(scope="module")
def found(config):
    return reduce_grid(config, AXES, REDUCERS, outputs=OUTPUTS)


@pytest.fixture(scope="module")
def batch(config):
    return tn.sweep(config, AXES, outputs=[*OUTPUTS, "difference.total"])


def test_the_cheapest_of_the_grid(found, batch):
    cost, fits = batch["self_hosted.total"].ravel(), batch["memory.weights_fit"].ravel() == 1
    order = np.lexsort((np.arange(cost.size), np.where(fits, cost, np.inf)))[:5]
    assert found["cheapest"].number.tolist() == order.tolist() and found.points == cost.size
    best = found.at(found["cheapest"].number[0])
    assert batch.sel(best)["self_hosted.total"] == pytest.approx(found["cheapest"].outputs["self_hosted.total"][0])
    assert found["cheapest"].inputs["chip"][0] == best["chip"]  # the text, not its place


def test_groups_and_winners(found, batch):
    table, cost = found["groups"]["self_hosted.total"], batch["self_hosted.total"]
    np.testing.assert_allclose(table.least, cost.min(axis=(2, 3, 4)), rtol=1e-14)
    np.testing.assert_allclose(table.mean, cost.mean(axis=(2, 3, 4)), rtol=1e-12)
    assert (table.count == 47 * 4 * 3).all()
    own = (batch["difference.total"] < 0).sum(axis=(2, 3, 4))
    assert np.array_equal(found["winners"].wins["self_hosted.total"], own) and 0 < own.sum() < cost.size


def test_the_front_is_beaten_by_nothing(found, batch):
    cost, hours = batch["self_hosted.total"].ravel(), batch["self_hosted.hours"].ravel()
    order = np.lexsort((hours, cost))
    best = np.minimum.accumulate(hours[order])
    front = order[np.concatenate([[True], best[1:] < best[:-1]])]
    assert found["front"].exact and sorted(found["front"].number) == sorted(front)


@pytest.mark.parametrize("shape", [(3, 5), (7,), (2, 3, 70000, 30000, 11), (5, 2**29 + 1, 3)])
def test_places_of_any_number(shape):
    size = int(np.prod(np.array(shape, dtype=object)))
    for first in (0, size // 3, size // 2 + 1, max(0, size - 16)):
        with x64():
            places = Places(shape)((np.int64(first), np.arange(min(16, size - first), dtype=np.int32)))
        numbers = [first + i for i in range(min(16, size - first))]
        expected = []
        for number in numbers:
            place = []
            for length in reversed(shape):
                number, at = divmod(number, length)
                place.insert(0, at)
            expected.append(place)
        assert np.stack(places, 1).tolist() == expected


@pytest.fixture(scope="module")
def shaped(config):
    """Axes that shape the formulas, given in the middle, over more than one chunk."""
    axes = {
        "chip": CHIPS[:2],
        "lora.training": ("lora", "full"),
        "cluster.gpus": [4, 16, 64],
        "schedule.kind": ("async", "sync", "stream_minibatch"),
        "workload.completion_tokens": np.linspace(100.0, 4000.0, 2001),
    }
    by = {"schedule.kind": axes["schedule.kind"], "lora.training": axes["lora.training"], "chip": axes["chip"]}
    lengths = "workload.completion_tokens"
    reducers = {
        "cheapest": TopK("self_hosted.total", 7, where="memory.weights_fit == 1"),
        "front": Pareto(["self_hosted.total", "self_hosted.hours"], [lengths], f"{lengths} < 500", 1024),
        "groups": Groups(by, ["self_hosted.total", "lora.parameters"]),
        "winners": Winners(["tinker.total", "self_hosted.total"], by=by),
        "missing": NonFinite(["lora.parameters", "self_hosted.total"]),
    }
    found = reduce_grid(config, axes, reducers)
    assert found.size == 2 * 2 * 3 * 3 * 2001 > 65536  # a chunk holds the borders of several parts
    return found, tn.sweep(config, found.axes, outputs=[*OUTPUTS, "lora.parameters", "difference.total"])


def test_choices_that_shape_the_formulas_are_axes_like_others(shaped):
    found, batch = shaped
    assert list(found.axes)[:3] == ["schedule.kind", "lora.training", "chip"] and found.shape == batch.shape
    cost, fits = batch["self_hosted.total"].ravel(), batch["memory.weights_fit"].ravel() == 1
    order = np.lexsort((np.arange(cost.size), np.where(fits, cost, np.inf)))[:7]
    assert found["cheapest"].number.tolist() == order.tolist()
    np.testing.assert_allclose(found["cheapest"].outputs["self_hosted.total"], cost[order], rtol=1e-14)
    table = found["groups"]["self_hosted.total"]
    np.testing.assert_allclose(table.least, batch["self_hosted.total"].min(axis=(3, 4)), rtol=1e-14)
    np.testing.assert_allclose(table.mean, batch["self_hosted.total"].mean(axis=(3, 4)), rtol=1e-12)
    own = (batch["difference.total"] < 0).sum(axis=(3, 4))
    assert np.array_equal(found["winners"].wins["self_hosted.total"], own) and 0 < own.sum() < cost.size
    assert len({tuple(row) for row in own.reshape(3, -1).tolist()}) > 1  # schedules do differ


def test_what_a_part_of_the_grid_does_not_have_is_absent_there(shaped):
    found, batch = shaped
    adapters = found["groups"]["lora.parameters"]
    assert (adapters.count[:, 0] == 3 * 2001).all() and not adapters.count[:, 1].any()
    assert found["missing"] == {"lora.parameters": found.size // 2, "self_hosted.total": 0}
    assert np.isnan(batch["lora.parameters"]).sum() == found.size // 2


def test_a_front_of_three_objectives(shaped):
    found, batch = shaped
    length = batch["workload.completion_tokens"].ravel()
    columns = np.stack([batch["self_hosted.total"].ravel(), batch["self_hosted.hours"].ravel(), -length], 1)[
        length < 500
    ]
    front = np.stack(
        [
            *(found["front"].outputs[n] for n in ("self_hosted.total", "self_hosted.hours")),
        ],
        1,
    )
    front = np.concatenate([front, -found["front"].inputs["workload.completion_tokens"][:, None]], 1)
    assert found["front"].exact and len(front) > 400
    for point in columns[:: len(columns) // 500]:  # every point is beaten or equalled by one of the front
        assert (front <= point + 1e-12 * abs(point)).all(axis=1).any()
    beaten = (front[:, None] <= front[None]).all(axis=2) & (front[:, None] < front[None]).any(axis=2)
    assert not beaten.any()


def test_groups_by_chip_and_width(config):
    switches = "published, itemised_memory, batch_roof"
    revised = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", assumptions=switches)
    axes = {"chip": CHIPS, "cluster.engine.tensor_parallel": [1, 2, 4, 8], "cluster.gpus": [8, 16]}
    by = {"chip": CHIPS, "cluster.engine.tensor_parallel": (1, 2, 4, 8)}
    found = reduce_grid(revised, axes, {"groups": Groups(by, ["self_hosted.total"])})
    batch = tn.sweep(revised, axes, outputs=["self_hosted.total"])
    np.testing.assert_allclose(found["groups"]["self_hosted.total"].least, batch["self_hosted.total"].min(axis=2))
    assert len(np.unique(found["groups"]["self_hosted.total"].least)) == 12


def test_groups_by_an_output_leave_out_what_has_none(config):
    axes = {"lora.training": ["lora", "full"], "cluster.gpus": GPUS}
    parameters = tn.estimate(config)["lora.parameters"]
    found = reduce_grid(config, axes, {"g": Groups({"lora.parameters": (1.0, parameters)}, ["tinker.total"])})
    assert found["g"]["tinker.total"].count.tolist() == [0, len(GPUS)]


def test_a_selection_by_name(found, batch):
    cheap = found.sel({"chip": "b200", "cluster.gpus": [4, 2]})
    table = cheap["groups"]["self_hosted.total"]
    assert table.by == {"cluster.gpus": (4.0, 2.0)}
    expected = batch.sel({"chip": "b200", "cluster.gpus": [4, 2]})["self_hosted.total"].min(axis=(1, 2, 3))
    np.testing.assert_allclose(table.least, expected, rtol=1e-14)
    assert cheap["winners"].ties.shape == (2,)
    kept = set(cheap["cheapest"].number.tolist())
    assert kept == {n for n in found["cheapest"].number.tolist() if found.at(n)["chip"] == "b200"} - {
        n for n in found["cheapest"].number.tolist() if found.at(n)["cluster.gpus"] not in (2.0, 4.0)
    }
    for choice, words in (
        ({"chips": "b200"}, "no axis of this grid; the nearest are chip"),
        ({"chip": "h200"}, "this axis has h100-sxm, a100-80-sxm, b200"),
        ({}, "sel takes a mapping"),
        ({"cluster.gpus": []}, "a list of at least one"),
    ):
        with pytest.raises(TinkerNomicsError, match=words):
            found.sel(choice)
    with pytest.raises(TinkerNomicsError, match="a selection has no states"):
        cheap.to_npz("never.npz")
    only = found.sel({"cluster.mfu": 0.1})
    assert set(only.results) == {"cheapest", "front"}
    with pytest.raises(TinkerNomicsError, match="'groups' is of all points"):
        only["groups"]


def test_bad_requests_are_named(config):
    with pytest.raises(tn.ConfigError, match=r"schedule.kind.*one of auto, sync"):
        reduce_grid(config, {"schedule.kind": ["sync", "asynchronous"]}, {"m": Moments()})
    with pytest.raises(tn.ConfigError, match="no parameter or choice"):
        reduce_grid(config, {"cluster.gpu": [1, 2]}, {"m": Moments()})
    with pytest.raises(TinkerNomicsError, match=r"no 'self_hosted.gpu_hour'"):
        reduce_grid(config, {"cluster.gpus": [1, 2]}, {"t": TopK("self_hosted.gpu_hour")})
    with pytest.raises(TinkerNomicsError, match="name at least one reducer"):
        reduce_grid(config, {"cluster.gpus": [1, 2]}, {})
    with pytest.raises(TinkerNomicsError, match=r"groups by chip are b200, h100-sxm; the axis has h100-sxm, b200"):
        reduce_grid(config, {"chip": ["h100-sxm", "b200"]}, {"g": Groups({"chip": ("b200", "h100-sxm")})})
    with pytest.raises(TinkerNomicsError, match=r"cluster.gpus is a number"):
        reduce_grid(config, {"cluster.gpus": [1, 2]}, {"g": Groups({"cluster.gpus": ("1", "2")})})


class Largest(Reducer):
    """A reducer of the user's own."""

    def init(self, shapes):
        return jnp.full((), -jnp.inf, jnp.float64)

    def update(self, state, chunk):
        value = jnp.max(jnp.where(chunk.usable("tinker.total"), chunk.outputs["tinker.total"], -jnp.inf))
        return jnp.where(value > state, value, state)

    def merge(self, a, b):
        return jnp.where(a > b, a, b)

    def result(self, state):
        return float(state)


def test_a_reducer_of_ones_own(config, tmp_path):
    axes = {"workload.completion_tokens": [100, 300, 200], "cluster.gpus": GPUS}
    found = reduce_grid(config, axes, {"largest": Largest()})
    assert found["largest"] == pytest.approx(tn.sweep(config, axes)["tinker.total"].max(), rel=1e-14)
    with pytest.raises(TinkerNomicsError, match="reducer of your own cannot be described"):
        found.to_npz(tmp_path / "a.npz")
    with pytest.raises(TinkerNomicsError, match="reducer 'largest' is a Largest of your own"):
        reduce_grid(config, axes, {"largest": Largest()}, out=tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())
