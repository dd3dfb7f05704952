"""The chunks of a run that a user names, as one of its parts."""

from __future__ import annotations

from ..errors import TinkerNomicsError, shown


def chunk_range(chunks: range | str | None, total: int) -> range:
    """The chunks that a text or range names, of `total`; all when None.

    Raises:
        TinkerNomicsError: neither, none of the run's chunks, or more parts than there are chunks.
    """
    if chunks is None:
        return range(total)
    if isinstance(chunks, range):
        found = chunks
    elif isinstance(chunks, str):
        found = _part_of(chunks, total) if "/" in chunks else range(*_whole_numbers(chunks, ":", total))
    else:
        raise TinkerNomicsError(f"chunks = {shown(chunks)}: a range or a text is expected, e.g. '0:{total}' or '3/64'")
    if found.step != 1 or not 0 <= found.start < found.stop <= total:
        raise TinkerNomicsError(f"chunks = {chunks!r}: this run has the chunks 0:{total}; name some of them, in order")
    return found


def _part_of(text: str, total: int) -> range:
    part, parts = _whole_numbers(text, "/", total)
    if not 0 <= part < parts:
        raise _unread(text, total)
    if parts > total:
        chunks, most = (f"{total:,} {word}{'s' * (total > 1)}" for word in ("chunk", "part"))
        raise TinkerNomicsError(
            f"chunks = {text!r}: this run has {chunks}, so {most} at most; ask for no more than that"
        )
    return range(total * part // parts, total * (part + 1) // parts)


def _whole_numbers(text: str, between: str, total: int) -> tuple[int, int]:
    try:
        first, second = (int(word) for word in text.split(between))
    except ValueError:
        raise _unread(text, total) from None
    return first, second


def _unread(text: str, total: int) -> TinkerNomicsError:
    return TinkerNomicsError(
        f"chunks = {text!r}: write FIRST:STOP, e.g. 0:{total}, or PART/PARTS, e.g. 3/64 (counted from 0)"
    )
