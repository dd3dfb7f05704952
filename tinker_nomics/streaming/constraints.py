"""Constraints on points: comparisons of outputs and inputs that a point must meet to be considered."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..errors import TinkerNomicsError
from .counts import Clause, parse_event
from .reducer import Chunk, Evaluation, some_of


def parse_constraints(texts: str | tuple[str, ...] | list[str]) -> tuple[Clause, ...]:
    """The clauses of texts such as "memory.weights_fit == 1" or "cluster.gpus <= 16", all of which must hold."""
    return tuple(clause for text in ([texts] if isinstance(texts, str) else texts) for clause in parse_event(text))


def check_names(what: str, names: Any, shapes: Evaluation) -> None:
    """Refuse a name that is neither an output nor an input of the model."""
    known = {**shapes.inputs, **shapes.outputs}
    for name in names:
        if name not in known:
            raise TinkerNomicsError(f"{what}: there is no {name!r}; {some_of(name, known)}")
        if known[name].ndim != 1:
            raise TinkerNomicsError(f"{what}: {name!r} has shape {known[name].shape[1:]} a point; one number is needed")


def check_clauses(clauses: tuple[Clause, ...], shapes: Evaluation) -> None:
    """Refuse a constraint that names what the model does not have."""
    for clause in clauses:
        check_names(
            f"constraint {clause.output} {clause.sign} {clause.other}",
            [name for name in (clause.output, clause.other) if isinstance(name, str)],
            shapes,
        )


def column(chunk: Chunk, name: str) -> jax.Array:
    """An output, or an input, of every point of a chunk [n]."""
    return chunk.outputs[name] if name in chunk.outputs else chunk.inputs[name]


def admitted(clauses: tuple[Clause, ...], chunk: Chunk, *needed: str) -> jax.Array:
    """bool [n]: points that exist, whose `needed` columns are finite and which meet all clauses (traced)."""
    good = jnp.isfinite(column(chunk, needed[0]))
    for name in needed[1:]:
        good = good & jnp.isfinite(column(chunk, name))
    for clause in clauses:
        other: Any = column(chunk, clause.other) if isinstance(clause.other, str) else clause.other
        good = good & clause.compare(column(chunk, clause.output), other)
    return good if chunk.valid is None else good & chunk.valid
