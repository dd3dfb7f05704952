"""How much memory this machine can still give."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path


def available_bytes() -> int | None:
    """Bytes that can still be allocated, within the container's limit too; None where the system does not say."""
    known = [bytes_ for bytes_ in (_system(), _container()) if bytes_ is not None]
    return min(known) if known else None


def _system() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:  # no /proc: all there is, used or not
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _container() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return max(0, int(limit) - int(used)) if limit.isdigit() else None


def give_back_memory() -> None:
    """Hand memory that is freed but held by the C library back to the system, where that can be asked for.

    Compiling a program leaves some 100 MB of it behind.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl does not
        if trim is not None:
            trim(0)
