"""Sobol' points: the standard sequence, its scrambles, and independence of the layout."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.stats import qmc

from tinker_nomics.boundary import x64
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming import Evaluation, Moments, run
from tinker_nomics.streaming.sobol_points import MAX_DIMENSIONS, SobolPoints, unit_interval

_integers = jax.jit(lambda points, stratum, chunk: points.integers(stratum, chunk))
_chunk = jax.jit(lambda points, stratum, chunk: points.chunk(stratum, chunk))


def _all(points: SobolPoints, stratum: int = 0, function=_integers) -> np.ndarray:
    with x64():
        chunks = [np.asarray(function(points, np.int64(stratum), np.int64(c))) for c in range(points.stratum_chunks)]
    return np.concatenate(chunks, axis=1)


def test_unscrambled_points_are_the_standard_sequence_in_every_dimension():
    points = SobolPoints(MAX_DIMENSIONS, 10, scrambled=False, log2_chunk=7)
    standard = qmc.Sobol(MAX_DIMENSIONS, scramble=False, bits=52).random(2**10)
    assert np.array_equal(_all(points).T / 2.0**52, standard)
    assert np.abs(_all(points, function=_chunk).T - standard).max() <= 2.0**-53


def test_long_prefix_of_the_standard_sequence():
    points = SobolPoints(12, 17, scrambled=False)
    assert np.array_equal(_all(points).T / 2.0**52, qmc.Sobol(12, scramble=False, bits=52).random(2**17))


@pytest.mark.parametrize("log2_points", [0, 1, 5, 12])
def test_each_scramble_keeps_one_point_per_stratum_per_axis(log2_points):
    points = SobolPoints(20, log2_points, replicates=3, seed=5)
    for stratum in range(3):
        strata = np.sort(_all(points, stratum) >> np.uint64(52 - log2_points), axis=1)
        assert np.array_equal(strata, np.broadcast_to(np.arange(2**log2_points, dtype=np.uint64), strata.shape))


def test_scrambled_points_keep_the_two_dimensional_nets():
    x = _all(SobolPoints(2, 10, seed=3))
    for split in range(11):
        cells = (x[0] >> np.uint64(52 - split)) << np.uint64(10 - split) | (x[1] >> np.uint64(52 - (10 - split)))
        assert len(np.unique(cells)) == 2**10


def test_any_chunk_size_gives_the_same_points():
    whole = _all(SobolPoints(7, 12, replicates=2, seed=9, log2_chunk=12), 1)
    for log2_chunk in (0, 1, 5, 11):
        assert np.array_equal(_all(SobolPoints(7, 12, replicates=2, seed=9, log2_chunk=log2_chunk), 1), whole)


def test_seeds_and_replicates_differ_and_repeat():
    first = _all(SobolPoints(3, 6, replicates=2, seed=0))
    assert np.array_equal(first, _all(SobolPoints(3, 6, replicates=5, seed=0)))
    others = [_all(SobolPoints(3, 6, replicates=2, seed=seed)) for seed in (1, 2, 2**40)]
    others.append(_all(SobolPoints(3, 6, replicates=2, seed=0), 1))
    for other in others:
        assert not np.any(first[:, 0] == other[:, 0])


def test_points_are_never_zero_or_one():
    with x64():
        ends = np.asarray(jax.jit(unit_interval)(np.array([0, 2**52 - 1], dtype=np.uint64)))
    assert ends[0] == 2.0**-53 and ends[1] == 1.0 - 2.0**-53


def test_bits_of_the_digital_shift_are_balanced():
    points = SobolPoints(100, 0, replicates=40, seed=0)
    bits = (points.shifts[..., None] >> np.arange(52, dtype=np.uint64)) & np.uint64(1)
    # 4,000 coin flips per bit: five standard deviations are 0.04
    assert np.abs(bits.mean(axis=(0, 1)) - 0.5).max() < 0.04


@pytest.mark.parametrize(
    "wrong", [{"dimensions": 0}, {"dimensions": 513}, {"log2_points": 53}, {"replicates": 0}, {"seed": -1}]
)
def test_bad_arguments_are_named(wrong):
    with pytest.raises(TinkerNomicsError, match=next(iter(wrong))):
        SobolPoints(**({"dimensions": 2, "log2_points": 4} | wrong))


def test_runs_of_any_length_share_one_program():
    traces = []

    class Counted(eqx.Module):
        def __call__(self, u):
            traces.append(1)
            return Evaluation({"y": u[0] * u[1]})

    found = {}
    for log2 in (10, 11, 13):
        points = SobolPoints(2, log2, replicates=3, seed=4, log2_chunk=3)
        found[log2] = run(points, Counted(), {"m": Moments()}).states["m"]["y"]
    assert len(traces) <= 4  # of the shapes and of the loop, once
    whole = SobolPoints(2, 11, replicates=3, seed=4, log2_chunk=3)
    with x64():
        values = np.stack(
            [
                np.concatenate([np.asarray(whole.chunk(stratum, np.int64(chunk))) for chunk in range(256)], axis=1)
                for stratum in range(3)
            ]
        )
    np.testing.assert_allclose(found[11].mean, (values[:, 0] * values[:, 1]).mean(axis=1), rtol=1e-13)
    assert found[11].count.tolist() == [2048] * 3
