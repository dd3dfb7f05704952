"""Joining the processes of one run: by flags, by JAX's own variables, or by what Slurm and Kubernetes set."""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

import numpy as np

from ..errors import TinkerNomicsError

_PORT, _PORTS = 61000, 4096
PATIENCE = 300.0  # seconds in which all processes have to come
_SILENT = 10.0  # of these, before anything is said
_LINGER = 5.0  # seconds in which the others notice that the first process is gone, before their coordinator is


class Membership(NamedTuple):
    """This process's place: where the coordinator listens ("host:port"), number of this process, how many there are."""

    coordinator: str
    process_id: int
    processes: int


def membership(
    coordinator: str | None = None,
    process_id: int | None = None,
    processes: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> Membership | None:
    """Which process of how many this is; None where it is alone.

    What is not given is read from the environment: JAX_COORDINATOR_ADDRESS, JAX_PROCESS_ID and JAX_NUM_PROCESSES; the
    place in an indexed Kubernetes Job from JOB_COMPLETION_INDEX; all three from what Slurm's srun sets for a step of
    several tasks, with a port made of the job's number.

    Raises:
        TinkerNomicsError: two of the three are known and the third is not, or a number is out of range.
    """
    found = os.environ if environment is None else environment
    # a batch script or a shell of salloc has the job's number of tasks too, but is one process: only steps have nodes
    slurm = {} if "SLURM_STEP_NODELIST" not in found or _first(None, *_tasks(found)) in (None, 1) else found
    if process_id is not None and coordinator is None and processes is None and "JAX_COORDINATOR_ADDRESS" not in found:
        alone = not slurm and _first(None, (found, "JAX_NUM_PROCESSES")) is None
        if alone:
            raise TinkerNomicsError(
                f"--process-id {process_id}: it says nothing by itself; give --coordinator HOST:PORT and --processes N too"
            )
    coordinator = coordinator or found.get("JAX_COORDINATOR_ADDRESS") or _slurm_coordinator(slurm)
    process_id = _first(process_id, (found, "JAX_PROCESS_ID"), (found, "JOB_COMPLETION_INDEX"), (slurm, "SLURM_PROCID"))
    processes = _first(processes, (found, "JAX_NUM_PROCESSES"), *_tasks(slurm))
    if coordinator is None and (processes is None or (processes == 1 and process_id in (None, 0))):
        return None
    if coordinator is None or process_id is None or processes is None:
        known = {"--coordinator": coordinator, "--process-id": process_id, "--processes": processes}
        missing = [flag for flag, value in known.items() if value is None]
        raise TinkerNomicsError(
            f"several processes share a run by --coordinator HOST:PORT --process-id I --processes N; missing here: "
            f"{', '.join(missing)}"
        )
    if not re.fullmatch(r"[^\s:]+:\d{1,5}|\[[^\]\s]+\]:\d{1,5}", coordinator):
        raise TinkerNomicsError(f"--coordinator {coordinator!r}: write HOST:PORT, e.g. node001:61000")
    if processes < 1 or not 0 <= process_id < processes:
        raise TinkerNomicsError(f"--process-id {process_id} of --processes {processes}: numbers run from 0 to one less")
    return Membership(coordinator, process_id, processes)


def _tasks(found: Mapping[str, str]) -> tuple[tuple[Mapping[str, str], str], ...]:
    return (found, "SLURM_STEP_NUM_TASKS"), (found, "SLURM_NTASKS")


def _first(given: int | None, *places: tuple[Mapping[str, str], str]) -> int | None:
    if given is not None:
        return given
    for found, name in places:
        if found.get(name):
            try:
                return int(found[name])
            except ValueError:
                raise TinkerNomicsError(f"{name} = {found[name]!r} in the environment is no whole number") from None
    return None


def _slurm_coordinator(slurm: Mapping[str, str]) -> str | None:
    nodes = slurm.get("SLURM_STEP_NODELIST")
    if not nodes:
        return None
    port = _PORT + (_first(None, (slurm, "SLURM_JOB_ID")) or 0) % _PORTS
    return f"{first_node(nodes)}:{port}"


def first_node(nodes: str) -> str:
    """The first host of a Slurm node list: "gpu[003-010,12],login1" -> "gpu003"."""
    match = re.match(r"([^,\[]+)(?:\[(\d+)[^\]]*\]([^,]*))?", nodes)
    if match is None:
        raise TinkerNomicsError(f"the node list {nodes!r} of the environment names no host")
    return match[1] + (match[2] or "") + (match[3] or "")


def join(place: Membership, tell: bool = True, patience: float = PATIENCE) -> None:
    """Become one of the processes of a run; returns when all have come. Nothing of JAX may have run before.

    Where they do not come within `patience` seconds this process says so and ends, with status 2.

    Raises:
        TinkerNomicsError: the coordinator cannot be reached, or refuses this process.
    """
    import jax
    from jax.experimental import multihost_utils

    if place.process_id == 0 and "JAX_COORDINATOR_BIND_ADDRESS" not in os.environ:
        _refuse_taken_port(place)
    here = threading.Event()
    threading.Thread(target=_watch, args=(place, here, tell, patience), daemon=True).start()
    try:
        # longer than anybody is waited for, since JAX ends a process whose time is up with a stack trace
        jax.distributed.initialize(
            place.coordinator,
            place.processes,
            place.process_id,
            initialization_timeout=int(2 * patience + 60),
            cluster_detection_method="deactivate",  # all is known; JAX would warn of clusters that it cannot ask
        )
        # the first exchange sets up the connections, for which every process has to come within half a minute
        counts = multihost_utils.process_allgather(np.array(place.processes, np.int32))
    except (RuntimeError, ValueError) as error:
        raise TinkerNomicsError(
            f"process {place.process_id} of {place.processes} cannot join at {place.coordinator}: {error}"
        ) from error
    finally:
        here.set()
    _refuse_other_counts(place, np.ravel(counts).tolist())


def _refuse_other_counts(place: Membership, counts: list[int]) -> None:
    """Refuse processes that were told different numbers of processes: some would do what others do too, or nobody."""
    other = [index for index, count in enumerate(counts) if count != counts[0]]
    if other:
        told = ", ".join(f"process {index} by --processes {counts[index]}" for index in (0, *other))
        raise TinkerNomicsError(
            f"process {place.process_id}: the processes of this run disagree how many they are: {told}; start all of them "
            "with the same number"
        )


def _watch(place: Membership, here: threading.Event, tell: bool, patience: float) -> None:
    """Say that others are waited for, and end this process when that has taken too long: JAX does neither."""
    who = f"process {place.process_id} of {place.processes}"
    if here.wait(min(_SILENT, patience)):
        return
    if tell:
        print(f"{who} waits for the others at {place.coordinator}", file=sys.stderr, flush=True)
    if not here.wait(max(0.0, patience - _SILENT)):
        problem = "" if place.process_id == 0 else _unreachable(place.coordinator)
        print(
            f"tinker-nomics: error: {who}: not all of them have come to {place.coordinator} within {patience:g} s"
            f"{problem}; start {place.processes} together, with the numbers 0 to {place.processes - 1} and the same "
            "coordinator, the address of process 0",
            file=sys.stderr,
            flush=True,
        )
        os._exit(2)


def _refuse_taken_port(place: Membership) -> None:
    """Refuse a port that process 0 cannot listen at: JAX may crash over it."""
    port, both = int(place.coordinator.rpartition(":")[2]), socket.has_dualstack_ipv6()
    try:
        family = socket.AF_INET6 if both else socket.AF_INET
        socket.create_server(("", port), family=family, dualstack_ipv6=both).close()
    except (OSError, OverflowError) as error:
        raise TinkerNomicsError(
            f"process 0 of {place.processes} cannot listen at {place.coordinator}: {getattr(error, 'strerror', error)}; "
            "name this host and a free port"
        ) from None


def _unreachable(coordinator: str) -> str:
    """Why nobody answers at an address, in words; empty where somebody does."""
    host, _, port = coordinator.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        return f" ({getattr(error, 'strerror', None) or error})"
    return ""


def leave(place: Membership, message: str) -> NoReturn:
    """Tell what went wrong and end this process now, with status 2, so that the others of the run notice.

    They notice by the connections that are closed. The first process closes these and stays a little longer, since it
    coordinates: without a coordinator JAX ends the others with a stack trace in the place of their message.
    """
    from jax.extend.backend import clear_backends

    print(f"tinker-nomics: error: {message}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    if place.process_id == 0 and place.processes > 1:
        clear_backends()
        time.sleep(_LINGER)
    os._exit(2)
