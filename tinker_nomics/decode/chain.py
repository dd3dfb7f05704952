"""The chain of a decode step as plain arrays, identical stages counted instead of repeated: what pricing works on."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .stages import ARGMAX_BYTES_PER_SEQUENCE, HELD_CLASSES
from .step import DecodeStep

CLASS_COUNT = len(HELD_CLASSES)
_COLUMNS = ("part_units", "part_window", "part_bytes", "part_bytes_per_token", "part_flops", "part_flops_per_token")


class Chain(eqx.Module):
    """S distinct stages with P parts. No field is static, so every chain of one shape shares one trace.

    Args:
        count: how often each stage occurs, shape [S].
        reduces: 1.0 where the stage ends in a collective, shape [S].
        payload: payload of that collective [B], shape [S].
        part_stage, part_class: stage and `HeldClass` of each part, whole numbers, shape [P].
        part_units, part_window, part_bytes, part_bytes_per_token, part_flops, part_flops_per_token: as in `DecodeStep`,
            per occurrence of the stage, shape [P].
        held: resident bytes by class [B], shape [7].
        context: tokens attended per sequence.
        sequences: sequences decoded together.
    """

    count: Any
    reduces: Any
    payload: Any
    part_stage: Any
    part_class: Any
    part_units: Any
    part_window: Any
    part_bytes: Any
    part_bytes_per_token: Any
    part_flops: Any
    part_flops_per_token: Any
    held: Any
    context: Any
    sequences: Any

    def attended(self) -> Any:
        """min(context, window) of each part [tokens], shape [P]."""
        return jnp.where(self.context >= self.part_window, self.part_window, self.context)

    def moved(self) -> Any:
        """Bytes that each part moves, once [B], shape [P]."""
        return self.part_bytes + self.part_bytes_per_token * self.attended()

    def flops(self) -> Any:
        """Matrix arithmetic of each part, once [FLOP], shape [P]."""
        return self.part_flops + self.part_flops_per_token * self.attended()

    def moved_by_class(self) -> Any:
        """Bytes that one step moves of each class [B], shape [7]."""
        moved = self.moved() * jnp.asarray(self.count)[self.part_stage]
        return jax.ops.segment_sum(moved, jnp.asarray(self.part_class), num_segments=CLASS_COUNT)

    def total_flops(self) -> Any:
        """Matrix arithmetic of one step [FLOP]."""
        return jnp.sum(self.flops() * jnp.asarray(self.count)[self.part_stage])


def _whole(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.int32)


def chain_of(step: DecodeStep) -> Chain:
    """`step` as a chain in which every stage occurs once; the leaves may be traced."""
    collectives = [stage.collective for stage in step.stages]
    argmax = np.array([float(name == "argmax") for name in collectives])
    exchanges = float(argmax.sum())
    # the arg-max exchange carries eight bytes per sequence; a step made by hand may have none: one sequence then
    sequences = jnp.sum(argmax * step.stage_payload) / (ARGMAX_BYTES_PER_SEQUENCE * exchanges) if exchanges else 1.0
    return Chain(
        count=np.ones(len(step.stages)),
        reduces=np.array([float(name != "none") for name in collectives]),
        payload=step.stage_payload,
        part_stage=_whole(step.part_stage),
        part_class=_whole(step.part_class),
        part_units=step.part_units,
        part_window=step.part_window,
        part_bytes=step.part_bytes,
        part_bytes_per_token=step.part_bytes_per_token,
        part_flops=step.part_flops,
        part_flops_per_token=step.part_flops_per_token,
        held=step.held_bytes,
        context=step.context,
        sequences=sequences,
    )


def merged_chain(step: DecodeStep) -> tuple[Chain, np.ndarray]:
    """`step` with identical stages merged into one that is counted (host side; the leaves are numbers).

    Two stages are identical where their kind, their parts and their collective agree to the last digit.

    Returns:
        The chain, and for every stage of the step the index of its merged stage, shape [stages of the step].
    """
    columns = [np.asarray(getattr(step, name), dtype=np.float64) for name in _COLUMNS]
    part_class = _whole(step.part_class)
    payload = np.asarray(step.stage_payload, dtype=np.float64)
    parts_of: list[list[int]] = [[] for _ in step.stages]
    for part, stage in enumerate(step.part_stage):
        parts_of[stage].append(part)

    first: dict[tuple, int] = {}
    merged = np.zeros(len(step.stages), dtype=np.int32)
    kept_stages: list[int] = []
    for index, stage in enumerate(step.stages):
        rows = tuple((int(part_class[p]), *(float(column[p]) for column in columns)) for p in parts_of[index])
        key = (stage.kind, stage.collective, float(payload[index]), rows)
        if key not in first:
            first[key] = len(kept_stages)
            kept_stages.append(index)
        merged[index] = first[key]

    kept_parts = [part for index in kept_stages for part in parts_of[index]]
    part_stage = [new for new, index in enumerate(kept_stages) for _ in parts_of[index]]
    kept = np.array(kept_parts, dtype=np.int64)
    collectives = [step.stages[index].collective for index in kept_stages]
    argmax = payload[[i for i, stage in enumerate(step.stages) if stage.collective == "argmax"]]
    chain = Chain(
        count=np.bincount(merged, minlength=len(kept_stages)).astype(np.float64),
        reduces=np.array([float(name != "none") for name in collectives]),
        payload=payload[kept_stages],
        part_stage=_whole(part_stage),
        part_class=part_class[kept],
        part_units=columns[0][kept],
        part_window=columns[1][kept],
        part_bytes=columns[2][kept],
        part_bytes_per_token=columns[3][kept],
        part_flops=columns[4][kept],
        part_flops_per_token=columns[5][kept],
        held=np.asarray(step.held_bytes, dtype=np.float64),
        context=np.float64(step.context),
        sequences=np.float64(argmax.mean() / ARGMAX_BYTES_PER_SEQUENCE if argmax.size else 1.0),
    )
    return chain, merged


def padded(chain: Chain, stages: int = 16, parts: int = 32) -> Chain:
    """`chain` with stages that occur 0 times and parts that do nothing, up to multiples of `stages` and `parts`.

    Checkpoints of different chains then share one compiled function; no price changes (host side).
    """
    more_stages = -len(chain.count) % stages
    more_parts = -len(chain.part_stage) % parts

    def fill(values: np.ndarray, more: int, value: float) -> np.ndarray:
        return np.concatenate([values, np.full(more, value, dtype=values.dtype)])

    by_stage = {name: fill(getattr(chain, name), more_stages, 0.0) for name in ("count", "reduces", "payload")}
    by_part = {name: fill(getattr(chain, name), more_parts, 0.0) for name in ("part_stage", "part_class", *_COLUMNS)}
    by_part["part_units"] = fill(chain.part_units, more_parts, 1.0)
    values = {"held": chain.held, "context": chain.context, "sequences": chain.sequences}
    return Chain(**by_stage, **by_part, **values)
