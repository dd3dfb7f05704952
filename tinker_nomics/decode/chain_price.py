"""One token of a decode step on a machine: the floor, the prediction and what binds. Pure JAX; any leaf may be traced.

jax.vmap(tn.decode.price_arrays, in_axes=(None, 0, None))(step, machines, 0.0)
jax.grad(lambda bandwidth: tn.decode.price_arrays(step, with_bandwidth(machine, bandwidth), 0).floor)(3.35e12)
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import Problem, TinkerNomicsError, listed
from ..hardware.arrays import MachineArrays
from ..hardware.chip import PRECISIONS, Topology
from . import reasons
from .chain import CLASS_COUNT, Chain, chain_of
from .collectives import MOST_CHIPS, is_topology, laid_out_seconds, least_seconds, rate_declared
from .placement import PlacementArrays, place
from .step import DecodeStep

BEST = -1
"""The precision index that takes, per chip, the widest declared of bf16, fp16, fp8, int8."""

_BEST_ORDER = 4  # the first four of PRECISIONS, widest first
_SECONDS_PER_HOUR = 3600.0


class PriceArrays(eqx.Module):
    """The price of one decode step; every leaf finite, whatever is undeclared.

    Args:
        floor: seconds that no implementation can beat: the largest of the next three.
        floor_memory, floor_compute, floor_collective: sums over the chain on even shares [s].
        floor_bind: which of the three binds: 0 memory, 1 compute, 2 collective.
        prediction: seconds of the chain as laid out; valid where `reason` is 0.
        prediction_memory, prediction_compute: seconds of the stages that memory, or compute, binds [s].
        prediction_collective, prediction_overhead: seconds of the collectives and of the stage overheads [s].
        prediction_bind: the largest of these four: 0 memory, 1 compute, 2 collective, 3 overhead.
        reason: sum of 2^bit over `reasons.REASONS`.
        priced: True where the machine can run the step, so that the floor is valid.
        bounded: True where something declared bounds the time; elsewhere the floor is 0 and says nothing.
        predicted: True where the prediction is valid.
        fits: True where the resident bytes fit.
        placement: which tier holds what, with the bytes needed and had.
        precision: index into `hardware.PRECISIONS` that was used.
        moved_bytes, flops: bytes moved [B] and matrix arithmetic [FLOP] of the step.
        sequences: tokens that one step decodes.
        usd_floor, usd_prediction: USD per million tokens at the machine's rent; 0 where no rent is declared.
        usd_known: True where a rent is declared.
    """

    floor: Any
    floor_memory: Any
    floor_compute: Any
    floor_collective: Any
    floor_bind: Any
    prediction: Any
    prediction_memory: Any
    prediction_compute: Any
    prediction_collective: Any
    prediction_overhead: Any
    prediction_bind: Any
    reason: Any
    priced: Any
    bounded: Any
    predicted: Any
    fits: Any
    placement: PlacementArrays
    precision: Any
    moved_bytes: Any
    flops: Any
    sequences: Any
    usd_floor: Any
    usd_prediction: Any
    usd_known: Any


class StageArrays(eqx.Module):
    """The terms of every stage as laid out, on the fullest chip's shares: seconds of one occurrence, shape [S]."""

    memory: Any
    compute: Any
    collective: Any
    overhead: Any


def _larger(a: Any, b: Any) -> Any:
    return jnp.where(a >= b, a, b)


def _largest_index(*terms: Any) -> Any:
    return jnp.argmax(jnp.stack([jax.lax.stop_gradient(jnp.asarray(term)) for term in terms]))


def precision_of(machine: MachineArrays, precision_index: Any) -> Any:
    """The index into `PRECISIONS` that is priced: as given, or for `BEST` the widest declared of the first four."""
    best = jnp.argmax(jnp.asarray(machine.chip.matrix_rate_declared)[:_BEST_ORDER] > 0.0)
    index = jnp.asarray(precision_index).astype(int)
    return jnp.where(index < 0, best, jnp.clip(index, 0, len(PRECISIONS) - 1))


