"""Reducers as plain values and back: of every kind, and what cannot be told so."""

from __future__ import annotations

import json

import pytest

from tinker_nomics import streaming as st
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming.described import describe_reducers, reducers_from
from tinker_nomics.streaming.reducer import Reducer

BY = {"gpus": (1, 2.5), "chip": ("h100", "b200")}
REDUCERS = {
    "events": st.Events(["a < 0 and b > 1e-7", "a == b"]),
    "extremes": st.Extremes(("a",)),
    "groups": st.Groups(BY, ["a"], where=["a > 0.1", "b != a"]),
    "histogram": st.Histogram(None, -8, 20),
    "moments": st.Moments(),
    "nonfinite": st.NonFinite(("a", "b")),
    "front": st.Pareto(["a"], ["b"], where="a < 3e300", capacity=77),
    "rows": st.Rows(12),
    "top": st.TopK("b", 3, where="a >= -1.5", largest=True),
    "sides": st.Winners(["a", "b"], by=BY),
    "sides of all": st.Winners(["a", "b"]),
}


def test_every_kind_comes_back_through_json():
    text = json.dumps(describe_reducers(REDUCERS), sort_keys=True)
    again = reducers_from(json.loads(text))
    assert again == REDUCERS
    assert {type(reducer) for reducer in REDUCERS.values()} == {
        kind for name in dir(st) if isinstance(kind := getattr(st, name), type) and issubclass(kind, Reducer)
    } - {Reducer}


class Mine(Reducer):
    """A reducer that no file knows."""


def test_what_no_file_can_tell_is_refused_by_name():
    with pytest.raises(TinkerNomicsError, match=r"reducer 'x' is a Mine of your own.*Events, Extremes"):
        describe_reducers({"x": Mine()})
    with pytest.raises(TinkerNomicsError, match="this version knows no Median"):
        reducers_from({"x": {"kind": "Median"}})
    with pytest.raises(TinkerNomicsError, match="Moments takes other arguments"):
        reducers_from({"x": {"kind": "Moments", "order": 4}})
