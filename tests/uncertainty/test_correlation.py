"""Correlated inputs have the rank correlations asked for and keep their own distributions."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.stats import spearmanr

from tinker_nomics.boundary import x64
from tinker_nomics.streaming import SobolPoints
from tinker_nomics.uncertainty import CorrelationError, Discrete, LogNormal, Normal, Uniform, nearest_correlation
from tinker_nomics.uncertainty.correlation import correlation_matrix
from tinker_nomics.uncertainty.sampler import Sampler

INPUTS = {"b": Uniform(0.0, 1.0), "a": Normal(2.0, 3.0), "c": LogNormal(0.0, 1.0), "d": Discrete([1.0, 2.0])}


def test_rank_correlations_and_marginals():
    sampler = Sampler(INPUTS, {("a", "b"): 0.6, ("c", "a"): -0.3})
    points = SobolPoints(4, 15, seed=0)
    with x64():
        found = jax.jit(lambda s, p, z: s(p.chunk(z, z)))(sampler, points, np.int64(0))
    x = {name: np.asarray(value) for name, value in found.items()}
    assert list(x) == ["a", "b", "c", "d"]
    for pair, rank in ((("a", "b"), 0.6), (("a", "c"), -0.3), (("b", "c"), None), (("a", "d"), 0.0)):
        measured = spearmanr(x[pair[0]], x[pair[1]]).statistic
        if rank is not None:
            assert measured == pytest.approx(rank, abs=0.01)
    for name, value in x.items():
        if name != "d":
            for p in (0.05, 0.5, 0.95):
                assert np.mean(value < INPUTS[name].quantile(p)) == pytest.approx(p, abs=0.003)
    assert np.mean(x["d"] == 1.0) == pytest.approx(0.5, abs=0.003)


def test_impossible_correlations_offer_the_nearest():
    asked = {("a", "b"): 0.9, ("b", "c"): 0.9, ("a", "c"): -0.9}
    with pytest.raises(CorrelationError, match="not positive definite") as caught:
        Sampler(INPUTS, asked)
    nearest = caught.value.nearest
    assert nearest is not None
    assert np.linalg.eigvalsh(correlation_matrix(sorted(INPUTS), nearest))[0] > 0
    assert all(abs(nearest[pair] - asked[pair]) < 0.5 for pair in asked)


def test_nearest_correlation_of_a_known_matrix():
    # Higham (2002), section 4: the nearest to this tridiagonal one
    matrix = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    near = nearest_correlation(matrix)
    np.testing.assert_allclose(near[0], [1.0, 0.7607, 0.1573], atol=2e-4)
    possible = np.array([[1.0, 0.3], [0.3, 1.0]])
    np.testing.assert_allclose(nearest_correlation(possible), possible, atol=1e-12)


@pytest.mark.parametrize(
    "asked,match",
    [
        ({("a", "zz"): 0.5}, "zz"),
        ({("a", "a"): 0.5}, "itself"),
        ({("a", "b"): 1.0}, "between"),
        ({("a", "b"): 0.5, ("b", "a"): 0.4}, "twice"),
        ({"a": 0.5}, "pair"),
    ],
)
def test_bad_correlations_are_named(asked, match):
    with pytest.raises(CorrelationError, match=match):
        Sampler(INPUTS, asked)
