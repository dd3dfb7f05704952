"""Whether a run fits on its GPUs: the arithmetic of `formulas/itemised_memory.py` on plain numbers, when a Config is made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .errors import Problem
from .explanations.switch_checks import without
from .quantities import show

if TYPE_CHECKING:
    from .config import Config

SHARED_FRACTION, SPLIT_FRACTION = 0.6, 0.8  # of a chip's memory for the engine: what the measured runs are set to


def placement_problems(config: Config) -> list[Problem]:
    """A replica, a concurrency or a trainer that does not fit; says what does. Nothing where a number is an array."""
    try:
        return _problems(config)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return []  # a traced number, or one that the bounds refuse with a better message


def _problems(config: Config) -> list[Problem]:
    engine, chip, gpus = config.cluster.engine, config.cluster.chip, float(config.cluster.gpus)
    split = config.splits_pool
    fraction = engine.memory_fraction
    if fraction is None:
        fraction = SPLIT_FRACTION if split else SHARED_FRACTION
    room = float(fraction * chip.memory_bytes)
    weights, cache, heads = float(config.model.weight_bytes), _cache_of_one(config), float(config.model.kv_heads)
    least = _least_width(weights, cache, room)
    size = f"{show(weights, 'B')} of weights and {show(cache, 'B')} of cache a sequence"
    hint = f"Take another chip, more GPUs, or {without('itemised_memory')}."
    if least is None:
        return [
            Problem(
                "cluster.chip.memory_bytes",
                chip.memory_bytes,
                f"the cache of one sequence takes {show(cache, 'B')},"
                f" and the engine may fill {show(room, 'B')} of a chip",
                hint,
            )
        ]
    width = float(engine.tensor_parallel or least)
    need = math.ceil(_trainer_bytes(config) / chip.memory_bytes)
    share = config.schedule.rollout_share if split else None
    if not split:
        asked = max(width, need)
    elif share:
        asked = math.ceil(max(width / share, need / (1 - share)))
    else:
        asked = width + need
    sides = f"the engine takes {width:g}, the trainer {need}" + (", side by side" if split else "")
    more = f"Take --gpus {asked:g} or more ({sides}), another chip, or {without('itemised_memory')}."
    pool = gpus * float(share or 1)
    fits = (room - weights / width) * min(width, heads) / cache
    if fits < 1:
        return [
            Problem(
                "cluster.engine.tensor_parallel",
                width,
                f"the weights do not fit: {size}, and {width:g} GPUs have {show(room * width, 'B')} for the engine",
                f"Give {least:g} or more, or leave it out.",
            )
        ]
    if width > pool:
        return [
            Problem(
                "cluster.gpus",
                gpus,
                f"the weights do not fit: {size} take {width:g} GPUs of "
                f"{show(chip.memory_bytes, 'B')}, and there are {pool:g} for rollouts",
                more,
            )
        ]
    if engine.sequences is not None and engine.sequences > fits:
        return [
            Problem(
                "cluster.engine.sequences",
                engine.sequences,
                f"the cache allows {math.floor(fits)} at a time: "
                f"{show(cache, 'B')} each beside {show(weights / width, 'B')} of weights in {show(room, 'B')} a GPU",
                f"Give {math.floor(fits)} or fewer, or leave it out.",
            )
        ]
    left = gpus * (1 - float(share)) if share else gpus - width if split else gpus
    if need > left:
        return [
            Problem(
                "cluster.gpus",
                gpus,
                f"the trainer does not fit: it needs {need} GPUs of {show(chip.memory_bytes, 'B')}, and has {left:g}"
                + (f" of {gpus:g}, beside {gpus - left:g} for rollouts" if split else ""),
                more,
            )
        ]
    return []


def _sequence(config: Config) -> float:
    work = config.workload
    turns = work.turns * (1 + work.turns_growth) / 2 * (1 + work.failure_rate * work.failure_extra_turns)
    written = turns * work.completion_tokens * (1 + work.length_growth) / 2
    return float(work.prompt_tokens + written + (turns - 1) * work.observation_tokens)


def _cache_of_one(config: Config) -> float:
    """Bytes of cache and state that one whole rollout of mean length holds."""
    model, tokens = config.model, _sequence(config)
    if config.assumptions.kv_bytes is not True:
        return float(tokens * model.active_parameters / 1e9 * 0.016e6)
    window = math.inf if model.window is None else float(model.window)
    windowed = model.window_kv_bytes_per_token * min(tokens, window) if model.window_kv_bytes_per_token else 0.0
    return float(tokens * model.kv_bytes_per_token + windowed + (model.state_bytes_per_sequence or 0.0))


def _least_width(weights: float, cache: float, room: float) -> float | None:
    """The smallest power of two of GPUs that holds the weights and one sequence; None where no number does."""
    if room <= cache:
        return None
    return 2.0 ** max(0, math.ceil(math.log2(weights / (room - cache))))


def _trainer_bytes(config: Config) -> float:
    model, trainer = config.model, config.cluster.trainer
    tokens = trainer.tokens_in_flight or _sequence(config)
    kept = 2.0 * trainer.recompute + 34.0 * (1 - trainer.recompute)
    activations = tokens * model.hidden * (model.blocks * kept + 34.0 * trainer.recompute)
    rest = activations + (trainer.buffer_bytes or 0.0)
    if config.lora.training == "full":
        return float(16.0 * model.parameters + rest)
    revised = config.assumptions.lora_parameters is True
    per_rank = model.lora_parameters_per_rank if revised else model.lora_parameters_per_rank_published
    return float(2.0 * model.parameters + 16.0 * (per_rank or 0.0) * config.lora.rank + rest)
