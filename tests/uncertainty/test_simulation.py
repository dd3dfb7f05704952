"""Monte Carlo: moments, quantiles with honest errors, probabilities, bad values and bad requests."""

from __future__ import annotations

import signal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from known_functions import ISHIGAMI, ISHIGAMI_INPUTS, ishigami
from scipy import stats

from tinker_nomics.uncertainty import CorrelationError, LogNormal, Normal, UncertaintyError, Uniform, monte_carlo
from tinker_nomics.uncertainty.text import probability_in_words

INPUTS = {"a": Normal(1.0, 2.0), "b": LogNormal(0.2, 0.4)}


def _two(x):
    return {"sum": {"total": x["a"] + x["b"]}, "b": x["b"]}


def _run(seed: int = 0, inputs=INPUTS):
    return monte_carlo(_two, inputs, samples=300_000, seed=seed, events=["sum.total < 0 and b > 1"])


@pytest.fixture(scope="module")
def result():
    return _run()


def test_moments(result):
    lognormal = stats.lognorm(0.4, scale=np.exp(0.2))
    assert result.samples == 2**19 and result.complete and result.replicates == 16
    exact = {
        "sum.total": (1.0 + lognormal.mean(), np.hypot(2.0, lognormal.std())),
        "b": (lognormal.mean(), lognormal.std()),
    }
    for name, (mean, std) in exact.items():
        assert abs(result.mean[name] - mean) <= 4.5 * result.mean_error[name] + 1e-12
        assert result.mean_error[name] < 1e-4
        assert result.std[name] == pytest.approx(std, rel=1e-3)


def test_quantiles_within_their_errors(result):
    for p in (0.01, 0.1, 0.5, 0.9, 0.95, 0.999):
        exact = stats.lognorm(0.4, scale=np.exp(0.2)).ppf(p)
        error = result.quantile_error("b", p)
        assert abs(result.quantile("b", p) - exact) <= 4.5 * error + 1e-3 * exact
        assert error < 2e-3 * exact
    assert result.quantile("b", 0.0) == result.minimum["b"].value
    assert result.quantile("b", 1.0) == result.maximum["b"].value


def test_probabilities(result):
    exact = stats.lognorm(0.4, scale=np.exp(0.2)).sf(2.0)
    assert result.probability("b > 2") == pytest.approx(exact, abs=3e-4)
    assert result.probability("b <= 2") == pytest.approx(1 - exact, abs=3e-4)
    assert result.probability_error("b > 2") < 1e-3
    joint = result.probability("sum.total < 0 and b > 1")
    assert 0.05 < joint < stats.norm(1.0, 2.0).cdf(-1.0) + 0.1
    rows = result.rows[1]
    assert joint == pytest.approx(np.mean((rows["sum.total"] < 0) & (rows["b"] > 1)), abs=0.02)


def test_extremes_are_reproduced_by_the_function(result):
    for extreme in (result.minimum["sum.total"], result.maximum["sum.total"]):
        assert extreme.value == pytest.approx(extreme.inputs["a"] + extreme.inputs["b"], rel=1e-12)


def test_errors_are_honest():
    # the spread of 30 runs against the error that each of them states
    def product(x):
        return x["a"] * x["b"]

    runs = [monte_carlo(product, INPUTS, samples=2**12, seed=seed) for seed in range(30)]
    for ask, stated in (
        (lambda r: r.mean, lambda r: r.mean_error),
        (lambda r: r.quantile(0.9), lambda r: r.quantile_error(0.9)),
        (lambda r: r.quantile(0.5), lambda r: r.quantile_error(0.5)),
    ):
        spread = np.std([ask(run) for run in runs], ddof=1)
        mean_stated = np.sqrt(np.mean([stated(run) ** 2 for run in runs]))
        assert 0.6 < spread / mean_stated < 1.6


def test_seeds_and_order_of_inputs(result):
    one, same, other = result, _run(inputs=dict(reversed(INPUTS.items()))), _run(1)
    assert one.mean == same.mean != other.mean
    assert one.quantile("b", 0.3) == same.quantile("b", 0.3)


