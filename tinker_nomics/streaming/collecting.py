"""Every output of every point, copied chunk by chunk into host memory that is allocated once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from ..boundary import x64
from .checked_run import check_model, outputs_of
from .chunk_range import chunk_range
from .devices import Devices, layout_of
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
    return outputs_of(model(block))


@jax.jit
def _outputs(points: Any, model: Any, number: Any) -> dict[str, jax.Array]:
    return outputs_of(evaluate_chunk(points, model, number))


class _Crew:
    """The devices of this process, each of which runs the same compiled program on chunks of its own.

    A program is compiled once for every device. Unless told which devices to use, the first works alone until it has
    computed for as long as those compilations will take: a short run is not made longer by them.
    """

    def __init__(self, points: Points | HostPoints, model: ModelFunction, mesh: Devices):
        self.points, self.model = points, model
        fixed = mesh is None and jax.config.jax_default_device is not None  # type: ignore[attr-defined]
        found = jax.local_devices() if mesh is None else list(layout_of(mesh).local.devices.flat)
        self.devices: list[Any] = [None] if fixed or (mesh is None and len(found) == 1) else found
        self._asked = mesh is not None
        self._patience: float | None = None
        self._since = 0.0
        self._sent = 0

    @property
    def ahead(self) -> int:
        """Chunks that may be under way beside the one that is copied."""
        return len(self.devices)

    def send(self, number: int) -> dict[str, jax.Array]:
        """The outputs of a chunk, under way on the next device."""
        spent = time.monotonic() - self._since
        together = self._asked or (self._patience is not None and spent > self._patience)
        device = self.devices[self._sent % len(self.devices)] if together else self.devices[0]
        self._sent += 1
        before = time.monotonic()
        outputs = self._evaluated(number, device)
        if self._patience is None:
            self._since = time.monotonic()
            self._patience = (len(self.devices) - 1) * (self._since - before)
        return outputs

    def _evaluated(self, number: int, device: Any) -> dict[str, jax.Array]:
        if hasattr(self.points, "host_chunk"):
            block = self.points.host_chunk(number)  # type: ignore[union-attr]
            return outputs_of_block(block if device is None else jax.device_put(block, device), self.model)
        place = np.int64(number) if device is None else jax.device_put(np.int64(number), device)
        return _outputs(self.points, self.model, place)


def collect(
    points: Points | HostPoints,
    model: ModelFunction,
    *,
    chunks: range | str | None = None,
    place: Callable[[int, dict[str, np.ndarray]], None] | None = None,
    out: Mapping[str, np.ndarray] | None = None,
    mesh: Devices = None,
    progress: bool | None = None,
    label: str = "configurations",
) -> Collected:
    """Evaluate the chunks and keep all outputs, in the order of the points' numbers.

    Chunks are computed ahead, one for each device, while the last one is copied; the results are the same bits on any
    number of devices. An output that the model returns without the axis of the points (because nothing varied touches
    it) is kept as one float. Results lie in this process's memory: of several processes of `jax.distributed` each
    computes, on its own devices, all that it asks for; `chunks` shares the work.

    Args:
        points, model, chunks, progress, label: as in `engine.run`.
        place: called with each chunk's number and outputs, in order, instead of keeping them here: it copies them to
            where they belong, when rows in the order of the points' numbers are not what is wanted.
        out: arrays [points, ...] to write into (memory maps too), by output; allocated here when None.
        mesh: the devices that compute: a jax.sharding.Mesh or a list of devices; when None every device of this
            process, those after the first as soon as that saves time.
    """
    check_model(points, model, host=True)
    chunks = chunk_range(chunks, points.strata * points.stratum_chunks)
    started, size = time.monotonic(), points.chunk_size
    offset = chunks.start * size
    rows = min(chunks.stop * size, points.size) - offset
    kept: dict[str, Any] = {} if out is None else dict(out)
    done = 0
    with x64(), Interrupt() as interrupt, ProgressBar(rows, label, progress) as bar:
        crew, unsent = _Crew(points, model, mesh), iter(chunks)
        sent = deque((number, crew.send(number)) for number in islice(unsent, 1))
        while sent:
            if not interrupt.asked:
                sent.extend((number, crew.send(number)) for number in islice(unsent, 1 + crew.ahead - len(sent)))
            number, current = sent.popleft()
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
