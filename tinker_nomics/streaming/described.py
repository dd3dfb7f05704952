"""Reducers as plain values and back, so that a file can say what its states are states of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..errors import TinkerNomicsError
from .counts import Clause, Events, NonFinite
from .extremes import Extremes
from .groups import Groups
from .histogram import Histogram
from .moments import Moments
from .pareto import Pareto
from .reducer import Reducer
from .rows import Rows
from .top_k import TopK
from .winners import Winners

_KINDS: Mapping[str, type[Reducer]] = {
    kind.__name__: kind
    for kind in (Events, Extremes, Groups, Histogram, Moments, NonFinite, Pareto, Rows, TopK, Winners)
}


def describe_reducers(reducers: Mapping[str, Reducer]) -> dict[str, dict[str, Any]]:
    """{name: {"kind": ..., argument: value}} as plain JSON values; `reducers_from` makes them anew.

    Raises:
        TinkerNomicsError: a reducer that is not one of this package: nobody could read its states back.
    """
    described = {}
    for name, reducer in reducers.items():
        kind = type(reducer).__name__
        if _KINDS.get(kind) is not type(reducer):
            raise TinkerNomicsError(
                f"reducer {name!r} is a {kind} of your own, which no file can describe: leave out=... and to_npz out, "
                f"and keep its result yourself; files hold {', '.join(sorted(_KINDS))}"
            )
        described[name] = {"kind": kind, **_arguments(reducer)}
    return described


def reducers_from(described: Mapping[str, Mapping[str, Any]]) -> dict[str, Reducer]:
    """The reducers that `describe_reducers` described.

    Raises:
        TinkerNomicsError: a kind or an argument that this version does not know.
    """
    found = {}
    for name, arguments in described.items():
        given = dict(arguments)
        kind = given.pop("kind")
        if kind not in _KINDS:
            raise TinkerNomicsError(f"reducer {name!r}: this version knows no {kind}")
        if given.get("by") is not None:
            given["by"] = {path: tuple(values) for path, values in given["by"]}
        try:
            found[name] = _KINDS[kind](**{key: _tuples(value) for key, value in given.items()})
        except TypeError as error:
            raise TinkerNomicsError(
                f"reducer {name!r}: this version's {kind} takes other arguments ({error})"
            ) from None
    return found


def _arguments(reducer: Any) -> dict[str, Any]:
    if isinstance(reducer, Events):
        return {"texts": list(reducer.texts)}
    if isinstance(reducer, Pareto):
        sides = {
            word: [name for name, of in zip(reducer.names, reducer.signs) if of == sign]
            for word, sign in (("minimise", 1.0), ("maximise", -1.0))
        }
        return {**sides, "where": _texts(reducer.clauses), "capacity": reducer.capacity}
    found: dict[str, Any] = {}
    for field in fields(reducer):
        value = getattr(reducer, field.name)
        if field.name == "clauses":
            found["where"] = _texts(value)
        elif field.name == "by":
            found["by"] = [[path, list(values)] for path, values in value] or None
        else:
            found[field.name] = list(value) if isinstance(value, tuple) else value
    return found


def _texts(clauses: Sequence[Clause]) -> list[str]:
    return [f"{clause.output} {clause.sign} {clause.other}" for clause in clauses]


def _tuples(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
