"""JAX's compilation cache in the user's private cache folder; only the command line sets it."""

from __future__ import annotations

import os
from pathlib import Path


def use_compilation_cache() -> None:
    """Keep compiled programs from call to call, so that a second call of a command starts faster.

    The folder is the user's own and private, since a cached program is code that will run; where it is not, or cannot
    be made, there is no cache. `TINKER_NOMICS_CACHE` names another folder, or "off".
    """
    given = os.environ.get("TINKER_NOMICS_CACHE")
    if given == "off":
        return
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(given) if given else Path(base) / "tinker_nomics" / "compiled"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except (OSError, RuntimeError):
        return
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return
    import jax

    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
