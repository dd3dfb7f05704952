"""What the analyses share: checked inputs, sizes, steps of the pipeline, and results by output and input."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..boundary import x64
from ..streaming.collecting import collect
from ..streaming.reducer import Evaluation
from .correlation import Correlations
from .distribution_base import Distribution
from .errors import UncertaintyError, unknown_name, whole_number
from .model import SCALAR, Model
from .sampler import Sampler

Function = Callable[[Any], Any]
Distributions = Mapping[str, Distribution]
LOG2_CHUNK = 16  # evaluations per chunk: what two cores like best


@dataclasses.dataclass(frozen=True)
class Study:
    """A function, its uncertain inputs and the names of its outputs, all checked.

    Attributes:
        names: the inputs in the order given.
        outputs: the outputs; one without a name where the function returns a bare number.
    """

    model: Model
    sampler: Sampler
    distributions: dict[str, Distribution]
    outputs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.distributions)

    @property
    def dimensions(self) -> int:
        return len(self.distributions)

    def by_input(self, values: np.ndarray) -> dict[str, float]:
        """{input: value} in the order given, of values [d] in the sampler's order."""
        place = {name: index for index, name in enumerate(self.sampler.names)}
        return {name: float(values[place[name]]) for name in self.names}

    def by_output(self, values: Mapping[str, Any]) -> Any:
        """{output: value}, or the value alone where the function returns a bare number."""
        return bare(values)


def bare(values: Mapping[str, Any]) -> Any:
    """{output: value}, or the value alone where the only output has no name."""
    return values[SCALAR] if tuple(values) == (SCALAR,) else dict(values)


def prepare(
    f: Function,
    distributions: Distributions,
    base: Any = None,
    *,
    outputs: Iterable[str] | None = None,
    correlations: Correlations | None = None,
    integers: Iterable[str] = (),
) -> Study:
    """Check what an analysis was given and find the outputs of the function."""
    if not isinstance(distributions, Mapping):
        raise UncertaintyError(f"distributions = {distributions!r}: give {{name: distribution}}")
    given = dict(distributions)
    for name in names_of(integers):
        if name not in given:
            raise unknown_name("uncertain input", name, given)
        given[name] = dataclasses.replace(given[name], integer=True)
    sampler, model = Sampler(given, correlations), Model(f, base, outputs)
    model.check_paths(given)
    return Study(model, sampler, given, output_names(model, tuple(given)))


def names_of(given: Iterable[str]) -> tuple[str, ...]:
    """Names given one by one or, where there is one, as a plain text."""
    return (given,) if isinstance(given, str) else tuple(given)


def output_names(model: Model, names: tuple[str, ...]) -> tuple[str, ...]:
    """The outputs that the model has at scalar inputs of these names; nothing is computed."""
    with x64():
        scalar = jax.ShapeDtypeStruct((), jnp.float64)
        # through jit, whose cache spares the second analysis of a function the trace
        return tuple(_outputs.eval_shape(model, {name: scalar for name in names}))


@jax.jit
def _outputs(model: Model, inputs: dict[str, jax.Array]) -> dict[str, jax.Array]:
    return model(inputs)


def log2_per_replicate(samples: Any, replicates: Any, least_replicates: int, seed: Any) -> tuple[int, int, int]:
    """(m, replicates, seed) with replicates x 2^m the least that is >= samples; all checked."""
    replicates = whole_number("replicates", replicates, least_replicates)
    samples = whole_number("samples", samples)
    return max(0, math.ceil(math.log2(samples / replicates))), replicates, whole_number("seed", seed, 0)


def log2_chunk(rows: int) -> int:
    """Base points per chunk (as a power of two) where each costs `rows` evaluations."""
    return max(4, LOG2_CHUNK - max(0, math.ceil(math.log2(rows))))


