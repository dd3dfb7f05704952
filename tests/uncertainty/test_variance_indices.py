"""Sobol' indices and Shapley effects against closed forms, and the identities that hold on any model."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from known_functions import G_INPUTS, ISHIGAMI, ISHIGAMI_INPUTS, PRODUCT, PRODUCT_INPUTS, G, ishigami, product, sobol_g

from tinker_nomics.uncertainty import Normal, Uniform, shapley_effects, sobol_indices
from tinker_nomics.uncertainty.correlation import normal_to_rank


def within(found: dict, errors: dict, exact: dict, sizes: float = 4.5, floor: float = 1e-12) -> None:
    """Every value within `sizes` of its own standard errors of the exact one."""
    for name, value in exact.items():
        assert abs(found[name] - value) <= sizes * errors[name] + floor, (name, found[name], value, errors[name])


@pytest.fixture(scope="module")
def of_ishigami():
    return sobol_indices(
        ishigami, ISHIGAMI_INPUTS | {"x4": Uniform(0.0, 1.0)}, samples=2**16, seed=0, second_order=True
    )


@pytest.fixture(scope="module")
def shares_of_ishigami():
    return shapley_effects(ishigami, ISHIGAMI_INPUTS | {"x4": Uniform(0.0, 1.0)}, samples=2**16)


NAMES = {"x1": "x3", "x2": "x1", "x3": "x2"}


def _variants(x):
    """Ishigami's function and what its identities speak of, as outputs of one pass."""
    y = ishigami(x)
    return {
        "plain": y,
        "moved": 1e6 - 3.0 * y,
        "permuted": ishigami({name: x[NAMES[name]] for name in NAMES}),
        "holed": jnp.where((x["x1"] > 3.1) & (x["x2"] > 3.1), jnp.nan, y),
        "two": {"deep": x["x2"]},
        "flat": 3.0,
    }


@pytest.fixture(scope="module")
def variants():
    return sobol_indices(_variants, ISHIGAMI_INPUTS, samples=2**16)


def test_ishigami(of_ishigami):
    indices = of_ishigami
    within(indices.s1, indices.s1_error, ISHIGAMI["s1"])
    within(indices.st, indices.st_error, ISHIGAMI["st"])
    assert max(indices.s1_error.values()) < 1e-3 and max(indices.st_error.values()) < 2e-3
    assert indices.variance == pytest.approx(ISHIGAMI["variance"], rel=2e-3)
    assert indices.mean == pytest.approx(ISHIGAMI["mean"], rel=1e-3)
    assert (indices.samples, indices.evaluations, indices.replicates) == (2**16, 2**16 * 10, 16)


def test_second_order(of_ishigami):
    s2, error = of_ishigami.s2, of_ishigami.s2_error
    for a, b in (("x1", "x2"), ("x1", "x3"), ("x2", "x3"), ("x1", "x4")):
        exact = ISHIGAMI["s13"] if (a, b) == ("x1", "x3") else 0.0
        assert s2[a][b] == s2[b][a]
        assert abs(s2[a][b] - exact) <= 4.5 * error[a][b] + 1e-12
        assert error[a][b] < 3e-3


def test_unused_input_is_exactly_zero(of_ishigami, shares_of_ishigami):
    assert of_ishigami.s1["x4"] == 0.0 and of_ishigami.st["x4"] == 0.0
    assert of_ishigami.s1_error["x4"] == 0.0 and of_ishigami.st_error["x4"] == 0.0
    assert shares_of_ishigami.effects["x4"] == 0.0 and shares_of_ishigami.effects_error["x4"] == 0.0


def test_table_prints_intervals_and_no_bare_negative(of_ishigami):
    text = of_ishigami.table()
    line = next(line for line in text.splitlines() if line.startswith("x3"))
    assert line.count("[") == 2 and " -0.000 [" not in line
    assert "16 independent scrambles" in text


def test_sobol_g():
    indices = sobol_indices(sobol_g, G_INPUTS, samples=2**16, seed=3)
    within(indices.s1, indices.s1_error, G["s1"], floor=1e-6)
    within(indices.st, indices.st_error, G["st"], floor=1e-6)
    assert indices.variance == pytest.approx(G["variance"], rel=5e-3)
    shares = shapley_effects(sobol_g, G_INPUTS, samples=2**16, seed=3)
    within(shares.effects, shares.effects_error, G["shapley"], floor=1e-6)


def test_product_of_log_normals():
    indices = sobol_indices(product, PRODUCT_INPUTS, samples=2**16, seed=1)
    within(indices.s1, indices.s1_error, PRODUCT["s1"], floor=1e-6)
    within(indices.st, indices.st_error, PRODUCT["st"], floor=1e-6)


