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


DISCARDED = "without discarded groups"

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


def run_in_words(choices: Mapping[str, str | None], gpus: float | None) -> str:
    """ "math_rl on Qwen/Qwen3-8B, 8 x h100-sxm"; without the count where `gpus` is None."""
    run = f"{choices.get('recipe') or 'a run of your own'} on {choices.get('model') or 'a model of your own'}"
    count = "" if gpus is None else f"{gpus:g} x "
    return f"{run}, {count}{choices.get('chip') or 'a GPU of your own'}"


def leaves_discards_out(config: Config, varied: Collection[str] = ()) -> bool:
    """Whether Tinker's total holds no group thrown away as too stale, since their share is known as a range only.

    Args:
        varied: parameters that are given as distributions and so known.
    """
    known = (config.schedule.rho is not None or "schedule.rho" in varied) and (
        config.schedule.variation is not None or "schedule.variation" in varied
    )
    return config.assumptions.staleness_queue is True and config.schedule_kind == "async" and not known


def sides_of(config: Config) -> dict[str, str]:
    """{output: its title} of both totals, with what is left out of one."""
    return {**SIDES, "tinker.total": f"Tinker {DISCARDED}"} if leaves_discards_out(config) else dict(SIDES)


def spans(low: Mapping[str, float], high: Mapping[str, float], sides: Mapping[str, str] = SIDES) -> str:
    """ "Tinker $420.81 to $718.65, own GPUs $53.06 to $109.49"."""
    return ", ".join(f"{title} {span(low[name], high[name], 'USD')}" for name, title in sides.items() if name in low)


def span(low: float, high: float, unit: str) -> str:
    """ "$420.81 to $718.65"; an end among runs that do not fit has no number."""
    if math.isinf(high):
        return (
            f"{show(low, unit)} to more than fits on the GPUs" if math.isfinite(low) else "more than fits on the GPUs"
        )
    if show(low, unit) == show(high, unit):
        return f"{show(low, unit)} throughout"
    return f"{show(low, unit)} to {show(high, unit)}"


def ends(low: Mapping[str, float], high: Mapping[str, float]) -> dict[str, dict[str, float | None]]:
    """{output: {"p10": value, "p90": value}} for JSON, which has no infinity: None in its place."""
    pairs = {name: {"p10": low[name], "p90": high[name]} for name in low}
    return {name: {p: x if math.isfinite(x) else None for p, x in pair.items()} for name, pair in pairs.items()}


def range_in_words(
    low: Mapping[str, float],
    high: Mapping[str, float],
    count: int,
    sides: Mapping[str, str] = SIDES,
    held: Collection[str] = (),
    totals: Mapping[str, float] | None = None,
) -> str:
    """The P10 and P90 of the totals, or that there is no range.

    Args:
        low, high: {output: P10}, {output: P90}.
        count: inputs that were varied.
        sides: {output: its title} of the totals to name.
        held: parameters with a declared range that the run gives itself.
        totals: {output: value} of the run itself, to say so where it lies beyond its own range.
    """
    given = f"; {listed(held)} as given" if held else ""
    if not count:
        return f"no range: nothing {'else ' if held else ''}uncertain in it has a declared one{given}"
    inputs = "uncertainty" if count == 1 else "uncertainties"
    text = f"P10-P90 over {count} declared {inputs}{given}: {spans(low, high, sides)}"
    return text + "".join(_beyond(name, title, low, high, totals or {}) for name, title in sides.items())


def _beyond(
    name: str, title: str, low: Mapping[str, float], high: Mapping[str, float], totals: Mapping[str, float]
) -> str:
    """A clause where a total of the run's own values is none of its range."""
    if name not in totals or name not in low:
        return ""
    total, slack = totals[name], 1e-6 * abs(totals[name])
    if low[name] - slack <= total <= high[name] + slack:
        return ""
    side = "below" if total < low[name] else "above"
    where = f"; the run's own {show(total, 'USD')} for {title} lies {side} that"
    return where + ", since its values are at an end of the declared ranges"


def headline(
    config: Config,
    totals: Mapping[str, float],
    low: Mapping[str, float],
    high: Mapping[str, float],
    count: int,
    held: Collection[str] = (),
) -> str:
    """Both bills of a run in a line, and in a second one what they stand for."""
    sides, apart = sides_of(config), f" {DISCARDED}" if leaves_discards_out(config) else ""
    chip = config.provenance.choices.get("chip") or "a GPU of your own"
    bills = (
        f"Tinker {show(totals['tinker.total'], 'USD')}{apart}; {config.cluster.gpus:g} x {chip} "
        f"{show(totals['self_hosted.total'], 'USD')} in {totals['self_hosted.hours']:,.2f} h"
    )
    return f"{bills}\n{standing(config)}; {range_in_words(low, high, count, sides, held, totals)}"
