"""The engine and its reducers against NumPy over the whole sample."""

from __future__ import annotations

import signal
import threading

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tinker_nomics import streaming as st
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming import engine


class Line(eqx.Module):
    """Numbers 0, 1, 2, ... `size` - 1 with a ragged last chunk."""

    size: int = eqx.field(static=True)
    chunk_size: int = eqx.field(static=True)
    strata: int = eqx.field(static=True, default=1)

    @property
    def stratum_chunks(self) -> int:
        return -(-self.size // self.chunk_size)

    def chunk(self, stratum, chunk):
        return chunk * self.chunk_size + jnp.arange(self.chunk_size)


class Wave(eqx.Module):
    """A few outputs of one number; `bad` is NaN at one place, `scale` is traced."""

    scale: np.ndarray

    def __call__(self, number):
        x = number.astype(jnp.float64)
        wave = self.scale * jnp.sin(x) - 0.3
        outputs = {"wave": wave, "big": jnp.exp(wave * 5) * 1e3, "bad": jnp.where(number == 17, jnp.nan, x)}
        return st.Evaluation(outputs, {"x": x})


class Square(eqx.Module):
    def __call__(self, u):
        return st.Evaluation({"y": u[0] + u[1] * u[1]}, {"a": u[0], "b": u[1]})


SIZE = 10_001
REDUCERS = {
    "moments": st.Moments(),
    "histogram": st.Histogram(),
    "extremes": st.Extremes(),
    "nonfinite": st.NonFinite(),
    "events": st.Events(["wave < 0", "wave < 0 and big >= 100", "bad > wave", "bad != 3"]),
    "rows": st.Rows(5),
}


def _results(run: st.Run) -> dict:
    merged = st.merged(REDUCERS, run.states)
    return {name: reducer.result(merged[name]) for name, reducer in REDUCERS.items()}


def _truth() -> dict[str, np.ndarray]:
    x = np.arange(SIZE, dtype=float)
    wave = 2.0 * np.sin(x) - 0.3
    return {"wave": wave, "big": np.exp(wave * 5) * 1e3, "bad": np.where(x == 17, np.nan, x)}


@pytest.fixture(scope="module")
def results():
    return _results(st.run(Line(SIZE, 1024), Wave(np.float64(2.0)), REDUCERS))


def test_moments(results):
    for name, value in _truth().items():
        count, mean, variance = results["moments"][name]
        assert count == np.isfinite(value).sum()
        np.testing.assert_allclose(mean, np.nanmean(value), rtol=1e-13)
        np.testing.assert_allclose(variance, np.nanvar(value), rtol=1e-12)


def test_quantiles_within_a_thousandth(results):
    for name, value in _truth().items():
        counts = results["histogram"][name]
        value = np.sort(value[np.isfinite(value)])
        assert counts.total == len(value)
        for p in (0.001, 0.05, 0.1, 0.37, 0.62, 0.9, 0.999):
            found, rank = counts.quantile(p), p * len(value)
            low, high = value[max(0, int(rank) - 1)], value[min(len(value) - 1, int(rank) + 1)]
            assert low - abs(low) * 1e-3 <= found <= high + abs(high) * 1e-3
        for x in value[[3, 1000, 5000, 9000]]:
            near = np.count_nonzero((value > x - abs(x) * 2e-3) & (value < x + abs(x) * 2e-3))
            assert abs(counts.below(x) - np.mean(value < x)) <= (near + 1) / len(value)
    assert results["histogram"]["bad"].nonfinite == 1


def test_extremes_with_their_inputs(results):
    for name, value in _truth().items():
        least, greatest = results["extremes"][name]
        for found, place in ((least, np.nanargmin(value)), (greatest, np.nanargmax(value))):
            np.testing.assert_allclose(found.value, value[place], rtol=1e-13)
            assert found.number == place and found.inputs == {"x": float(place)}


class Spoiled(eqx.Module):
    """A finite output, one with infinities and NaN in one chunk only, one whose sum overflows, and one never finite."""

    def __call__(self, number):
        x = number.astype(jnp.float64)
        some = jnp.where(number == 70, jnp.nan, jnp.where(number == 71, jnp.inf, jnp.where(number == 72, -jnp.inf, x)))
        outputs = {"x": x, "some": some, "huge": jnp.where(number < 64, 1e308, x), "never": x * jnp.nan}
        return st.Evaluation(outputs, {"n": x})


def test_values_that_are_not_finite_count_for_nothing():
    reducers = {"m": st.Moments(), "x": st.Extremes(), "h": st.Histogram()}
    merged = st.merged(reducers, st.run(Line(256, 64), Spoiled(), reducers).states)
    numbers = np.arange(256.0)
    kept = {"x": numbers, "some": np.delete(numbers, [70, 71, 72]), "huge": np.where(numbers < 64, 1e308, numbers)}
    extremes, moments = reducers["x"].result(merged["x"]), reducers["m"].result(merged["m"])
    for name, value in kept.items():
        least, greatest = extremes[name]
        assert (moments[name].count, least.value, greatest.value) == (len(value), value.min(), value.max())
        assert numbers[greatest.number] == greatest.inputs["n"]
        assert reducers["h"].result(merged["h"])[name].total == len(value)
    assert moments["some"].mean == pytest.approx(kept["some"].mean(), rel=1e-13)
    assert extremes["huge"][0].number == 64 and extremes["huge"][1].number == 0
    assert moments["never"].count == 0 and np.isnan(moments["never"].mean)
    assert [one.number for one in extremes["never"]] == [-1, -1]


def test_counts(results):
    truth = _truth()
    assert results["nonfinite"] == {"wave": 0, "big": 0, "bad": 1}
    assert results["events"] == {
        "wave < 0": (np.sum(truth["wave"] < 0), SIZE),
        "wave < 0 and big >= 100": (np.sum((truth["wave"] < 0) & (truth["big"] >= 100)), SIZE),
        "bad > wave": (np.sum(truth["bad"] > truth["wave"]), SIZE - 1),
        "bad != 3": (SIZE - 2, SIZE - 1),
    }


def test_rows(results):
    inputs, outputs = results["rows"]
    assert inputs["x"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    np.testing.assert_allclose(outputs["wave"], _truth()["wave"][:5], rtol=1e-14)


def test_collect_keeps_every_output():
    found = st.collect(Line(SIZE, 1024), Wave(np.float64(2.0)))
    assert found.complete and found.points == SIZE
    for name, value in _truth().items():
        np.testing.assert_allclose(found.outputs[name], value, rtol=1e-12, atol=1e-14)
    part = st.collect(Line(SIZE, 1024), Wave(np.float64(2.0)), chunks=range(3, 5))
    np.testing.assert_array_equal(part.outputs["wave"], found.outputs["wave"][3 * 1024 : 5 * 1024])


@pytest.mark.parametrize("strata,cut", [(1, 5), (4, 37), (4, 64)])
def test_parts_merge_to_the_same_integers(strata, cut):
    points = st.SobolPoints(2, 9, replicates=strata, seed=1, log2_chunk=4)
    reducers = {"m": st.Moments(), "h": st.Histogram(), "x": st.Extremes(), "r": st.Rows(3)}
    whole = st.run(points, Square(), reducers).states
    total = st.total_chunks(points)
    cut = min(cut, total - 1)
    parts = [st.run(points, Square(), reducers, chunks=range(*ends)).states for ends in ((0, cut), (cut, total))]
    for one, two in (parts, parts[::-1]):
        both = st.merge_runs(reducers, one, two)
        assert np.array_equal(both["h"]["y"], whole["h"]["y"])
        for exact in ("x", "r"):
            pairs = zip(*(jax.tree_util.tree_leaves(states[exact]) for states in (both, whole)))
            assert all(np.array_equal(a, b, equal_nan=a.dtype != bool) for a, b in pairs)
        np.testing.assert_allclose(both["m"]["y"].mean, whole["m"]["y"].mean, rtol=1e-13)
        np.testing.assert_allclose(both["m"]["y"].squares, whole["m"]["y"].squares, rtol=1e-12)


def test_a_reducer_that_follows_nothing_does_not_stand_in_the_way():
    points = st.SobolPoints(2, 9, replicates=4, seed=1, log2_chunk=2)
    reducers = {"none": st.Events(()), "m": st.Moments()}
    run = st.run(points, Square(), reducers)
    both = st.merge_runs(reducers, run.states, run.states)
    assert run.states["none"] == both["none"] == {} and both["m"]["y"].count.sum() == 2 * points.size


def test_going_on_from_states_equals_one_run():
    points = st.SobolPoints(2, 9, replicates=4, seed=1, log2_chunk=4)
    reducers = {"h": st.Histogram(), "m": st.Moments()}
    whole = st.run(points, Square(), reducers).states
    half = st.run(points, Square(), reducers, chunks=range(50)).states
    rest = st.run(points, Square(), reducers, chunks=range(50, st.total_chunks(points)), states=half).states
    assert np.array_equal(rest["h"]["y"], whole["h"]["y"])
    np.testing.assert_allclose(rest["m"]["y"].mean, whole["m"]["y"].mean, rtol=1e-13)


def test_every_chunk_number_has_one_place():
    for points in (st.SobolPoints(1, 9, replicates=3, log2_chunk=1), st.SobolPoints(1, 3, replicates=5, log2_chunk=1)):
        places = [engine.locate(points, number) for number in range(st.total_chunks(points))]
        assert sorted(places) == [(s, c) for s in range(points.strata) for c in range(points.stratum_chunks)]


def test_signs_scales_and_zeros_of_the_histogram():
    value = np.array([0.0, -0.0, 1e-30, -1e-30, 1e25, -1e25, np.inf, -np.inf, np.nan, 3.0, -3.0, 4.0])
    histogram = st.Histogram()

    class Given(eqx.Module):
        def __call__(self, number):
            return st.Evaluation({"y": jnp.asarray(value)[number]})

    states = st.run(Line(12, 12), Given(), {"h": histogram}).states
    counts = histogram.result(st.merged({"h": histogram}, states)["h"])["y"]
    assert counts.nonfinite == 3 and counts.total == 9
    assert counts.below(-2.0) == pytest.approx(2 / 9) and counts.below(3.5) == pytest.approx(7 / 9)
    assert counts.quantile(4 / 9) == pytest.approx(0.0, abs=1e-19)


def test_one_trace_for_other_numbers():
    traces = []

    class Counted(eqx.Module):
        scale: np.ndarray

        def __call__(self, u):
            traces.append(1)
            return st.Evaluation({"y": self.scale * u[0]})

    reducers = {"m": st.Moments()}
    st.run(st.SobolPoints(1, 4, replicates=2, seed=0), Counted(np.float64(1)), reducers)
    first = len(traces)
    for seed in (1, 2):
        st.run(st.SobolPoints(1, 4, replicates=2, seed=seed), Counted(np.float64(seed)), reducers)
    assert len(traces) == first


def test_first_interrupt_ends_the_run_with_what_is_done():
    points = st.SobolPoints(2, 12, replicates=4, seed=0, log2_chunk=4)
    seen = []

    def stop_once(fetch, number):
        if not seen:
            signal.raise_signal(signal.SIGINT)
        seen.append(number)

    before = signal.getsignal(signal.SIGINT)
    run = st.run(points, Square(), {"m": st.Moments()}, checkpoint=stop_once)
    assert signal.getsignal(signal.SIGINT) is before
    assert not run.complete and run.stop == seen[0] and len(seen) == 1
    assert run.states["m"]["y"].count.sum() == run.points == run.stop * 16


def test_a_worker_thread_gets_the_same_numbers_and_flags_stay():
    points = st.SobolPoints(2, 8, replicates=2, seed=0)
    here, there = st.run(points, Square(), {"m": st.Moments()}).states, []
    thread = threading.Thread(target=lambda: there.append(st.run(points, Square(), {"m": st.Moments()}).states))
    thread.start()
    thread.join()
    assert np.array_equal(here["m"]["y"].mean, there[0]["m"]["y"].mean)
    assert here["m"]["y"].mean.dtype == np.float64 and not jax.config.read("jax_enable_x64")


def test_bad_requests_are_named():
    points = st.SobolPoints(2, 4)
    with pytest.raises(TinkerNomicsError, match="chunks"):
        st.run(points, Square(), {"m": st.Moments()}, chunks=range(0, 99))
    for text in ("y <", "y ~ 3", "< 3", ""):
        with pytest.raises(TinkerNomicsError, match="comparison"):
            st.Events([text])
    with pytest.raises(TinkerNomicsError, match="no output 'z'"):
        st.run(points, Square(), {"e": st.Events(["z > 1"])})


def test_progress_is_drawn_only_after_two_seconds(capsys, monkeypatch):
    from tinker_nomics.streaming import progress

    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with progress.ProgressBar(1000, "samples", True) as bar:
        clock[0] = 1.5
        bar.show(100)
        assert capsys.readouterr().err == ""
        clock[0] = 2.5
        bar.show(250)
        text = capsys.readouterr().err
        assert "25%" in text and "250 samples" in text and "8 s left" in text
    assert capsys.readouterr().err.strip() == ""