def _refuse_others(step: Any, machine: Any, precision_index: Any) -> None:
    """Refuse at once what JAX would trip over later, or clamp without a word."""
    indices = listed(f"{i} ({name})" for i, name in enumerate(PRECISIONS))
    plain = isinstance(precision_index, (bool, int, float, str)) or precision_index is None
    for name, given, good, allowed in (
        ("step", step, isinstance(step, (DecodeStep, Chain)), "what decode_step(header, Deployment(...)) returns"),
        ("machine", machine, isinstance(machine, MachineArrays), "a machine's arrays, such as Machine(chip, 8).arrays()"),
        ("precision_index", precision_index, not plain or precision_index in range(BEST, len(PRECISIONS)),
         f"one of {indices}, or {BEST} for the widest declared"),
    ):  # fmt: skip
        if not good:
            raise TinkerNomicsError(str(Problem(name, given, allowed)))


def fullest_share(units: Any, count: Any) -> Any:
    """The share of the fullest of `count` chips of work cut into `units` equal parts: ceil(units / n) / units.

    **Kinks:** piecewise constant; its gradient is zero.
    """
    return jnp.ceil(units / jax.lax.stop_gradient(count)) / units


def price_stages(chain: Chain, machine: MachineArrays, placement: PlacementArrays, precision: Any) -> StageArrays:
    """The terms of every stage on the fullest chip's shares [s].

    Args:
        chain: the chain.
        machine: the machine.
        placement: of the chain's classes on it.
        precision: an index into `PRECISIONS`, not `BEST`.
    """
    chip, stages = machine.chip, jnp.asarray(chain.count).shape[0]
    share = fullest_share(chain.part_units, machine.count)
    segment = jnp.asarray(chain.part_stage) * CLASS_COUNT + jnp.asarray(chain.part_class)
    moved = jax.ops.segment_sum(chain.moved() * share, segment, num_segments=stages * CLASS_COUNT)
    flops = jax.ops.segment_sum(chain.flops() * share, jnp.asarray(chain.part_stage), num_segments=stages)
    seconds = jnp.sum(moved.reshape(stages, CLASS_COUNT) * placement.seconds_per_byte[None, :], axis=1)
    rate = jnp.asarray(chip.matrix_rate)[precision]
    known = jnp.asarray(chip.matrix_rate_declared)[precision] * rate > 0.0
    return StageArrays(
        memory=seconds / jnp.where(chip.streaming_fraction > 0.0, chip.streaming_fraction, 1.0),
        compute=jnp.where(known, flops / jnp.where(known, rate, 1.0), 0.0),
        collective=chain.reduces * laid_out_seconds(chip, machine.count, chain.payload),
        overhead=chip.stage_overhead * jnp.ones(stages),
    )


def _reason(chain: Chain, machine: MachineArrays, placement: PlacementArrays, precision: Any) -> Any:
    chip, count = machine.chip, machine.count
    wide = count > 1.0
    exchanges = wide & (jnp.sum(chain.reduces) > 0.0)
    paired = is_topology(chip.topology, Topology.PAIR) > 0.0
    alone = is_topology(chip.topology, Topology.NONE) > 0.0
    silent_tier = chip.tier_resident * (chip.tier_capacity > 0.0) * (1.0 - chip.tier_bandwidth_declared)
    flags = {
        reasons.TIER_BANDWIDTH: jnp.sum(silent_tier) > 0.0,
        reasons.MATRIX_RATE: jnp.asarray(chip.matrix_rate_declared)[precision] == 0.0,
        reasons.LINK_TOPOLOGY: exchanges & ((chip.topology < 0.0) | (count > MOST_CHIPS)),
        reasons.LINK_BANDWIDTH: exchanges & (rate_declared(chip) == 0.0),
        reasons.LINK_LATENCY: exchanges & (chip.link_latency_declared == 0.0),
        reasons.STAGE_OVERHEAD: chip.stage_overhead_declared == 0.0,
        reasons.MEMORY_CAPACITY: placement.needed > placement.had,
        reasons.BEYOND_WORK: count > jnp.max(chain.part_units),
        reasons.BEYOND_DOMAIN: (chip.link_domain > 0.0) & (count > chip.link_domain),
        reasons.NOT_JOINED: wide & (alone | (paired & (count != 2.0))),
    }
    return sum(jnp.where(flag, float(reason.code), 0.0) for reason, flag in flags.items())


