"""`price`: one token of a decode step on a machine, with its stages, what binds and what fits where."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

import jax
import numpy as np

from ..boundary import x64
from ..errors import Problem, TinkerNomicsError
from ..hardware.arrays import MachineArrays
from ..hardware.chip import PRECISIONS, Machine
from .chain import Chain, merged_chain, padded
from .chain_price import PriceArrays, StageArrays, as_float64, precision_index, price_arrays, price_stages
from .placement import PlacementArrays
from .reasons import MEMORY_CAPACITY, bytes_in_words, reasons_of, sentence
from .refusal import DecodeRefusal
from .stages import HELD_CLASSES, HeldClass, Stage
from .step import DecodeStep

__all__ = ["Bind", "DecodeCost", "PlacedClass", "PriceArrays", "StageCost", "price", "price_arrays"]


class Bind(StrEnum):
    """The term that binds a stage or a token; `overhead` is what the chain of dependent kernels costs by itself."""

    MEMORY = "memory"
    COMPUTE = "compute"
    COLLECTIVE = "collective"
    OVERHEAD = "overhead"


BINDS: tuple[Bind, ...] = tuple(Bind)


@dataclass(frozen=True)
class StageCost:
    """One stage's terms on the fullest chip [s]; undeclared terms count zero.

    Args:
        stage: which stage of the chain.
        memory: streaming its bytes, at the declared streaming fraction.
        compute: its matrix arithmetic.
        collective: the exchange that ends it.
        overhead: what one dependent kernel costs beyond its work.
    """

    stage: Stage
    memory: float
    compute: float
    collective: float
    overhead: float

    @property
    def seconds(self) -> float:
        """max(memory, compute) + collective + overhead [s]."""
        return max(self.memory, self.compute) + self.collective + self.overhead

    @property
    def binds(self) -> Bind:
        """The largest of the four terms."""
        terms = (self.memory, self.compute, self.collective, self.overhead)
        return BINDS[terms.index(max(terms))]


@dataclass(frozen=True)
class PlacedClass:
    """Where one class of bytes lies.

    Args:
        held_class: the class.
        bytes: resident bytes of it on the machine [B].
        moved: bytes of it that one step moves [B].
        tiers: the share of it in every tier of the chip, in the order of the chip's record.
    """

    held_class: HeldClass
    bytes: float
    moved: float
    tiers: tuple[float, ...]


@dataclass(frozen=True)
class DecodeCost:
    """One step of decode on a machine: one token of every sequence.

    Args:
        machine: the machine.
        precision: the precision of its matrix arithmetic, the one taken where "best" was asked for.
        floor: seconds that no implementation can beat [s]; None where nothing that would bound them is declared.
        floor_terms: its three sums by `Bind`: memory, compute, collective [s].
        prediction: seconds of the chain as laid out [s]; None where a term is undeclared.
        refusal: why there is no prediction, naming every undeclared term; None where there is one.
        prediction_terms: seconds by the term that each stage's time is spent on, undeclared terms at zero [s]: of a
            stage's memory and compute terms the longer counts, and the other is hidden behind it (`hidden_terms`).
        binds: the largest sum of the floor.
        stages: the terms of every stage of the chain, in order.
        placement: where every class of bytes lies.
        bytes_needed, bytes_had: resident bytes of the step and of the machine [B].
        fullest_chip_bytes: resident bytes on the fullest chip of the layout, replicated caches included [B].
        moved_bytes, flops: bytes moved [B] and matrix arithmetic [FLOP] of the step.
        sequences: tokens that one step decodes.
        step_notes: what the step itself leaves open, such as an architecture that no rule is known of.
    """

    machine: Machine
    precision: str
    floor: float | None
    floor_terms: dict[Bind, float]
    prediction: float | None
    refusal: DecodeRefusal | None
    prediction_terms: dict[Bind, float]
    binds: Bind
    stages: tuple[StageCost, ...] = field(repr=False)
    placement: tuple[PlacedClass, ...] = field(repr=False)
    bytes_needed: float
    bytes_had: float
    fullest_chip_bytes: float
    moved_bytes: float
    flops: float
    sequences: float
    step_notes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def fits(self) -> bool:
        """Whether the resident bytes fit; `price` raises for a machine that is too small, so this is True."""
        return self.bytes_needed <= self.bytes_had

    @property
    def basis(self) -> Literal["prediction", "floor"] | None:
        """What `seconds`, `tokens_per_second` and dollars stand on: "prediction", or "floor" where there is none.

        On a floor they are bounds: no implementation is faster, decodes more tokens per second, or costs less. None
        where there is not even a floor, and so none of them.
        """
        return "prediction" if self.prediction is not None else "floor" if self.floor is not None else None

    @property
    def seconds(self) -> float | None:
        """The prediction where there is one, else the floor, which `basis` tells [s]; None where there is neither."""
        return self.floor if self.prediction is None else self.prediction

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens of all sequences per second at `seconds`: an upper bound where `basis` is "floor"."""
        return self.sequences / self.seconds if self.seconds else None

    @cached_property
    def hidden_terms(self) -> dict[Bind, float]:
        """Seconds of the stages' shorter terms, which pass while the longer one binds [s]: memory and compute."""
        shorter = {Bind.MEMORY: 0.0, Bind.COMPUTE: 0.0}
        for cost in self.stages:
            shorter[Bind.COMPUTE if cost.memory >= cost.compute else Bind.MEMORY] += min(cost.memory, cost.compute)
        return shorter

    @property
    def prediction_binds(self) -> Bind | None:
        """What most of the predicted time is spent on; None where there is no prediction."""
        if self.prediction is None:
            return None
        return max(BINDS, key=lambda bind: self.prediction_terms[bind])

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the numbers leave out, or stand on that is not certain."""
        per_chip = self.bytes_had / self.machine.count
        if self.fullest_chip_bytes <= per_chip:
            return self.step_notes
        fullest, held = bytes_in_words(self.fullest_chip_bytes), bytes_in_words(per_chip)
        return (
            *self.step_notes,
            f"the machine as a whole holds the step, but this layout would put {fullest} on its fullest chip of {held}: "
            "replicated parts have to be cut another way",
        )

    def __str__(self) -> str:
        """One line: the machine, the floor, the prediction or why there is none."""
        chips = f"{self.machine.count} x {self.machine.chip.id} at {self.precision}"
        floor = "no floor" if self.floor is None else f"floor {self.floor * 1e3:.4g} ms"
        if self.prediction is not None:
            return f"{chips}: {floor}, prediction {self.prediction * 1e3:.4g} ms, {self.prediction_binds} binds"
        why = "; ".join(self.refusal.reasons) if self.refusal is not None else ""
        binds = "" if self.floor is None else f", {self.binds} binds"
        return f"{chips}: {floor}{binds}, no prediction: {why}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values: seconds, bytes, FLOP."""
        return {
            "chip": self.machine.chip.id,
            "count": int(self.machine.count),
            "precision": self.precision,
            "floor_s": self.floor,
            "floor_terms_s": {bind.value: seconds for bind, seconds in self.floor_terms.items()},
            "prediction_s": self.prediction,
            "prediction_terms_s": {bind.value: seconds for bind, seconds in self.prediction_terms.items()},
            "hidden_terms_s": {bind.value: seconds for bind, seconds in self.hidden_terms.items()},
            "refusal": None if self.refusal is None else list(self.refusal.reasons),
            "binds": None if self.floor is None else self.binds.value,
            "prediction_binds": None if self.prediction_binds is None else self.prediction_binds.value,
            "basis": self.basis,
            "tokens_per_second": self.tokens_per_second,
            "sequences": self.sequences,
            "moved_bytes": self.moved_bytes,
            "flops": self.flops,
            "bytes_needed": self.bytes_needed,
            "bytes_had": self.bytes_had,
            "fullest_chip_bytes": self.fullest_chip_bytes,
            "placement": [
                {"class": row.held_class.value, "bytes": row.bytes, "moved": row.moved, "tiers": list(row.tiers)}
                for row in self.placement
            ],
            "stages": [
                {
                    "kind": cost.stage.kind.value,
                    "block": cost.stage.block,
                    "memory_s": cost.memory,
                    "compute_s": cost.compute,
                    "collective_s": cost.collective,
                    "overhead_s": cost.overhead,
                    "binds": cost.binds.value,
                }
                for cost in self.stages
            ],
            "notes": list(self.notes),
        }


