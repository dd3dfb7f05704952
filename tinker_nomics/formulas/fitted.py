"""Coefficients that were fitted: one table, `fitted.toml`, which the scripts under `analysis/` write."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

PATH = Path(__file__).parent / "fitted.toml"


@cache
def _tables() -> Mapping[str, Any]:
    return tomllib.loads(PATH.read_text(encoding="utf-8"))


def coefficients(name: str) -> Mapping[str, float]:
    """The coefficients of one fit, by name."""
    return MappingProxyType(_tables()[name]["coefficients"])


def about(name: str) -> Mapping[str, Any]:
    """How they were fitted: the script, the data, the error."""
    return MappingProxyType({key: value for key, value in _tables()[name].items() if key != "coefficients"})
