"""The flags that name the axes of a sweep: PATH=VALUES, as text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from ..axis_names import long_name
from ..errors import TinkerNomicsError
from ..parameters import canonical_path, nearest, registry

_CALL = re.compile(r"^\s*([A-Za-z]+)\s*\((.*)\)\s*$")
_LONGEST = 10_000_000  # values of one axis
_CHOICES = ("model", "chip", "prices", "provider", "sandbox", "schedule.kind", "lora.training")


def _linear(low: float, high: float, count: float) -> list[float]:
    size = int(count)
    return [low] if size == 1 else [low + (high - low) * i / (size - 1) for i in range(size - 1)] + [high]


def _log(low: float, high: float, count: float) -> list[float]:
    if low <= 0 or high <= 0:
        raise TinkerNomicsError("log takes numbers above zero")
    inner = _linear(math.log(low), math.log(high), count)[1:-1]
    return [low, *map(math.exp, inner), high] if count > 1 else [low]


def _range(low: float, high: float, step: float) -> list[float]:
    if not step > 0 or high < low:
        raise TinkerNomicsError("range takes LOW <= HIGH and a STEP above zero")
    size = math.floor((high - low) / step * (1 + 1e-12)) + 1
    if size > _LONGEST:
        raise TinkerNomicsError(f"{size:,} values; {_LONGEST:,} are allowed")
    return [low + step * i for i in range(size)]


# name -> (arguments in words, what makes the values, whether the third argument is a count)
_FORMS: dict[str, tuple[str, Callable[[float, float, float], list[float]], bool]] = {
    "linear": ("LOW, HIGH, COUNT", _linear, True),
    "log": ("LOW, HIGH, COUNT", _log, True),
    "range": ("LOW, HIGH, STEP", _range, False),
}


def add_axis_arguments(group: Any) -> None:
    """Add --over."""
    forms = ", ".join(f"{name}({words.replace(' ', '')})" for name, (words, _, _) in _FORMS.items())
    group.add_argument(
        "--over",
        action="append",
        default=[],
        metavar="PATH=VALUES",
        help=f"an axis: a parameter or a choice ({', '.join(_CHOICES)}) and its values, a list A,B,C or {forms}, e.g. "
        "--over chip=h100-sxm,b200 --over tp=1,2,4,8 --over 'workload.completion-tokens=log(100,10000,50)'",
    )


def axes_from(texts: Iterable[str]) -> dict[str, Any]:
    """{path: values} of the flags, for `sweep` and `reduce_grid`, which check names and values.

    Raises:
        TinkerNomicsError: no axis, one given twice, or a text that is no list of values.
    """
    axes: dict[str, Any] = {}
    for text in texts:
        path, equals, values = text.partition("=")
        if not equals or not path.strip() or not values.strip():
            raise TinkerNomicsError(f"--over {text!r}: write PATH=VALUES, e.g. cluster.gpus=8,16,32")
        spelled = axis_path(path)
        if spelled in axes:
            raise TinkerNomicsError(f"--over {text!r}: {spelled} is given twice; leave one out")
        axes[spelled] = _values(text, spelled, values)
    if not axes:
        raise TinkerNomicsError("--over PATH=VALUES: at least one axis is needed; `estimate` prices one run")
    return axes


def axis_path(name: str) -> str:
    """The path of an axis by its name or a short one ("gpus", "tp", "schedule")."""
    word = long_name(name)
    return word if word in _CHOICES else canonical_path(name.strip() if word not in registry() else word)


def _values(text: str, path: str, values: str) -> list[Any]:
    match = _CALL.match(values)
    if match is None:
        found = [word.strip() for word in values.split(",")]
        if "" in found:
            raise TinkerNomicsError(f"--over {text!r}: a value is empty; write A,B,C")
        return found
    name, inside = match[1].lower(), [word.strip() for word in match[2].split(",")]
    if name not in _FORMS:
        raise TinkerNomicsError(
            f"--over {text!r}: there is no {name}(); the nearest is {nearest(name, _FORMS, 1)[0]}, or write A,B,C"
        )
    words, make, counted = _FORMS[name]
    if path in _CHOICES:
        raise TinkerNomicsError(f"--over {text!r}: {path} takes names, A,B,C")
    if len(inside) != 3:
        raise TinkerNomicsError(f"--over {text!r}: {name} takes {words}")
    low, high = (_number(text, path, word) for word in inside[:2])
    third = _count(text, inside[2]) if counted else _number(text, path, inside[2])
    try:
        return make(low, high, third)
    except TinkerNomicsError as error:
        raise TinkerNomicsError(f"--over {text!r}: {error}") from None


def _number(text: str, path: str, word: str) -> float:
    try:
        number = registry()[path].parse(word)
    except TinkerNomicsError as error:
        raise TinkerNomicsError(f"--over {text!r}: {error}") from None
    if number is None or not math.isfinite(number):
        raise TinkerNomicsError(f"--over {text!r}: {word!r} is no number; {registry()[path].allowed}")
    return number


def _count(text: str, word: str) -> float:
    from .uncertain_arguments import whole_from

    count = whole_from(f"--over {text!r}: COUNT", word)
    if not 1 <= count <= _LONGEST:
        raise TinkerNomicsError(f"--over {text!r}: COUNT is a whole number from 1 to {_LONGEST:,}")
    return float(count)
