"""The one place where the package enters float64: JAX's own flag is set for the length of a call and put back."""

from __future__ import annotations

from contextlib import AbstractContextManager

import jax


def x64() -> AbstractContextManager:
    """A context in which JAX computes in float64; the caller's flags are as before on leaving it.

    It holds for the thread that enters it: a worker thread has to enter it too. Inputs become NumPy float64 before it
    (arrays sharded outside and used inside it crash JAX 0.10).
    """
    return jax.enable_x64(True)
