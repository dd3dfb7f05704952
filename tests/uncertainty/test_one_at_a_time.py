"""Elasticities at kinks and jumps, tornado, levers, spider and break-even points."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from known_functions import PRODUCT_INPUTS, product

from tinker_nomics.uncertainty import (
    LogNormal,
    Normal,
    UncertaintyError,
    Uniform,
    break_even,
    elasticities,
    levers,
    spider,
    tornado,
)


def test_elasticities_of_a_product_are_one():
    found = elasticities(product, PRODUCT_INPUTS)
    for name in PRODUCT_INPUTS:
        assert found.elasticity[name] == pytest.approx(1.0, abs=1e-15)
        assert found.agrees[name] and not found.kink[name]
        assert found.left[name] == pytest.approx(found.right[name], rel=1e-12)
    assert found.output == pytest.approx(np.prod([d.median for d in PRODUCT_INPUTS.values()]))


def _kinked(x):
    a, b, k, n = x["a"], x["b"], x["k"], x["n"]
    tie = jnp.where(a >= b, a, b)
    safe = jnp.where(k >= 2.0, k, 2.0)
    return {"tie": tie, "ceil": jnp.ceil(n / 8.0) * 8.0 + 0.5 * n, "threshold": jnp.where(k >= 2.0, 0.2 / safe, 0.3)}


def test_kinks_and_jumps_are_taken_apart():
    found = elasticities(_kinked, {"a": 3.0, "b": 3.0, "k": 2.0, "n": 16.0})
    assert (found.left["tie"]["a"], found.right["tie"]["a"]) == (0.0, 1.0) and found.kink["tie"]["a"]
    assert (found.left["tie"]["b"], found.right["tie"]["b"]) == (0.0, 1.0)
    assert found.jump_right["ceil"]["n"] == pytest.approx(8.0, abs=1e-5) and found.jump_left["ceil"]["n"] == 0.0
    assert found.left["ceil"]["n"] == found.right["ceil"]["n"] == 0.5
    assert found.one_more["ceil"]["n"] == pytest.approx(8.5)
    assert found.jump_left["threshold"]["k"] == pytest.approx(-0.2, abs=1e-6)
    assert found.left["threshold"]["k"] == 0.0 and found.right["threshold"]["k"] == pytest.approx(-0.05, rel=1e-5)
    assert not found.agrees["ceil"]["n"] and found.agrees["tie"]["k"]
    assert "|" in found.table()


def test_elasticities_on_a_base():
    base = {"part": {"x": 4.0}, "y": 0.0}
    found = elasticities(lambda d: d["part"]["x"] ** 2 + d["y"], ["part.x", "y"], base=base)
    assert found.derivative == {"part.x": 8.0, "y": 1.0} and found.elasticity["part.x"] == 2.0
    assert found.elasticity["y"] == 0.0 and found.agrees["y"]
    with pytest.raises(UncertaintyError, match=r"part\.z"):
        elasticities(lambda d: d["y"], ["part.z"], base=base)


def _cost(x):
    total = 100.0 * x["growth"] + 10.0 * jnp.ceil(x["gpus"]) + (x["bend"] - 0.3) ** 2
    return {"total": total, "gap": total - 230.0, "margin": x["growth"] - 2.0}


INPUTS = {
    "growth": LogNormal.from_quantiles(1.1, 1.5, 3.0),
    "gpus": Uniform(1.0, 6.0),
    "bend": Normal(0.3, 1.0),
}


@pytest.fixture(scope="module")
def drawn():
    return tornado(
        _cost, INPUTS, decision="gap", branches=["margin"], undeclared=["rate"], units={"growth": "1", "gpus": "GPU"}
    )


def test_bars_span_the_same_quantiles_and_are_sorted(drawn):
    bars = drawn.of("total")
    assert [bar.name for bar in bars] == ["growth", "gpus", "bend"]
    growth, gpus, bend = bars
    assert (growth.low, growth.high) == (pytest.approx(1.1), pytest.approx(3.0))
    assert growth.swing == pytest.approx(190.0) and len(growth.x) >= 7
    assert gpus.swing == pytest.approx(40.0) and gpus.end(True) == "5.5 GPU"
    assert drawn.range_label == "P10 to P90" and drawn.undeclared == ("rate",) and drawn.kind == "uncertainties"
    assert drawn.base["total"] == pytest.approx(150.0 + 40.0)
    # both ends give the same output: the swing is seen only because of the points inside
    assert not bend.monotone and bend.at_low == pytest.approx(bend.at_high) and bend.swing > 1.5
    assert "bend *" in drawn.table("total") and "rate" in drawn.table("total")


def test_flips_and_branch_switches_are_marked(drawn):
    growth, gpus, bend = drawn.of("total")
    assert [c.value for c in growth.flips] == [pytest.approx(1.9, rel=1e-8)]
    assert growth.flips[0].rising and not growth.flips[0].jump
    assert [c.value for c in growth.switches["margin"]] == [pytest.approx(2.0, rel=1e-8)]
    assert gpus.flips == () and gpus.switches == {} and bend.flips == ()
    assert "margin" not in drawn.bars and "gap" in drawn.bars


def test_ten_percent_is_another_question():
    found = tornado(_cost, INPUTS, range="10%")
    bar = next(bar for bar in found.of("total") if bar.name == "growth")
    assert bar.low == pytest.approx(1.35) and bar.high == pytest.approx(1.65)
    assert "not from any distribution" in found.range_label
    with pytest.raises(UncertaintyError, match="range"):
        tornado(_cost, INPUTS, range="much")


def test_levers_keep_their_own_steps():
    found = levers(
        _cost, {"growth": (1.0, 2.0), "gpus": (2.0, 8.0, "/2", "x2")}, at={"growth": 1.5, "gpus": 4.0, "bend": 0.3}
    )
    assert found.kind == "levers"
    bars = {bar.name: bar for bar in found.of("total")}
    assert bars["gpus"].swing == pytest.approx(60.0) and bars["gpus"].end(True) == "x2"


def test_base_is_the_centre():
    base = {"growth": 2.0, "gpus": 3.0, "bend": 0.3}
    found = tornado(_cost, {"growth": Uniform(1.0, 2.0)}, base=base)
    assert found.base["total"] == pytest.approx(230.0)


def test_bad_requests_are_named():
    for options, match in (
        ({"quantiles": (0.9, 0.1)}, "quantiles"),
        ({"decision": "nothing"}, "nothing"),
        ({"branches": ["zz"]}, "zz"),
        ({"outputs": ["tax"]}, "tax"),
    ):
        with pytest.raises(UncertaintyError, match=match):
            tornado(_cost, INPUTS, **options)
    with pytest.raises(UncertaintyError, match="tax"):
        tornado(_cost, INPUTS).of("tax")


def test_spider_lines():
    found = spider(_cost, INPUTS)
    assert list(found.of("total")) == ["growth", "gpus", "bend"] and len(found.of("total", 2)) == 2
    middle = list(found.percentiles).index(50.0)
    assert found.lines["total"]["growth"][middle] == pytest.approx(found.base["total"])
    assert found.values["growth"][middle] == pytest.approx(1.5)
    many = {f"x{i}": Uniform(0.0, 1.0) for i in range(12)}
    assert len(spider(lambda x: sum((i + 1) * x[n] for i, n in enumerate(x)), many).of()) == 7


def test_break_even_by_crossing_and_by_jump():
    found = break_even(lambda x: x["p"] ** 2 - 2.0 * x["q"], "p", 0.0, 5.0, at={"q": 4.5})
    assert found.values == (pytest.approx(3.0, rel=1e-9),) and found.crossings[0].rising
    stairs = break_even(lambda x: {"y": jnp.ceil(x["n"]) - 3.5, "z": x["n"]}, "n", 0.2, 9.1, output="y")
    assert stairs.values == (pytest.approx(3.0, abs=1e-7),) and stairs.crossings[0].jump
    wave = break_even(lambda x: jnp.sin(x["p"]), "p", 1.0, 10.0)
    assert wave.values == (pytest.approx(np.pi), pytest.approx(2 * np.pi), pytest.approx(3 * np.pi))
    assert [c.rising for c in wave.crossings] == [False, True, False]
    none = break_even(lambda x: x["p"] + 10.0, "p", 1.0, 1000.0)
    assert none.values == () and "stays above" in none.table()
    base = {"price": {"hour": 2.0}, "hours": 10.0}
    even = break_even(lambda d: d["price"]["hour"] * d["hours"], "price.hour", 1.0, 9.0, base=base, target=35.0)
    assert even.values == (pytest.approx(3.5),) and "price.hour" in even.table()
    with pytest.raises(UncertaintyError, match="low < high"):
        break_even(lambda x: x["p"], "p", 2.0, 1.0)
    with pytest.raises(UncertaintyError, match="name one"):
        break_even(lambda x: {"y": x["n"], "z": x["n"]}, "n", 0.2, 9.1)
