"""The axes of a sweep: what was asked for, checked all at once, as arrays that broadcast against each other."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..config import SCHEDULE_KINDS, TRAINING_KINDS
from ..errors import ConfigError, Problem, TinkerNomicsError, listed
from ..outputs import UNITS
from ..parameters import Parameter, nearest, registry

KINDS: Mapping[str, tuple[str, ...]] = {"schedule.kind": SCHEDULE_KINDS, "lora.training": TRAINING_KINDS}
CHOICES = ("model", "chip", "prices", "provider", "sandbox")
MODES = ("grid", "zip")
_SHOWN = 5  # offending values of one axis that an error lists
_CHECKED = 1 << 16  # values that are checked at a time


@dataclass(frozen=True)
class Axes:
    """Named axes: values (float64, or text for choices) and the dimension of the batch along which each varies.

    In a grid every axis has a dimension of its own, in the order given; in a zip all share the one dimension.
    """

    values: Mapping[str, np.ndarray]
    dimension: Mapping[str, int]
    shape: tuple[int, ...]

    @property
    def zipped(self) -> bool:
        """Whether several axes share the one dimension."""
        return len(self.values) > len(self.shape)

    def spread(self, path: str) -> np.ndarray:
        """The axis' values with one dimension per dimension of the batch: length 1 where they do not vary."""
        values = self.values[path]
        return values.reshape([-1 if d == self.dimension[path] else 1 for d in range(len(self.shape))])


def parse_axes(given: Mapping[str, Any], mode: str, outputs: Sequence[str] | None = None) -> Axes:
    """The axes that a caller asked for.

    Args:
        given: {path: values}; a path of the registry, "schedule.kind", "lora.training", or a choice of the catalog
            ("model", "chip", "prices", "provider", "sandbox"). Numbers may be text with a unit.
        mode: "grid" or "zip".
        outputs: the outputs asked for, to be checked too.

    Raises:
        ConfigError: every unknown path and output, empty axis, value out of bounds and unequal length, at once.
    """
    if not isinstance(given, Mapping):
        example = '{"workload.steps": [100, 200]}'
        raise ConfigError(
            [Problem("axes", given, "a mapping is expected, {path: values}", f"Write {example}.")], "this sweep"
        )
    problems: list[Problem] = []
    if mode not in MODES:
        problems.append(Problem("mode", mode, f"{' or '.join(MODES)} is allowed"))
    if not given:
        problems.append(Problem("axes", dict(given), "at least one axis is needed", "Use estimate() for one point."))
    if isinstance(outputs, str):
        problems.append(Problem("outputs", outputs, "a list of names is expected", f"Write [{outputs!r}] for one."))
        outputs = None
    for name in outputs or ():
        if name not in UNITS:
            alike = listed(nearest(name, UNITS))
            problems.append(Problem("outputs", name, f"it is no output; the nearest are {alike}"))
    if outputs is not None and not outputs:
        problems.append(Problem("outputs", [], "at least one output is needed, or None for all"))
    values: dict[str, np.ndarray] = {}
    for path, axis in given.items():
        spelled = str(path).replace("-", "_")
        parsed = _axis(path, spelled, axis, problems)
        if spelled in values:
            problems.append(Problem(path, "", "this axis is given twice"))
        if parsed is not None:
            values[spelled] = parsed
    lengths = {path: len(axis) for path, axis in values.items()}
    if mode == "zip" and len(set(lengths.values())) > 1:
        counts = ", ".join(f"{path} has {length}" for path, length in lengths.items())
        hint = 'mode="grid" crosses them.'
        problems.append(Problem("axes", counts, "zip pairs the axes, so all have the same length", hint))
    if problems:
        raise ConfigError(problems, "this sweep")
    if mode == "zip":
        return Axes(values, dict.fromkeys(values, 0), (next(iter(lengths.values())),))
    return Axes(values, {path: d for d, path in enumerate(values)}, tuple(lengths.values()))


def _axis(path: str, spelled: str, axis: Any, problems: list[Problem]) -> np.ndarray | None:
    names = (*registry(), *KINDS, *CHOICES)
    if spelled not in names:
        alike = listed(nearest(spelled, names))
        problems.append(
            Problem(
                path,
                list(axis)[:3] if np.ndim(axis) == 1 else axis,
                f"it is no parameter or choice; the nearest are {alike}",
            )
        )
        return None
    if isinstance(axis, str | bytes | Mapping) or not hasattr(axis, "__len__") or np.ndim(axis) == 0:
        problems.append(Problem(path, axis, "a list of values is expected", f"Write [{axis!r}] for one."))
        return None
    if np.shape(axis)[1:]:
        problems.append(Problem(path, f"shape {np.shape(axis)}", "a list of values, one dimension, is expected"))
        return None
    if len(axis) == 0:
        problems.append(Problem(path, [], "the axis is empty; at least one value is needed"))
        return None
    if spelled in registry():
        return _numbers(registry()[spelled], axis, problems)
    return _words(spelled, axis, problems)


def _numbers(parameter: Parameter, axis: Any, problems: list[Problem]) -> np.ndarray:
    if isinstance(axis, np.ndarray | jax.Array) and np.asarray(axis).dtype.kind in "fiu":
        values = np.asarray(axis, dtype=np.float64)
    else:
        values = np.full(len(axis), np.nan)
        for place, item in enumerate(axis):
            try:
                number = parameter.parse(item)
            except TinkerNomicsError as error:
                problems.append(Problem(f"{parameter.path}[{place}]", item, str(error)))
                number = max(parameter.low, 1.0)  # said already
            if number is None:
                problems.append(Problem(f"{parameter.path}[{place}]", None, parameter.allowed))
                number = max(parameter.low, 1.0)
            values[place] = number
    shown = 0
    for start in range(0, len(values), _CHECKED):  # in pieces, so that no temporary is as long as a long axis
        piece = values[start : start + _CHECKED]
        below = piece <= parameter.low if parameter.open_low else piece < parameter.low
        wrong = ~np.isfinite(piece) | below | (piece > parameter.high)
        if parameter.kind == "integer":
            wrong |= piece != np.rint(piece)
        for place in np.flatnonzero(wrong):
            shown += 1
            if shown <= _SHOWN:
                place_name = f"{parameter.path}[{start + place}]"
                problems.append(Problem(place_name, float(piece[place]), parameter.allowed))
    if shown > _SHOWN:
        problems.append(Problem(parameter.path, f"{shown - _SHOWN} more values", parameter.allowed))
    return values


def _words(path: str, axis: Any, problems: list[Problem]) -> np.ndarray | None:
    words = []
    for place, item in enumerate(axis):
        word = str(item) if isinstance(item, str | datetime.date) else None
        if word is None:
            problems.append(Problem(f"{path}[{place}]", item, "text is expected"))
        elif path in KINDS and word not in KINDS[path]:
            problems.append(Problem(f"{path}[{place}]", word, f"one of {', '.join(KINDS[path])} is allowed"))
        else:
            words.append(word)
    return np.array(words) if len(words) == len(axis) else None
