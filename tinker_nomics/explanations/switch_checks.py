"""What a configuration lacks for the assumptions that are on: each figure by its path, and how to do without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import Problem, listed
from ..parameters import registry

if TYPE_CHECKING:
    from ..config import Config

# figures that several switches read and one of them cannot do without: path -> that one
_NEEDED_BY = {"model.lora_parameters_per_rank": ("lora_parameters",)}


def switch_problems(config: Config, sound: bool = True) -> list[Problem]:
    """Every figure that a switch needs and the configuration lacks; then whether the run fits on its GPUs.

    Args:
        sound: whether all values are within their bounds; what fits is asked only then.
    """
    missing = {path: on for path, on in _needed(config) if _value(config, path) is None}
    problems = _missing_model_figures(config, missing)
    problems += [_missing(path, on) for path, on in missing.items() if not path.startswith("model.")]
    empty = _split(config)
    problems += _cached_price(config) + _windows(config) + empty
    if sound and not missing and not empty and config.assumptions.itemised_memory is True:
        from ..placement_checks import placement_problems

        problems += placement_problems(config)
    return problems


def without(switch: str) -> str:
    """How to do without a switch, for people."""
    return f"--assumptions published, or --assumptions revised,-{switch} for this switch alone"


def _value(config: Any, path: str) -> Any:
    for name in path.split("."):
        config = getattr(config, name)
    return config


def _needed(config: Config) -> Iterator[tuple[str, str]]:
    """(path, the switch that asks for it) of every figure that the configuration cannot do without."""
    assumptions = config.assumptions
    for path, parameter in registry().items():
        if not parameter.optional or parameter.absent:
            continue  # a missing one that is not optional is said with the bounds
        if parameter.training and config.lora.training != parameter.training:
            continue
        asking = _NEEDED_BY.get(path, parameter.switches)
        on = [switch for switch in asking if getattr(assumptions, switch) is True]
        off = [switch for switch in parameter.unless if getattr(assumptions, switch) is False]
        if on:
            yield path, on[0]
        elif off:
            yield path, off[0]
    if config.schedule.kind == "stream_minibatch" and assumptions.stream_minibatch is True:
        yield "schedule.minibatches", "stream_minibatch"


def _missing(path: str, switch: str) -> Problem:
    parameter = registry()[path]
    if path.startswith("published_prices."):
        return Problem(
            path,
            None,
            "the published page's one table does not list the model",
            "Take dated prices: leave the assumption dated_prices on.",
        )
    return Problem(
        path,
        None,
        f"the assumption {switch} needs it: {parameter.help}",
        f"Give {parameter.flag}, or take {without(switch)}.",
    )


def _missing_model_figures(config: Config, missing: dict[str, str]) -> list[Problem]:
    """One problem for all figures of the model: they are missing together, with its architecture."""
    paths = [path for path in missing if path.startswith("model.")]
    if not paths:
        return []
    name = config.provenance.choices.get("model") or "the model"
    switches = list(dict.fromkeys(missing[path] for path in paths))
    turned_off = ",".join(f"-{switch}" for switch in switches)
    verb = "needs" if len(switches) == 1 else "need"
    return [
        Problem(
            paths[0],
            None,
            f"no source gives these of {name}, and {listed(switches)} {verb} {listed(paths)}",
            f"Give them, or take --assumptions published, or --assumptions revised,{turned_off}.",
        )
    ]


def _more_than(value: Any, bound: float) -> bool:
    """Whether a number exceeds the bound; an array is taken to."""
    return value is not None and (not isinstance(value, int | float) or value > bound)


def _cached_price(config: Config) -> list[Problem]:
    """The cached price, where prompt tokens are found in a cache and have to be billed."""
    work = config.workload
    if config.assumptions.cached_prefill is not True or config.prices.cached_prefill is not None:
        return []
    again = _more_than(work.turns, 1) or _more_than(work.turns_growth, 1) or _more_than(work.failure_rate, 0)
    across = again and _more_than(work.cache_hit_turns, 0)
    within = _more_than(work.rollouts_per_prompt, 1) and _more_than(work.cache_hit_group, 0)
    if not (across or within):
        return []
    listed_on = config.provenance.choices.get("price_list")
    where = f"the price list of {listed_on}" if listed_on else "your own price row"
    return [
        Problem(
            "prices.cached_prefill",
            None,
            f"{where} has no cached price, and part of the prompt tokens is cached",
            f"Give --prices.cached-prefill, a later --prices date, or take {without('cached_prefill')}.",
        )
    ]


def _windows(config: Config) -> list[Problem]:
    """Layers with windows of several widths, which have no one number."""
    model = config.model
    if (
        config.assumptions.kv_bytes is not True
        or model.window is not None
        or not _more_than(model.window_kv_bytes_per_token, 0)
    ):
        return []
    return [
        Problem(
            "model.window",
            None,
            "the model's layers have windows of several widths, and the formulas take one",
            f"Give the one to count with, or take {without('kv_bytes')}.",
        )
    ]


def _split(config: Config) -> list[Problem]:
    """A pool of which one side has no GPUs."""
    gpus, share, k = config.cluster.gpus, config.schedule.rollout_share, config.schedule.max_steps_off_policy
    numbers = isinstance(gpus, int | float) and isinstance(k, int | float)
    if not numbers or not config.splits_pool:
        return []
    if gpus < 2:
        return [
            Problem(
                "cluster.gpus",
                gpus,
                "an asynchronous run splits its GPUs: at least 2 are needed",
                f"Give more GPUs, k = 0, or take {without('pool_split')}.",
            )
        ]
    if not isinstance(share, int | float) or registry()["schedule.rollout_share"].problem(share):
        return []  # what is out of bounds is said with the bounds
    for side, part in (("rollouts", share * gpus), ("training", (1 - share) * gpus)):
        if part < 1:
            return [
                Problem(
                    "schedule.rollout_share",
                    share,
                    f"that leaves {part:.3g} of {gpus:g} GPUs for {side}: at least one is needed on each side",
                    f"Give a share in [{1 / gpus:.3g}, {1 - 1 / gpus:.3g}].",
                )
            ]
    return []
