"""The flags that say what is uncertain: PATH=distribution(...), as text."""

from __future__ import annotations

import argparse
import math
import re
from typing import TYPE_CHECKING, Any

from ..errors import TinkerNomicsError, listed
from ..parameters import canonical_path, nearest, registry

if TYPE_CHECKING:
    from ..config import Config
    from ..uncertainty import Distribution

# name -> (its arguments in words, constructor on the uncertainty module)
_FORMS = {
    "lognormal": ("P10, P50, P90 or P50, P90", "LogNormal"),
    "normal": ("mean, standard deviation, or these and low, high", "Normal"),
    "uniform": ("low, high", "Uniform"),
    "loguniform": ("low, high", "LogUniform"),
    "triangular": ("low, mode, high", "Triangular"),
    "pert": ("low, mode, high", "PERT"),
    "beta": ("a, b, low, high", "Beta"),
}
_CALL = re.compile(r"^\s*([A-Za-z_]+)\s*\((.*)\)\s*$")


def add_uncertain_arguments(group: Any) -> None:
    """Add --uncertain and --seed."""
    forms = "; ".join(f"{name}({words})" for name, (words, _) in _FORMS.items())
    group.add_argument(
        "--uncertain",
        action="append",
        default=[],
        metavar="PATH=DISTRIBUTION",
        help=f"an uncertain input, e.g. workload.length_growth=lognormal(1.1,1.5,3.0); {forms}. "
        "Without any: every declared range of what the run does not give itself",
    )
    group.add_argument("--seed", default="0", metavar="N", help="seed of the sample (default 0)")


def distributions_from(args: argparse.Namespace, config: Config) -> dict[str, Distribution]:
    """The distributions that the flags give, or every declared one of the configuration."""
    if args.uncertain:
        given = [parse_uncertain(text) for text in args.uncertain]
        twice = sorted({path for path, _ in given if [other for other, _ in given].count(path) > 1})
        if twice:
            raise TinkerNomicsError(f"--uncertain: {listed(twice)} is given twice; leave one out")
        return dict(given)
    from ..declared_ranges import declared_distributions, refuse_none

    found = declared_distributions(config)
    refuse_none(config, found)
    return found


def parse_uncertain(text: str) -> tuple[str, Distribution]:
    """(path, distribution) of "workload.length_growth=lognormal(1.1,1.5,3.0)"."""
    from .. import uncertainty

    path, equals, call = text.partition("=")
    match = _CALL.match(call)
    if not equals or match is None:
        raise TinkerNomicsError(
            f"--uncertain {text!r}: write PATH=DISTRIBUTION, e.g. workload.length_growth=lognormal(1.1,1.5,3.0)"
        )
    spelled = canonical_path(path.strip())
    name, inside = match.group(1).lower().replace("_", ""), match.group(2)
    if name not in _FORMS:
        raise TinkerNomicsError(
            f"--uncertain {text!r}: no distribution {name!r}; the nearest is "
            f"{nearest(name, _FORMS, 1)[0]}, there are {listed(_FORMS)}"
        )
    numbers = [registry()[spelled].parse(part.strip()) for part in inside.split(",")]
    words, constructor = _FORMS[name]
    whole = registry()[spelled].kind == "integer"
    kind = getattr(uncertainty, constructor)
    if name == "normal" and len(numbers) == 4 and not whole:
        mean, spread, low, high = numbers
        return spelled, uncertainty.Truncated(kind(mean, spread), low, high, source="as given")
    if name == "lognormal":
        makers = {3: kind.from_quantiles, 2: kind.from_median}
        maker = makers.get(len(numbers))
    else:
        maker = kind if len(numbers) == (2 if name == "normal" else len(words.split(","))) else None
    if maker is None:
        raise TinkerNomicsError(f"--uncertain {text!r}: {name} takes {words}, {len(numbers)} numbers are given")
    return spelled, maker(*numbers, integer=whole, source="as given")


def whole_from(flag: str, text: str) -> int:
    """A whole number as people write it: "65536", "1e7", "10_000_000"."""
    try:
        value = float(text.replace("_", "").replace(",", ""))
    except ValueError:
        value = math.nan
    if not math.isnan(value) and abs(value) >= 2**53:
        raise TinkerNomicsError(f"{flag} {text!r}: at most {2**53 - 1:,} (2^53 - 1) is allowed")
    if math.isnan(value) or value != int(value):
        raise TinkerNomicsError(
            f"{flag} {text!r}: a whole number is expected, in digits or with an exponent: 1000000 or 1e6, not 1M"
        )
    return int(value)
