"""Reducers over a grid against the sweep that keeps every point."""

from __future__ import annotations

import numpy as np
import pytest

import tinker_nomics as tn
from tinker_nomics.boundary import x64
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming import Groups, Moments, Pareto, TopK, Winners
from tinker_nomics.sweeps.grid_reduction import _Places, reduce_grid

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
    assert CHIPS[int(found["cheapest"].inputs["chip"][0])] == best["chip"]


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
            places = _Places(shape)((np.int64(first), np.arange(min(16, size - first), dtype=np.int32)))
        numbers = [first + i for i in range(min(16, size - first))]
        expected = []
        for number in numbers:
            place = []
            for length in reversed(shape):
                number, at = divmod(number, length)
                place.insert(0, at)
            expected.append(place)
        assert np.stack(places, 1).tolist() == expected


def test_bad_requests_are_named(config):
    with pytest.raises(TinkerNomicsError, match=r"schedule.kind shapes the formulas"):
        reduce_grid(config, {"schedule.kind": ["sync", "async"]}, {"m": Moments()})
    with pytest.raises(tn.ConfigError, match="no parameter or choice"):
        reduce_grid(config, {"cluster.gpu": [1, 2]}, {"m": Moments()})
    with pytest.raises(TinkerNomicsError, match=r"no 'self_hosted.gpu_hours'"):
        reduce_grid(config, {"cluster.gpus": [1, 2]}, {"t": TopK("self_hosted.gpu_hours")})
