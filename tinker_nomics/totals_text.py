"""What every printed total says of itself: its edition, the date of its prices, and its range. Read without JAX."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from .errors import listed
from .quantities import show

if TYPE_CHECKING:
    from .config import Config

SIDES = {"tinker.total": "Tinker", "self_hosted.total": "own GPUs"}


_BILLED = ("prices.prefill", "prices.sample", "prices.train")


def edition_and_prices(edition: str, price_list: str | None, overridden: Collection[str] = ()) -> str:
    """ "edition revised, prices of 2026-10-07".

    Args:
        overridden: parameters that the run gives itself; prices among them are the caller's and not of the list.
    """
    return f"edition {edition}, {_prices(price_list, overridden)}"


def _prices(price_list: str | None, overridden: Collection[str]) -> str:
    own = [path for path in overridden if path.startswith("prices.") and path != "prices.storage"]
    if not price_list or set(_BILLED) <= set(own):
        return "prices of your own"
    return f"prices of {price_list}" + (f" but for {listed(own)}" if own else "")


def prices_of(config: Config) -> str:
    """ "prices of 2026-10-07", or of the caller's own."""
    return _prices(config.provenance.choices.get("price_list"), config.provenance.changed)


def standing(config: Config) -> str:
    """The edition and the price date of a run, in words."""
    provenance = config.provenance
    return edition_and_prices(config.assumptions.edition, provenance.choices.get("price_list"), provenance.changed)


def spans(low: Mapping[str, float], high: Mapping[str, float], sides: Mapping[str, str] = SIDES) -> str:
    """ "Tinker $420.81 to $718.65, own GPUs $53.06 to $109.49"."""
    return ", ".join(f"{title} {span(low[name], high[name], 'USD')}" for name, title in sides.items() if name in low)


def span(low: float, high: float, unit: str) -> str:
    """ "$420.81 to $718.65"; an end among runs that do not fit has no number."""
    if math.isinf(high):
        return (
            f"{show(low, unit)} to more than fits on the GPUs" if math.isfinite(low) else "more than fits on the GPUs"
        )
    return f"{show(low, unit)} to {show(high, unit)}"


def ends(low: Mapping[str, float], high: Mapping[str, float]) -> dict[str, dict[str, float | None]]:
    """{output: {"p10": value, "p90": value}} for JSON, which has no infinity: None in its place."""
    pairs = {name: {"p10": low[name], "p90": high[name]} for name in low}
    return {name: {p: x if math.isfinite(x) else None for p, x in pair.items()} for name, pair in pairs.items()}


def range_in_words(
    low: Mapping[str, float], high: Mapping[str, float], count: int, sides: Mapping[str, str] = SIDES
) -> str:
    """The P10 and P90 of the totals, or that there is no range.

    Args:
        low, high: {output: P10}, {output: P90}.
        count: inputs that were varied.
        sides: {output: its title} of the totals to name.
    """
    if not count:
        return "no range: nothing uncertain in it has a declared one"
    inputs = "uncertainty" if count == 1 else "uncertainties"
    return f"P10-P90 over {count} declared {inputs}: {spans(low, high, sides)}"


def headline(
    config: Config,
    totals: Mapping[str, float],
    low: Mapping[str, float],
    high: Mapping[str, float],
    count: int,
) -> str:
    """Both bills of a run in a line, and in a second one what they stand for."""
    chip = config.provenance.choices.get("chip") or "a GPU of your own"
    bills = (
        f"Tinker {show(totals['tinker.total'], 'USD')}; {config.cluster.gpus:g} x {chip} "
        f"{show(totals['self_hosted.total'], 'USD')} in {totals['self_hosted.hours']:,.2f} h"
    )
    return f"{bills}\n{standing(config)}; {range_in_words(low, high, count)}"
