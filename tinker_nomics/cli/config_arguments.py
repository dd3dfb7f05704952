"""The flags that describe a run, shared by every command that prices one."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ..editions import DEFAULT_EDITION
from ..errors import TinkerNomicsError, listed
from ..parameters import canonical_path, registry

if TYPE_CHECKING:
    from ..config import Config

_CHOICES = {
    "model": "a model of the catalog, or a file of your own: TOML, config.json, GGUF, ledger",
    "chip": "a chip of the catalog, or a TOML file of your own (default h100-sxm)",
    "prices": "the date of the run: picks the price list and the rent; or a TOML file (default: the newest list)",
    "provider": "who rents the GPUs out (default: the median of on-demand offers); --rent is the same",
    "sandbox": "who runs the rollouts' code: modal, sandboxfusion, none (default: the recipe's)",
    "schedule": "auto, sync, stream_minibatch, async or partial (default auto: sync at k = 0, async above)",
    "training": "lora or full (default lora)",
    "assumptions": f"edition of the model, published or revised, or a list of switches (default {DEFAULT_EDITION})",
}

_KINDS = ("schedule.kind", "lora.training")


class _Once(argparse.Action):
    """A flag that may be repeated with the same value only: two prices cannot both be meant."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        before = getattr(namespace, self.dest, None)
        if before is not None and before != values:
            parser.error(f"{option_string} is given twice, {before!r} and {values!r}; leave one out")
        setattr(namespace, self.dest, values)


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Add RECIPE, --config, the choices, --set and one flag for every parameter path."""
    parser.add_argument("recipe", nargs="?", metavar="RECIPE", help="a recipe of the catalog, e.g. math_rl")
    parser.add_argument("--config", metavar="RUN.TOML", action=_Once, help="a run as `tinker-nomics config` prints it")
    choices = parser.add_argument_group("choices")
    for name, text in _CHOICES.items():
        flags = [f"--{name}", *(["--rent"] if name == "provider" else [])]
        choices.add_argument(*flags, dest=name, metavar="NAME", action=_Once, help=text)
    choices.add_argument(
        "--gpus", metavar="N", action=_Once, help="GPUs of the own cluster (default 8); the same as --cluster.gpus"
    )
    choices.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        dest="settings",
        help="any parameter by its path, e.g. --set workload.length_growth=2.0",
    )
    group = parser.add_argument_group('parameters (numbers may carry a unit: "3.35 TB/s", "80 GiB", "$2.50/h")')
    for path, parameter in registry().items():
        unit = "" if parameter.unit == "1" else f" [{parameter.unit}]"
        group.add_argument(
            parameter.flag, dest=path, metavar="X", action=_Once, help=(parameter.help + unit).replace("%", "%%")
        )


def config_from(args: argparse.Namespace) -> Config:
    """The Config that the flags describe; raises one error that lists all that is wrong.

    What it warns of is told on standard error; an explanation reads both editions, so nothing in it is unread.
    """
    config = _config_from(args)
    from ..notes import trajectory_notes, warnings_of

    for note in trajectory_notes(config) if getattr(args, "explain", False) else warnings_of(config):
        print(f"tinker-nomics: note: {note}", file=sys.stderr)
    return config


def _config_from(args: argparse.Namespace) -> Config:
    overrides = _overrides(args)
    choices = {name: getattr(args, name) for name in _CHOICES if getattr(args, name) is not None}
    named = choices | {"config": args.config}
    empty = [f"--{name}" for name, value in named.items() if value is not None and not value.strip()]
    if empty:
        raise TinkerNomicsError(f"{listed(empty)}: nothing stands after it; leave the flag out for the default")
    if args.config is not None:
        from pathlib import Path

        from ..config_toml import from_toml

        return from_toml(Path(args.config), choices | ({"recipe": args.recipe} if args.recipe else {}), overrides)
    if args.recipe is None and not any(path.startswith("workload.") for path in overrides):
        raise TinkerNomicsError(
            "name a recipe (tinker-nomics catalog recipes lists them), or describe a run of your own by "
            "--workload.prompts-per-step and the like, or give --config RUN.TOML"
        )
    from ..recipe_config import from_recipe

    return from_recipe(args.recipe, **choices, overrides=overrides)


def _overrides(args: argparse.Namespace) -> dict[str, Any]:
    """{path: text} of the flags that give a parameter, each of which may be given in one way only."""
    given: list[tuple[str, str, str]] = []
    for setting in args.settings:
        path, equals, value = setting.partition("=")
        if not equals:
            raise TinkerNomicsError(f"--set {setting!r}: write PATH=VALUE, e.g. --set workload.length_growth=2.0")
        spelled = path.strip()
        given.append((spelled if spelled in _KINDS else canonical_path(spelled), value.strip(), f"--set {setting}"))
    flags = ((path, getattr(args, path), row.flag) for path, row in registry().items())
    given += [(path, value, f"{flag} {value}") for path, value, flag in flags if value is not None]
    for name, path in (("gpus", "cluster.gpus"), ("schedule", "schedule.kind"), ("training", "lora.training")):
        value = getattr(args, name)
        if value is not None:
            given.append((path, value, f"--{name} {value}"))
    found: dict[str, tuple[str, str]] = {}
    for path, value, flag in given:
        if found.setdefault(path, (value, flag))[0] != value:
            raise TinkerNomicsError(f"{path} is given twice, by {found[path][1]} and by {flag}; leave one out")
    return {path: value for path, (value, _) in found.items()}
