"""Finding a row by a name as people write it, and the errors of the catalog."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from ..errors import TinkerNomicsError, listed


class CatalogError(TinkerNomicsError):
    """A name, a date or a row that the catalog does not have."""


def plain(name: str) -> str:
    """`name` without case and punctuation: "NVIDIA H100-SXM" and "h100 sxm" differ only by the vendor."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def tail(name: str) -> str:
    """The part after the last slash, which most people leave off: "Qwen/Qwen3-8B" -> "Qwen3-8B"."""
    return name.rsplit("/", 1)[-1]


def nearest(name: str, ids: Iterable[str], count: int = 3, aliases: Mapping[str, str] | None = None) -> list[str]:
    """The `count` ids that `name` is most like, by their own plain names or their aliases', best first."""
    known = {identity: identity for identity in ids} | dict(aliases or {})
    wanted = plain(tail(name))

    def likeness(candidate: str) -> tuple[float, str]:
        other = plain(tail(candidate))
        score = difflib.SequenceMatcher(None, wanted, other).ratio()
        return -(score + (0.5 if wanted and (wanted in other or other in wanted) else 0.0)), candidate

    return list(dict.fromkeys(known[candidate] for candidate in sorted(known, key=likeness)))[:count]


def find(name: object, ids: Iterable[str], what: str, aliases: Mapping[str, str] | None = None) -> str:
    """The id that `name` means.

    Args:
        name: an id as people write it; case, punctuation and the part before the slash are forgiven.
        ids: the ids of the table.
        what: the kind of row for the errors, e.g. "model".
        aliases: further names, each with its id.

    Returns:
        The id.

    Raises:
        CatalogError: no such row (names the nearest three) or several that fit (names them).
    """
    ids = list(ids)
    names = {identity: identity for identity in ids} | dict(aliases or {})
    if not isinstance(name, str) or not plain(name):
        raise CatalogError(f"{name!r} names no {what}; the nearest are {listed(ids[:3])}")
    if name in names:
        return names[name]
    for key in (plain, lambda text: plain(tail(text))):
        fits = {names[candidate] for candidate in names if key(candidate) == key(name)}
        if len(fits) == 1:
            return fits.pop()
        if fits:
            raise CatalogError(f"{name!r} fits several {what} rows: {listed(sorted(fits))}; write one of them")
    raise CatalogError(
        f"no {what} {name!r} in the catalog; the nearest are {listed(nearest(name, ids, aliases=aliases))}"
    )