@jax.jit
def _priced(chain: Chain, machine: MachineArrays, index: Any) -> tuple[PriceArrays, StageArrays]:
    priced = price_arrays(chain, machine, index)
    return priced, price_stages(chain, machine, priced.placement, priced.precision)


def price(step: DecodeStep, machine: Machine, precision: str = "bf16") -> DecodeCost:
    """Price one token of every sequence of `step` on `machine`: DecodeCost.floor, .prediction or .refusal, .stages.

    Args:
        step: what `decode_step` made of a checkpoint.
        machine: a number of identical chips.
        precision: of matrix arithmetic: bf16, fp16, fp8, int8, fp4, or "best": the widest declared of the first four.

    Returns:
        A `DecodeCost`. Where terms are undeclared it has a floor, no prediction, and a refusal that names them all;
        where nothing that bounds the time is declared, the floor is None too.

    Raises:
        DecodeRefusal: there is no price at all, because the machine cannot run the step: it is too small (with bytes
            needed and had), wider than the step can be cut, or wider than its link joins. What is returned has a
            layout that runs; a loop over machines catches this, or asks `price_grid`, which masks such points.
        TinkerNomicsError: an unknown precision, or what is no step or no machine.
    """
    for name, given, kind, how in (
        ("step", step, DecodeStep, "what decode_step(header, Deployment(...)) returns"),
        ("machine", machine, Machine, 'a Machine, such as Machine(catalog.chip("h100-sxm"), count=8)'),
    ):
        if not isinstance(given, kind):
            raise TinkerNomicsError(str(Problem(name, given, how)))
    chain, stage_of = merged_chain(step)
    arrays = as_float64(machine.arrays())
    with x64():
        priced, terms = _priced(as_float64(padded(chain)), arrays, np.int64(precision_index(precision)))
        priced, terms = jax.tree.map(np.asarray, (priced, terms))
    taken = PRECISIONS[int(priced.precision)]
    placement = priced.placement
    needed, had = float(placement.needed), float(placement.had)
    reasons = reasons_of(float(priced.reason))
    enough = _enough(step, machine, needed, had) if MEMORY_CAPACITY in reasons else ""
    sentences = tuple(sentence(reason, machine, taken, needed, had, step.widest_units, enough) for reason in reasons)
    where = f"{machine.count} x {machine.chip.id}"
    if not bool(priced.priced):
        total = tuple(text for reason, text in zip(reasons, sentences, strict=True) if reason.refuses_all)
        raise DecodeRefusal(f"the price on {where}", total, int(priced.reason))
    predicted = bool(priced.predicted)
    return DecodeCost(
        machine=machine,
        precision=taken,
        floor=float(priced.floor) if bool(priced.bounded) else None,
        floor_terms={
            Bind.MEMORY: float(priced.floor_memory),
            Bind.COMPUTE: float(priced.floor_compute),
            Bind.COLLECTIVE: float(priced.floor_collective),
        },
        prediction=float(priced.prediction) if predicted else None,
        refusal=None if predicted else DecodeRefusal(f"the prediction on {where}", sentences, int(priced.reason)),
        prediction_terms={
            Bind.MEMORY: float(priced.prediction_memory),
            Bind.COMPUTE: float(priced.prediction_compute),
            Bind.COLLECTIVE: float(priced.prediction_collective),
            Bind.OVERHEAD: float(priced.prediction_overhead),
        },
        binds=BINDS[int(priced.floor_bind)],
        stages=_stage_costs(step, terms, stage_of),
        placement=_placed(step, placement, len(machine.chip.tiers)),
        bytes_needed=needed,
        bytes_had=had,
        fullest_chip_bytes=_fullest_chip_bytes(step, machine.count),
        moved_bytes=float(priced.moved_bytes),
        flops=float(priced.flops),
        sequences=float(priced.sequences),
        step_notes=step.notes,
    )


