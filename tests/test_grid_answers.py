"""What a reduced grid answers: selections, points, texts, tables of any reducer, and what of it is computed."""

from __future__ import annotations

import json

import jax.numpy as jnp
import numpy as np
import pytest

import tinker_nomics as tn
from tinker_nomics.axis_names import long_name, with_long_names
from tinker_nomics.cli.sweep_pictures import draw, front_figure
from tinker_nomics.cli.work_line import rate
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming import (
    Events,
    Extremes,
    Groups,
    Histogram,
    Moments,
    NonFinite,
    Pareto,
    Reducer,
    Rows,
    TopK,
    Winners,
)
from tinker_nomics.sweeps.grid_coverage import first_from, reached

CHIPS, TP, RENT = ("h100-sxm", "b200", "a100-80-sxm"), (1.0, 2.0, 4.0), np.linspace(1.0, 6.0, 7) / 3
AXES = {"chip": CHIPS, "cluster.engine.tensor_parallel": TP, "cluster.price_per_gpu_hour": RENT}
BY = {"chip": CHIPS, "cluster.engine.tensor_parallel": TP}
EVERY = {
    "top": TopK("self_hosted.total", 10**9),
    "front": Pareto(["self_hosted.total", "self_hosted.hours"]),
    "groups": Groups(BY, ["self_hosted.total"]),
    "winners": Winners(["tinker.total", "self_hosted.total"], BY),
    "extremes": Extremes(("tinker.total", "self_hosted.total")),
    "histogram": Histogram(("self_hosted.total",)),
    "moments": Moments(("self_hosted.total",)),
    "events": Events(["difference.total < 0"]),
    "nonfinite": NonFinite(("self_hosted.total",)),
    "rows": Rows(5),
}


@pytest.fixture(scope="module")
def config() -> tn.Config:
    return tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B")


@pytest.fixture(scope="module")
def found(config):
    return tn.reduce_grid(config, AXES, EVERY)


def test_no_more_room_than_points(config, found):
    described = found.about["reducers"]
    assert described["top"]["k"] == described["front"]["capacity"] == found.size == 63
    assert len(found["top"].number) == 63
    same = tn.reduce_grid(config, AXES, {**EVERY, "top": TopK("self_hosted.total", 63)})
    assert same.about["hash"] == found.about["hash"]


def test_a_state_that_does_not_fit_is_refused_by_name(config):
    axes = {"cluster.price_per_gpu_hour": np.linspace(1, 2, 100_000), "workload.steps": np.arange(1.0, 100_001.0)}
    for reducer in (TopK("self_hosted.total", 10**10), Pareto(["self_hosted.total", "tinker.total"], capacity=10**10)):
        with pytest.raises(TinkerNomicsError, match=r"reducer 'large' keeps .* are free: keep fewer points"):
            tn.reduce_grid(config, axes, {"large": reducer})


def test_points_have_the_texts_of_their_choices(found):
    for name in ("top", "front"):
        for place, number in enumerate(found[name].number):
            point = found.at(number)
            assert {path: column[place] for path, column in found[name].inputs.items()} == pytest.approx(point)
    least, greatest = found["extremes"]["self_hosted.total"]
    assert least.inputs == found.at(least.number) and greatest.inputs == found.at(greatest.number)
    assert found["rows"][0]["chip"].tolist() == ["h100-sxm"] * 5


def test_every_reducer_of_the_package_has_json_and_csv(found, tmp_path):
    told = json.loads(json.dumps(found.to_dict()))["results"]
    assert told.keys() == EVERY.keys()
    bins = told["histogram"]["self_hosted.total"]
    assert bins["total"] == sum(bins["counts"]) == 63 and len(bins["lower"]) == len(bins["upper"])
    assert bins["lower"][0] <= told["extremes"]["self_hosted.total"][0]["value"] <= bins["upper"][0]
    assert bins["quantiles"]["0.5"] == found["histogram"]["self_hosted.total"].quantile(0.5)
    assert told["extremes"]["tinker.total"][0]["inputs"]["chip"] in CHIPS
    lines = found.to_csv(tmp_path / "all.csv").read_text().splitlines()
    assert [line for line in lines if line.startswith("# histogram = ")] == [
        f"# histogram = {json.dumps(told['histogram'])}"
    ]
    assert sum(line.startswith("top,") for line in lines) == 63


