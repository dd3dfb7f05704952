"""The flags that describe a run, shared by every command that prices one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..errors import TinkerNomicsError
from ..parameters import registry

if TYPE_CHECKING:
    from ..config import Config

_CHOICES = {
    "model": "a model of the catalog, or a file of your own: TOML, config.json, GGUF, ledger",
    "chip": "a chip of the catalog, or a TOML file of your own (default h100-sxm)",
    "prices": "the date of the run: picks the price list and the rent; or a TOML file (default: the newest list)",
    "provider": "who rents the GPUs out (default: the median of on-demand offers); --rent is the same",
    "sandbox": "who runs the rollouts' code: modal, sandboxfusion, none (default: the recipe's)",
    "schedule": "auto, sync, stream_minibatch or async (default auto: sync at k = 0, async above)",
    "training": "lora or full (default lora)",
    "assumptions": "edition of the model (default published)",
}


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Add RECIPE, --config, the choices, --set and one flag for every parameter path."""
    parser.add_argument("recipe", nargs="?", metavar="RECIPE", help="a recipe of the catalog, e.g. math_rl")
    parser.add_argument("--config", metavar="RUN.TOML", help="a run as `tinker-nomics config` prints it")
    choices = parser.add_argument_group("choices")
    for name, text in _CHOICES.items():
        flags = [f"--{name}", *(["--rent"] if name == "provider" else [])]
        choices.add_argument(*flags, dest=name, metavar="NAME", help=text)
    choices.add_argument("--gpus", metavar="N", help="GPUs of the own cluster (default 8); the same as --cluster.gpus")
    choices.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", dest="settings",
                         help="any parameter by its path, e.g. --set workload.length_growth=2.0")
    group = parser.add_argument_group("parameters (numbers may carry a unit: \"3.35 TB/s\", \"80 GiB\", \"$2.50/h\")")
    for path, parameter in registry().items():
        unit = "" if parameter.unit == "1" else f" [{parameter.unit}]"
        group.add_argument(parameter.flag, dest=path, metavar="X", help=(parameter.help + unit).replace("%", "%%"))


def config_from(args: argparse.Namespace) -> Config:
    """The Config that the flags describe; raises one error that lists all that is wrong."""
    overrides: dict[str, Any] = {}
    for setting in args.settings:
        path, equals, value = setting.partition("=")
        if not equals:
            raise TinkerNomicsError(f"--set {setting!r}: write PATH=VALUE, e.g. --set workload.length_growth=2.0")
        overrides[path.strip()] = value.strip()
    overrides |= {path: getattr(args, path) for path in registry() if getattr(args, path) is not None}
    if args.gpus is not None:
        overrides.setdefault("cluster.gpus", args.gpus)
    choices = {name: getattr(args, name) for name in _CHOICES if getattr(args, name) is not None}
    if args.config is not None:
        from pathlib import Path

        from ..config_toml import from_toml

        return from_toml(Path(args.config), choices | ({"recipe": args.recipe} if args.recipe else {}), overrides)
    if args.recipe is None:
        raise TinkerNomicsError("name a recipe (tinker-nomics catalog recipes lists them) or give --config RUN.TOML")
    from ..recipe_config import from_recipe

    return from_recipe(args.recipe, **choices, overrides=overrides)
