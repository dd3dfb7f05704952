"""Parameters that a run gives and no formula of it reads: which they are, why, and what is read in their place.

Which parameters an edition reads stands in the registry; a test holds that to what the model's outputs really depend on.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from .errors import listed
from .parameters import Parameter, registry

if TYPE_CHECKING:
    from .config import Config


def why_unread(config: Config, path: str, varied: Collection[str] = ()) -> str | None:
    """Why no formula of this run reads a parameter, and what it reads instead, in words; None where one does.

    Args:
        varied: parameters and choices that take several values, so that a condition on them may hold for some.
    """
    parameter = registry()[path]
    reason = _reason(config, parameter, varied)
    if reason is None:
        return None
    instead = [other for other in parameter.instead if used(config, other)]
    return reason + (f"; {listed(instead)} {'takes' if len(instead) == 1 else 'take'} its place" if instead else "")


def used(config: Config, path: str) -> bool:
    """Whether a formula of this run reads `path`: of its edition, its schedule, its training and its model."""
    return _reason(config, registry()[path], ()) is None


def unread_overrides(config: Config) -> tuple[tuple[str, str], ...]:
    """(path, why) of every parameter that the run overrides and does not read."""
    found = ((path, why_unread(config, path)) for path in config.provenance.overridden)
    return tuple((path, why) for path, why in found if why is not None)


def unread_notes(config: Config) -> list[str]:
    """A sentence for each parameter that the run overrides and does not read."""
    return [f"{path} changes nothing: {why}" for path, why in unread_overrides(config)]


def _reason(config: Config, parameter: Parameter, varied: Collection[str]) -> str | None:
    return (
        _by_edition(config, parameter) or _by_choices(config, parameter, varied) or _by_value(config, parameter, varied)
    )


def _by_edition(config: Config, parameter: Parameter) -> str | None:
    assumptions = config.assumptions
    if parameter.read_by(assumptions):
        return None
    edition = assumptions.edition
    if parameter.unless:
        names = listed(parameter.unless)
        base = "published" if edition.startswith("published") else "revised"
        off = ",".join((base, *(f"-{switch}" for switch in parameter.unless)))
        return (
            f"the edition is {edition}, and {names} {_do(parameter.unless)} without it (--assumptions {off} reads it)"
        )
    on = f"published,{parameter.switches[0]}" if edition == "published" else "revised"
    names = listed(parameter.switches)
    return f"the edition is {edition}, and only {names} {_do(parameter.switches)} with it (--assumptions {on} reads it)"


def _do(names: Collection[str]) -> str:
    return "works" if len(names) == 1 else "work"


def _by_choices(config: Config, parameter: Parameter, varied: Collection[str]) -> str | None:
    if parameter.training and "lora.training" not in varied and config.lora.training != parameter.training:
        return f"only {parameter.training} training reads it, and lora.training is {config.lora.training}"
    k = config.schedule.max_steps_off_policy
    if not parameter.schedules or "schedule.kind" in varied or not isinstance(k, int | float):
        return None
    if config.schedule.kind == "auto" and "schedule.max_steps_off_policy" in varied:
        return None
    if config.schedule_kind in parameter.schedules:
        return None
    return (
        f"only the schedule {' or '.join(parameter.schedules)} reads it, and this run's is {config.schedule_kind} "
        f"(k = {k:g})"
    )


def _by_value(config: Config, parameter: Parameter, varied: Collection[str]) -> str | None:
    needs = parameter.needs
    if needs is None or needs.path in varied or "model" in varied:
        return None
    value: Any = config
    for name in needs.path.split("."):
        value = getattr(value, name)
    if value is None or not isinstance(value, int | float) or needs.holds(value):
        return None
    return f"{needs.path} is {value:g} here, and it is read only where that is {needs.in_words}"