class Own(Reducer):
    """The greatest total, or something that is no value."""

    plain: bool = True

    def init(self, shapes):
        return jnp.full((), -jnp.inf, jnp.float64)

    def update(self, state, chunk):
        value = jnp.max(chunk.outputs["tinker.total"])
        return jnp.where(value > state, value, state)

    def merge(self, a, b):
        return jnp.where(a > b, a, b)

    def result(self, state):
        return {"most": jnp.asarray(state)} if self.plain else object()


def test_results_of_ones_own(config, tmp_path):
    kept = tn.reduce_grid(config, AXES, {"own": Own()})
    assert kept.to_dict()["results"]["own"]["most"] > 0 and kept.to_csv(tmp_path / "own.csv").exists()
    odd = tn.reduce_grid(config, AXES, {"own": Own(False)})
    with pytest.raises(TinkerNomicsError, match="result 'own' cannot be written as text: it holds a object"):
        odd.to_dict()


def test_a_selection_of_a_selection(found):
    b200 = found.sel({"chip": "b200"})
    assert repr(b200).startswith("GridReduction(chip = b200, cluster.engine.tensor_parallel[3], ")
    assert "selection of 21 points" in repr(b200) and "63 points" in repr(found)
    for other in ("h100-sxm", ["b200", "h100-sxm"]):
        with pytest.raises(TinkerNomicsError, match=r"this axis has b200$"):
            b200.sel({"chip": other})
    twice, once = b200.sel({"chip": "b200", "tp": [2, 4]}), found.sel({"chip": "b200", "tp": [2, 4]})
    for part in ("groups", "winners", "top"):
        assert repr(twice[part]) == repr(once[part])
    assert "selection of 14 points" in repr(twice) and set(twice["top"].inputs["chip"]) == {"b200"}
    assert twice.about["selected"] == once.about["selected"]


def test_short_names_and_copied_numbers(found):
    by_name, by_path = found.sel({"tp": 2}), found.sel({"cluster.engine.tensor_parallel": 2})
    assert (
        by_name["groups"]["self_hosted.total"].least.tolist() == by_path["groups"]["self_hosted.total"].least.tolist()
    )
    rent = RENT[3]
    for copied in (rent, rent * (1 + 5e-7), float(f"{rent:.8g}"), f"{rent:.7g}"):
        chosen = found.sel({"cluster.price_per_gpu_hour": copied})
        assert set(chosen["top"].inputs["cluster.price_per_gpu_hour"]) == {rent}
    with pytest.raises(TinkerNomicsError, match=r"this axis has 0\.33333333, 0\.61111111, ") as refused:
        found.sel({"cluster.price_per_gpu_hour": 9.5})
    for word in str(refused.value).split(" has ")[1].split(", "):
        assert len(found.sel({"cluster.price_per_gpu_hour": float(word)})["top"].number) == 9
    with pytest.raises(TinkerNomicsError) as refused:
        found.sel({"chips": "b200"})
    assert str(refused.value).count("chip,") == 1
    assert (
        long_name("gpus") == "cluster.gpus" and long_name("cluster.price-per-gpu-hour") == "cluster.price_per_gpu_hour"
    )
    assert with_long_names("tp == 2 and cluster.gpus<gpus") == (
        "cluster.engine.tensor_parallel == 2 and cluster.gpus<cluster.gpus"
    )
    assert with_long_names("schedule.kind > tp2 and my.tp < 3") == "schedule.kind > tp2 and my.tp < 3"


