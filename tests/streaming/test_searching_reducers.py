"""Top-k, Pareto fronts, groups and winners against NumPy over the whole sample, and merged in any order."""

from __future__ import annotations

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tinker_nomics import streaming as st
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming.groups import Groups
from tinker_nomics.streaming.pareto import Pareto
from tinker_nomics.streaming.top_k import TopK
from tinker_nomics.streaming.winners import Winners

SIZE, CHUNK = 5000, 512
RNG = np.random.default_rng(3)
TABLE = {
    "cost": np.round(RNG.normal(10.0, 3.0, SIZE), 1),  # with many ties
    "hours": np.round(RNG.exponential(5.0, SIZE), 2),
    "risk": RNG.uniform(size=SIZE),
    "other": np.round(RNG.normal(10.0, 3.0, SIZE), 1),
}
TABLE["cost"][[7, 4000]] = np.nan, np.inf
GPUS, CHIP = 2.0 ** RNG.integers(0, 4, SIZE), RNG.integers(0, 3, SIZE).astype(float)
BY = {"chip": ("h100", "h200", "b200"), "gpus": (1, 2, 4, 8)}


class Rows(eqx.Module):
    """Row numbers with a ragged last chunk."""

    size: int = eqx.field(static=True, default=SIZE)
    chunk_size: int = eqx.field(static=True, default=CHUNK)
    strata: int = eqx.field(static=True, default=1)

    @property
    def stratum_chunks(self) -> int:
        return -(-self.size // self.chunk_size)

    def chunk(self, stratum, chunk):
        return chunk * self.chunk_size + jnp.arange(self.chunk_size)


class Table(eqx.Module):
    columns: dict
    inputs: dict

    def __call__(self, number):
        taken = lambda part: {n: jnp.asarray(c)[number % SIZE] for n, c in part.items()}  # noqa: E731
        return st.Evaluation(taken(self.columns), taken(self.inputs))


REDUCERS = {
    "cheapest": TopK("cost", 9, where=["hours < 4", "gpus >= 2 and risk < other"]),
    "dearest": TopK("hours", 3, largest=True),
    "few": TopK("cost", 2000, where="cost < 4"),
    "front2": Pareto(["cost", "hours"]),
    "front3": Pareto(["cost", "hours"], ["risk"], where="gpus > 1"),
    "small": Pareto(["cost", "hours"], ["risk"], capacity=8),
    "groups": Groups(BY, ["cost", "hours"], where="risk < 0.9"),
    "winners": Winners(["cost", "other"]),
    "sides": Winners(["cost", "other", "hours"], by=BY),
}


def _run(**chunks) -> st.Run:
    return st.run(Rows(), Table(TABLE, {"gpus": GPUS, "chip": CHIP}), REDUCERS, **chunks)


def _results(states) -> dict:
    whole = st.merged(REDUCERS, states)
    return {name: reducer.result(whole[name]) for name, reducer in REDUCERS.items()}


@pytest.fixture(scope="module")
def run() -> st.Run:
    return _run()


@pytest.fixture(scope="module")
def results(run) -> dict:
    return _results(run.states)


def _front(columns: list[np.ndarray], good: np.ndarray) -> list[int]:
    places, seen = [], set()
    points = np.stack(columns, 1)
    for i in np.flatnonzero(good):
        beaten = np.any(np.all(points[good] <= points[i], 1) & np.any(points[good] < points[i], 1))
        if not beaten and tuple(points[i]) not in seen:
            seen.add(tuple(points[i]))
            places.append(int(i))
    return places


def test_cheapest_under_constraints(results):
    finite = np.isfinite(TABLE["cost"])
    good = finite & (TABLE["hours"] < 4) & (GPUS >= 2) & (TABLE["risk"] < TABLE["other"])
    order = sorted(np.flatnonzero(good), key=lambda i: (TABLE["cost"][i], i))[:9]
    found = results["cheapest"]
    assert found.number.tolist() == order
    for name, column in TABLE.items():
        np.testing.assert_array_equal(found.outputs[name], column[order])
    np.testing.assert_array_equal(found.inputs["gpus"], GPUS[order])
    assert results["dearest"].number.tolist() == sorted(range(SIZE), key=lambda i: (-TABLE["hours"][i], i))[:3]
    below = np.flatnonzero(finite & (TABLE["cost"] < 4))
    assert results["few"].number.tolist() == sorted(below, key=lambda i: (TABLE["cost"][i], i))


def test_fronts_are_whole(results):
    finite = np.isfinite(TABLE["cost"])
    two = _front([TABLE["cost"], TABLE["hours"]], finite)
    three = _front([TABLE["cost"], TABLE["hours"], -TABLE["risk"]], finite & (GPUS > 1))
    assert sorted(results["front2"].number) == two and results["front2"].exact
    assert sorted(results["front3"].number) == three and results["front3"].exact and len(three) > 20
    assert (np.diff(results["front2"].outputs["cost"]) > 0).all()
    np.testing.assert_array_equal(results["front3"].inputs["chip"], CHIP[results["front3"].number])


def test_a_front_beyond_its_capacity_says_so(results):
    found = results["small"]
    assert not found.exact and found.dropped > 0 and len(found.number) == 8
    points = np.stack([found.outputs["cost"], found.outputs["hours"], -found.outputs["risk"]], 1)
    for point in points:
        assert not np.any(np.all(points <= point, 1) & np.any(points < point, 1))
    assert found.outputs["cost"].min() == np.nanmin(TABLE["cost"])


def test_groups(results):
    for name in ("cost", "hours"):
        table = results["groups"][name]
        assert table.by == {"chip": ("h100", "h200", "b200"), "gpus": (1.0, 2.0, 4.0, 8.0)}
        for c, g in np.ndindex(3, 4):
            value = TABLE[name]
            inside = np.flatnonzero((c == CHIP) & (2.0**g == GPUS) & np.isfinite(value) & (TABLE["risk"] < 0.9))
            assert table.count[c, g] == len(inside)
            np.testing.assert_allclose(table.mean[c, g], value[inside].mean(), rtol=1e-12)
            first = inside[np.argmin(value[inside])]
            assert table.least[c, g] == value[first] and table.number[c, g] == first


def test_an_empty_group_has_no_mean():
    reducers = {"g": Groups({"gpus": (1, 2, 4, 8, 64)}, "cost")}
    states = st.run(Rows(), Table(TABLE, {"gpus": GPUS}), reducers).states
    table = reducers["g"].result(st.merged(reducers, states)["g"])["cost"]
    assert table.count[4] == 0 and np.isnan(table.mean[4]) and np.isnan(table.least[4]) and table.number[4] == -1


def test_winners(results):
    cost, other, hours = TABLE["cost"], TABLE["other"], TABLE["hours"]
    good, found = np.isfinite(cost), results["winners"]
    assert found.wins["cost"] == np.sum(good & (cost < other))
    assert found.wins["other"] == np.sum(good & (cost > other))
    assert found.ties == np.sum(cost == other) and found.ties > 10
    least = np.minimum(np.minimum(cost, other), hours)
    alone = good & (np.sum([value == least for value in (cost, other, hours)], 0) == 1)
    for c, g in np.ndindex(3, 4):
        inside = (c == CHIP) & (2.0**g == GPUS)
        for name, value in (("cost", cost), ("other", other), ("hours", hours)):
            assert results["sides"].wins[name][c, g] == np.sum(inside & alone & (value == least))


@pytest.mark.parametrize("cuts", [(0, 4, 10), (0, 1, 5, 9, 10)])
def test_any_cut_and_any_order_of_merging_gives_the_same(run, cuts):
    parts = [_run(chunks=range(*ends)).states for ends in pairwise(cuts)]
    for order in (parts, parts[::-1]):
        states = order[0]
        for part in order[1:]:
            states = st.merge_runs(REDUCERS, states, part)
        for name in REDUCERS:
            if name == "small":  # a thinned front depends on the layout, and says that it is thinned
                continue
            for a, b in zip(*(jax.tree_util.tree_leaves(s[name]) for s in (states, run.states))):
                if name == "groups" and a.dtype == np.float64:
                    np.testing.assert_allclose(a, b, rtol=1e-13)
                else:
                    np.testing.assert_array_equal(a, b)


def test_bad_requests_are_named():
    model = Table(TABLE, {"gpus": GPUS})
    for reducer, words in (
        (TopK("nothing", 3), "no 'nothing'"),
        (TopK("cost", 3, where="nothing > 1"), "no 'nothing'"),
        (Pareto(["cost", "nothing"]), "no 'nothing'"),
        (Groups({"chip": (0, 1)}), "no 'chip'"),
        (Winners(["cost", "nothing"]), "no 'nothing'"),
    ):
        with pytest.raises(TinkerNomicsError, match=words):
            st.run(Rows(), model, {"r": reducer})
    for make, words in (
        (lambda: TopK("cost", 0), "k = 0"),
        (lambda: Pareto(["cost"]), "two or three"),
        (lambda: Pareto(["cost", "cost"]), "two or three"),
        (lambda: Pareto(["cost", "hours"], capacity=1), "capacity"),
        (lambda: Groups({}), "name an input"),
        (lambda: Groups({"gpus": (2, 1)}), "rise"),
        (lambda: Winners(["cost"]), "two or more"),
    ):
        with pytest.raises(TinkerNomicsError, match=words):
            make()
