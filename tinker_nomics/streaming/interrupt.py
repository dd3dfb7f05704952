"""Ctrl-C as a request: the run ends after the work in hand and returns what is done."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupt:
    """Within the block the first Ctrl-C sets `asked`; a second one raises KeyboardInterrupt as usual.

    Only the main thread can take signals: elsewhere, and where Ctrl-C is ignored, the block changes nothing.
    """

    def __init__(self) -> None:
        self.asked = False
        self._previous: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            previous = signal.getsignal(signal.SIGINT)
            if previous not in (signal.SIG_IGN, None):
                self._previous = previous
                signal.signal(signal.SIGINT, self._take)
        return self

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
