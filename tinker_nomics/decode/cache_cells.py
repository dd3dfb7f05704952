"""How many cells of cache a deployment reserves."""

from typing import Any

import numpy as np

CELL_PADDING = 256.0
"""Cells are reserved in multiples of this (llama.cpp 0c1e57098, src/llama-kv-cache.cpp and llama-context.cpp)."""


def cache_cells(capacity: Any, window: Any, sequences: Any, ubatch: Any, unified: Any, numbers: Any = np) -> Any:
    """Cells reserved over all sequences by a cache that attends to the last `window` tokens.

    With a pool per sequence, $b \\cdot pad(\\min(pad(capacity), window + ubatch))$; with one pool for all,
    $pad(\\min(pad(b\\,capacity), b\\,window + ubatch))$; `pad` rounds up to 256.

    Args:
        capacity: cells asked for per sequence [tokens], scalar.
        window: tokens attended at most, infinite for a global layer [tokens], any shape.
        sequences: number of sequences, scalar.
        ubatch: most tokens written at once [tokens], scalar.
        unified: 1.0 for one pool, 0.0 for a pool per sequence, scalar.
        numbers: `numpy` on the host, `jax.numpy` when traced.

    **Returns:** cells [tokens], the shape of `window`.

    **Kinks:** steps of 256 in `capacity`, and in `sequences` and `ubatch` where they enter the padding.

    Source: llama.cpp 0c1e57098, src/llama-kv-cache-iswa.cpp and llama-context.cpp.
    """
    in_pool = numbers.where(unified > 0.0, sequences, 1.0)
    pools = numbers.where(unified > 0.0, 1.0, sequences)
    whole = _padded(capacity * in_pool, numbers)
    bounded = numbers.isfinite(window)
    sliding = numbers.where(bounded, window, 0.0) * in_pool + ubatch
    return pools * _padded(numbers.where(bounded & (sliding <= whole), sliding, whole), numbers)


def _padded(cells: Any, numbers: Any) -> Any:
    return CELL_PADDING * numbers.ceil(cells / CELL_PADDING)
