"""Morris, derivative-based measures and measures from given samples."""

from __future__ import annotations

import numpy as np
import pytest
from known_functions import G_INPUTS, ISHIGAMI, ISHIGAMI_INPUTS, PRODUCT, PRODUCT_INPUTS, G, ishigami, product, sobol_g

from tinker_nomics.uncertainty import (
    Discrete,
    LogNormal,
    Normal,
    UncertaintyError,
    Uniform,
    dgsm,
    given_data,
    monte_carlo,
    morris,
)


def test_morris_on_the_whole_grid():
    found = morris(ishigami, ISHIGAMI_INPUTS, samples=64)
    assert found.whole_grid and found.samples == 64 and found.evaluations == 256
    for name in ISHIGAMI_INPUTS:
        assert found.mu[name] == pytest.approx(ISHIGAMI["mu"][name], abs=1e-6)
        assert found.mu_star[name] == pytest.approx(ISHIGAMI["mu_star"][name], abs=1e-6)
        assert found.sigma[name] == pytest.approx(ISHIGAMI["sigma"][name], abs=1e-6)


def test_morris_by_sampling():
    inputs = ISHIGAMI_INPUTS | {"x4": Normal(0.0, 1.0)}
    found = morris(lambda x: {"y": ishigami(x)}, inputs, samples=4096, whole_grid=False, seed=2)
    assert not found.whole_grid
    for name in ISHIGAMI_INPUTS:
        assert found.mu_star["y"][name] == pytest.approx(ISHIGAMI["mu_star"][name], rel=0.02)
        assert found.sigma["y"][name] == pytest.approx(ISHIGAMI["sigma"][name], rel=0.02)
    assert found.mu["y"]["x4"] == found.mu_star["y"]["x4"] == found.sigma["y"]["x4"] == 0.0


def test_morris_grid_of_an_open_distribution_is_finite():
    found = morris(lambda x: x["a"] + 2.0 * x["b"], {"a": LogNormal(0.0, 1.0), "b": Uniform(0.0, 1.0)}, samples=16)
    assert found.mu["b"] == pytest.approx(2.0) and 0 < found.mu["a"] < 20 and found.nonfinite == 0


def test_dgsm_and_its_bound():
    found = dgsm(ishigami, ISHIGAMI_INPUTS, samples=2**16)
    for name, exact in ISHIGAMI["dgsm"].items():
        assert abs(found.nu[name] - exact) <= 4.5 * found.nu_error[name] + 1e-9
        assert found.nu_error[name] < 2e-3 * exact
        # uniform on [-pi, pi]: (b - a)^2 / pi^2 = 4
        assert found.bound[name] == pytest.approx(4 * exact / ISHIGAMI["variance"], rel=1e-3)
        assert found.bound[name] >= ISHIGAMI["st"][name]
    bounds = dgsm(product, PRODUCT_INPUTS, samples=2**14).bound
    assert all(bounds[name] >= PRODUCT["st"][name] for name in PRODUCT["st"])
    bounds = dgsm(sobol_g, G_INPUTS, samples=2**14).bound
    assert all(bounds[name] >= G["st"][name] for name in G["st"])


def test_dgsm_of_a_linear_normal_model_is_its_share():
    found = dgsm(lambda x: 2.0 * x["a"] + x["b"], {"a": Normal(0.0, 1.0), "b": Normal(5.0, 1.0)}, samples=2**14)
    assert found.nu["a"] == pytest.approx(4.0, rel=1e-12)
    assert found.bound["a"] == pytest.approx(0.8, rel=2e-3)
    with pytest.raises(UncertaintyError, match="separate values"):
        dgsm(lambda x: x["a"], {"a": Discrete([1.0, 2.0])})


def test_given_data_on_rows_already_drawn():
    drawn = monte_carlo(lambda x: 2.0 * x["a"] - x["b"] + 0.0 * x["c"], _three(), samples=2**14, rows=2**14)
    inputs, outputs = drawn.rows
    found = given_data(inputs, outputs[""])
    assert found.samples == 2**14
    assert found.s1["a"] == pytest.approx(0.8, abs=0.02) and found.s1["b"] == pytest.approx(0.2, abs=0.02)
    assert abs(found.s1["c"]) < 0.01 and abs(found.prcc["c"]) < 0.03 and abs(found.srrc["c"]) < 0.03
    assert found.srrc["a"] == pytest.approx(np.sqrt(0.8), abs=0.02) and found.srrc["b"] == pytest.approx(
        -np.sqrt(0.2), abs=0.02
    )
    assert found.prcc["a"] > 0.95 and found.prcc["b"] < -0.9 and found.r2 > 0.95
    means = found.means["a"]
    assert np.all(np.abs(means.mean - 2.0 * means.x) < 5 * means.error + 0.05)


def test_given_data_agrees_with_sobol_indices_and_survives_bad_rows():
    drawn = monte_carlo(lambda x: {"y": ishigami(x)}, ISHIGAMI_INPUTS, samples=2**15, rows=2**15)
    inputs, outputs = drawn.rows
    y = outputs["y"].copy()
    y[::1000] = np.nan
    found = given_data(inputs | {"still": np.ones_like(y)}, {"y": y})
    assert found.nonfinite["y"] == len(y[::1000])
    for name, exact in ISHIGAMI["s1"].items():
        assert found.s1["y"][name] == pytest.approx(exact, abs=0.02)
    assert found.srrc["y"]["still"] == 0.0 and found.prcc["y"]["still"] == 0.0 and found.s1["y"]["still"] == 0.0
    with pytest.raises(UncertaintyError, match="length"):
        given_data({"a": [1.0, 2.0]}, [1.0])
    with pytest.raises(UncertaintyError, match="too few"):
        given_data({"a": np.arange(10.0)}, np.arange(10.0))


def _three():
    return {"a": Normal(0.0, 1.0), "b": Normal(0.0, 1.0), "c": Normal(0.0, 1.0)}
