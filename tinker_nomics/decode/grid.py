"""`price_grid`: a checkpoint on many chips, widths and contexts at once, as labelled arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..boundary import x64
from ..errors import Problem, TinkerNomicsError
from ..hardware.arrays import ChipArrays, MachineArrays, chip_arrays
from ..hardware.chip import MOST_COUNT, PRECISIONS, Chip
from .chain import Chain, merged_chain
from .chain_price import as_float64, precision_index, price_arrays, price_stages
from .dollars import as_rent, known_rent
from .price_table import PriceTable
from .step import DecodeStep

if TYPE_CHECKING:
    from .deployment import Deployment
    from .gguf_header import GgufHeader

_FIELDS = (
    "floor", "floor_memory", "floor_compute", "floor_collective", "floor_bind",
    "prediction", "prediction_memory", "prediction_compute", "prediction_collective", "prediction_overhead",
    "prediction_bind", "reason", "priced", "bounded", "predicted", "fits", "precision", "sequences",
    "usd_floor", "usd_prediction", "usd_known",
)  # fmt: skip


def _point(chain: Chain, chip: ChipArrays, count: Any, index: Any, stages: bool) -> dict[str, Any]:
    machine = MachineArrays(chip=chip, count=count)
    priced = price_arrays(chain, machine, index)
    values = {name: getattr(priced, name) for name in _FIELDS}
    values["needed"], values["had"] = priced.placement.needed, priced.placement.had
    if stages:
        terms = price_stages(chain, machine, priced.placement, priced.precision)
        values |= {f"stage_{name}": getattr(terms, name) for name in ("memory", "compute", "collective", "overhead")}
    return values


def _all_points(chain: Chain, axes: Chain, chips: ChipArrays, counts: Any, index: Any, stages: bool) -> dict[str, Any]:
    def point(chain: Chain, chip: ChipArrays, count: Any) -> dict[str, Any]:
        return _point(chain, chip, count, index, stages)

    by_context = jax.vmap(point, in_axes=(axes, None, None))
    by_width = jax.vmap(by_context, in_axes=(None, None, 0))
    return jax.vmap(by_width, in_axes=(None, 0, None))(chain, chips, counts)


class GridPricer:
    """Chains of one step at several contexts, priced on chips x widths by one compiled function.

    Args:
        steps: the same step at each context.
        stages: whether the terms of every distinct stage are returned too.
    """

    def __init__(self, steps: Sequence[DecodeStep], stages: bool = False):
        merged = [merged_chain(step) for step in steps]
        self.stage_of = merged[0][1]
        self.steps = tuple(steps)
        self.chain, self.axes = _stacked([as_float64(chain) for chain, _ in merged], [of for _, of in merged])
        axes = self.axes
        self._compiled = jax.jit(
            lambda chain, chips, counts, index: _all_points(chain, axes, chips, counts, index, stages)
        )

    def __call__(self, chips: ChipArrays, counts: np.ndarray, index: int) -> dict[str, np.ndarray]:
        """Price stacked chips (leaves [chip, ...]) at `counts` [width]; arrays [chip, width, context]."""
        with x64():
            values = self._compiled(self.chain, chips, np.asarray(counts, dtype=np.float64), np.int64(index))
            return {name: np.asarray(value) for name, value in values.items()}


def _stacked(chains: list[Chain], stage_of: list[np.ndarray]) -> tuple[Chain, Chain]:
    """One chain with a context axis on the leaves that differ, and the tree of axes (0 or None) for vmap."""
    first = chains[0]
    structure = jax.tree.structure(first)
    if any(not np.array_equal(stage_of[0], of) for of in stage_of):
        raise TinkerNomicsError("the chain of stages is another one at another context; price the contexts one by one")
    columns = [jax.tree.leaves(chain) for chain in chains]
    leaves, axes = [], []
    for values in zip(*columns, strict=True):
        same = all(np.array_equal(values[0], value) for value in values)
        leaves.append(values[0] if same else np.stack(values))
        axes.append(None if same else 0)
    if all(axis is None for axis in axes):  # one context, or equal ones: vmap needs an axis to count along
        position = _context_position(first)
        leaves[position], axes[position] = np.stack([values[position] for values in columns]), 0
    return jax.tree.unflatten(structure, leaves), jax.tree.unflatten(structure, axes)


def _context_position(chain: Chain) -> int:
    paths = jax.tree_util.tree_flatten_with_path(chain)[0]
    return next(i for i, (path, _) in enumerate(paths) if jax.tree_util.keystr(path) == ".context")


def as_chips(chips: Iterable[str | Chip] | str | Chip) -> tuple[Chip, ...]:
    """Names of the catalog, or chips, as chips."""
    given = [chips] if isinstance(chips, (str, Chip)) else list(chips)
    if not given:
        raise TinkerNomicsError(str(Problem("chips", [], "at least one chip")))
    if all(isinstance(chip, Chip) for chip in given):
        return tuple(chip for chip in given if isinstance(chip, Chip))
    from .. import catalog

    return tuple(chip if isinstance(chip, Chip) else catalog.chip(chip) for chip in given)


def as_widths(widths: Iterable[int] | int) -> tuple[int, ...]:
    """Machine widths as whole numbers, or a clear error."""
    values = _listed(widths)
    bad = [w for w in values if not _is_number(w) or not 1 <= w <= MOST_COUNT or w % 1 != 0]
    if bad or not values:
        raise TinkerNomicsError(str(Problem("widths", bad or values, f"whole numbers of chips, 1 to {MOST_COUNT:,}")))
    return tuple(int(width) for width in values)


def as_contexts(contexts: Iterable[float] | float) -> tuple[float, ...]:
    """Contexts as finite numbers of tokens, or a clear error."""
    values = _listed(contexts)
    bad = [c for c in values if not _is_number(c) or not 0.0 < c < np.inf]
    if bad or not values:
        raise TinkerNomicsError(str(Problem("contexts", bad or values, "finite numbers of tokens above 0")))
    return tuple(float(context) for context in values)


def _listed(values: Any) -> list[Any]:
    """One value, a sequence of them or an array of NumPy, JAX or the like, as a list of plain values."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def rents_of(chips: Sequence[Chip], rents: Mapping[str, float] | None) -> list[float | None]:
    """The rent of every chip [USD per chip-hour]: as given, else its own or the catalog's; None where there is none."""
    if rents is None:
        return [known_rent(chip).usd_per_hour for chip in chips]
    given = {name: as_rent(rent, f"rents[{name!r}]") for name, rent in rents.items()}
    ids = [chip.id for chip in chips]
    if unknown := [name for name in given if name not in ids]:
        raise TinkerNomicsError(str(Problem("rents", unknown, f"chips of the grid: {', '.join(ids)}")))
    return [given.get(chip) for chip in ids]


