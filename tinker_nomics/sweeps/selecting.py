"""Where an axis has the values that somebody asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import TinkerNomicsError, shown
from ..parameters import registry

_SHOWN = 12  # values that an error lists
_EXACT, _COPIED = 1e-9, 1e-6  # how far a value may be from the one asked for, as a share of it


def places_on(path: str, axis: np.ndarray, value: Any, nearest: bool = True) -> list[np.ndarray]:
    """For each value asked for, the places where the axis has it; numbers may be text with a unit.

    A number is met to nine digits, or else by the nearest value of the axis where six digits agree: as many as people
    copy from a table.

    Args:
        path: the axis' name, which says how text is read.
        axis: its values, float64 or text.
        value: one value or a list of them.
        nearest: where several places match a number, the nearest comes first.

    Raises:
        TinkerNomicsError: no value or list of values, or one that the axis does not have; its values are listed.
    """
    if isinstance(value, slice | set | Mapping) or np.ndim(value) > 1 or np.shape(value) == (0,):
        raise TinkerNomicsError(
            f"{path} = {shown(value)}: a value of this axis, or a list of at least one, is expected"
        )
    found = []
    for item in [value] if np.ndim(value) == 0 else value:
        number = None
        if axis.dtype.kind == "f":
            number = registry()[path].parse(item) if path in registry() else float(item)
            wanted = math.nan if number is None else number
            match = np.isclose(axis, wanted, rtol=_EXACT, atol=0.0)
            if not match.any() and np.isfinite(wanted):
                away = np.abs(axis - wanted)
                match = (away == away.min()) & np.isclose(axis, wanted, rtol=_COPIED, atol=0.0)
        else:
            match = axis == str(item)
        if not match.any():
            known = ", ".join(f"{v:.8g}" if axis.dtype.kind == "f" else str(v) for v in axis[:_SHOWN])
            more = f" and {len(axis) - _SHOWN} more" if len(axis) > _SHOWN else ""
            raise TinkerNomicsError(f"{path} = {shown(item)}: this axis has {known}{more}")
        places = np.flatnonzero(match)
        if number is not None and nearest:
            places = places[np.argsort(np.abs(axis[places] - number), kind="stable")]
        found.append(places)
    return found
