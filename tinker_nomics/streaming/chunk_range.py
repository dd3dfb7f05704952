"""The chunks of a run that a user names, as one of its parts."""

from __future__ import annotations

from ..errors import TinkerNomicsError


def chunk_range(chunks: range | str | None, total: int) -> range:
    """The chunks that a text or range names, of `total`; all when None."""
    if chunks is None:
        return range(total)
    if isinstance(chunks, range):
        found = chunks
    else:
        try:
            if "/" in chunks:
                part, parts = (int(word) for word in chunks.split("/"))
                if not 0 <= part < parts:
                    raise ValueError
                found = range(total * part // parts, total * (part + 1) // parts)
            else:
                first, stop = (int(word) for word in chunks.split(":"))
                found = range(first, stop)
        except ValueError:
            raise TinkerNomicsError(
                f"chunks = {chunks!r}: write FIRST:STOP, e.g. 0:{total}, or PART/PARTS, e.g. 3/64 (counted from 0)"
            ) from None
    if found.step != 1 or not 0 <= found.start < found.stop <= total:
        raise TinkerNomicsError(f"chunks = {chunks!r}: this run has the chunks 0:{total}; name some of them, in order")
    return found
