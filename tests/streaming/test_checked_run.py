"""What a run cannot be made of, told in words."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from tinker_nomics import streaming as st
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming import checked_run
from tinker_nomics.streaming.chunk_range import chunk_range
from tinker_nomics.streaming.kept_run import run_kept

POINTS = st.SobolPoints(1, 8, log2_chunk=7)
REDUCERS = {"m": st.Moments()}


class Model(eqx.Module):
    def __call__(self, points):
        return st.Evaluation({"y": points[0]}, {"x": points[0]})


class Bare(eqx.Module):
    def __call__(self, points):
        return {"y": points[0]}


class Holding(eqx.Module):
    what: object

    def __call__(self, points):
        return st.Evaluation({"y": points[0]})


DEVICE = jax.devices()[0]


@pytest.mark.parametrize("run", [lambda *a, **k: st.run(a[0], a[1], REDUCERS, **k), st.collect])
@pytest.mark.parametrize(
    "change,words",
    [
        ({"mesh": "cpu"}, "mesh = 'cpu': a jax.sharding.Mesh or a list of devices"),
        ({"mesh": 2}, "mesh = 2: a jax.sharding.Mesh"),
        ({"mesh": [DEVICE, DEVICE]}, "a device is named twice"),
        ({"chunks": "0/3"}, "this run has 2 chunks, so 2 parts at most"),
        ({"chunks": 1}, "chunks = 1: a range or a text"),
        ({"chunks": range(0)}, "this run has the chunks 0:2"),
        ({"model": lambda points: points}, "a plain function is not taken"),
        ({"model": Model}, r"model: Model is a class; give one of it, Model\(...\)"),
        ({"model": 3}, r"model = 3: an eqx.Module"),
        ({"model": Holding(abs)}, "its field what = <built-in function abs> is no array"),
        ({"points": st.SobolPoints}, "points: SobolPoints is a class"),
        ({"points": jnp.zeros(3)}, "it has no strata, stratum_chunks, chunk_size and chunk"),
    ],
)
def test_what_a_run_is_not_made_of(run, change, words):
    arguments = {"points": POINTS, "model": Model(), **change}
    with pytest.raises(TinkerNomicsError, match=words):
        run(arguments.pop("points"), arguments.pop("model"), **arguments)


@pytest.mark.parametrize(
    "reducer,words",
    [
        (st.Moments, "reducer 'a': Moments is a class"),
        (3, "reducer 'a' = 3: a Reducer is expected"),
        (st.Moments(("z",)), "no output 'z'; there are y"),
        (st.Histogram(("z",)), "no output 'z'"),
        (st.Groups({"x": (0.2, 0.8)}, ["x"]), "no output 'x'"),
        (st.TopK("y", 10**11), "reducer 'a' keeps 3.2e\\+03 GB, and merging takes 4 times that; .* GB are free"),
    ],
)
def test_reducers_that_cannot_be(reducer, words):
    with pytest.raises(TinkerNomicsError, match=words):
        st.run(POINTS, Model(), {"a": reducer})


def test_the_largest_state_is_named(monkeypatch):
    monkeypatch.setattr(checked_run, "available_bytes", lambda: 10_000)
    with pytest.raises(TinkerNomicsError, match="reducer 'many' keeps"):
        st.run(POINTS, Model(), {**REDUCERS, "many": st.TopK("y", 200)})
    assert st.run(POINTS, Model(), REDUCERS).complete
    monkeypatch.setattr(checked_run, "available_bytes", lambda: None)
    assert st.run(POINTS, Model(), {"many": st.TopK("y", 200)}).complete


def test_what_else_is_refused():
    with pytest.raises(TinkerNomicsError, match="reducers = 3: a mapping is expected"):
        st.run(POINTS, Model(), 3)  # type: ignore[arg-type]
    for run in (lambda model: st.run(POINTS, model, REDUCERS), lambda model: st.collect(POINTS, model)):
        with pytest.raises(TinkerNomicsError, match="the model returned a dict; Evaluation"):
            run(Bare())
    with pytest.raises(TinkerNomicsError, match="resume = True: name the file"):
        run_kept(POINTS, Model(), REDUCERS, None, {}, {}, resume=True)
    with pytest.raises(TinkerNomicsError, match="every = -1: a number of seconds"):
        run_kept(POINTS, Model(), REDUCERS, None, {}, {}, every=-1)


def test_parts_cover_the_chunks():
    assert [chunk_range(f"{part}/3", 7) for part in range(3)] == [range(2), range(2, 4), range(4, 7)]
    assert (
        chunk_range(None, 5) == range(5) and chunk_range("1:3", 5) == range(1, 3) and chunk_range("0/1", 1) == range(1)
    )
    for text in ("3/3", "-1/3", "a/b", "1", "1/2/3"):
        with pytest.raises(TinkerNomicsError, match="write FIRST:STOP"):
            chunk_range(text, 7)
    half = st.run(POINTS, Model(), REDUCERS, chunks="1/2")
    assert (half.first, half.stop, half.points) == (1, 2, 128)
