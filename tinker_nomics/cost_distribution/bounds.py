"""Uncertain inputs against the registry: a distribution gives only values that its parameter may have."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..config import Config, get, problems_of, set_paths
from ..errors import ConfigError, Problem
from ..parameters import Parameter, registry
from ..uncertainty import Distribution
from ..unread import why_unread

RARE = 1e-9  # probability outside a parameter's bounds that is let pass
USUAL = 0.9  # the quantile up to which every draw has to fit on the GPUs


def refuse_out_of_bounds(
    config: Config,
    distributions: Mapping[str, Distribution],
    what: str,
    quantiles: tuple[float, float] = (RARE, 1 - RARE),
    absent: bool = True,
) -> None:
    """Refuse distributions of what the run does not read, and of values that a parameter, alone or with the rest, may
    not have.

    Args:
        config: what everything else is taken from.
        distributions: {path: distribution}, paths as the registry spells them.
        what: the analysis, for the error.
        quantiles: the part of each distribution that the analysis looks at.
        absent: whether a parameter that the run has no value of may be varied.

    Raises:
        ConfigError: every such distribution, with the values that it gives.
    """
    problems: dict[str, Problem] = {}
    for path, distribution in distributions.items():
        parameter = registry()[path]
        why = why_unread(config, path, distributions)
        if why is not None:
            problems[path] = Problem(path, distribution.describe(), f"varying it changes nothing: {why}")
            continue
        if not absent and get(config, path) is None:
            problems[path] = Problem(path, None, "this run has no value to vary", f"Give {parameter.flag} one first.")
            continue
        low, high = (float(distribution.quantile(p)) for p in quantiles)
        if low < parameter.low or high > parameter.high or (parameter.open_low and low == parameter.low):
            problems[path] = Problem(
                path,
                distribution.describe(),
                f"it gives values from {low:.4g} to {high:.4g}, and {parameter.allowed}",
                f"Take e.g. Truncated(distribution, {_ends(parameter)}); on the command line uniform, triangular, pert and "
                "beta have ends, and normal takes them after its standard deviation.",
            )
            continue
        # a rare draw may not fit on the GPUs, and is then told of and left out; one in ten may not
        usual = min(float(distribution.quantile(USUAL)), high)
        for value, placed in ((high, False), (usual, True)):
            whole = round(value) if parameter.kind == "integer" else value
            for problem in problems_of(set_paths(config, {path: float(whole)}), placed):
                problems.setdefault(problem.path, problem)
    if problems:
        raise ConfigError(problems.values(), what)


def _ends(parameter: Parameter) -> str:
    high = f", high={parameter.high:g}" if math.isfinite(parameter.high) else ""
    return f"low={parameter.low:g}{high}"
