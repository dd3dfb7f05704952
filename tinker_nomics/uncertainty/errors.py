"""The errors of the uncertainty analyses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..errors import TinkerNomicsError

_NUMBERS = (int, float, np.integer, np.floating)


class UncertaintyError(TinkerNomicsError):
    """An analysis was asked for something that it cannot answer; the message says what to give instead."""


class DistributionError(UncertaintyError):
    """A distribution with parameters that no such distribution has."""


class CorrelationError(UncertaintyError):
    """Correlations that no set of inputs can have.

    Attributes:
        nearest: the nearest correlations that are possible, {(name, name): rank correlation}, or None.
        nearest_matrix: the same as a matrix in the order of `names`, or None.
    """

    def __init__(
        self,
        message: str,
        names: tuple[str, ...] = (),
        nearest: Mapping[tuple[str, str], float] | None = None,
        nearest_matrix: np.ndarray | None = None,
    ):
        super().__init__(message)
        self.names = names
        self.nearest = nearest
        self.nearest_matrix = nearest_matrix


def unknown_name(what: str, name: str, known: Iterable[str]) -> UncertaintyError:
    """An error that names the nearest three of what there is."""
    known = [str(item) for item in known]
    close = get_close_matches(str(name), known, n=3, cutoff=0.3) or known[:3]
    return UncertaintyError(f"no {what} {name!r}; nearest: {', '.join(close) if close else 'none at all'}")


def finite_number(name: str, value: Any) -> float:
    """`value` as a finite float, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS) or value - value != 0:
        raise UncertaintyError(f"{name} = {value!r}: must be a finite number")
    return float(value)


def whole_number(name: str, value: Any, low: int = 1) -> int:
    """`value` as an int >= low, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS) or value - value != 0 or int(value) != value:
        raise UncertaintyError(f"{name} = {value!r}: must be a whole number >= {low}")
    if value < low:
        raise UncertaintyError(f"{name} = {value!r}: must be >= {low}")
    return int(value)
