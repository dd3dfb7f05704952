"""What a run can be made of: anything else is refused in words before it is traced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from ..errors import TinkerNomicsError, listed, shown
from .host_memory import available_bytes
from .reducer import Evaluation, Reducer

_POINTS = ("strata", "stratum_chunks", "chunk_size", "size")
# a state exists beside the one that it is merged with, their union and the union in order
_COPIES = 4
_SHARE = 0.9  # of the memory that is free


def check_model(points: Any, model: Any, host: bool = False) -> None:
    """Refuse points and a model that are not what `Points` and `ModelFunction` say.

    Args:
        host: whether points may hold `host_chunk` instead of `chunk`.
    """
    needed = (*_POINTS, "host_chunk" if host and hasattr(points, "host_chunk") else "chunk")
    _refuse_class("points", points)
    missing = [name for name in needed if not hasattr(points, name)]
    if missing:
        raise TinkerNomicsError(
            f"points = {shown(points)}: it has no {listed(missing)}; a Module with {listed(needed)} is expected, such "
            "as SobolPoints"
        )
    _refuse_class("model", model)
    if not callable(model):
        raise TinkerNomicsError(f"model = {shown(model)}: an eqx.Module with __call__(self, points) is expected")
    for path, leaf in jax.tree_util.tree_flatten_with_path(model)[0]:
        if callable(leaf) and leaf is model:
            raise TinkerNomicsError(
                f"model = {shown(model)}: a plain function is not taken; make it the __call__(self, points) of an "
                "eqx.Module, whose arrays are fields, and give one of those"
            )
        if callable(leaf) or isinstance(leaf, str):
            raise TinkerNomicsError(
                f"model: its field {jax.tree_util.keystr(path)[1:]} = {shown(leaf)} is no array; mark it "
                "eqx.field(static=True)"
            )


def check_reducers(reducers: Any) -> None:
    """Refuse what is no mapping of names to reducers."""
    if not isinstance(reducers, Mapping):
        raise TinkerNomicsError(f'reducers = {shown(reducers)}: a mapping is expected, e.g. {{"mean": Moments()}}')
    for name, reducer in reducers.items():
        _refuse_class(f"reducer {name!r}", reducer)
        if not isinstance(reducer, Reducer):
            raise TinkerNomicsError(f"reducer {name!r} = {shown(reducer)}: a Reducer is expected, e.g. Moments()")


def _refuse_class(what: str, value: Any) -> None:
    if isinstance(value, type):
        raise TinkerNomicsError(f"{what}: {value.__name__} is a class; give one of it, {value.__name__}(...)")


def check_evaluation(evaluation: Any, size: int) -> Evaluation:
    """An evaluation of `size` points as the model returned it (traced), or an error that says what is wrong with it."""
    for name, value in outputs_of(evaluation).items():
        if value.ndim == 0 or value.shape[0] != size:
            raise TinkerNomicsError(f"output {name!r} has shape {value.shape}; its first axis must be {size} points")
    return evaluation


def outputs_of(evaluation: Any) -> dict[str, jax.Array]:
    """The outputs of what a model returned (traced), which is refused where it is no Evaluation."""
    if not isinstance(evaluation, Evaluation):
        raise TinkerNomicsError(
            f"the model returned a {type(evaluation).__name__}; Evaluation(outputs={{name: array}}, inputs={{...}}) is "
            "expected"
        )
    return evaluation.outputs


def check_memory(states: Mapping[str, Any]) -> None:
    """Refuse reducers whose states (shapes are enough) do not fit into memory, naming the largest.

    Raises:
        TinkerNomicsError: with what each needs and what is free.
    """
    free = available_bytes()
    sizes = {
        name: sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree_util.tree_leaves(state))
        for name, state in states.items()
    }
    if free is None or not sizes or _COPIES * sum(sizes.values()) <= _SHARE * free:
        return
    largest = max(sizes, key=lambda name: sizes[name])
    raise TinkerNomicsError(
        f"reducer {largest!r} keeps {sizes[largest] / 1e9:.3g} GB, and merging takes {_COPIES} times that; "
        f"{_SHARE * free / 1e9:.3g} GB are free: keep fewer points (k, capacity) or fewer groups"
    )
