"""What a deployment of a checkpoint holds: context, reserved cells, cache types, storage of the weights, sequences,
states kept for rollback."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from tinker_nomics.errors import ConfigError, Problem

from .ggml_types import GgmlType, ggml_type
from .gguf_error import GgufError

CACHE_TYPES = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "IQ4_NL", "Q5_0", "Q5_1")
"""The types that a KV cache may have (llama.cpp 0c1e57098, common/arg.cpp)."""

_NAMES = ", ".join(name.lower() for name in CACHE_TYPES)


@dataclass(frozen=True)
class WeightBytes:
    """How matrix weights are stored for the run: as stored, or as one type for every tensor whose role is a matrix.

    The head and a tied embedding are matrices; routers, norms, biases, convolutions, states and looked-up tables stay
    as stored.

    Args:
        type: the type, its name, or None for as stored.

    Raises:
        GgufError: no type has that name.
    """

    type: GgmlType | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.type, str):
            object.__setattr__(self, "type", ggml_type(self.type))

    @property
    def stored(self) -> GgmlType | None:
        """The type, looked up by its name; None for as stored."""
        return ggml_type(self.type) if isinstance(self.type, str) else self.type


@dataclass(frozen=True)
class Deployment:
    """What a deployment of a checkpoint holds.

    Args:
        context: tokens attended per sequence.
        capacity: cells of cache reserved per sequence [tokens]; None for `context`.
        k_type, v_type: types of the key and value cache, such as "f16" or "q8_0".
        weights: `WeightBytes`, a type or its name for every matrix, or None for as stored.
        sequences: sequences decoded together; need not be whole.
        ubatch: most tokens that one batch writes [tokens]: sliding-window caches keep room for them.
        kv_unified: all sequences share one pool of cells.
        rs_seq: recurrent states kept per sequence to roll back to, beside the current one; speculative decoding keeps
            as many as it drafts tokens. Each is held; a step reads and writes one (llama.cpp's n_rs_seq).

    Raises:
        ConfigError: lists everything that is wrong with it.
    """

    context: float = 4096.0
    capacity: float | None = None
    k_type: str = "f16"
    v_type: str = "f16"
    weights: WeightBytes | GgmlType | str | None = None
    sequences: float = 1.0
    ubatch: float = 512.0
    kv_unified: bool = False
    rs_seq: float = 0.0

    def __post_init__(self) -> None:
        problems = [
            problem
            for name, least in (("context", 0.0), ("capacity", 0.0), ("sequences", 1.0), ("ubatch", 1.0))
            for problem in _number(name, getattr(self, name), least)
        ]
        if not problems and self.capacity is not None and self.capacity < self.context:
            problems.append(
                Problem(
                    "capacity", self.capacity, f"at least the context, {self.context:g} tokens", "Reserve more cells."
                )
            )
        for name in ("k_type", "v_type"):
            value = getattr(self, name)
            if not isinstance(value, str) or value.upper() not in CACHE_TYPES:
                problems.append(Problem(name, value, f"the cache types are {_NAMES}"))
        problems.extend(_weights(self.weights))
        if not isinstance(self.kv_unified, bool):
            problems.append(Problem("kv_unified", self.kv_unified, "True or False"))
        problems.extend(_snapshots(self.rs_seq))
        if problems:
            raise ConfigError(problems, "this deployment")

    @property
    def reserved(self) -> float:
        """Cells reserved per sequence [tokens]."""
        return float(self.context if self.capacity is None else self.capacity)

    @property
    def key_type(self) -> GgmlType:
        """Type of the key cache."""
        return ggml_type(self.k_type)

    @property
    def value_type(self) -> GgmlType:
        """Type of the value cache."""
        return ggml_type(self.v_type)

    @property
    def weight_type(self) -> GgmlType | None:
        """Type of every matrix weight; None for as stored."""
        weights = self.weights if isinstance(self.weights, WeightBytes) else WeightBytes(self.weights)
        return weights.stored


def _number(name: str, value: Any, least: float) -> list[Problem]:
    if value is None and name == "capacity":
        return []
    allowed = "a number of tokens above 0" if least == 0.0 else "a number, 1 or more"
    if isinstance(value, bool) or not isinstance(value, Real):
        return [Problem(name, value, allowed)]
    number = float(value)
    good = math.isfinite(number) and (number > 0.0 if least == 0.0 else number >= least)
    return [] if good else [Problem(name, value, allowed)]


def _snapshots(value: Any) -> list[Problem]:
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    whole = math.isfinite(number) and number >= 0.0 and number.is_integer()
    return [] if whole else [Problem("rs_seq", value, "a whole number of states, 0 or more")]


def _weights(value: Any) -> list[Problem]:
    if value is None or isinstance(value, (WeightBytes, GgmlType)):
        return []
    if isinstance(value, str):
        try:
            ggml_type(value)
        except GgufError as error:
            return [Problem("weights", value, str(error))]
        return []
    return [Problem("weights", value, "None (as stored), the name of a ggml type such as 'Q4_K', or a WeightBytes")]
