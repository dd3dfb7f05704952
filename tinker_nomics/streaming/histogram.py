"""A histogram of doubles by their own bits: quantiles within 0.1 %, whatever the scale, merged by addition."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .reducer import Chunk, Evaluation, Reducer, picked

_MANTISSA = 9  # bits: 512 bins per octave, so half a bin is at most 0.098 % of the value
_SHIFT = 52 - _MANTISSA
_INFINITE = 0x7FF << _MANTISSA  # of infinities and NaN, after the shift


class Histogram(Reducer):
    """Counts (int64) of each scalar output in bins 1/512 of an octave wide, both signs mirrored about zero.

    The bin of y is floor(512 (|y| / 2^e - 1)) in octave e, read as bits(|y|) >> 43. Layout of the counts: negative
    overflow, negative bins, one bin about zero (|y| < 2^low), positive bins, positive overflow, and last the values
    that are not finite.

    Args:
        outputs: the outputs to follow, all when None.
        low: |y| < 2^low counts as zero.
        high: |y| >= 2^high counts as overflow.
    """

    outputs: tuple[str, ...] | None = eqx.field(static=True, default=None)
    low: int = eqx.field(static=True, default=-40)
    high: int = eqx.field(static=True, default=88)
    in_place: ClassVar[bool] = True

    @property
    def bins(self) -> int:
        """Bins of one sign."""
        return (self.high - self.low) << _MANTISSA

    def init(self, shapes: Evaluation) -> dict[str, jax.Array]:
        return {
            name: jnp.zeros(2 * self.bins + 4, jnp.int64)
            for name in picked(self.outputs, shapes)
            if shapes.outputs[name].ndim == 1
        }

    def index(self, value: jax.Array) -> jax.Array:
        """The place of each value in the counts (int32)."""
        bits = jax.lax.bitcast_convert_type(value, jnp.uint64)
        size = ((bits & jnp.uint64(2**63 - 1)) >> _SHIFT).astype(jnp.int32)
        place = size - (((1023 + self.low) << _MANTISSA) - 1)
        place = jnp.where(place < 0, 0, jnp.where(place > self.bins + 1, self.bins + 1, place))
        signed = self.bins + 1 + jnp.where(value < 0, -place, place)
        return jnp.where(size >= _INFINITE, 2 * self.bins + 3, signed)

    def update(self, state: dict[str, jax.Array], chunk: Chunk) -> dict[str, jax.Array]:
        weight: Any = 1 if chunk.valid is None else chunk.valid.astype(jnp.int64)
        return {
            name: counts.at[self.index(chunk.outputs[name])].add(weight, mode="promise_in_bounds")
            for name, counts in state.items()
        }

    def merge(self, a: dict[str, jax.Array], b: dict[str, jax.Array]) -> dict[str, jax.Array]:
        return {name: a[name] + b[name] for name in a}

    def result(self, state: dict[str, jax.Array]) -> dict[str, BinnedCounts]:
        return {name: BinnedCounts(np.asarray(counts), self.low, self.high) for name, counts in state.items()}


class BinnedCounts:
    """The counts of one output, with the questions that they answer; only bins that hold counts are kept.

    Attributes:
        total: finite values counted.
        nonfinite: values that were not.
    """

    def __init__(self, counts: np.ndarray, low: int, high: int):
        self.low, self.high = low, high
        self.nonfinite = int(counts[-1])
        self._used = np.flatnonzero(counts[:-1])
        self._counts = counts[self._used]
        self._below = np.concatenate([[0], np.cumsum(self._counts)])
        self.total = int(self._below[-1])

    def _edges(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper edge of the bins at these places."""
        bins = (self.high - self.low) << _MANTISSA
        offset = np.asarray(place, dtype=np.int64) - (bins + 1)
        size = np.abs(offset)
        steps = 1 << _MANTISSA

        def edge(number: np.ndarray) -> np.ndarray:
            octave, part = np.divmod(number, steps)
            return np.ldexp(1.0 + part / steps, self.low + octave)

        inner = np.where(size == 0, 0.0, edge(np.maximum(size - 1, 0)))
        outer = np.where(size == 0, 2.0**self.low, np.where(size > bins, np.inf, edge(np.minimum(size, bins))))
        lower = np.where(offset > 0, inner, np.where(offset < 0, -outer, -outer))
        upper = np.where(offset > 0, outer, np.where(offset < 0, -inner, outer))
        return lower, upper

    def quantile(self, p: float, low: float = -np.inf, high: float = np.inf) -> float:
        """The value below which a share p of the counts lies, within 0.1 %; NaN where nothing was counted.

        Counts are spread evenly over their bin. `low` and `high` are the least and greatest value seen, if known.
        """
        if self.total == 0:
            return float("nan")
        rank = min(max(p, 0.0), 1.0) * self.total
        place = int(np.clip(np.searchsorted(self._below, rank, side="right") - 1, 0, len(self._used) - 1))
        lower, upper = (float(edge) for edge in self._edges(self._used[place]))
        lower, upper = max(lower, low), min(upper, high)
        share = (rank - self._below[place]) / (self._below[place + 1] - self._below[place])
        if np.isinf(upper - lower):  # an overflow bin: nothing is known of it but its inner end
            return lower if np.isfinite(lower) else upper
        return lower + (upper - lower) * float(np.clip(share, 0.0, 1.0))

    def below(self, x: float) -> float:
        """The share of the counts below x; the counts of the bin that holds x are spread evenly."""
        if self.total == 0:
            return float("nan")
        lower, upper = self._edges(self._used)
        bounded = np.isfinite(upper - lower)
        width = np.where(bounded, upper - lower, 1.0)
        share = np.where(bounded, np.clip((x - np.where(bounded, lower, 0.0)) / width, 0.0, 1.0), x >= upper)
        return float(np.sum(share * self._counts) / self.total)

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Upper edges of the bins that hold counts, rising, and the share of the counts at or below each."""
        _, upper = self._edges(self._used)
        return upper, self._below[1:] / max(self.total, 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers: "total", "nonfinite", five "quantiles" and the bins that hold counts, rising; an
        overflow bin has an edge of None."""
        lower, upper = (edges.tolist() for edges in self._edges(self._used))
        return {
            "total": self.total,
            "nonfinite": self.nonfinite,
            "quantiles": {str(p): self.quantile(p) for p in (0.05, 0.25, 0.5, 0.75, 0.95)} if self.total else {},
            "lower": [edge if np.isfinite(edge) else None for edge in lower],
            "upper": [edge if np.isfinite(edge) else None for edge in upper],
            "counts": self._counts.tolist(),
        }

    def bars(self, limits: np.ndarray) -> np.ndarray:
        """The share of the counts between consecutive `limits` (rising), by the same rule as `below`."""
        return np.diff(np.array([self.below(float(limit)) for limit in limits]))
