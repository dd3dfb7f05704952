"""Collects the parts of a step and lays them out as the chain of its stages and arrays."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from .deployment import Deployment
from .stages import HELD_CLASSES, HeldClass, Stage, StageKind
from .step import DecodeStep, SequenceTerms, StepTotals
from .tensor_roles import role_table

_BEFORE, _AFTER = -1, 1 << 30
_AFTER_BLOCKS = frozenset({"head_side", "head_norm", "head"})
_BEFORE_BLOCKS = frozenset({"embed", "embed_side"})
_REDUCED = (StageKind.mixer_out, StageKind.ffn_down)
_FIELDS = (
    "bytes_once", "bytes_rest", "bytes_each", "bytes_each_most", "bytes_each_per_token", "flops_each",
    "flops_each_per_token",
)  # fmt: skip


class _Key(NamedTuple):
    block: int
    slot: str
    held_class: int
    units: int
    window: float
    used_fraction: float


class StepParts:
    """Sums what is added by block, slot, class, units, window and share of experts used.

    Args:
        width: elements of the hidden vector, which all-reduces carry.
        deployment: the deployment that the step is of.
    """

    def __init__(self, width: int, deployment: Deployment):
        self._width = width
        self._deployment = deployment
        self._sums: dict[_Key, np.ndarray] = defaultdict(lambda: np.zeros(len(_FIELDS)))
        self._held = np.zeros(len(HELD_CLASSES))
        self._cells: dict[float, float] = defaultdict(float)
        self._state = 0.0
        self._slots = {slot.name: slot for slot in role_table().slots}

    def add(
        self,
        slot: str,
        block: int | None,
        held_class: HeldClass,
        units: int,
        window: float = math.inf,
        used_fraction: float = 0.0,
        **amounts: float,
    ) -> None:
        """Add amounts [B, B/token, FLOP, FLOP/token] to the part of these properties; it has at least one unit."""
        if slot in _BEFORE_BLOCKS:
            place = _BEFORE
        elif slot in _AFTER_BLOCKS:
            place = _AFTER
        else:
            place = block if block is not None else 0
        key = _Key(place, slot, held_class.index, max(1, units), window, used_fraction)
        self._sums[key] += [amounts.pop(name, 0.0) for name in _FIELDS]
        assert not amounts, f"unknown amounts: {list(amounts)}"

    def hold(self, held_class: HeldClass, size: float) -> None:
        """Add resident bytes of weights [B]."""
        self._held[held_class.index] += size

    def reserve(self, window: float, cell_bytes: float) -> None:
        """Add a cache whose cells have `cell_bytes` [B] and of which attention sees the last `window` tokens."""
        self._cells[window] += cell_bytes

    def hold_state(self, size: float) -> None:
        """Add recurrent state per sequence [B]."""
        self._state += size

    def step(self, parameters: int, notes: tuple[str, ...] = ()) -> DecodeStep:
        """The step of all that was added, with what is to be said of it."""
        sums = self._placed()
        places = sorted({(key.block, self._slots[key.slot].order) for key in sums} | {(_BEFORE, 0)})
        slot_at = {slot.order: slot for slot in self._slots.values()}
        kinds = [slot_at[order].kind for _, order in places]
        blocks = [place[0] for place in places]
        reduced = self._reduced(places, kinds)
        stages = tuple(
            Stage(
                kind,
                block if 0 <= block < _AFTER else None,
                "argmax" if kind is StageKind.head else "all_reduce" if ends else "none",
            )
            for kind, block, ends in zip(kinds, blocks, reduced, strict=True)
        )
        index = {place: number for number, place in enumerate(places)}
        keys = sorted(sums, key=lambda key: (index[key.block, self._slots[key.slot].order], *key[2:]))
        columns: dict[str, np.ndarray] = dict(zip(_FIELDS, np.array([sums[key] for key in keys]).T, strict=True))
        terms = self._terms(columns, keys, stages)
        held = self._held
        empty = np.zeros(len(keys))
        step = DecodeStep(
            stages=stages,
            part_stage=tuple(index[key.block, self._slots[key.slot].order] for key in keys),
            part_class=tuple(key.held_class for key in keys),
            context=np.float64(self._deployment.context),
            part_units=np.array([float(key.units) for key in keys]),
            part_window=np.array([key.window for key in keys]),
            part_bytes=empty,
            part_bytes_per_token=empty,
            part_flops=empty,
            part_flops_per_token=empty,
            held_bytes=held,
            stage_payload=np.zeros(len(stages)),
            totals=StepTotals(np.float64(parameters), np.float64(held.sum())),
            terms=terms,
            notes=notes,
        )
        return step.with_sequences(float(self._deployment.sequences))

    def _placed(self) -> dict[_Key, np.ndarray]:
        """The sums with slots as blocks make them: one norm before an FFN alone, one mixer of a recurrence alone."""
        slots: dict[int, set[str]] = defaultdict(set)
        for key in self._sums:
            slots[key.block].add(key.slot)
        attends = {
            key.block for key in self._sums if key.slot == "mixer" and key.held_class == HeldClass.kv_cache.index
        }
        first = min(attends, default=0)
        placed: dict[_Key, np.ndarray] = defaultdict(lambda: np.zeros(len(_FIELDS)))
        for key, amounts in self._sums.items():
            here = slots[key.block]
            if key.slot == "mixer_norm" and not here & {"mixer_in", "mixer", "recurrence", "mixer_out"}:
                key = key._replace(slot="ffn_norm")
            elif key.slot == "mixer" and key.block not in attends:
                key = key._replace(slot="recurrence") if "recurrence" in here else key._replace(block=first)
            placed[key] += amounts
        return placed

    def _reduced(self, places: list[tuple[int, int]], kinds: list[StageKind]) -> list[bool]:
        """Which stages end in an all-reduce: a block's mixer output and FFN down projection, or the last one alone
        where both read one norm."""
        by_block: dict[int, set[StageKind]] = defaultdict(set)
        for (block, _), kind in zip(places, kinds, strict=True):
            by_block[block].add(kind)
        reduced = []
        for (block, _), kind in zip(places, kinds, strict=True):
            here = by_block[block]
            parallel = StageKind.mixer_norm in here and StageKind.ffn_norm not in here and StageKind.ffn_down in here
            reduced.append(kind in _REDUCED and not (parallel and kind is StageKind.mixer_out))
        return reduced

    def _terms(self, columns: dict[str, np.ndarray], keys: list[_Key], stages: tuple[Stage, ...]) -> SequenceTerms:
        windows, most = sorted(self._cells), columns["bytes_each_most"]
        return SequenceTerms(
            **columns | {"bytes_each_most": np.where(most > 0.0, most, np.inf)},
            used_fraction=np.array([key.used_fraction for key in keys]),
            held_once=self._held.copy(),
            state_each=np.float64(self._state),
            cell_bytes=np.array([self._cells[window] for window in windows]),
            cell_window=np.array(windows, np.float64),
            capacity=np.float64(self._deployment.reserved),
            ubatch=np.float64(self._deployment.ubatch),
            unified=np.float64(self._deployment.kv_unified),
            all_reduce_elements=np.array([self._width * (s.collective == "all_reduce") for s in stages], np.float64),
            argmax=np.array([float(s.collective == "argmax") for s in stages]),
        )