def no_variance(study: Study, bad: int, values: int) -> UncertaintyError:
    """The error for outputs that have no variance to share out, of which `bad` of `values` were not finite."""
    outputs, inputs = ", ".join(repr(name) for name in study.outputs if name), ", ".join(study.names)
    if bad:
        return UncertaintyError(
            f"no variance: {bad:,} of {values * len(study.outputs):,} outputs were NaN or infinite, and no finite ones differ; "
            f"look at f within the distributions of {inputs}"
        )
    return UncertaintyError(
        f"zero variance: no output{' of ' + outputs if outputs else ''} changes with {inputs}; give wider distributions or "
        "inputs that the function uses"
    )


class Evaluate(eqx.Module):
    """{input: [n]} -> Evaluation with outputs {name: [n]}; the last step of a plain pipeline."""

    model: Model

    def __call__(self, inputs: dict[str, jax.Array]) -> Evaluation:
        return Evaluation(self.model.over(inputs))


class EvaluateRows(eqx.Module):
    """({input: [k, n]}, anything) -> ({output: [k, n]}, the same), through one vectorised evaluation, so that equal
    inputs give equal outputs to the last bit.

    It stands between the step that makes the rows and the one that uses the outputs, each a stage of its own: fused
    with the making of rows, the model took four times as long.
    """

    model: Model

    def __call__(self, made: tuple[dict[str, jax.Array], Any]) -> tuple[dict[str, jax.Array], Any]:
        rows, rest = made
        shape = next(iter(rows.values())).shape
        flat = self.model.over({name: value.reshape(-1) for name, value in rows.items()})
        return {name: value.reshape(shape) for name, value in flat.items()}, rest


class TablePoints(eqx.Module):
    """A table, a pytree of arrays [n], as one chunk of points."""

    columns: Any
    size: int = eqx.field(static=True)
    strata: int = eqx.field(static=True, default=1)
    stratum_chunks: int = eqx.field(static=True, default=1)

    @property
    def chunk_size(self) -> int:
        return self.size

    def chunk(self, stratum: jax.Array, chunk: jax.Array) -> Any:
        return jax.tree_util.tree_map(jnp.asarray, self.columns)


def evaluate_table(step: Any, columns: Any) -> dict[str, np.ndarray]:
    """{output: [n]} at the rows of a table (a pytree of [n]), on the streaming engine.

    The last row is repeated up to a power of two, so that tables of any length share a few compiled programs.
    """
    table = jax.tree_util.tree_map(lambda column: np.asarray(column, dtype=np.float64), columns)
    size = len(jax.tree_util.tree_leaves(table)[0])
    padded = max(64, 1 << (size - 1).bit_length())
    table = jax.tree_util.tree_map(lambda column: np.pad(column, (0, padded - size), mode="edge"), table)
    outputs = collect(TablePoints(table, padded), step, progress=False).outputs
    return {name: value[:size] for name, value in outputs.items()}


def one_at_a_time(centre: Mapping[str, float], name: str, values: Any) -> dict[str, np.ndarray]:
    """Rows {input: [n]} with one input at these values and all others at their centre."""
    values = np.asarray(values, dtype=np.float64)
    return {other: values if other == name else np.full(values.shape, value) for other, value in centre.items()}


def stacked(tables: Iterable[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Tables one below the other."""
    tables = list(tables)
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def centre(study: Study) -> dict[str, float]:
    """The values about which one input at a time is moved: the base's own, or each distribution's median."""
    if study.model.has_base:
        return {name: study.model.value(name) for name in study.names}
    return {name: float(distribution.median) for name, distribution in study.distributions.items()}


def average(values: np.ndarray) -> Any:
    """The mean of replicates [R, ...]; NaN where there are none."""
    return values.mean(axis=0) if len(values) else np.full(values.shape[1:], np.nan)


def spread(values: np.ndarray) -> Any:
    """Standard error of the mean of replicates [R, ...]; NaN for fewer than two."""
    count = values.shape[0]
    if count < 2:
        return np.full(values.shape[1:], np.nan)
    return values.std(axis=0, ddof=1) / math.sqrt(count)


def half_width(error: float, replicates: int) -> float:
    """Half of the 95 % interval for a standard error from this many replicates (Student's t)."""
    from scipy.stats import t

    return float(t.ppf(0.975, max(1, replicates - 1))) * error