def price_arrays(step: DecodeStep | Chain, machine: MachineArrays, precision_index: Any = 0) -> PriceArrays:
    """Price one decode step on one machine.

    $$floor = \\max\\left(\\sum memory,\\ \\sum compute,\\ \\sum collective\\right)$$
    on even shares 1/n, at peak bandwidth, with every undeclared term zero, and
    $$prediction = \\sum_{stages} \\max(memory / streaming\\ fraction,\\ compute) + collective + overhead$$
    on the fullest chip's shares ceil(units/n)/units.

    Args:
        step: the step, or its chain (`chain.merged_chain` counts identical stages once).
        machine: `Machine.arrays()`, or several stacked under `jax.vmap`.
        precision_index: index into `hardware.PRECISIONS`, or `BEST`; may be traced.

    Returns:
        A `PriceArrays`. What is refused is masked by `priced`, `predicted` and named by `reason`; no leaf is a NaN.

    Raises:
        TinkerNomicsError: what is no step or no machine's arrays; an index, where it is a plain number, of no precision.

    **Kinks:** where another sum binds, where a stage turns from memory to compute, where a class reaches the end of a
    tier, where classes swap heat, at context = window and at widths that divide a stage's units.
    """
    _refuse_others(step, machine, precision_index)
    chain = step if isinstance(step, Chain) else chain_of(step)
    chip, count = machine.chip, jnp.asarray(machine.count)
    moved = chain.moved_by_class()
    flops = chain.total_flops()
    placement = place(chain.held, moved, machine)
    precision = precision_of(machine, precision_index)
    rate = jnp.asarray(chip.matrix_rate)[precision]
    known = jnp.asarray(chip.matrix_rate_declared)[precision] * rate > 0.0

    floor_memory = jnp.sum(moved * placement.seconds_per_byte) / count
    floor_compute = jnp.where(known, flops / jnp.where(known, rate, 1.0), 0.0) / count
    floor_collective = jnp.sum(chain.count * chain.reduces * least_seconds(chip, count, chain.payload))
    floor = _larger(_larger(floor_memory, floor_compute), floor_collective)

    terms = price_stages(chain, machine, placement, precision)
    streams = terms.memory >= terms.compute
    by_memory = jnp.sum(chain.count * jnp.where(streams, terms.memory, 0.0))
    by_compute = jnp.sum(chain.count * jnp.where(streams, 0.0, terms.compute))
    by_collective = jnp.sum(chain.count * terms.collective)
    by_overhead = jnp.sum(chain.count * terms.overhead)
    prediction = by_memory + by_compute + by_collective + by_overhead

    reason = _reason(chain, machine, placement, precision)
    refused = jnp.asarray(reason).astype(int) & reasons.REFUSES_ALL_CODE
    usd_per_second = chip.rent * count / _SECONDS_PER_HOUR
    per_million = 1e6 / chain.sequences
    return PriceArrays(
        floor=floor,
        floor_memory=floor_memory,
        floor_compute=floor_compute,
        floor_collective=floor_collective,
        floor_bind=_largest_index(floor_memory, floor_compute, floor_collective),
        prediction=prediction,
        prediction_memory=by_memory,
        prediction_compute=by_compute,
        prediction_collective=by_collective,
        prediction_overhead=by_overhead,
        prediction_bind=_largest_index(by_memory, by_compute, by_collective, by_overhead),
        reason=reason,
        priced=refused == 0,
        bounded=(floor > 0.0) | ((jnp.sum(moved) == 0.0) & (flops == 0.0)),
        predicted=reason == 0.0,
        fits=placement.needed <= placement.had,
        placement=placement,
        precision=precision,
        moved_bytes=jnp.sum(moved),
        flops=flops,
        sequences=jnp.asarray(chain.sequences),
        usd_floor=usd_per_second * floor * per_million,
        usd_prediction=usd_per_second * prediction * per_million,
        usd_known=chip.rent_declared > 0.0,
    )


def precision_index(precision: str) -> int:
    """The index of a precision's name: one of `hardware.PRECISIONS`, or `BEST` for "best"."""
    if precision == "best":
        return BEST
    if precision not in PRECISIONS:
        from ..errors import Problem, TinkerNomicsError

        raise TinkerNomicsError(str(Problem("precision", precision, f"one of {', '.join(PRECISIONS)} or best")))
    return PRECISIONS.index(precision)


def as_float64(tree: Any) -> Any:
    """Every leaf as NumPy: whole numbers stay whole, everything else becomes float64."""

    def convert(leaf: Any) -> np.ndarray:
        array = np.asarray(leaf)
        return array if np.issubdtype(array.dtype, np.integer) and array.ndim else array.astype(np.float64)

    return jax.tree.map(convert, tree)
