"""The one error of reading and writing checkpoint headers."""

from __future__ import annotations

from tinker_nomics.errors import TinkerNomicsError


class GgufError(TinkerNomicsError):
    """A header that cannot be read, or something asked of it that it does not hold.

    Args:
        what: what is wrong, naming the key or the tensor.
        where: the place in words ("tensors[3]"), for input that has no byte offsets.
        offset: the byte at which the faulty item starts [B].
        allowed: what may stand there.
        bytes_needed: for input that ends too early, the fewest bytes from its start that could hold the header [B].
            Text lengths are unknown before they are read, so whoever fetches a file in steps takes the larger of this
            and twice what was there.
        source: the file's name, where there is one.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        offset: int | None = None,
        allowed: str = "",
        bytes_needed: int | None = None,
        source: str = "",
    ):
        self.what = what
        self.where = where or ("" if offset is None else f"byte {offset}")
        self.offset = offset
        self.allowed = allowed
        self.bytes_needed = bytes_needed
        self.source = source
        super().__init__(self._message())

    def _message(self) -> str:
        place = ", ".join(part for part in (self.source, f"at {self.where}" if self.where else "") if part)
        return (f"{place}: " if place else "") + self.what + (f"; allowed: {self.allowed}" if self.allowed else "")

    def within(self, source: str) -> GgufError:
        """The same error with the name of the file that it was met in."""
        named = type(self)(
            self.what,
            where=self.where,
            offset=self.offset,
            allowed=self.allowed,
            bytes_needed=self.bytes_needed,
            source=self.source or source,
        )
        return named