def test_linear_and_its_identities():
    slopes = {"a": 1.0, "b": -2.0, "c": 0.5}
    inputs = {"a": Normal(3.0, 1.0), "b": Uniform(0.0, 1.0), "c": Normal(-1.0, 2.0)}
    parts = {"a": 1.0, "b": 4.0 / 12.0, "c": 1.0}
    exact = {name: value / sum(parts.values()) for name, value in parts.items()}
    line = lambda x: sum(slope * x[name] for name, slope in slopes.items())  # noqa: E731
    indices = sobol_indices(line, inputs, samples=2**15)
    shares = shapley_effects(line, inputs, samples=2**15)
    within(indices.s1, indices.s1_error, exact, floor=1e-6)
    within(indices.st, indices.st_error, exact, floor=1e-6)
    within(shares.effects, shares.effects_error, exact, floor=1e-6)


def test_identities_on_ishigami(of_ishigami, shares_of_ishigami):
    shares = shares_of_ishigami
    within(shares.effects, shares.effects_error, ISHIGAMI["shapley"])
    assert sum(shares.effects.values()) == pytest.approx(1.0, abs=1e-12)
    for name in ISHIGAMI_INPUTS:
        room = 4 * shares.effects_error[name] + 4 * of_ishigami.st_error[name]
        assert of_ishigami.s1[name] - room <= shares.effects[name] <= of_ishigami.st[name] + room
    assert sum(of_ishigami.s1.values()) <= 1.0 + 1e-3 <= sum(of_ishigami.st.values())


def test_correlated_gaussian_shapley():
    shares = shapley_effects(
        lambda x: x["a"] + x["b"],
        {"a": Normal(0.0, 1.0), "b": Normal(0.0, 2.0)},
        samples=2**16,
        correlations={("a", "b"): float(normal_to_rank(0.5))},
    )
    within(shares.effects, shares.effects_error, {"a": 0.3392857142857143, "b": 0.6607142857142857})
    assert shares.variance == pytest.approx(7.0, rel=5e-3)
    assert max(shares.effects_error.values()) < 2e-3


def test_an_unused_input_gets_its_share_through_correlation():
    shares = shapley_effects(
        lambda x: x["a"],
        {"a": Normal(0.0, 1.0), "b": Normal(0.0, 1.0)},
        samples=2**14,
        correlations={("a", "b"): float(normal_to_rank(0.8))},
    )
    # c({a}) - c({}) and so on: the share of b is rho^2 / 2
    within(shares.effects, shares.effects_error, {"a": 1 - 0.32, "b": 0.32})


def test_order_of_inputs_and_affine_change_of_output(variants):
    turned = sobol_indices(_variants, dict(reversed(ISHIGAMI_INPUTS.items())), samples=2**16)
    assert list(turned.s1["plain"]) == ["x3", "x2", "x1"]
    for name in ISHIGAMI_INPUTS:
        assert turned.s1["plain"][name] == variants.s1["plain"][name]
        assert turned.st["plain"][name] == variants.st["plain"][name]
        assert variants.s1["moved"][name] == pytest.approx(variants.s1["plain"][name], abs=1e-8)
        assert variants.st["moved"][name] == pytest.approx(variants.st["plain"][name], rel=1e-8)


def test_permuting_inputs_permutes_results(variants):
    for name, other in NAMES.items():
        error = variants.st_error["permuted"][other]
        assert error < 3e-3 and abs(variants.st["permuted"][other] - ISHIGAMI["st"][name]) <= 4.5 * error


def test_every_output_in_one_pass_and_seeds(variants):
    again = sobol_indices(_variants, ISHIGAMI_INPUTS, samples=2**16, seed=0)
    other = sobol_indices(_variants, ISHIGAMI_INPUTS, samples=2**16, seed=1)
    assert variants.s1["plain"] == again.s1["plain"] != other.s1["plain"]
    assert variants.st["two.deep"]["x1"] == 0.0 and variants.st["two.deep"]["x2"] == pytest.approx(1.0, abs=2e-3)
    assert np.isnan(variants.st["flat"]["x1"]) and variants.variance["flat"] == 0.0


def test_a_nan_is_counted_and_does_not_zero_the_answer(variants):
    assert 0 < variants.nonfinite["holed"] < 1e-3 * variants.evaluations and variants.nonfinite["plain"] == 0
    for name, value in ISHIGAMI["st"].items():
        assert variants.st["holed"][name] == pytest.approx(value, abs=0.01)
    assert "not finite" in variants.table()


def test_float64_whatever_the_flags():
    assert not jax.config.read("jax_enable_x64")
    found = sobol_indices(lambda x: 1e9 + x["x1"], {"x1": Uniform(0.0, 1e-3)}, samples=2**8)
    assert found.st["x1"] == pytest.approx(1.0, abs=0.05)
    assert isinstance(found.st["x1"], float)


@pytest.mark.parametrize(
    "options,match",
    [
        ({"samples": 0}, "samples"),
        ({"samples": -5}, "samples"),
        ({"replicates": 8}, "replicates"),
        ({"seed": -1}, "seed"),
        ({"outputs": ["nothing"]}, "nothing"),
    ],
)
def test_bad_requests_are_named(options, match):
    with pytest.raises(ValueError, match=match):
        sobol_indices(lambda x: {"y": ishigami(x)}, ISHIGAMI_INPUTS, **({"samples": 2**8} | options))