def test_bare_number():
    found = monte_carlo(ishigami, ISHIGAMI_INPUTS, samples=2**16)
    assert found.mean == pytest.approx(ISHIGAMI["mean"], abs=4.5 * found.mean_error)
    assert found.std == pytest.approx(np.sqrt(ISHIGAMI["variance"]), rel=1e-3)
    assert found.quantile(0.5) == pytest.approx(np.median(found.rows[1][""]), abs=0.2)
    assert "P95" in found.table() and found.to_dict()["samples"] == 2**16


class Inner(eqx.Module):
    rate: float
    kind: str = eqx.field(static=True, default="x")


class Outer(eqx.Module):
    inner: Inner
    count: float


def test_base_of_modules_and_of_dicts():
    module = Outer(Inner(2.0), 10.0)
    f = lambda o: {"y": o.inner.rate * o.count}  # noqa: E731
    found = monte_carlo(f, {"inner.rate": Uniform(1.0, 3.0)}, 2**12, base=module)
    assert found.mean["y"] == pytest.approx(20.0, rel=1e-4) and found.maximum["y"].value < 30.0
    nested = {"deep": {"a": 1.0}, "flat.name": 5.0}
    g = lambda d: d["deep"]["a"] + d["flat.name"]  # noqa: E731
    found = monte_carlo(g, {"deep.a": Uniform(0.0, 1.0), "flat.name": Uniform(0.0, 2.0)}, 2**12, base=nested)
    assert found.mean == pytest.approx(1.5, rel=1e-4)
    for path in ("inner.rat", "nothing", "inner.kind", "inner"):
        with pytest.raises(UncertaintyError, match=path.split(".")[-1]):
            monte_carlo(f, {path: Uniform(1.0, 3.0)}, 2**8, base=module)


def test_one_bad_value_in_a_million_is_counted_and_named():
    def holed(x):
        y = ishigami(x)
        return {"cost": jnp.where((jnp.abs(x["x1"] - 1.0) < 0.003) & (jnp.abs(x["x2"]) < 0.01), jnp.nan, y), "fine": y}

    found = monte_carlo(holed, ISHIGAMI_INPUTS, samples=2**20)
    assert 0 < found.nonfinite["cost"] < 20 and found.nonfinite["fine"] == 0
    assert found.mean["cost"] == pytest.approx(ISHIGAMI["mean"], abs=1e-3)
    assert "cost" in found.table() and "not finite" in found.table()


def test_interrupt_returns_what_is_done(monkeypatch):
    from tinker_nomics.streaming import engine

    shown = []

    def show(self, done):
        shown.append(done)
        if len(shown) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(engine.ProgressBar, "show", show)
    found = monte_carlo(_two, INPUTS, samples=2**27, seed=0)
    assert not found.complete and 0 < found.samples < 2**27
    assert found.samples == found.part("b").count
    assert found.mean["b"] == pytest.approx(np.exp(0.2 + 0.08), rel=1e-3)
    assert "stopped early" in found.table()


def test_correlations_change_the_sum_and_not_the_parts():
    line = lambda x: {"sum": x["a"] + x["c"], "a": x["a"]}  # noqa: E731
    inputs = {"a": Normal(0.0, 1.0), "c": Normal(0.0, 1.0)}
    apart = monte_carlo(line, inputs, 2**16, correlations={("a", "c"): 0.0})
    joined = monte_carlo(line, inputs, 2**16, correlations={("a", "c"): 0.6})
    assert apart.std["sum"] == pytest.approx(np.sqrt(2.0), rel=1e-3)
    assert joined.std["sum"] == pytest.approx(np.sqrt(2.0 + 2.0 * 2 * np.sin(np.pi * 0.1)), rel=1e-3)
    assert joined.std["a"] == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(
    "options,match",
    [
        ({"samples": 0}, "samples"),
        ({"samples": float("nan")}, "samples"),
        ({"replicates": 0}, "replicates"),
        ({"seed": -3}, "seed"),
        ({"events": ["nothing > 3"]}, "nothing"),
        ({"outputs": ["sum"]}, "sum.total"),
        ({"integers": ["zz"]}, "zz"),
    ],
)
def test_bad_requests_are_named(options, match):
    with pytest.raises(ValueError, match=match):
        monte_carlo(_two, INPUTS, **({"samples": 2**8} | options))