@pytest.mark.parametrize("number", [1.5, "a", None, True, -1, 63, float("nan")])
def test_what_is_no_point(found, number):
    with pytest.raises(TinkerNomicsError, match="this grid has the points 0 to 62"):
        found.at(number)


def test_the_first_point_of_a_group():
    shape, rng = (3, 2, 4, 3), np.random.default_rng(0)
    places = np.array(np.unravel_index(np.arange(72), shape))
    for _ in range(300):
        dims = rng.permutation(4)[: rng.integers(0, 4)].tolist()
        fixed, start = {d: int(rng.integers(shape[d])) for d in dims}, int(rng.integers(72))
        good = np.all([places[d] == place for d, place in fixed.items()], axis=0) if fixed else np.ones(72, bool)
        later = np.flatnonzero(good & (np.arange(72) >= start))
        assert first_from(shape, fixed, start) == (int(later[0]) if len(later) else None)
    axes = {"chip": np.array(CHIPS), "tp": np.array(TP)}
    assert reached(axes, {"tp": TP, "chip": CHIPS}, 2, 5).tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert reached(axes, {"hours": (1.0, 2.0)}, 2, 5).all() and not reached(axes, {"chip": CHIPS}, 5, 5).any()


def test_a_picture_of_a_part_says_so(config, monkeypatch):
    from tinker_nomics.plots import style
    from tinker_nomics.sweeps import grid_reduction

    monkeypatch.setattr(grid_reduction, "_CHUNK", 7)
    part = tn.reduce_grid(config, AXES, EVERY, chunks="0/3")
    drawn = []
    monkeypatch.setattr(style, "save", lambda figure, path, force: drawn.append(figure))
    draw(part, "front.png", "map.png", False)
    winners, front = (figure.axes[0] for figure in drawn)
    assert ": partial, 3 of 9 chunks (" in winners.get_title(loc="left")
    assert ": partial, 3 of 9 chunks (" in front.get_title(loc="left")
    texts = [text.get_text() for text in winners.texts]
    assert texts[3:] == ["not computed"] * 6 and "not computed" not in texts[:3]


def test_fronts_of_nothing_and_of_a_constant(config):
    rents = {"cluster.price_per_gpu_hour": RENT, "cluster.gpus": (8, 16)}
    names = ["self_hosted.total", "self_hosted.hours"]
    none = tn.reduce_grid(config, rents, {"front": Pareto(names, where="self_hosted.hours < 0")})
    assert [text.get_text() for text in front_figure(none, "a run").axes[0].texts] == ["no point meets the conditions"]
    flat = tn.reduce_grid(config, rents, {"front": Pareto([*names, "tinker.total"])})
    figure = front_figure(flat, "a run")
    legend = figure.axes[0].get_legend()
    assert len(figure.axes) == 1 and legend is not None
    assert legend.get_texts()[0].get_text().startswith("tinker.total [USD] = 146")


def test_a_resumed_run_counts_what_it_computed(config, tmp_path, monkeypatch):
    from tinker_nomics.sweeps import grid_reduction

    with pytest.raises(TinkerNomicsError, match="resume = True: name the file"):
        tn.reduce_grid(config, AXES, EVERY, resume=True)
    with pytest.raises(TinkerNomicsError, match="every = -1"):
        tn.reduce_grid(config, AXES, EVERY, out=tmp_path / "a.npz", every=-1)
    monkeypatch.setattr(grid_reduction, "_CHUNK", 7)
    whole = tn.reduce_grid(config, AXES, EVERY, out=tmp_path / "a.npz")
    again = tn.reduce_grid(config, AXES, EVERY, out=tmp_path / "a.npz", resume=True)
    assert (whole.resumed, again.resumed, again.points) == (0, 63, 63)


def test_rates_have_a_sensible_unit():
    assert [rate(8, 4.0), rate(8000, 4.0), rate(10**9, 4.0)] == ["2 per second", "2 k/s", "250 M/s"]
