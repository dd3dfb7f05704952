"""Plain Python functions of a dict, and what is done wrong with them: one clear error each, that says what to write."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest

from tinker_nomics.uncertainty import (
    CorrelationError,
    Normal,
    UncertaintyError,
    Uniform,
    break_even,
    dgsm,
    elasticities,
    levers,
    monte_carlo,
    morris,
    shapley_effects,
    sobol_indices,
    spider,
    tornado,
)

INPUTS = {"a": Uniform(0.0, 1.0), "b": Uniform(1.0, 2.0)}
SAMPLED = (sobol_indices, shapley_effects, morris, dgsm, monte_carlo)
ANALYSES = {
    **{f.__name__: lambda f, given, analysis=f, **more: analysis(f, given, 2**8, **more) for f in SAMPLED},
    "tornado": tornado,
    "spider": spider,
    "elasticities": lambda f, given, **more: elasticities(f, given, **more),
    "break_even": lambda f, given, **more: break_even(f, next(iter(given)), 0.0, 1.0, at=given, **more),
    "levers": lambda f, given, **more: levers(
        f, dict.fromkeys(given, (0.1, 0.9)), at=dict.fromkeys(given, 0.5), **more
    ),
}
each = pytest.mark.parametrize("analysis", ANALYSES.values(), ids=ANALYSES)


@pytest.mark.parametrize(
    "f,match",
    [
        (lambda x: np.exp(x["a"]), r"cannot be traced at line \d+ of test_newcomers.py.*jax\.numpy"),
        (lambda x: np.array([x["a"], x["b"]]), "cannot be traced"),
        (lambda x: float(x["a"]), "cannot be traced"),
        (lambda x: math.sqrt(x["a"]), "cannot be traced"),
        (lambda x: x["a"] if x["a"] > 0.5 else x["b"], r"cannot be traced.*jnp\.where"),
        (lambda x: sum(range(int(x["a"]))), "cannot be traced"),
        (lambda x: x["c"] + x["a"], "no input 'c'; nearest: a, b; f reads it at line"),
        (lambda x: x.a, r"write x\['a'\], not x\.a"),
        (lambda a, b: a * b, r"f\(a, b\) is called with one argument.*lambda x: f\(\*\*x\)"),
        (lambda x: None, "returns no number"),
        (lambda x: "dear", "returns no number"),
        (lambda x: x["a"] > 0.5, r"jnp\.where\(c, 1\.0, 0\.0\)"),
        (3.0, "cannot be called"),
    ],
)
@pytest.mark.parametrize("analysis", [ANALYSES["sobol_indices"], tornado, ANALYSES["break_even"]])
def test_functions_that_cannot_be_analysed_say_what_to_write(analysis, f, match):
    with pytest.raises(UncertaintyError, match=match):
        analysis(f, INPUTS)


@each
def test_every_analysis_names_what_it_was_given_wrong(analysis):
    base = {"part": {"rate": 2.0, "kind": "fast", "path": np.ones(3)}}
    f = lambda d: {"cost": 2.0 * d["part"]["rate"]}  # noqa: E731
    for path, match in (
        ("part.rat", "nearest: part.rate"),
        ("part.kind", "not a number"),
        ("part.path", "not a number"),
    ):
        with pytest.raises(UncertaintyError, match=match):
            analysis(f, {path: Uniform(1.0, 2.0)}, base=base)
    with pytest.raises(UncertaintyError, match="cannot be traced"):
        analysis(lambda d: math.exp(d["part"]["rate"]), {"part.rate": Uniform(1.0, 2.0)}, base=base)
    name = "output" if analysis is ANALYSES["break_even"] else "outputs"
    with pytest.raises(UncertaintyError, match="no output 'cots'; nearest: cost"):
        analysis(f, {"part.rate": Uniform(1.0, 2.0)}, base=base, **{name: "cots"})


def test_the_functions_own_errors_pass_through():
    for f, error in ((lambda x: 1 / 0, ZeroDivisionError), (lambda x: {"a": 1.0}["a"]["b"], TypeError)):
        with pytest.raises(error):
            tornado(f, INPUTS)
    with pytest.raises(AttributeError, match="nothing"):
        tornado(lambda x: jnp.nothing(x["a"]), INPUTS)


@pytest.mark.parametrize("analysis", SAMPLED)
def test_numbers_of_samples_and_seeds(analysis):
    f = lambda x: x["a"] * x["b"]  # noqa: E731
    for wrong in (0, -1, 1.5, "many", None, True, math.inf, math.nan):
        with pytest.raises(UncertaintyError, match="samples"):
            analysis(f, INPUTS, samples=wrong)
    for wrong in (-1, 1.5, "x", None):
        with pytest.raises(UncertaintyError, match="seed"):
            analysis(f, INPUTS, samples=2**8, seed=wrong)
    for wrong in ({}, {"a": (0.0, 1.0)}, [Uniform(0.0, 1.0)]):
        with pytest.raises(UncertaintyError, match="distribution"):
            analysis(f, wrong, samples=2**8)


def test_numpy_numbers_count_as_numbers():
    one = monte_carlo(lambda x: x["a"], INPUTS, np.int64(2**8), np.int64(3))
    assert one.samples == 2**8 and one.seed == 3
    found = elasticities(lambda x: x["a"] * x["b"], {"a": np.float64(0.5), "b": 1})
    assert found.elasticity == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize("analysis", [monte_carlo, shapley_effects])
def test_correlations(analysis):
    three = {name: Normal(0.0, 1.0) for name in "abc"}
    f = lambda x: x["a"] + x["b"] + x["c"]  # noqa: E731
    impossible = {("a", "b"): 0.9, ("b", "c"): 0.9, ("a", "c"): -0.9}
    with pytest.raises(CorrelationError, match=r"not positive definite.*nearest that can be had: .*0\.48") as caught:
        analysis(f, three, 2**8, correlations=impossible)
    for wrong, match in (
        ({("a", "b"): "high"}, "between -1 and 1"),
        ({("a", "b"): math.nan}, "between -1 and 1"),
        ([[1.0, 0.5], [0.5, 1.0]], "rank correlation"),
        (np.eye(3), "rank correlation"),
    ):
        with pytest.raises(CorrelationError, match=match):
            analysis(f, three, 2**8, correlations=wrong)
    assert caught.value.nearest is not None and len(caught.value.nearest) == 3


def test_values_that_are_no_numbers():
    f = lambda x: x["a"] * x["b"]  # noqa: E731
    for point, match in (
        ({"a": "x", "b": 1.0}, "a = 'x'"),
        ({"a": None, "b": 1.0}, "a = None"),
        ({"a": math.inf, "b": 1.0}, "a = inf"),
        ({}, "no input given"),
        ("a", "without a base"),
    ):
        with pytest.raises(UncertaintyError, match=match):
            elasticities(f, point)
    for changed, match in (
        ({"low": "x"}, "low = 'x'"),
        ({"high": math.inf}, "high = inf"),
        ({"low": 2.0}, "low < high"),
        ({"target": math.nan}, "target = nan"),
        ({"points": 1}, "points = 1"),
        ({"at": {}}, "no input 'b'"),
        ({"at": {"b": "dear"}}, "b = 'dear'"),
    ):
        with pytest.raises(UncertaintyError, match=match):
            break_even(f, **({"name": "a", "low": 0.0, "high": 1.0, "at": {"b": 1.0}} | changed))
    with pytest.raises(UncertaintyError, match="two that rise"):
        tornado(f, INPUTS, quantiles=(0.1, 0.5, 0.9))


def test_one_name_may_stand_alone():
    f = lambda x: {"cost": x["a"] * x["b"], "margin": x["a"] - 0.5}  # noqa: E731
    assert list(tornado(f, INPUTS, outputs="cost", branches="margin").bars) == ["cost"]
    assert elasticities(lambda d: d["rate"] * 2.0, "rate", base={"rate": 3.0}).derivative == {"rate": 2.0}
    found = monte_carlo(f, INPUTS | {"a": Uniform(0.0, 3.0)}, 2**8, events="cost > 1", integers="a")
    assert found.probability("cost > 1") == pytest.approx(0.75) and found.minimum["margin"].value == -0.5
    lines = spider(f, INPUTS)
    assert "cost" in lines.table() and "margin" in lines.table()
    for several in (lines, tornado(f, INPUTS)):
        with pytest.raises(UncertaintyError, match="there are cost, margin; name one"):
            several.of()


WHOLE = INPUTS | {"n": Uniform(1, 4, integer=True)}


def _holed(x):
    """Half of it is NaN; `off` is how far n is from a whole number."""
    y = jnp.where(x["a"] > 0.5, jnp.nan, x["a"] * x["b"])
    return {"holed": y, "off": jnp.abs(x["n"] - jnp.round(x["n"])), "count": x["n"] + x["b"]}


@pytest.fixture(scope="module")
def found():
    """Every analysis of the same function; dgsm without n, which it refuses."""
    made = {name: ANALYSES[name](_holed, WHOLE) for name in ("sobol_indices", "shapley_effects", "monte_carlo")}
    made["morris"] = morris(_holed, WHOLE, 64)
    made["dgsm"] = dgsm(lambda x: _holed(x | {"n": 1.0}), INPUTS, 2**8)
    return made | {"tornado": tornado(_holed, WHOLE)}


@pytest.mark.filterwarnings("error")
def test_outputs_that_are_not_finite_are_counted_wherever_they_are_shown(found):
    for name in (f.__name__ for f in SAMPLED):
        assert found[name].nonfinite["holed"] > 0 and found[name].nonfinite["count"] == 0, name
        assert "finite" in found[name].table(), name
    bars = found["tornado"]
    assert "finite at points along a (16 of 33)" in bars.table() and all(bar.monotone for bar in bars.of("holed"))
    screened = found["morris"]
    assert math.isnan(screened.mu["holed"]["a"]) and not math.isnan(screened.mu["holed"]["b"])
    crossing = break_even(_holed, "a", 0.0, 1.0, at=WHOLE, output="holed")
    assert crossing.nonfinite == 128 and "not finite at 128" in crossing.table()
    steep = tornado(lambda x: jnp.where(x["a"] > 0.5, jnp.inf, x["b"]), INPUTS)
    assert steep.of()[0].name == "a" and steep.of()[0].swing == math.inf


def test_whole_number_inputs_in_every_analysis(found):
    assert found["sobol_indices"].variance["off"] == found["shapley_effects"].variance["off"] == 0.0
    assert found["sobol_indices"].st["count"]["n"] == pytest.approx(1.25 / (1.25 + 1 / 12), abs=0.05)
    assert found["morris"].mu_star["off"]["n"] == 0.0 and found["monte_carlo"].maximum["off"].value == 0.0
    bar = next(bar for bar in found["tornado"].of("count") if bar.name == "n")
    assert set(bar.x) == {1.0, 2.0, 3.0, 4.0} and (bar.low, bar.high) == (1.0, 4.0)
    with pytest.raises(UncertaintyError, match="separate values"):
        dgsm(_holed, WHOLE, 2**8)


@pytest.mark.parametrize("analysis", [sobol_indices, shapley_effects])
def test_nothing_finite_is_not_called_zero_variance(analysis):
    f = lambda d: d["level"] + 0.0 * d["a"]  # noqa: E731
    for level, match in ((math.nan, "NaN or infinite"), (3.0, "zero variance: no output changes with a; give wider")):
        with pytest.raises(UncertaintyError, match=match):
            analysis(f, {"a": Uniform(0.0, 1.0)}, 2**8, base={"level": level, "a": 0.5})


def test_no_finite_point_is_no_side_of_the_target():
    with pytest.raises(UncertaintyError, match="not finite anywhere"):
        break_even(lambda x: x["a"] / 0.0 * 0.0, "a", 0.0, 1.0)


def test_everything_can_be_imported_at_once():
    names: dict = {}
    exec("from tinker_nomics.uncertainty import *", names)
    assert names["sobol_indices"] is sobol_indices and names["Uniform"] is Uniform
