"""USD per million decoded tokens: time is the price, dollars follow from a rent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..errors import Problem, TinkerNomicsError
from ..quantities import parse_quantity
from .refusal import DecodeRefusal

if TYPE_CHECKING:
    from ..hardware.chip import Chip
    from .pricing import DecodeCost

_SECONDS_PER_HOUR = 3600.0
Basis = Literal["prediction", "floor"]


class KnownRent(NamedTuple):
    """A rent of the catalog.

    Args:
        usd_per_hour: USD per chip-hour; None where the catalog has none.
        origin: whose it is and of which day, or why there is none.
        source: where it is read; empty where there is none.
    """

    usd_per_hour: float | None
    origin: str
    source: str = ""


def known_rent(chip: Chip, date: str | None = None, provider: str | None = None) -> KnownRent:
    """The rent of a chip, or why there is none: its own where it states one, else the catalog's of that very chip.

    Args:
        chip: the chip.
        date: the day (ISO) to rent on, as `catalog.rent` takes it; None takes the newest that the catalog has.
        provider: whose rent; None takes the median over providers.

    Raises:
        CatalogError: `date` is no date.
    """
    from ..catalog.dates import parse_date
    from ..catalog.lookup import CatalogError
    from ..catalog.rent_table import OWN, rent_of

    day = None if date is None else parse_date(date)
    try:
        found = rent_of(chip, day, provider)
    except CatalogError as error:
        return KnownRent(None, str(error))
    if found.provider == OWN:
        return KnownRent(found.usd_per_hour, ", ".join(text for text in (OWN, found.date) if text), found.source.text)
    if day is not None and parse_date(found.date) > day:
        whose = f" from {found.provider}" if provider is not None else ""
        return KnownRent(None, f"no rent of {chip.id}{whose} is known on {day}: the earliest is of {found.date}")
    origin = f"{found.provider}, {found.date}"
    return KnownRent(float(found.usd_per_hour), origin, f"{found.source.text}: {found.source.document}")


def as_rent(given: object, name: str) -> float:
    """A rent as given by a user, a number or text such as "$2.50/h" [USD per chip-hour].

    Raises:
        TinkerNomicsError: it is no number, not finite, or negative.
    """
    value = parse_quantity(given, "USD/h")
    if not 0.0 <= value < math.inf:
        raise TinkerNomicsError(str(Problem(name, given, "0 or more [USD per chip-hour]")))
    return value


def usd_per_million_tokens(
    cost: DecodeCost,
    usd_per_hour: float | str | None = None,
    *,
    basis: Basis | None = None,
    date: str | None = None,
    provider: str | None = None,
) -> float:
    """USD per million decoded tokens on a rented machine.

    $$USD = \\frac{rent \\cdot chips}{3600}\\, \\frac{seconds}{sequences}\\, 10^6$$

    Args:
        cost: what `price` returned.
        usd_per_hour: rent of one chip [USD per chip-hour], or text such as "$2.50/h"; None takes the machine's, else the
            chip's own, else the newest of the catalog (`catalog.rent` tells by which rule).
        basis: "prediction" or "floor"; None takes the prediction where there is one, else the floor. **The result is then
            a lower bound**, which a plain number does not show: `cost.basis` says which of the two it is.
        date, provider: take the catalog's rent on that day (ISO) or of that provider, whatever the machine's own is.

    Returns:
        USD per million tokens of output, for a machine that decodes without a pause.

    Raises:
        DecodeRefusal: no rent is known, the prediction is asked for and refused, or nothing that bounds the time is
            declared; with the reason.
        TinkerNomicsError: a rent that is negative or no number, one beside a date or provider, no such basis or date.
    """
    from .pricing import DecodeCost

    if not isinstance(cost, DecodeCost):
        raise TinkerNomicsError(str(Problem("cost", cost, "what price(step, machine) returns")))
    if basis not in (None, "prediction", "floor"):
        raise TinkerNomicsError(str(Problem("basis", basis, "'prediction', 'floor' or None")))
    chip = cost.machine.chip
    where = f"USD per million tokens on {cost.machine.count} x {chip.id}"
    chosen = date is not None or provider is not None
    if chosen and usd_per_hour is not None:
        allowed = "a rent, or the date and provider of one in the catalog"
        raise TinkerNomicsError(str(Problem("usd_per_hour", usd_per_hour, allowed, "Leave one of them out.")))
    own = None if chosen else cost.machine.rent
    rent = own if usd_per_hour is None else as_rent(usd_per_hour, "usd_per_hour")
    if rent is None:
        rent, origin, _ = known_rent(chip, date, provider)
        if rent is None:
            raise DecodeRefusal(where, (f"no rent is known ({origin}); give usd_per_hour",))
    if basis == "prediction" and cost.refusal is not None:
        raise DecodeRefusal(where, cost.refusal.reasons)
    seconds = cost.floor if basis == "floor" else cost.seconds
    if seconds is None:
        raise DecodeRefusal(where, cost.refusal.reasons if cost.refusal is not None else ("nothing bounds the time",))
    return rent * cost.machine.count / _SECONDS_PER_HOUR * seconds / cost.sequences * 1e6
