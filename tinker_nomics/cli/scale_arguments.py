"""The flags that spread a run over files, devices and hosts."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import TinkerNomicsError

if TYPE_CHECKING:
    from ..cost_distribution.processes import Membership


def add_scale_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --out, --resume, --chunks, --quiet and the three flags of a process among several."""
    group = parser.add_argument_group("scale")
    group.add_argument("--out", metavar="FILE.npz", help="keep progress and result there")
    group.add_argument("--every", metavar="S", default="5 s", help="time between two writes of --out (default 5 s)")
    group.add_argument("--resume", action="store_true", help="go on from --out where it exists")
    group.add_argument(
        "--chunks",
        metavar="A:B",
        help="only these chunks, e.g. 0:4096, or 3/64 for the part number 3 "
        "(counted from 0) of 64; `tinker-nomics merge` puts the parts together",
    )
    group.add_argument("--quiet", action="store_true", help="no progress bar and no messages")
    group.add_argument(
        "--coordinator",
        metavar="HOST:PORT",
        help="where process 0 listens, for a run shared by processes (also from JAX_COORDINATOR_ADDRESS, Slurm)",
    )
    group.add_argument(
        "--process-id",
        type=int,
        metavar="I",
        help="number of this process, from 0 (also from JAX_PROCESS_ID, JOB_COMPLETION_INDEX, Slurm)",
    )
    group.add_argument(
        "--processes", type=int, metavar="N", help="how many there are (also from JAX_NUM_PROCESSES, Slurm)"
    )


def place_of(args: argparse.Namespace) -> Membership | None:
    """Which process of how many this is, by flags or environment; None where it is alone.

    Raises:
        TinkerNomicsError: flags that say nothing without others.
    """
    if args.resume and args.out is None:
        raise TinkerNomicsError("--resume: name the file to go on from too, --out FILE.npz")
    from ..cost_distribution.processes import membership

    # parts are separate runs, whatever starts them
    given = (args.coordinator, args.process_id, args.processes)
    if args.chunks is not None and given == (None, None, None):
        return None
    return membership(*given)


@contextmanager
def shared(args: argparse.Namespace, place: Membership | None) -> Iterator[None]:
    """Join the other processes of the run, where there are any. Whatever then goes wrong is told and ends this process
    at once: one that left in good order would first wait minutes for the others, who in turn wait for it.

    Args:
        args: of the command; they say whether to be quiet and whether progress is kept.
        place: as `place_of` says.
    """
    if place is None:
        yield
        return
    from jax.errors import JaxRuntimeError

    from ..cost_distribution.processes import join, leave

    join(place, not args.quiet)
    try:
        yield
    except JaxRuntimeError as error:
        again = " with --resume: what was done is kept" if args.out else ""
        text = str(error).partition("\n")[0][:200]
        leave(
            place,
            f"process {place.process_id} of {place.processes} lost another one, which stopped or cannot be reached "
            f"({text}); its own message says why. Start all of them again{again}",
        )
    except (TinkerNomicsError, OSError) as error:
        leave(place, f"process {place.process_id} of {place.processes}: {error}")


@contextmanager
def standard_output_aside(aside: bool) -> Iterator[None]:
    """Where `aside`, what libraries print on standard output is dropped: gloo tells there of each connection, in the
    middle of what may be JSON."""
    if not aside:
        yield
        return
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def seconds_between(args: argparse.Namespace) -> float:
    """The seconds of --every."""
    from ..quantities import parse_quantity

    seconds = parse_quantity(args.every, "s")
    if not 0 <= seconds < math.inf:
        raise TinkerNomicsError(f"--every {args.every}: a time of 0 s or more is expected, e.g. 30 s")
    return seconds


def progress_of(args: argparse.Namespace) -> Any:
    """The `progress` argument: False where --quiet is given, else as the terminal says."""
    return False if args.quiet else None