def _stage_costs(step: DecodeStep, terms: StageArrays, stage_of: np.ndarray) -> tuple[StageCost, ...]:
    rows = np.stack([terms.memory, terms.compute, terms.collective, terms.overhead], axis=1)[stage_of]
    return tuple(StageCost(stage, *(float(x) for x in row)) for stage, row in zip(step.stages, rows, strict=True))


def _placed(step: DecodeStep, placement: PlacementArrays, tiers: int) -> tuple[PlacedClass, ...]:
    return tuple(
        PlacedClass(held.held_class, held.bytes, held.moved, tuple(float(share) for share in row[:tiers]))
        for held, row in zip(step.held, placement.fraction, strict=True)
    )


def _fullest_chip_bytes(step: DecodeStep, count: int) -> float:
    """Every class's resident bytes at the moved share of the fullest chip; what is never moved lies evenly."""
    units = np.asarray(step.part_units, dtype=np.float64)
    attended = np.minimum(np.float64(step.context), np.asarray(step.part_window, dtype=np.float64))
    moved = np.asarray(step.part_bytes, np.float64) + np.asarray(step.part_bytes_per_token, np.float64) * attended
    classes = np.asarray(step.part_class)
    total = np.bincount(classes, weights=moved, minlength=len(HELD_CLASSES))
    fullest = np.bincount(classes, weights=moved * np.ceil(units / count) / units, minlength=len(HELD_CLASSES))
    share = np.where(total > 0.0, fullest / np.where(total > 0.0, total, 1.0), 1.0 / count)
    return float(np.sum(np.asarray(step.held_bytes, dtype=np.float64) * share))


def _enough(step: DecodeStep, machine: Machine, needed: float, had: float) -> str:
    """How many chips would do: as one room, and with what this layout replicates; empty where that cannot be told."""
    if not 0.0 < had < needed < math.inf:
        return ""
    per_chip = had / machine.count
    room = math.ceil(needed / per_chip)
    most, limit = int(step.widest_units), f"the widest stage has {step.widest_units:,.0f} parts"
    link = machine.chip.link
    if link is not None and link.domain is not None and link.domain < most:
        most, limit = link.domain, f"its link joins {link.domain}"
    if room > most:
        return f"; {room:,} would hold it, and {limit}"
    if _fullest_chip_bytes(step, most) > per_chip:
        fullest = bytes_in_words(_fullest_chip_bytes(step, most))
        return (
            f"; {room:,} have room for it as a whole, but at no width does this layout fit it: even on {most:,} chips its "
            f"replicated parts put {fullest} on one of {bytes_in_words(per_chip)}"
        )
    low, high = room, most  # the fullest share never rises with the width
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _fullest_chip_bytes(step, middle) <= per_chip else (middle + 1, high)
    as_a_whole = f" ({room:,} as a whole, but not with what this layout replicates)" if low > room else ""
    return f"; {low:,} would hold it{as_a_whole}"
