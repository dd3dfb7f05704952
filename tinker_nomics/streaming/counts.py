"""Counts: of values that are not finite, and of events such as "difference.total < 0"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..errors import TinkerNomicsError
from .reducer import Chunk, Evaluation, Reducer, picked, some_of

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_CLAUSE = re.compile(r"\s*(.*?)\s*(<=|>=|==|!=|<|>)\s*(.*?)\s*")


class Clause(NamedTuple):
    """One comparison: an output, an operator, and a number or another output."""

    output: str
    sign: str
    other: float | str

    def compare(self, left: Any, right: Any) -> Any:
        return _OPERATORS[self.sign](left, right)


def parse_event(text: str) -> tuple[Clause, ...]:
    """The clauses of an event: comparisons joined by "and".

    Raises:
        TinkerNomicsError: the text is no such thing.
    """
    clauses = []
    for part in re.split(r"\band\b", text):
        match = _CLAUSE.fullmatch(part)
        if match is None or not match[1] or not match[3] or _OPERATORS.keys() & set(match[1] + match[3]):
            raise TinkerNomicsError(
                f"event {text!r}: {part.strip()!r} is no comparison; write e.g. 'difference.total < 0' or "
                "'tinker.total > 200 and own.total < tinker.total'"
            )
        try:
            other: float | str = float(match[3].replace("_", ""))
        except ValueError:
            other = match[3]
        clauses.append(Clause(match[1], match[2], other))
    return tuple(clauses)


class NonFinite(Reducer):
    """How many values of each output were NaN or infinite."""

    outputs: tuple[str, ...] | None = eqx.field(static=True, default=None)

    def init(self, shapes: Evaluation) -> dict[str, jax.Array]:
        return {name: jnp.zeros((), jnp.int64) for name in picked(self.outputs, shapes)}

    def update(self, state: dict[str, jax.Array], chunk: Chunk) -> dict[str, jax.Array]:
        new = {}
        for name, count in state.items():
            bad = ~jnp.isfinite(chunk.outputs[name])
            if chunk.valid is not None:
                bad = bad & chunk.valid.reshape(chunk.valid.shape + (1,) * (bad.ndim - 1))
            new[name] = count + jnp.sum(bad, dtype=jnp.int64)
        return new

    def merge(self, a: dict[str, jax.Array], b: dict[str, jax.Array]) -> dict[str, jax.Array]:
        return {name: a[name] + b[name] for name in a}

    def result(self, state: dict[str, jax.Array]) -> dict[str, int]:
        return {name: int(count) for name, count in state.items()}


class EventState(NamedTuple):
    """Points at which the event held, and points at which it could be told (all its outputs finite)."""

    held: jax.Array
    told: jax.Array


class Events(Reducer):
    """How often each event held, among the points at which all its outputs are finite.

    Args:
        texts: events such as "difference.total < 0"; the texts are the keys of the result.
    """

    texts: tuple[str, ...] = eqx.field(static=True)
    clauses: tuple[tuple[Clause, ...], ...] = eqx.field(static=True)

    def __init__(self, texts: Iterable[str]):
        self.texts = tuple(texts)
        self.clauses = tuple(parse_event(text) for text in self.texts)

    def init(self, shapes: Evaluation) -> dict[str, EventState]:
        for text, clauses in zip(self.texts, self.clauses):
            for clause in clauses:
                for name in (clause.output, clause.other):
                    if isinstance(name, str) and name not in shapes.outputs:
                        known = some_of(name, shapes.outputs)
                        raise TinkerNomicsError(f"event {text!r}: there is no output {name!r}; {known}")
        zero = jnp.zeros((), jnp.int64)
        return {text: EventState(zero, zero) for text in self.texts}

    def update(self, state: dict[str, EventState], chunk: Chunk) -> dict[str, EventState]:
        new = {}
        for text, clauses in zip(self.texts, self.clauses):
            held, told = True, True
            for clause in clauses:
                left, told = chunk.outputs[clause.output], told & chunk.usable(clause.output)
                right: Any = clause.other
                if isinstance(right, str):
                    right, told = chunk.outputs[right], told & chunk.usable(right)
                held = held & clause.compare(left, right)
            old = state[text]
            new[text] = EventState(
                old.held + jnp.sum(held & told, dtype=jnp.int64), old.told + jnp.sum(told, dtype=jnp.int64)
            )
        return new

    def merge(self, a: dict[str, EventState], b: dict[str, EventState]) -> dict[str, EventState]:
        return {text: EventState(a[text].held + b[text].held, a[text].told + b[text].told) for text in a}

    def result(self, state: dict[str, EventState]) -> dict[str, tuple[int, int]]:
        return {text: (int(part.held), int(part.told)) for text, part in state.items()}
