"""The ranges over which a configuration's parameters may vary: uncertainties by their source, levers by their step."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from . import catalog
from .catalog.rent_table import OWN
from .config import Config, get
from .errors import TinkerNomicsError, listed, shown
from .parameters import DeclaredRange, Parameter, canonical_path, registry
from .uncertainty import Distribution, LogNormal, Normal, Triangular, Truncated, Uniform
from .uncertainty.distribution_base import Z90
from .unread import used

_RARE = 1e-9
RENT = "cluster.price_per_gpu_hour"
LOW, HIGH = 0.1, 0.9  # the quantiles between which every bar of a tornado runs


@dataclass(frozen=True)
class Span:
    """The values between which one parameter is varied.

    Args:
        role: "uncertainty" (P10 to P90 of `distribution`) or "lever" (a natural step down and up).
        low, high: the two ends, in the parameter's unit.
        source: where the range comes from, in words.
        distribution: the declared distribution; None for a lever.
    """

    role: str
    low: float
    high: float
    source: str
    distribution: Distribution | None = None


def distribution_of(declared: DeclaredRange, parameter: Parameter) -> Distribution:
    """A registry's range as a distribution, cut where it would leave the parameter's bounds.

    A uniform one that is given by its P10 and P90 reaches beyond them on either side.
    """
    found = _shape(declared, parameter)
    if parameter.kind == "integer":
        return found
    low, high = float(found.quantile(_RARE)), float(found.quantile(1 - _RARE))
    if parameter.low < low and high <= parameter.high:
        return found
    return Truncated(
        found,
        parameter.low if low <= parameter.low else None,
        parameter.high if high > parameter.high else None,
        source=found.source,
    )


def _shape(declared: DeclaredRange, parameter: Parameter) -> Distribution:
    figures, whole = declared.figures, parameter.kind == "integer"
    if declared.distribution == "normal":
        spread = (figures["p90"] - figures["p10"]) / (2 * Z90)
        return Normal((figures["p10"] + figures["p90"]) / 2, spread, integer=whole, source=declared.source)
    if declared.distribution == "uniform" and "p10" in figures:
        beyond = (figures["p90"] - figures["p10"]) / 8
        low, high = max(figures["p10"] - beyond, parameter.low), min(figures["p90"] + beyond, parameter.high)
        return Uniform(low, high, integer=whole, source=declared.source)
    if declared.distribution == "log_normal":
        return LogNormal.from_quantiles(**figures, integer=whole, source=declared.source)
    if declared.distribution == "triangular":
        return Triangular(**figures, integer=whole, source=declared.source)
    return Uniform(**figures, integer=whole, source=declared.source)


def declared_distributions(config: Config, given: Mapping[str, Distribution] | None = None) -> dict[str, Distribution]:
    """{path: distribution} of what is uncertain about a run: declared ranges of parameters that the caller did not give.

    Args:
        config: the configuration; conditions are read from it. A parameter that it overrides is held at its value.
        given: distributions of the caller's own; they win, over an overridden value too.

    A rent varies over the catalog's on-demand offers for the chip near the run's date.
    """
    found = {path: drawn for path, drawn in _declared(config).items() if path not in config.provenance.overridden}
    return found | {canonical_path(path): distribution for path, distribution in (given or {}).items()}


def held(config: Config, varied: Collection[str]) -> tuple[str, ...]:
    """The parameters with a declared range that a run gives itself, so that they are not varied.

    Args:
        varied: what is varied all the same.
    """
    return tuple(path for path in _declared(config) if path in config.provenance.overridden and path not in varied)


def refuse_none(config: Config, distributions: Mapping[str, Distribution]) -> None:
    """Raise where no declared range is left to vary: what is held, and what to do."""
    if distributions:
        return
    fixed = held(config, ())
    what = f"this run gives {listed(fixed)} itself, and no source declares a range of anything else that it reads"
    raise TinkerNomicsError(
        (what if fixed else "no source declares a range for this run")
        + "; give --uncertain PATH=uniform(low,high), or distributions={path: tn.Uniform(low, high)}"
    )


def _declared(config: Config) -> dict[str, Distribution]:
    """{path: distribution} of every uncertain parameter whose range is declared and whose condition holds here."""
    found: dict[str, Distribution] = {}
    for path, parameter in registry().items():
        if parameter.role != "uncertainty" or get(config, path) is None or not used(config, path):
            continue
        for declared in parameter.ranges:
            condition = declared.condition
            if condition is None or condition.holds(get(config, condition.path)):
                found[path] = distribution_of(declared, parameter)
                break
    rent = _rent_range(config)
    if rent is not None:
        found[RENT] = rent
    return found


def _rent_range(config: Config) -> Distribution | None:
    chip, date = (config.provenance.choices.get(name) for name in ("chip", "prices"))
    if chip is None or date is None:
        return None
    if config.provenance.labels.get(RENT, "").startswith(OWN):
        return None
    try:
        rows = catalog.rent(chip, date).rows
    except TinkerNomicsError:
        return None
    rates = sorted(row.usd_per_hour for row in rows)
    if len(rates) < 2 or rates[0] == rates[-1]:
        return None
    days = sorted(str(row.date) for row in rows)
    return Uniform(rates[0], rates[-1], source=f"{len(rates)} on-demand offers of {days[0]} to {days[-1]}")


def lever_span(parameter: Parameter, value: float | None) -> Span | None:
    """One natural step of a lever down and up, cut to its bounds; None for a value that a step does not move."""
    if parameter.role != "lever" or value is None:
        return None
    if parameter.step == "x2":
        low, high, words = value / 2, value * 2, "half and double"
        if parameter.kind == "integer":
            low = math.ceil(low)
    else:
        low, high, words = value - 1, value + 1, "one less and one more"
    low, high = max(low, parameter.low), min(high, parameter.high)
    if low == high or (low, high) == (value, value):
        return None
    return Span("lever", float(low), float(high), words)


def spans(
    config: Config, given: Mapping[str, Distribution] | None = None, relative: str | None = None
) -> tuple[dict[str, Span], tuple[str, ...]]:
    """The span of every parameter that has one, and the uncertainties that have none.

    Args:
        given: distributions of the caller's own.
        relative: e.g. "10%": another question altogether, in which every uncertainty without a declared range is moved by
            that share of its value, and says so.
    """
    found: dict[str, Span] = {}
    overridden = config.provenance.overridden
    # a bar asks what a parameter would do over its range, also where the run gives it a value; a rent is not asked for
    asked = {path: drawn for path, drawn in _declared(config).items() if path != RENT or path not in overridden}
    for path, distribution in (asked | declared_distributions(config, given)).items():
        low, high = float(distribution.quantile(LOW)), float(distribution.quantile(HIGH))
        found[path] = Span("uncertainty", low, high, distribution.source or distribution.describe(), distribution)
    undeclared = []
    for path, parameter in registry().items():
        value = get(config, path)
        if path in found or value is None or not used(config, path):
            continue
        if parameter.role == "lever":
            span = lever_span(parameter, value)
            if span is not None:
                found[path] = span
        elif parameter.role == "uncertainty":
            undeclared.append(path)
            if relative is not None and value != 0:
                found[path] = _relative(parameter, value, relative)
    return found, tuple(undeclared)


def _relative(parameter: Parameter, value: float, relative: str) -> Span:
    try:
        share = float(relative.strip().rstrip("%")) / 100
    except (AttributeError, ValueError):
        share = math.nan
    if not 0 < share < 1 or not relative.strip().endswith("%"):
        raise TinkerNomicsError(f'range = {relative!r}: write a share between 0% and 100%, e.g. "10%"')
    low, high = max(value * (1 - share), parameter.low), min(value * (1 + share), parameter.high)
    return Span("uncertainty", low, high, f"+-{share:.0%}, as asked; no source declares a range")


def check_distributions(given: Mapping[str, object]) -> dict[str, Distribution]:
    """`given` with canonical paths, or one error that names every path and value that will not do."""
    if not isinstance(given, Mapping):
        raise TinkerNomicsError(
            f"distributions = {shown(given)}: a mapping is expected, {{path: tn.Uniform(low, high)}}"
        )
    wrong = [
        f"{path}: {value!r} is no distribution" for path, value in given.items() if not isinstance(value, Distribution)
    ]
    if wrong:
        raise TinkerNomicsError(f"{listed(wrong)}; give e.g. tn.Uniform(low, high)")
    return {canonical_path(path): value for path, value in given.items()}  # type: ignore[misc]
