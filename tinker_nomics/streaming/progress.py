"""A progress bar on stderr for what takes longer than two seconds."""

from __future__ import annotations

import sys
import time

_PATIENCE, _INTERVAL, _WIDTH = 2.0, 0.2, 30


def _amount(value: float) -> str:
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {suffix}"
    return f"{value:.3g} "


class ProgressBar:
    """Share done, count, rate and time left, rewritten in place; erased at the end.

    Args:
        total: what there is to do.
        label: what is counted.
        shown: True or False, or None for "where stderr is a terminal".
        before: what of the total was done before; the rate does not count it.
    """

    def __init__(self, total: int, label: str, shown: bool | None = None, before: int = 0):
        self.total, self.label, self.before = total, label, before
        self.enabled = sys.stderr.isatty() if shown is None else shown
        self._started = self._last = time.monotonic()
        self._drawn = False

    def __enter__(self) -> ProgressBar:
        return self

    def show(self, done: int) -> None:
        """Draw the bar, when it is time for it."""
        now = time.monotonic()
        spent = now - self._started
        if not self.enabled or spent < _PATIENCE or now - self._last < _INTERVAL or done >= self.total:
            return
        self._last = now
        share, rate = done / self.total, (done - self.before) / spent
        full = int(_WIDTH * share)
        left = (self.total - done) / rate if rate > 0 else float("inf")
        bar = "#" * full + "." * (_WIDTH - full)
        text = f"{bar} {share:4.0%}  {_amount(done)}{self.label}, {_amount(rate)}/s, {left:.0f} s left"
        sys.stderr.write("\r" + text.ljust(100))
        sys.stderr.flush()
        self._drawn = True

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * 100 + "\r")
            sys.stderr.flush()