def test_bad_questions_are_named(result):
    for ask, match in (
        (lambda: result.quantile("tax", 0.5), "tax"),
        (lambda: result.quantile("b", 1.5), "share"),
        (lambda: result.probability("b < 1 and sum.total < 2"), "before the run"),
        (lambda: result.probability("tax > 1"), "tax"),
        (lambda: monte_carlo(_two, {}, 10), "no uncertain input"),
        (lambda: monte_carlo(_two, {"a": 3.0}, 10), "no distribution"),
        (lambda: monte_carlo(lambda x: {}, INPUTS, 10), "no number"),
    ):
        with pytest.raises(UncertaintyError, match=match):
            ask()
    with pytest.raises(CorrelationError):
        monte_carlo(_two, INPUTS, 10, correlations={("a", "b"): 1.5})


def test_whole_numbers_and_flags_of_a_base_keep_their_kind():
    base = {"rates": np.array([1.0, 2.0]), "which": np.array(1), "on": True, "kind": "fast", "scale": 3.0}

    def f(d):
        assert d["kind"] == "fast" and d["on"] is True
        return d["rates"][d["which"]] * d["scale"]

    assert monte_carlo(f, {"scale": Uniform(0.0, 2.0)}, 2**10, base=base).mean == pytest.approx(2.0, rel=1e-3)
    with pytest.raises(UncertaintyError, match="not a number"):
        monte_carlo(f, {"rates": Uniform(0.0, 2.0)}, 2**10, base=base)


def test_a_function_that_holds_arrays_says_how_to_pass_it():
    class Rule(eqx.Module):
        weight: np.ndarray

        def __call__(self, x):
            return self.weight * x["a"]

    with pytest.raises(UncertaintyError, match="lambda"):
        monte_carlo(Rule(np.ones(())), {"a": Uniform(0.0, 1.0)}, 2**8)


def test_arrays_are_taken_apart_by_place():
    found = monte_carlo(lambda x: {"path": x["a"] * np.arange(3.0)}, {"a": Uniform(0.0, 1.0)}, 2**12)
    assert list(found.mean) == ["path[0]", "path[1]", "path[2]"]
    assert found.quantile("path[2]", 0.5) == pytest.approx(1.0, rel=2e-3)


def test_a_chance_is_never_printed_as_certain():
    assert probability_in_words(0.16312, 0.00018) == "= 0.1631 +- 0.0002"
    assert probability_in_words(0.16312, 0.00018, percent=True) == "= 16.31 % ± 0.02 %"
    assert probability_in_words(0.4444, 1e-6) == "= 0.4444 +- <0.0001"
    assert probability_in_words(1.0, 0.0) == "> 0.9999" and probability_in_words(0.0, 0.0) == "< 0.0001"
    assert probability_in_words(1.0, 0.0, percent=True) == "> 99.99 %"
    assert probability_in_words(0.5, float("nan")) == "= 0.5000"
    # of n samples none says no more than 3 / n, and no error is finer than 1 / n
    assert probability_in_words(1.0, 0.0, samples=16) == "> 0.8125"
    assert (
        probability_in_words(0.0, 0.0, samples=16) == "< 0.1875"
        and probability_in_words(0.0, 0.0, samples=2) == "< 1.0000"
    )
    assert probability_in_words(0.0, 0.0, samples=10**6) == "< 0.0001"
    assert probability_in_words(1 / 40_000, 0.0, samples=40_000) == "< 0.0001"
    assert probability_in_words(4 / 100_000, 0.0, samples=100_000) == "< 0.0001"
    assert probability_in_words(0.5, 0.0, samples=32) == "= 0.5000 +- <0.0312"
