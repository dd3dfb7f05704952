"""Which devices and processes share a run, what each does, and how their states become one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..errors import TinkerNomicsError, shown
from .host_memory import available_bytes
from .reducer import Reducer

Devices = Mesh | Sequence[jax.Device] | None
_ALL = PartitionSpec()
# bytes of states of all threads together: so much, or a share of the memory where there is a lot
_STATES_AT_MOST, _STATES_SHARE = 1 << 27, 1 / 64


class Layout(NamedTuple):
    """Who computes.

    Attributes:
        local: a mesh ("devices",) of this process's devices.
        rank, ranks: this process among those that share the run.
        peers: a mesh ("processes",) of one device of each of them; None where this process is alone.
    """

    local: Mesh
    rank: int
    ranks: int
    peers: Mesh | None


def layout_of(mesh: Devices) -> Layout:
    """The layout of a mesh or list of devices; of every device of every process of `jax.distributed` when None.

    Raises:
        TinkerNomicsError: it is neither, a device is named twice, or none of them belongs to this process.
    """
    devices = jax.devices() if mesh is None else _devices_of(mesh)
    own = jax.process_index()
    local = [device for device in devices if device.process_index == own]
    if not local:
        raise TinkerNomicsError(f"mesh: no device of process {own} is in it; its devices are {jax.local_devices()}")
    processes = sorted({device.process_index for device in devices})
    firsts = [next(device for device in devices if device.process_index == process) for process in processes]
    peers = Mesh(np.array(firsts), ("processes",)) if len(processes) > 1 else None
    return Layout(Mesh(np.array(local), ("devices",)), processes.index(own), len(processes), peers)


def _devices_of(mesh: Any) -> list[Any]:
    devices = list(mesh.devices.flat) if isinstance(mesh, Mesh) else mesh
    if not isinstance(devices, list | tuple) or not all(isinstance(device, jax.Device) for device in devices):
        raise TinkerNomicsError(
            f"mesh = {shown(mesh)}: a jax.sharding.Mesh or a list of devices is expected, e.g. jax.devices()[:2]"
        )
    if len(set(devices)) < len(devices):
        raise TinkerNomicsError(f"mesh = {shown(mesh)}: a device is named twice; name each once")
    return list(devices)


def share(chunks: range, rank: int, ranks: int) -> range:
    """The consecutive chunks of one of `ranks` workers; sizes differ by one at most."""
    size = len(chunks)
    return range(chunks.start + size * rank // ranks, chunks.start + size * (rank + 1) // ranks)


def bounds(start: int, stop: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """First and end chunk (int64 [count]) of each device's share of start <= number < stop."""
    parts = [share(range(start, stop), index, count) for index in range(count)]
    return np.array([part.start for part in parts], np.int64), np.array([part.stop for part in parts], np.int64)


def thread_count(local: Mesh, states: Any) -> int:
    """Threads that fold side by side on a process's only device: as many as it has cores on a CPU, as long as their
    states are small; one on anything else."""
    if local.devices.flat[0].platform != "cpu":
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    size = sum(leaf.nbytes for leaf in jax.tree_util.tree_leaves(states))
    room = max(_STATES_AT_MOST, int(_STATES_SHARE * (available_bytes() or 0)))
    return max(1, min(cores, room // max(size, 1)))


def on_each_device(mesh: Mesh, function: Any, common: tuple[Any, ...], own: tuple[Any, ...]) -> Any:
    """function(*common, *own) on every device with its own slice of the first axis of `own` (traced)."""

    def one(common: tuple[Any, ...], own: tuple[Any, ...]) -> Any:
        mine = jax.tree_util.tree_map(lambda leaf: leaf[0], own)
        return jax.tree_util.tree_map(lambda leaf: leaf[None], function(*common, *mine))

    spread = PartitionSpec(mesh.axis_names[0])
    return jax.shard_map(one, mesh=mesh, in_specs=(_ALL, spread), out_specs=spread, check_vma=False)(common, own)


def pairwise_merge(reducers: Mapping[str, Reducer], a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """The states of two disjoint sets of chunks, stratum by stratum (traced)."""
    # a reducer that follows nothing, such as Events(()), has a state without arrays, over which vmap cannot count
    held = {name: reducer for name, reducer in reducers.items() if jax.tree_util.tree_leaves(a[name])}
    return {**a, **{name: jax.vmap(reducer.merge)(a[name], b[name]) for name, reducer in held.items()}}


def across_processes(peers: Mesh, reducers: Mapping[str, Reducer], states: Mapping[str, Any]) -> dict[str, Any]:
    """The states of all processes merged, the same on each: a collective that every one of them has to enter.

    A tree of log2(processes) rounds towards the first, and as many back: each process sends and receives its state a
    few times, however many there are. All get the first one's bits.
    """
    sharding = NamedSharding(peers, PartitionSpec(peers.axis_names[0]))

    def put(leaf: Any) -> jax.Array:
        return jax.make_array_from_process_local_data(sharding, np.asarray(leaf)[None])

    merged = _merged_tree(peers, dict(reducers), jax.tree_util.tree_map(put, dict(states)))
    return jax.tree_util.tree_map(lambda leaf: np.array(leaf.addressable_data(0))[0], merged)


def refuse_different(peers: Mesh, described: Any) -> None:
    """Refuse a run whose processes were given different things; a collective that every process has to enter.

    Raises:
        TinkerNomicsError: on every process, with the numbers of those that differ from the first.
    """
    leaves = jax.tree_util.tree_leaves(described)
    digest = hashlib.sha256()
    for leaf in leaves:
        array = np.ascontiguousarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    word = np.frombuffer(digest.digest()[:8], np.int64)
    sharding = NamedSharding(peers, PartitionSpec(peers.axis_names[0]))
    every = _gathered(peers, jax.make_array_from_process_local_data(sharding, word))
    words = np.asarray(every.addressable_data(0))[0]
    other = np.flatnonzero(words != words[0]).tolist()
    if other:
        raise TinkerNomicsError(f"processes {other} were started with another configuration, seed or size than 0")


@partial(jax.jit, static_argnames=("peers",))
def _gathered(peers: Mesh, word: jax.Array) -> jax.Array:
    return on_each_device(peers, lambda own: jax.lax.all_gather(own, "processes"), (), (word,))


@partial(jax.jit, static_argnames=("peers",))
def _merged_tree(peers: Mesh, reducers: dict[str, Reducer], states: Any) -> Any:
    return on_each_device(peers, partial(_exchange, peers.devices.size), (reducers,), (states,))


def _exchange(count: int, reducers: dict[str, Reducer], state: Any) -> Any:
    rank = jax.lax.axis_index("processes")

    def sent(state: Any, pairs: list[tuple[int, int]]) -> Any:
        return jax.tree_util.tree_map(lambda leaf: jax.lax.ppermute(leaf, "processes", pairs), state)

    def chosen(condition: jax.Array, new: Any, old: Any) -> Any:
        return jax.tree_util.tree_map(lambda a, b: jax.numpy.where(condition, a, b), new, old)

    step = 1
    while step < count:
        other = sent(state, [(source, source - step) for source in range(step, count, 2 * step)])
        takes = (rank % (2 * step) == 0) & (rank + step < count)
        state = chosen(takes, pairwise_merge(reducers, state, other), state)
        step *= 2
    while step > 1:
        step //= 2
        other = sent(state, [(source, source + step) for source in range(0, count - step, 2 * step)])
        state = chosen(rank % (2 * step) == step, other, state)
    return state
