"""Every output of every point, copied chunk by chunk into host memory that is allocated once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from ..boundary import x64
from ..errors import TinkerNomicsError
from .engine import ModelFunction, Points, evaluate_chunk
from .interrupt import Interrupt
from .progress import ProgressBar


class Collected(NamedTuple):
    """What `collect` leaves behind.

    Attributes:
        outputs: {name: float64 [points] or, where the model returns a bare scalar, a float}.
        stop: chunk numbers below it are done.
        complete: whether that is all (not after Ctrl-C; the rows of the rest are NaN).
        points: points evaluated.
        seconds: wall time.
    """

    outputs: dict[str, Any]
    stop: int
    complete: bool
    points: int
    seconds: float


class HostPoints(Protocol):
    """Points that lie in host memory: blocks of NumPy arrays by global chunk number, all of the same shapes.

    They can be many or few: the blocks alone reach the compiled model, so tables of any length share one trace.
    """

    @property
    def strata(self) -> int: ...
    @property
    def stratum_chunks(self) -> int: ...
    @property
    def chunk_size(self) -> int: ...
    @property
    def size(self) -> int: ...

    def host_chunk(self, number: int) -> Any:
        """The points of one chunk, float64; what the model takes."""
        ...


@jax.jit
def outputs_of_block(block: Any, model: Any) -> dict[str, jax.Array]:
    """model(block).outputs, compiled; its `eval_shape(block, model)` says their shapes and causes no second trace."""
    return model(block).outputs


def _evaluated(points: Points | HostPoints, model: ModelFunction, number: int) -> dict[str, jax.Array]:
    if hasattr(points, "host_chunk"):
        return outputs_of_block(points.host_chunk(number), model)  # type: ignore[union-attr]
    return _outputs(points, model, np.int64(number))


@jax.jit
def _outputs(points: Any, model: Any, number: Any) -> dict[str, jax.Array]:
    return evaluate_chunk(points, model, number).outputs


def collect(
    points: Points | HostPoints,
    model: ModelFunction,
    *,
    chunks: range | None = None,
    place: Callable[[int, dict[str, np.ndarray]], None] | None = None,
    out: Mapping[str, np.ndarray] | None = None,
    progress: bool | None = None,
    label: str = "configurations",
) -> Collected:
    """Evaluate the chunks and keep all outputs, in the order of the points' numbers.

    The next chunk is computed while the last one is copied. An output that the model returns without the axis of the
    points (because nothing varied touches it) is kept as one float.

    Args:
        points, model, chunks, progress, label: as in `engine.run`.
        place: called with each chunk's number and outputs, in order, instead of keeping them here: it copies them to
            where they belong, when rows in the order of the points' numbers are not what is wanted.
        out: arrays [points, ...] to write into (memory maps too), by output; allocated here when None.
    """
    total = points.strata * points.stratum_chunks
    chunks = range(total) if chunks is None else chunks
    if chunks.step != 1 or chunks.start < 0 or chunks.stop > total or len(chunks) == 0:
        raise TinkerNomicsError(f"chunks = {chunks!r}: must be a range with step 1 in [0, {total})")
    started, size = time.monotonic(), points.chunk_size
    offset = chunks.start * size
    rows = min(chunks.stop * size, points.size) - offset
    kept: dict[str, Any] = {} if out is None else dict(out)
    done = 0
    with x64(), Interrupt() as interrupt, ProgressBar(rows, label, progress) as bar:
        ahead = _evaluated(points, model, chunks.start)
        for number in chunks:
            current = ahead
            if number + 1 < chunks.stop and not interrupt.asked:
                ahead = _evaluated(points, model, number + 1)
            end = min(done + size, rows)
            arrays = {name: np.asarray(value) for name, value in current.items()}
            if place is not None:
                place(number, arrays)
                arrays = {}
            for name, array in arrays.items():
                if array.ndim == 0:
                    kept[name] = float(array)
                    continue
                if name not in kept:
                    kept[name] = np.empty((rows, *array.shape[1:]), dtype=np.float64)
                kept[name][done:end] = array[: end - done]
            done = end
            bar.show(done)
            if interrupt.asked:
                break
    stop = chunks.start + -(-done // size)
    if done < rows:
        for value in kept.values():
            if not isinstance(value, float):
                value[done:] = np.nan
    return Collected(kept, stop, done == rows, done, time.monotonic() - started)
