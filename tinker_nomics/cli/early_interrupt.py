"""Ctrl-C while modules are loaded ends the program at once and in words."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LOADER = "<frozen importlib._bootstrap>"


@contextmanager
def ending_at_once(message: str) -> Iterator[None]:
    """Within the block Ctrl-C in the middle of an import writes `message` and ends the process with status 130; elsewhere
    it raises KeyboardInterrupt as usual.

    Raised into an extension module that is being loaded, KeyboardInterrupt ends jaxlib in a crash or is swallowed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, or somebody's own
        yield
        return

    def take(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_filename == _LOADER:
                os.write(2, f"{message}\n".encode())
                os._exit(130)
            frame = frame.f_back
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, take)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
