"""Distributions against SciPy's quantile functions, closed forms, and bad parameters."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from tinker_nomics.boundary import x64
from tinker_nomics.uncertainty import (
    PERT,
    Beta,
    Discrete,
    DistributionError,
    Empirical,
    LogNormal,
    LogUniform,
    Normal,
    Triangular,
    Truncated,
    Uniform,
)
from tinker_nomics.uncertainty.normal_quantile import normal_quantile
from tinker_nomics.uncertainty.positive_log import positive_log

U = np.concatenate([10.0 ** np.linspace(-9, -1, 60), np.linspace(0.1, 0.9, 501), 1 - 10.0 ** np.linspace(-1, -9, 60)])
PAIRS = {
    "normal": (Normal(3.0, 2.0), stats.norm(3.0, 2.0)),
    "log-normal": (LogNormal(0.5, 0.7, 1.0), stats.lognorm(0.7, loc=1.0, scale=np.exp(0.5))),
    "uniform": (Uniform(-3.0, 5.0), stats.uniform(-3.0, 8.0)),
    "log-uniform": (LogUniform(0.1, 100.0), stats.loguniform(0.1, 100.0)),
    "triangular": (Triangular(1.0, 2.0, 5.0), stats.triang(0.25, 1.0, 4.0)),
    "triangular at its low end": (Triangular(1.0, 1.0, 5.0), stats.triang(0.0, 1.0, 4.0)),
    "pert": (PERT(1.0, 2.0, 5.0), stats.beta(2.0, 4.0, 1.0, 4.0)),
    "beta": (Beta(2.0, 3.0), stats.beta(2.0, 3.0)),
    "arcsine": (Beta(0.5, 0.5, -1.0, 2.0), stats.beta(0.5, 0.5, -1.0, 3.0)),
    "narrow beta": (Beta(400.0, 30.0), stats.beta(400.0, 30.0)),
    "truncated": (Truncated(Normal(0.0, 1.0), -0.5, 2.0), stats.truncnorm(-0.5, 2.0)),
    "truncated above": (Truncated(Normal(1.0, 2.0), high=2.0), stats.truncnorm(-np.inf, 0.5, 1.0, 2.0)),
}


def test_normal_quantile_error():
    u = np.concatenate([2.0 ** -np.linspace(1, 54, 200_001), 1 - 2.0 ** -np.linspace(1, 53, 200_001)])
    error = np.abs(normal_quantile(u, np) - ndtri(u))
    assert error.max() < 3e-10
    assert error.max() < 2.2e-11


def test_positive_log_error_and_slope():
    draws = np.random.default_rng(0)
    x = np.concatenate([2.0 ** draws.uniform(-1022, 1023, 10**6), 1 + draws.normal(0, 1e-3, 10**6), [0.5, 2.0]])
    x = x[x != 1.0]
    with x64():
        error = np.abs(np.asarray(jax.jit(positive_log)(x)) / np.log(x) - 1.0)
        assert float(positive_log(np.float64(1.0))) == 0.0
        assert float(jax.grad(positive_log)(np.float64(0.3))) == pytest.approx(1 / 0.3, rel=1e-15)
    assert error.max() < 2e-15


@pytest.mark.parametrize("name", PAIRS)
def test_quantiles_equal_scipy(name):
    ours, theirs = PAIRS[name]
    expected = theirs.ppf(U)
    np.testing.assert_allclose(ours.quantile(U), expected, rtol=2e-9, atol=1e-10)
    with x64():
        traced = np.asarray(jax.jit(ours.quantile)(jnp.asarray(U)))
    np.testing.assert_allclose(traced, ours.quantile(U), rtol=1e-12, atol=1e-14)
    for p in (0.03, 0.5, 0.8):
        assert ours.cdf(float(theirs.ppf(p))) == pytest.approx(p, abs=1e-12)
    assert ours.quantile(0.0) == theirs.support()[0] and ours.quantile(1.0) == theirs.support()[1]


def test_shifted_log_normal_of_the_length_growth():
    growth = LogNormal.from_quantiles(p10=1.1, p50=1.5, p90=3.0)
    assert growth.shift == pytest.approx(0.9545454545, abs=1e-10)
    assert growth.sigma == pytest.approx(1.0313715621, abs=1e-10)
    assert growth.mu == pytest.approx(-0.6061358036, abs=1e-10)
    assert growth.mean == pytest.approx(1.8829644410, abs=1e-10)
    for p, value in ((0.1, 1.1), (0.5, 1.5), (0.9, 3.0)):
        assert growth.quantile(p) == pytest.approx(value, rel=1e-10)


def test_symmetric_ratios_need_no_shift():
    assert LogNormal.from_quantiles(0.5, 1.0, 2.0).shift == 0.0
    two = LogNormal.from_median(2.0, 5.0)
    assert two.quantile(0.5) == pytest.approx(2.0) and two.quantile(0.9) == pytest.approx(5.0, rel=1e-10)


def test_whole_numbers():
    u = (np.arange(3000) + 0.5) / 3000
    values, counts = np.unique(Uniform(1, 3, integer=True).quantile(u), return_counts=True)
    assert values.tolist() == [1.0, 2.0, 3.0] and counts.tolist() == [1000, 1000, 1000]
    rounded = Normal(10.0, 3.0, integer=True).quantile(u)
    assert np.array_equal(rounded, np.floor(Normal(10.0, 3.0).quantile(u) + 0.5))


def test_data():
    u = (np.arange(1000) + 0.5) / 1000
    values, counts = np.unique(Discrete([5, 1, 3], [0.2, 0.3, 0.5]).quantile(u), return_counts=True)
    assert dict(zip(values, counts)) == {5.0: 200, 1.0: 300, 3.0: 500}
    assert Discrete([4.0, 8.0]).quantile(0.3) == 4.0
    values, counts = np.unique(Empirical([2.0, 7.0, 7.0, 9.0]).quantile(u), return_counts=True)
    assert dict(zip(values, counts)) == {2.0: 250, 7.0: 500, 9.0: 250}
    joined = Empirical(quantiles={0: 1.0, 0.5: 2.0, 1: 10.0})
    assert joined.quantile(0.75) == pytest.approx(6.0) and joined.cdf(6.0) == pytest.approx(0.75)
    assert hash(Empirical([1.0, 2.0])) == hash(Empirical([2.0, 1.0]))


@pytest.mark.parametrize(
    "make,match",
    [
        (lambda: Normal(0.0, 0.0), "sd"),
        (lambda: Normal(float("nan"), 1.0), "mean"),
        (lambda: Uniform(2.0, 2.0), "low < high"),
        (lambda: Uniform(0.5, 2.0, integer=True), "whole"),
        (lambda: LogUniform(0.0, 2.0), "0 < low"),
        (lambda: LogUniform(1.0, float("inf")), "high"),
        (lambda: Triangular(1.0, 0.0, 2.0), "mode"),
        (lambda: PERT(1.0, 3.0, 2.0), "mode"),
        (lambda: Beta(-1.0, 2.0), "a = -1.0"),
        (lambda: LogNormal(0.0, -1.0), "sigma"),
        (lambda: LogNormal.from_quantiles(1.5, 1.1, 3.0), "p10 < p50"),
        (lambda: LogNormal.from_quantiles(1.0, 2.0, 2.5), "left"),
        (lambda: LogNormal.from_median(3.0, 2.0), "p50 < p90"),
        (lambda: Discrete([1.0, 2.0], [0.5, 0.6]), "sum"),
        (lambda: Discrete([1.0, 2.0], [1.0]), "2 values but 1"),
        (lambda: Discrete([]), "values"),
        (lambda: Empirical(), "either"),
        (lambda: Empirical([1.0, float("nan")]), "finite"),
        (lambda: Empirical(quantiles={0.1: 1.0, 0.9: 2.0}), "p = 0"),
        (lambda: Empirical(quantiles={0: 1.0, 0.5: 3.0, 1: 2.0}), "rise"),
        (lambda: Truncated(Uniform(0.0, 1.0), 2.0, 3.0), "no probability"),
        (lambda: Truncated(Discrete([1.0, 2.0]), 0.0, 1.0), "continuous"),
        (lambda: Uniform(0.0, 1.0).quantile(1.5), "p in"),
    ],
)
def test_bad_parameters_are_named(make, match):
    with pytest.raises(DistributionError, match=match):
        make()


def test_distributions_do_not_import_jax():
    code = (
        "import sys, tinker_nomics.uncertainty as u; print(u.LogNormal.from_quantiles(1.1, 1.5, 3.0).quantile(0.3)); "
        "print(u.PERT(0, 1, 2).median); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)
