"""The outputs that the analyses of a run look at, as one plain function of a Config."""

from __future__ import annotations

from typing import Any

from .config import Config
from .cost_model import evaluate
from .errors import TinkerNomicsError, listed
from .outputs import by_path
from .parameters import nearest

_LISTED = 12  # outputs that an error lists
OUTPUTS = ("tinker.total", "self_hosted.total", "self_hosted.hours", "difference.total")


def report_outputs(config: Config) -> dict[str, Any]:
    """{output: value} of the four outputs, traced."""
    estimate = evaluate(config)
    return {name: estimate[name] for name in OUTPUTS}


def every_output(config: Config) -> dict[str, Any]:
    """{output: value} of everything that an estimate holds, branches too, traced."""
    return by_path(evaluate(config))


def check_output(name: str, known: tuple[str, ...] = OUTPUTS) -> str:
    """`name` where it is one of `known`; else an error that names the nearest, and all of them or where they stand."""
    if name not in known:
        alike = nearest(str(name), known)
        more = f"there are {listed(known)}"
        if len(known) > _LISTED:
            more = f"then {listed(alike[1:])}; `tinker-nomics estimate RECIPE --json` shows all {len(known)}"
        raise TinkerNomicsError(f"no output {name!r}; the nearest is {alike[0]}, {more}")
    return name
