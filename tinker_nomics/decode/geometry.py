"""Metadata as numbers: single values and values per layer, every fault of them collected."""

from __future__ import annotations

from typing import Any, TypeGuard

from .gguf_header import GgufHeader

MOST_BLOCKS = 65536
"""More blocks than any checkpoint has: a count beyond it is a fault, and no list of that length is built."""


class Geometry:
    """Reads the numbers that accounting needs from a header and notes what is missing or malformed.

    Args:
        header: a checkpoint's header, of a known architecture.
    """

    def __init__(self, header: GgufHeader):
        self._header = header
        self.faults: list[str] = []

    def has(self, key: str) -> bool:
        """Whether the architecture's `key` is there."""
        return self._header.arch(key) is not None

    def is_array(self, key: str) -> bool:
        """Whether the architecture's `key` is an array."""
        return isinstance(self._header.arch(key), tuple)

    def number(self, key: str, default: int | None = None) -> int:
        """The value of `key`, a count. Where it is absent: `default`, or a fault if there is none.

        An array counts by its largest item, as the value of a model whose layers differ.
        """
        value = self._header.arch(key)
        if value is None and default is not None:
            return default
        if isinstance(value, tuple) and value and all(_is_count(item) for item in value):
            return int(max(value))
        if not _is_count(value):
            self._fault(key, value, "a count is needed")
            return 1
        return int(value)

    def per_layer(self, key: str, layers: int, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """The values of `key` by layer: one value stands for all layers, an array has one per layer.

        Of more than `MOST_BLOCKS` layers the first ones only: whoever counts them notes the fault.
        """
        layers = min(layers, MOST_BLOCKS)
        value = self._header.arch(key)
        if value is None and default is not None:
            return default
        if _is_count(value):
            return (int(value),) * layers
        if isinstance(value, tuple) and len(value) >= layers and all(_is_count(item) for item in value):
            return tuple(int(item) for item in value[:layers])
        self._fault(key, value, f"a count, or an array of {layers} counts, is needed")
        return (1,) * layers

    def _fault(self, key: str, value: Any, needed: str) -> None:
        name = f"{self._header.architecture}.{key}"
        said = f"the metadata lacks {name}" if value is None else f"{name} is {value!r:.60}"
        fault = f"{said}: {needed}"
        if fault not in self.faults:
            self.faults.append(fault)


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and value >= 0
