"""A window that moves forward over bytes from anywhere: a file, a buffer, or any object with `read`."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from .gguf_error import GgufError

CHUNK = 2**20
"""Bytes asked for at a time [B]: headers with a vocabulary are 5-16 MB, and only one chunk of them is held."""

MAX_STRING = 2**30
"""Longest string that llama.cpp reads [B] (0c1e57098, ggml/src/gguf.cpp)."""

_length = struct.Struct("<Q").unpack_from


class ByteWindow:
    """Reads forward, never back, holding one chunk; where the bytes end too early it says how many are needed.

    Args:
        read: `read(n)` returns up to n bytes, none at the end.
        size: bytes in all, where known [B].
        jump: `jump(n)` moves the source n bytes on without reading them, where it can.
    """

    def __init__(self, read: Callable[[int], Any], size: int | None = None, jump: Callable[[int], Any] | None = None):
        self._read = read
        self._jump = jump
        self.size = size
        self._buffer = b""
        self._base = 0  # offset of the buffer's first byte
        self._at = 0  # position in the buffer
        self.to_come = 0
        """Fewest bytes that must follow the item being read, for the count of bytes needed [B]."""

    @property
    def offset(self) -> int:
        """Bytes read so far [B]."""
        return self._base + self._at

    def peek(self) -> bytes:
        """The first chunk's bytes, without moving."""
        if not self._buffer:
            self._buffer = self._chunk(CHUNK)
        return self._buffer[self._at :]

    def take(self, count: int, what: str) -> bytes:
        """The next `count` bytes, which belong to `what`."""
        end = self._at + count
        if end > len(self._buffer):
            self._fill(count, what)
            end = count
        taken = self._buffer[self._at : end]
        self._at = end
        return taken

    def rest(self, most: int) -> bytes:
        """Everything from here to the end, or `most` bytes and one more where there is more than that."""
        pieces = [self._buffer[self._at :]]
        held = len(pieces[0])
        while held <= most and (piece := self._chunk(CHUNK)):
            pieces.append(piece)
            held += len(piece)
        return b"".join(pieces)[: most + 1]

    def skip(self, count: int, what: str, more: int = 0) -> None:
        """Move past `count` bytes, which belong to `what`, of which at least `more` follow."""
        held = len(self._buffer) - self._at
        if count <= held:
            self._at += count
            return
        if self.size is not None and self.offset + count > self.size:
            raise self.ended(self.size, count + more, what)
        goal = self.offset + count
        passed = self.offset + held
        if self._jump is not None and self.size is not None:
            self._jump(goal - passed)
            passed = goal
        piece = b""
        while passed < goal:
            piece = self._chunk(CHUNK)
            if not piece:
                raise self.ended(passed, count + more, what)
            passed += len(piece)
        self._buffer, self._at = piece, len(piece) - (passed - goal)
        self._base = goal - self._at

    def skip_strings(self, count: int, what: str) -> None:
        """Move past `count` strings (a length of 8 bytes, then that many bytes), which belong to `what`."""
        while count:
            buffer, at, done, length = self._buffer, self._at, 0, 0
            try:
                for done in range(count):  # noqa: B007
                    (length,) = _length(buffer, at)
                    at += 8 + length
                done = count
            except (struct.error, OverflowError):  # the next length is not in the buffer
                pass
            if length > MAX_STRING:
                raise too_long(self._base + at - 8 - length, length, f"a string of {what}")
            if done:
                beyond = at - len(buffer)
                self._at = min(at, len(buffer))
                count -= done
                if beyond > 0:
                    self.skip(beyond, what, 8 * count)
            if count:
                self._fill(8, what, 8 * count)

    def ended(self, end: int, count: int, what: str) -> GgufError:
        """The error for input that ends at `end` where `count` bytes of `what` should follow."""
        needed = self.offset + count + self.to_come
        return GgufError(
            f"the input ends at byte {end}, within {what}; the header needs at least {needed} bytes",
            offset=self.offset,
            allowed=f"a whole file, or at least its first {needed} bytes",
            bytes_needed=needed,
        )

    def _fill(self, count: int, what: str, least: int = 0) -> None:
        """Have `count` bytes in the buffer from here on; `least` is what the item takes at least, for the error."""
        if self.size is not None and self.offset + count > self.size:
            raise self.ended(self.size, max(count, least), what)
        pieces = [self._buffer[self._at :]]
        held = len(pieces[0])
        while held < count:
            piece = self._chunk(CHUNK)
            if not piece:
                raise self.ended(self.offset + held, max(count, least), what)
            pieces.append(piece)
            held += len(piece)
        self._base += self._at
        self._buffer, self._at = b"".join(pieces), 0

    def _chunk(self, count: int) -> bytes:
        try:
            piece = self._read(count)
        except UnicodeDecodeError:  # of a file that was opened as text, whose bytes are none
            piece = ""
        if isinstance(piece, str):
            raise GgufError("the source gives text", allowed='bytes: open the file in binary mode, open(path, "rb")')
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise GgufError(f"the source's read gave a {type(piece).__name__}", allowed="bytes, b'' at the end only")
        return bytes(piece)


def too_long(offset: int, length: int, what: str) -> GgufError:
    """The error for a string that declares more bytes than any has."""
    return GgufError(f"{what} has a declared length of {length} bytes", offset=offset, allowed=f"up to {MAX_STRING}")
