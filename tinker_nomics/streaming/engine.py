"""The engine: chunk number -> points -> model -> reducers, at the memory of one chunk."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ..boundary import x64
from .checked_run import check_evaluation, check_memory, check_model, check_reducers
from .chunk_range import chunk_range
from .devices import (
    Devices,
    Layout,
    across_processes,
    bounds,
    layout_of,
    pairwise_merge,
    refuse_different,
    share,
    thread_count,
)
from .host_memory import give_back_memory
from .interrupt import Interrupt
from .progress import ProgressBar
from .reducer import Chunk, Evaluation, Reducer
from .stages import apply_in_stages, stage

# chunks of one stratum that are done before the next stratum has its turn, so that a run stopped early has used all
# strata alike; also the least work between two looks at the clock
_TURN = 64
_SECONDS_PER_CALL = 0.15
_PIECES = 4  # of a call, per thread


class Points(Protocol):
    """Where the points come from: a pytree whose arrays are traced and whose other fields are static.

    Attributes:
        strata: independent parts whose states are kept apart (replicates); 1 where there are none.
        stratum_chunks: chunks per stratum.
        chunk_size: points per chunk.
        size: points in all; strata * stratum_chunks * chunk_size, or less where the last chunk is ragged.
        canonical: optional; a method that returns points whose chunks of the same numbers are the same and whose static
            fields do not depend on how many points there are, so that runs of any length share one compiled program.
    """

    @property
    def strata(self) -> int: ...
    @property
    def stratum_chunks(self) -> int: ...
    @property
    def chunk_size(self) -> int: ...
    @property
    def size(self) -> int: ...

    def chunk(self, stratum: jax.Array, chunk: jax.Array) -> Any:
        """The points of one chunk (traced); what the model takes."""
        ...


ModelFunction = Callable[[Any], Evaluation]


def total_chunks(points: Points) -> int:
    """The number of chunks; global chunk numbers run from 0 to one less."""
    return points.strata * points.stratum_chunks


def turn_length(points: Points) -> int:
    """Consecutive chunk numbers that stay in one stratum."""
    return points.stratum_chunks if points.strata == 1 else math.gcd(points.stratum_chunks, _TURN)


def locate(points: Points, number: Any) -> tuple[Any, Any]:
    """(stratum, chunk within it) of a global chunk number, traced or not; strata take turns."""
    length = turn_length(points)
    turn, place = number // length, number % length
    return turn % points.strata, (turn // points.strata) * length + place


class Run(NamedTuple):
    """What a run leaves behind.

    Attributes:
        states: {name: state}, NumPy leaves with the stratum as first axis.
        first, stop: the chunk numbers done, first <= number < stop.
        complete: whether that is all that was asked for (not after Ctrl-C).
        points: points evaluated.
        seconds: wall time.
        resumed: those of the points that a store had kept, which took none of that time.
    """

    states: dict[str, Any]
    first: int
    stop: int
    complete: bool
    points: int
    seconds: float
    resumed: int = 0


def evaluate_chunk(points: Points, model: ModelFunction, number: jax.Array) -> Evaluation:
    """The model at the points of one global chunk number (traced)."""
    stratum, place = locate(points, number)
    return apply_in_stages(number, model, stage(number, points.chunk, stratum, place))


def _valid(points: Points, first: jax.Array) -> jax.Array | None:
    """Which places of a chunk hold points; None where all always do."""
    if points.size == total_chunks(points) * points.chunk_size:
        return None
    return first + jnp.arange(points.chunk_size) < points.size


@partial(jax.jit, static_argnames=("strata",))
def _initial(points: Any, model: Any, reducers: dict[str, Reducer], strata: int) -> dict[str, Any]:
    zero = jnp.zeros((), jnp.int64)
    shapes = jax.eval_shape(lambda: check_evaluation(evaluate_chunk(points, model, zero), points.chunk_size))
    states = {name: reducer.init(shapes) for name, reducer in reducers.items()}
    return jax.tree_util.tree_map(lambda leaf: jnp.broadcast_to(leaf, (strata, *leaf.shape)), states)


def _updated(reducer: Reducer, state: Any, chunk: Chunk) -> Any:
    return reducer.update(state, chunk) if reducer.in_place else stage(chunk.first, reducer.update, state, chunk)


def _advanced(points: Any, model: Any, reducers: dict[str, Reducer], states: Any, first: Any, stop: Any) -> Any:
    """The states after the chunks first <= number < stop: one loop over strata's turns, one within a turn."""
    length = turn_length(points)

    def one_chunk(number: jax.Array, state: Any) -> Any:
        evaluation, start = evaluate_chunk(points, model, number), number * points.chunk_size
        _, place = locate(points, number)
        chunk = Chunk(evaluation.outputs, evaluation.inputs, start, place, _valid(points, start))
        return {name: _updated(reducer, state[name], chunk) for name, reducer in reducers.items()}

    def one_turn(carry: tuple[jax.Array, Any]) -> tuple[jax.Array, Any]:
        number, states = carry
        stratum, _ = locate(points, number)
        end = jnp.minimum(stop, (number // length + 1) * length)
        state = jax.lax.fori_loop(number, end, one_chunk, jax.tree_util.tree_map(lambda leaf: leaf[stratum], states))
        return end, jax.tree_util.tree_map(lambda leaf, new: leaf.at[stratum].set(new), states, state)

    return jax.lax.while_loop(lambda carry: carry[0] < stop, one_turn, (first, states))[1]


# XLA keeps to vectors of 256 bits unless told otherwise: with 512 the same loop takes 29 ns of a core per sample where it
# took 35; processors and devices without them are not concerned
_OPTIONS = {"xla_cpu_prefer_vector_width": 512}
_advance = jax.jit(_advanced, donate_argnums=(3,), compiler_options=_OPTIONS)


class _Crew:
    """The workers of this process, each with states of its own: one on each of its devices or, where it has one CPU
    device, a few threads on that.

    Every device runs the program of one device: a program of several, as `jax.shard_map` makes it, is compiled otherwise
    and rounds otherwise in the last bit. Two calls of the compiled loop side by side keep two cores busier than one call,
    whose operations each wait for the slower core: measured 50 M samples/s against 26 on two cores that others used too.
    """

    def __init__(self, layout: Layout, points: Points, model: ModelFunction, reducers: dict[str, Reducer], states: Any):
        give_back_memory()  # of a run before this one
        self.run, devices = (points, model, reducers), list(layout.local.devices.flat)
        check_memory(_initial.eval_shape(points, model, reducers, points.strata))
        fresh = _initial(points, model, reducers, points.strata)
        alone = len(devices) == 1
        self._places = devices * thread_count(layout.local, fresh) if alone else devices
        self._pool = ThreadPoolExecutor(max(1, len(self._places) - 1))  # threads start when first used
        self._begun = False
        given = fresh if states is None else jax.tree_util.tree_map(jnp.array, dict(states))
        self.states = [jax.device_put(given, devices[0])]

    def advance(self, number: int, stop: int) -> None:
        """Fold the chunks number, ..., stop - 1 into the states, each worker its share of them."""
        if not self._begun:  # the first call compiles, and the other threads find that done
            self._begun = True
            self._fold(0, iter([(np.int64(number), np.int64(stop))]))
            give_back_memory()
            return
        # only now: a run of one call has nothing to merge, which spares it a compilation
        for place in self._places[len(self.states) :]:
            self.states.append(jax.device_put(_initial(*self.run, self.run[0].strata), place))
        # more pieces than workers: one whose core others use as well takes fewer of them
        pieces = 1 if len(self._places) == 1 else _PIECES * len(self._places)
        jobs = iter(list(zip(*bounds(number, stop, pieces))))
        waiting = [self._pool.submit(self._fold, worker, jobs) for worker in range(1, len(self._places))]
        self._fold(0, jobs)
        for worker in waiting:
            worker.result()

    def _fold(self, worker: int, jobs: Iterator[tuple[np.int64, np.int64]]) -> None:
        with x64():  # which holds for one thread
            for first, stop in jobs:
                self.states[worker] = jax.block_until_ready(_advance(*self.run, self.states[worker], first, stop))

    def fetch(self) -> dict[str, Any]:
        """The states of all workers together, as NumPy arrays."""
        if len(self.states) == 1:
            return jax.tree_util.tree_map(np.array, self.states[0])
        whole = self.states[0]
        for other in self.states[1:]:
            whole = _merged_pair(self.run[2], whole, jax.device_put(other, self._places[0]))
        return jax.tree_util.tree_map(np.asarray, whole)

    def finish(self) -> dict[str, Any]:
        """As `fetch`, once and at the end: memory is given back on the way and nothing is copied."""
        self._pool.shutdown()
        whole = self.states.pop(0)
        while self.states:
            other = jax.device_put(self.states.pop(), self._places[0])
            whole = jax.block_until_ready(_merged_pair(self.run[2], other, whole))
        return jax.tree_util.tree_map(np.asarray, whole)


class Store(Protocol):
    """Where a run keeps its progress; `state_files.ProgressFile` is one."""

    def begin(self, chunks: range) -> tuple[dict[str, Any], int] | None:
        """Told the chunks of this process; returns kept states and the next chunk number, or None to start afresh."""
        ...

    def keep(self, fetch: Callable[[], dict[str, Any]], number: int, last: bool) -> None:
        """Called after each call of the compiled loop: `fetch()` gives the states, `number` is the next chunk, `last`
        says that no call follows, because all is done or Ctrl-C was pressed."""
        ...


def run(
    points: Points,
    model: ModelFunction,
    reducers: Mapping[str, Reducer],
    *,
    chunks: range | str | None = None,
    states: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    label: str = "samples",
    checkpoint: Callable[[Callable[[], dict[str, Any]], int], None] | None = None,
    mesh: Devices = None,
    store: Store | None = None,
) -> Run:
    """Fold the chunks `chunks` of `points` through `model` into the states of `reducers`.

    Points, model and reducers are pytrees: arrays in them are traced, all else is static, so the same structure with
    other numbers compiles nothing anew. Everything is computed in float64, whatever the caller's JAX flags say.

    Under `jax.distributed` every process makes the same call; each does its share of the chunks, and all return the
    same Run. Counts, extremes and points have the same bits for any number of devices and processes; means agree to
    rounding.

    Args:
        points: see `Points`.
        model: an eqx.Module called with one chunk of points; returns an `Evaluation`.
        reducers: {name: Reducer}.
        chunks: global chunk numbers with step 1, "0:4096" or "3/64" (a part, counted from 0); all when None.
        states: states to go on from, as in `Run.states`; fresh ones when None. Of several processes the first takes
            them.
        progress: a bar on stderr after two seconds; None shows it on a terminal only (of the first process).
        label: what the bar counts.
        checkpoint: called after each call of the compiled loop with a function that fetches the states and with the
            next chunk number (of this process).
        mesh: the devices that compute: a jax.sharding.Mesh or a list of devices; every local device, and all processes
            of `jax.distributed`, when None.
        store: where progress is kept and taken up again.

    Returns:
        The `Run`. Ctrl-C ends it early and cleanly: `complete` is then False and `stop` says how far it came.

    Raises:
        TinkerNomicsError: points, model, reducers, chunks or mesh that are no such thing, a reducer that names what the
            model does not have, or states that do not fit into memory.
    """
    check_model(points, model)
    check_reducers(reducers)
    chunks = chunk_range(chunks, total_chunks(points))
    reducers, started, batch = dict(reducers), time.monotonic(), 16
    with x64(), Interrupt() as interrupt:
        layout = layout_of(mesh)
        if layout.peers is not None:
            refuse_different(layout.peers, (points, model, reducers, (chunks.start, chunks.stop)))
        mine = share(chunks, layout.rank, layout.ranks)
        kept = None if store is None else store.begin(mine)
        first_states, number = (states if layout.rank == 0 else None, mine.start) if kept is None else kept
        canonical = getattr(points, "canonical", None)
        traced = points if canonical is None else canonical()
        crew, begun = _Crew(layout, traced, model, reducers, first_states), number
        shown = False if progress is None and layout.rank > 0 else progress
        with ProgressBar(len(mine) * points.chunk_size, label, shown, (begun - mine.start) * points.chunk_size) as bar:
            while number < mine.stop and not interrupt.asked:
                stop = min(number + batch, mine.stop)
                before = time.monotonic()
                crew.advance(number, stop)
                elapsed = time.monotonic() - before
                # the first call holds the compilation: it says nothing about the rate
                if number > begun or elapsed < _SECONDS_PER_CALL:
                    batch = _next_batch(stop - number, elapsed)
                number = stop
                bar.show((number - mine.start) * points.chunk_size)
                if checkpoint is not None:
                    checkpoint(crew.fetch, number)
                if store is not None:
                    store.keep(crew.fetch, number, number == mine.stop or interrupt.asked)
        fetched, folded_chunks, kept_chunks = crew.finish(), number - mine.start, begun - mine.start
        if layout.peers is not None:
            fetched, folded_chunks, kept_chunks = _all_together(layout, reducers, fetched, folded_chunks, kept_chunks)
    complete = folded_chunks == len(chunks)
    stop = chunks.start + folded_chunks if layout.ranks > 1 else number
    done = min(stop * points.chunk_size, points.size) - min(chunks.start * points.chunk_size, points.size)
    resumed = min(kept_chunks * points.chunk_size, done)
    return Run(fetched, chunks.start, stop, complete, done, time.monotonic() - started, resumed)


class _Tally(Reducer):
    """Counts that add up: the chunks that each process has done, and those of them that it found done."""

    def merge(self, a: jax.Array, b: jax.Array) -> jax.Array:
        return a + b


def _all_together(layout: Layout, reducers: dict[str, Reducer], states: Any, *counts: int) -> tuple[Any, int, int]:
    """The states, the chunks done and the chunks kept from before of all processes."""
    strata = jax.tree_util.tree_leaves(states)[0].shape[0]
    tally = np.zeros((strata, 2), np.int64)
    tally[0] = counts
    both = across_processes(layout.peers, {**reducers, "": _Tally()}, {**states, "": tally})  # type: ignore[arg-type]
    done, kept = both[""].sum(axis=0).tolist()
    return {name: both[name] for name in states}, done, kept


def _next_batch(done: int, seconds: float) -> int:
    """Chunks for the next call: what takes about 0.15 s, growing at most fourfold."""
    return max(1, min(4 * done, int(done * _SECONDS_PER_CALL / max(seconds, 1e-6))))


def merged(reducers: Mapping[str, Reducer], states: Mapping[str, Any]) -> dict[str, Any]:
    """The states of all strata (first axis of every leaf) as one state per reducer."""
    with x64():
        return jax.tree_util.tree_map(np.asarray, _merged(dict(reducers), dict(states)))


@jax.jit
def _merged(reducers: dict[str, Reducer], states: dict[str, Any]) -> dict[str, Any]:
    strata = jax.tree_util.tree_leaves(states)[0].shape[0]
    first = jax.tree_util.tree_map(lambda leaf: leaf[0], states)

    def add(stratum: jax.Array, total: dict[str, Any]) -> dict[str, Any]:
        part = jax.tree_util.tree_map(lambda leaf: leaf[stratum], states)
        return {name: reducer.merge(total[name], part[name]) for name, reducer in reducers.items()}

    return jax.lax.fori_loop(1, strata, add, first)


def merge_runs(reducers: Mapping[str, Reducer], a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """The states of two runs over disjoint chunks, stratum by stratum."""
    with x64():
        both = _merged_pair(dict(reducers), dict(a), dict(b))
        return jax.tree_util.tree_map(np.asarray, both)


_merged_pair = jax.jit(pairwise_merge)