def stack_chips(chips: Sequence[Chip], rents: Sequence[float | None]) -> ChipArrays:
    """Chips at their rents [USD per chip-hour] as one `ChipArrays` with a leading axis."""
    rows = [as_float64(chip_arrays(chip, rent)) for chip, rent in zip(chips, rents, strict=True)]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *rows)


def price_grid(
    source: GgufHeader | DecodeStep | str | Any,
    chips: Iterable[str | Chip] | str | Chip,
    widths: Iterable[int] | int = (1,),
    contexts: Iterable[float] | float = (4096,),
    deployment: Deployment | None = None,
    precision: str = "bf16",
    *,
    rents: Mapping[str, float] | None = None,
    stages: bool = False,
) -> PriceTable:
    """Price a checkpoint on chips x widths x contexts.

    Args:
        source: a header, anything `read_header` takes, or a `DecodeStep` (whose context is replaced, within the cells
            that it reserves).
        chips: names of the catalog, or `Chip`s.
        widths: chips per machine.
        contexts: tokens attended per sequence.
        deployment: all else about the deployment; where its capacity is None, cells are reserved for each context.
        precision: of matrix arithmetic, as in `price`.
        rents: USD per chip-hour by chip id, chips beside them without; where None, what a chip of your own states, and
            for a chip of the catalog its rent (`catalog.rent`).
        stages: whether to return the terms of every distinct stage too.

    Returns:
        A `PriceTable` with arrays [chip, width, context].

    Raises:
        DecodeRefusal: the step cannot be made of the checkpoint.
        TinkerNomicsError: an unknown chip or precision, a width that is no whole number, a rent of a chip that is not
            in the grid.
    """
    held_chips, held_widths, held_contexts = as_chips(chips), as_widths(widths), as_contexts(contexts)
    found = rents_of(held_chips, rents)
    index = precision_index(precision)
    steps = steps_at(source, held_contexts, deployment)
    values = GridPricer(steps, stages)(stack_chips(held_chips, found), np.array(held_widths, dtype=np.float64), index)
    return PriceTable.from_arrays(
        values,
        {"chip": tuple(chip.id for chip in held_chips), "width": held_widths, "context": held_contexts},
        precisions=PRECISIONS,
        stages=tuple(steps[0].stages[i] for i in _first_of_each(merged_chain(steps[0])[1])) if stages else (),
        notes=steps[0].notes,
    )


def steps_at(source: Any, contexts: Sequence[float], deployment: Deployment | None) -> tuple[DecodeStep, ...]:
    """The step of `source` at each context."""
    if isinstance(source, DecodeStep):
        return tuple(source.with_context(np.float64(context)) for context in contexts)
    from dataclasses import replace

    from .accounting import decode_step
    from .deployment import Deployment
    from .gguf_source import read_header

    header = read_header(source)
    given = Deployment() if deployment is None else deployment
    return tuple(decode_step(header, replace(given, context=context)) for context in contexts)


def _first_of_each(stage_of: np.ndarray) -> list[int]:
    return [int(np.argmax(stage_of == index)) for index in range(int(stage_of.max()) + 1)]
