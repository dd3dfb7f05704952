"""What one token of a deployment moves and computes, as arrays over the parts of its dependent stages."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tinker_nomics.decode.cache_cells import CELL_PADDING, cache_cells
from tinker_nomics.decode.stages import (
    ALL_REDUCE_ELEMENT_BYTES,
    ARGMAX_BYTES_PER_SEQUENCE,
    HELD_CLASSES,
    WEIGHT_CLASSES,
    Held,
    HeldClass,
    Split,
    Stage,
    StageKind,
)
from tinker_nomics.errors import Problem, TinkerNomicsError

__all__ = ["DecodeStep", "Held", "HeldClass", "SequenceTerms", "Split", "Stage", "StageKind", "StepTotals"]

_KV = HeldClass.kv_cache.index
_STATE = HeldClass.recurrent_state.index


class StepTotals(eqx.Module):
    """What a checkpoint is, whatever one token of it does.

    Args:
        parameters: elements of all tensors.
        weight_bytes: bytes of all tensors as the deployment stores them [B].
    """

    parameters: Any
    weight_bytes: Any


class SequenceTerms(eqx.Module):
    """How the figures of a step depend on its number of sequences `b`.

    $$bytes_p = once_p + rest_p (1 - (1 - used_p)^{b - 1}) + \\min(b\\, each_p, most_p)$$

    which is $E (1 - (1 - used/E)^b)$ experts where $E$ are routed; every FLOP, every byte of cache and state is
    proportional to `b`.

    Args:
        bytes_once: bytes of a part that one sequence reads, and several share [B], shape `[P]`.
        bytes_rest: bytes of the experts that one sequence leaves unread [B], shape `[P]`.
        used_fraction: experts that one token uses over experts, shape `[P]`; 0 where nothing is routed.
        bytes_each: bytes that every sequence moves of its own [B], shape `[P]`.
        bytes_each_most: the most that all sequences together move of those [B], shape `[P]`: a table whose rows they look up,
            infinite elsewhere.
        bytes_each_per_token: of its own per attended token [B/token], shape `[P]`.
        flops_each: FLOP per sequence, shape `[P]`.
        flops_each_per_token: FLOP per sequence and attended token, shape `[P]`.
        held_once: resident bytes of the weights by class [B], shape `[7]`.
        state_each: resident recurrent state per sequence, those kept for rollback included [B].
        cell_bytes: bytes of one cell of each group of equal caches [B], shape `[G]`.
        cell_window: the window of each group [tokens]; infinite where it attends to everything, shape `[G]`.
        capacity: cells reserved per sequence [tokens].
        ubatch: tokens of the largest batch written at once [tokens].
        unified: 1.0 where all sequences share one pool of cells, 0.0 where each has its own.
        all_reduce_elements: elements of the vector that a stage reduces, shape `[S]`; 0 where it reduces none.
        argmax: 1.0 where a stage ends in an arg-max exchange, shape `[S]`.
    """

    bytes_once: Any
    bytes_rest: Any
    used_fraction: Any
    bytes_each: Any
    bytes_each_most: Any
    bytes_each_per_token: Any
    flops_each: Any
    flops_each_per_token: Any
    held_once: Any
    state_each: Any
    cell_bytes: Any
    cell_window: Any
    capacity: Any
    ubatch: Any
    unified: Any
    all_reduce_elements: Any
    argmax: Any


class DecodeStep(eqx.Module):
    """One token of a deployment, for every sequence of it: the chain of its dependent stages and their parts.

    A part is the work of one stage on one class of resident bytes that divides alike:

    $$moved_p = bytes_p + bytes\\_per\\_token_p \\min(context, window_p)$$

    and likewise its FLOP. Caches and states count what is read and what is written.

    Args:
        stages: the chain, in order (static).
        part_stage: index of the stage of each part (static).
        part_class: index of the `HeldClass` of each part (static).
        context: tokens attended per sequence.
        part_units: equal parts that the work can be cut into, shape `[P]`.
        part_window: most tokens attended [tokens], infinite where unbounded, shape `[P]`.
        part_bytes, part_bytes_per_token: bytes moved [B, B/token], shape `[P]`.
        part_flops, part_flops_per_token: matrix arithmetic [FLOP, FLOP/token], shape `[P]`.
        held_bytes: resident bytes by class, reserved cells included [B], shape `[7]`.
        stage_payload: payload of the collective that ends a stage [B], shape `[S]`.
        totals: sizes of the checkpoint.
        terms: how all of it depends on the number of sequences; `None` for a step made by hand.

    **Kinks:** `context` at each window; `sequences` where a pool of cells is padded to the next 256, and where they look up a
    whole table's rows.
    """

    stages: tuple[Stage, ...] = eqx.field(static=True)
    part_stage: tuple[int, ...] = eqx.field(static=True)
    part_class: tuple[int, ...] = eqx.field(static=True)
    context: Any
    part_units: Any
    part_window: Any
    part_bytes: Any
    part_bytes_per_token: Any
    part_flops: Any
    part_flops_per_token: Any
    held_bytes: Any
    stage_payload: Any
    totals: StepTotals
    terms: SequenceTerms | None = None
    notes: tuple[str, ...] = eqx.field(static=True, default=())

    def __repr__(self) -> str:
        blocks = len({stage.block for stage in self.stages if stage.block is not None})
        return f"DecodeStep({len(self.stages)} stages, {blocks} blocks, context={self.context})"

    def attended(self) -> Any:
        """Tokens that each part attends to, $\\min(context, window)$, shape `[P]`."""
        numbers = _numbers(self.context, self.part_window)
        return numbers.where(self.context >= self.part_window, self.part_window, self.context)

    def moved_bytes(self) -> Any:
        """Bytes that each part moves [B], shape `[P]`."""
        return self.part_bytes + self.part_bytes_per_token * self.attended()

    def flops(self) -> Any:
        """Matrix arithmetic of each part [FLOP], shape `[P]`.

        The elementwise work of norms, activations and scans is not counted, so it is a lower bound.
        """
        return self.part_flops + self.part_flops_per_token * self.attended()

    @property
    def widest_units(self) -> float:
        """The most equal parts that any stage can be cut into: the widest machine that it can use."""
        return float(np.max(np.asarray(self.part_units)))

    @property
    def held(self) -> tuple[Held, ...]:
        """Resident bytes and moved bytes of every class, in the order of `HeldClass`."""
        moved = np.bincount(self.part_class, weights=self.moved_bytes(), minlength=len(HELD_CLASSES))
        resident = np.asarray(self.held_bytes, np.float64)
        return tuple(Held(kind, float(resident[kind.index]), float(moved[kind.index])) for kind in HELD_CLASSES)

    def with_sequences(self, sequences: Any) -> "DecodeStep":
        """The same deployment with another number of sequences; pure, so it can be traced and differentiated.

        Args:
            sequences: sequences decoded together, a number above 0 or a traced scalar.

        Returns: a `DecodeStep` of the same structure.

        Raises:
            TinkerNomicsError: for a step made by hand, which does not say how it depends on them; for a number that is
                not above 0.
        """
        if _numbers(sequences) is np and not np.all((np.asarray(sequences) > 0.0) & np.isfinite(sequences)):
            raise TinkerNomicsError(str(Problem("sequences", sequences, "a finite number above 0")))
        terms = self.terms
        if terms is None:
            raise TinkerNomicsError(
                "this step was made without sequence terms: build it for the sequences that you mean"
            )
        resident = held_bytes(terms, sequences)
        numbers = _numbers(sequences, *jax.tree.leaves(terms))
        each = sequences * terms.bytes_each
        each = numbers.where(each >= terms.bytes_each_most, terms.bytes_each_most, each)
        untouched = (1.0 - terms.used_fraction) ** (sequences - 1.0)
        values = {
            "part_bytes": terms.bytes_once + terms.bytes_rest * (1.0 - untouched) + each,
            "part_bytes_per_token": sequences * terms.bytes_each_per_token,
            "part_flops": sequences * terms.flops_each,
            "part_flops_per_token": sequences * terms.flops_each_per_token,
            "held_bytes": resident,
            "stage_payload": sequences
            * (ALL_REDUCE_ELEMENT_BYTES * terms.all_reduce_elements + ARGMAX_BYTES_PER_SEQUENCE * terms.argmax),
        }
        return _replace(self, values)

    def with_context(self, context: Any) -> "DecodeStep":
        """The same step with another number of attended tokens per sequence; reserved cells stay as they are.

        Raises:
            TinkerNomicsError: a number below 0, or none; more tokens than there are cells reserved for.
        """
        if _numbers(context) is np and not np.all((np.asarray(context) >= 0.0) & np.isfinite(context)):
            raise TinkerNomicsError(str(Problem("context", context, "a finite number of tokens, 0 or more")))
        if self.terms is not None and _numbers(context, self.terms.capacity) is np:
            cells = CELL_PADDING * np.ceil(self.terms.capacity / CELL_PADDING)
            if np.any(np.asarray(context) > cells):
                allowed = f"at most the {cells:,.0f} cells that this step reserves per sequence"
                hint = "Build the step with Deployment(capacity=...) for the longest context."
                raise TinkerNomicsError(str(Problem("context", context, allowed, hint)))
        return _replace(self, {"context": context})

    def to_dict(self) -> dict[str, float]:
        """The step's figures as plain numbers: bytes in B, arithmetic in FLOP, for all sequences of one step.

        `kv_bytes_reserved` counts cells as they are padded and held, `kv_bytes_read` what attention and indexers read
        of them; `state_bytes` is held, every state kept for rollback included, of which a step reads and writes one
        per sequence. `matmul_flops` are products with weights, `attention_flops` products with the cache,
        `indexer_flops` an indexer's scores.
        """
        part_class = np.asarray(self.part_class)
        mixers = np.array([self.stages[stage].kind is StageKind.mixer for stage in self.part_stage])
        attended = self.attended()
        weights = part_class < len(WEIGHT_CLASSES)
        kv = part_class == _KV
        figures = {
            "parameters": self.totals.parameters,
            "weight_bytes": self.totals.weight_bytes,
            "weight_bytes_read": np.sum(self.part_bytes, where=weights),
            "kv_bytes_reserved": self.held_bytes[_KV],
            "kv_bytes_read": np.sum(self.part_bytes_per_token * attended, where=kv),
            "kv_bytes_written": np.sum(self.part_bytes, where=kv),
            "state_bytes": self.held_bytes[_STATE],
            "matmul_flops": np.sum(self.part_flops),
            "attention_flops": np.sum(self.part_flops_per_token * attended, where=mixers),
            "indexer_flops": np.sum(self.part_flops_per_token * attended, where=~mixers),
        }
        return {name: float(value) for name, value in figures.items()}


def held_bytes(terms: SequenceTerms, sequences: Any) -> Any:
    """Resident bytes by class of `sequences` sequences [B], shape `[7]`."""
    numbers = _numbers(sequences, *jax.tree.leaves(terms))
    cells = cache_cells(terms.capacity, terms.cell_window, sequences, terms.ubatch, terms.unified, numbers)
    kv = numbers.sum(terms.cell_bytes * cells)
    return terms.held_once + kv * _one_hot(_KV) + sequences * terms.state_each * _one_hot(_STATE)


def _one_hot(index: int) -> np.ndarray:
    return np.eye(len(HELD_CLASSES))[index]


def _numbers(*values: Any) -> Any:
    """NumPy where all values are on the host, so that no digit is lost outside x64; else jax.numpy."""
    return np if all(isinstance(value, (int, float, np.ndarray, np.generic)) for value in values) else jnp


def _replace(step: DecodeStep, values: dict[str, Any]) -> DecodeStep:
    fields = {name: getattr(step, name) for name in step.__dataclass_fields__}
    return DecodeStep(**{**fields, **values})
