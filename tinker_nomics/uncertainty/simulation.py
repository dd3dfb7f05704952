"""Monte Carlo: any number of samples at constant memory, with the error of every figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from ..streaming.counts import parse_event
from ..streaming.devices import Devices
from ..streaming.engine import Run, run
from ..streaming.histogram import BinnedCounts
from ..streaming.host_memory import available_bytes
from ..streaming.reducer import Reducer
from ..streaming.sobol_points import SobolPoints
from ..streaming.stages import Pipeline
from .correlation import Correlations
from .errors import UncertaintyError, unknown_name
from .model import SCALAR
from .sample_states import OutputSample, sample_reducers, sampled, state_shapes
from .study import Distributions, Evaluate, Function, Study, bare, log2_per_replicate, names_of, prepare, spread
from .text import columns, number, probability_in_words

# samples per chunk as a power of two: the points of ten inputs then fit into a core's second-level cache, and threads
# that fold side by side need no larger chunk; measured 17.1 ns of a core per sample, 17.5 at 2^14 and 18.6 at 2^12
_LOG2_CHUNK = 13
TABLE_QUANTILES = (0.05, 0.1, 0.5, 0.9, 0.95)


@dataclass(frozen=True)
class MonteCarlo:
    """The distribution of every output.

    `mean`, `std`, `mean_error`, `minimum`, `maximum` and `nonfinite` are {output: value}, or the bare value where the
    function returns a bare number; the methods then take no output name.

    Attributes:
        samples: points evaluated (the samples asked for, rounded up to replicates x 2^m; fewer after Ctrl-C).
        replicates: independent scrambles; all errors come from them.
        complete: False after Ctrl-C.
        seconds: wall time, the first call's compilation included.
        parts: {output: OutputSample}.
        events: {event: (probability, its standard error)}.
        rows: ({input: [k]}, {output: [k]}), the first points of every replicate.
        inputs: {input: description of its distribution}.
    """

    samples: int
    replicates: int
    seed: int
    complete: bool
    seconds: float
    parts: dict[str, OutputSample]
    events: dict[str, tuple[float, float]]
    rows: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]
    inputs: dict[str, str]

    def _each(self, attribute: str) -> Any:
        return bare({name: getattr(part, attribute) for name, part in self.parts.items()})

    @property
    def mean(self) -> Any:
        return self._each("mean")

    @property
    def mean_error(self) -> Any:
        return self._each("mean_error")

    @property
    def std(self) -> Any:
        return self._each("std")

    @property
    def nonfinite(self) -> Any:
        return self._each("nonfinite")

    @property
    def minimum(self) -> Any:
        return bare({name: part.least for name, part in self.parts.items()})

    @property
    def maximum(self) -> Any:
        return bare({name: part.greatest for name, part in self.parts.items()})

    @property
    def begun(self) -> int:
        """Replicates that have samples: fewer than `replicates` in a part of a run or one stopped early."""
        return max((len(part.replicates) for part in self.parts.values()), default=0)

    def part(self, output: str = SCALAR) -> OutputSample:
        """All that was kept of one output."""
        if output not in self.parts:
            raise unknown_name("output", output, self.parts)
        return self.parts[output]

    def _asked(self, output: Any, p: Any) -> tuple[OutputSample, float]:
        if p is None:
            output, p = SCALAR, output
        if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
            raise UncertaintyError(f"p = {p!r}: a quantile is asked for at a share in [0, 1], such as 0.95")
        return self.part(output), float(p)

    def quantile(self, output: Any, p: float | None = None) -> float:
        """The value below which a share p of the samples lies, within 0.1 % (and the sampling error)."""
        part, p = self._asked(output, p)
        return part.quantile(p)

    def quantile_error(self, output: Any, p: float | None = None) -> float:
        """The standard error of `quantile`, from the independent replicates; NaN for fewer than two."""
        part, p = self._asked(output, p)
        return part.quantile_error(p)

    def _chance(self, event: str) -> tuple[float, float]:
        if event in self.events:
            return self.events[event]
        clauses = parse_event(event)
        clause = clauses[0]
        if len(clauses) > 1 or isinstance(clause.other, str) or clause.sign in ("==", "!="):
            raise UncertaintyError(
                f"{event!r} compares more than one output with one number: name it before the run, events=({event!r},)"
            )
        part, limit = self.part(clause.output), float(clause.other)

        def chance(counts: BinnedCounts) -> float:
            return counts.below(limit) if "<" in clause.sign else 1.0 - counts.below(limit)

        return chance(part.counts), float(spread(np.array([chance(counts) for counts in part.replicates])))

    def probability(self, event: str) -> float:
        """P(event), e.g. "tinker.total > 200": exact counts where the event was named before the run, else from the
        histogram (the bin that holds the limit, 0.2 % wide, is shared evenly)."""
        return self._chance(event)[0]

    def probability_error(self, event: str) -> float:
        """The standard error of `probability`, from the replicates."""
        return self._chance(event)[1]

    def exceedance(self, output: str = SCALAR) -> tuple[np.ndarray, np.ndarray]:
        """(x, P(Y > x)) at the upper edges of the bins that hold samples."""
        x, share = self.part(output).counts.curve()
        return x, 1.0 - share

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        outputs = {}
        for name, part in self.parts.items():
            outputs[name] = {
                "mean": part.mean,
                "mean_error": part.mean_error,
                "std": part.std,
                "minimum": part.least.value,
                "maximum": part.greatest.value,
                "nonfinite": part.nonfinite,
                "quantiles": {p: part.quantile(p) for p in TABLE_QUANTILES},
                "quantile_errors": {p: part.quantile_error(p) for p in TABLE_QUANTILES},
            }
        return {
            "samples": self.samples,
            "replicates": self.replicates,
            "seed": self.seed,
            "complete": self.complete,
            "seconds": self.seconds,
            "inputs": dict(self.inputs),
            "outputs": outputs,
            "events": {event: {"probability": p, "error": error} for event, (p, error) in self.events.items()},
        }

    def _label(self, output: str) -> str:
        """An output's name in tables."""
        return output or "value"

    def table(self) -> str:
        """A text table: mean, deviation and quantiles of every output, then the events."""
        header = ["output", "mean", "+-", "std", *[f"P{100 * p:g}" for p in TABLE_QUANTILES]]
        rows = []
        for name, part in self.parts.items():
            quantiles = [number(part.quantile(p)) for p in TABLE_QUANTILES]
            rows.append([self._label(name), number(part.mean), _or_none(part.mean_error), number(part.std), *quantiles])
        text = columns(header, rows)
        for event, (p, error) in self.events.items():
            text += f"\nP({event}) {probability_in_words(p, error, samples=self.samples)}"
        for name, part in self.parts.items():
            if part.nonfinite:
                text += f"\n{name or 'value'}: {part.nonfinite:,} of {self.samples:,} values were not finite; left out"
        early = "" if self.complete else ", stopped early"
        replicates = f"{self.begun} replicate{'' if self.begun == 1 else 's'}"
        return f"{text}\n{self.samples:,} samples in {replicates}, seed {self.seed}{early}"


def monte_carlo(
    f: Function,
    distributions: Distributions,
    samples: int = 2**20,
    seed: int = 0,
    *,
    base: Any = None,
    events: Iterable[str] = (),
    correlations: Correlations | None = None,
    outputs: Iterable[str] | None = None,
    integers: Iterable[str] = (),
    replicates: int = 16,
    rows: int = 4096,
    progress: bool | None = None,
    mesh: Devices = None,
) -> MonteCarlo:
    """The distribution of the outputs of f under uncertain inputs, by scrambled Sobol' points.

    Memory does not depend on `samples`. The same seed gives the same counts on any layout, whatever the order in which
    the inputs are given.

    Args:
        f: a jittable function of scalars, mapped over the samples here. Without a base it gets {input: value}; with
            one, the base with those dotted paths replaced. It returns a scalar or a dict (nested, or a Module) of
            scalars.
            Programs are kept by function object: define f once, outside of any loop. A lambda written in the call is a
            new function each time and compiles anew (1 to 3 s).
        distributions: {input: distribution}.
        samples: the total over all replicates, rounded up to replicates x 2^m. The first run of a size compiles; sizes
            of 64 chunks of 2^13 per replicate or more (8.4 million samples in 16) all share one program, and so do other
            seeds and other parameters of the distributions.
        seed: whole number >= 0.
        base: nested mappings, dataclasses or Modules.
        events: comparisons joined by "and" whose probabilities are counted exactly, e.g. "own < tinker and own < 200".
        correlations: {(input, input): rank correlation}, by a Gaussian copula.
        outputs: the outputs to keep, all when None.
        integers: inputs to sample as whole numbers.
        replicates: independent scrambles, from which all errors come; >= 1 (no errors with 1).
        rows: samples kept as rows, over all replicates.
        progress: True, False, or None for "where stderr is a terminal" (and after two seconds).
        mesh: the devices that compute, as in `streaming.run`; all of them, of all processes, when None.

    Raises:
        UncertaintyError: an unknown path, output or event, samples <= 0, impossible correlations.
    """
    planned = plan(
        f,
        distributions,
        samples,
        seed,
        base=base,
        events=events,
        correlations=correlations,
        outputs=outputs,
        integers=integers,
        replicates=replicates,
        rows=rows,
    )
    return planned.result(run(planned.points, planned.pipeline, planned.reducers, progress=progress, mesh=mesh))


def _or_none(error: float) -> str:
    return "-" if error != error else number(error)


class Plan(NamedTuple):
    """A Monte Carlo run that is checked and not yet done: what `streaming.run` takes, and how to read its states."""

    study: Study
    points: SobolPoints
    pipeline: Pipeline
    reducers: dict[str, Reducer]
    seed: int

    def result(self, done: Run) -> MonteCarlo:
        """The distribution of the outputs, of a run over some or all of the chunks."""
        described = {name: distribution.describe() for name, distribution in self.study.distributions.items()}
        parts = sampled(self.study.outputs, self.reducers, done.states)
        return MonteCarlo(done.points, self.points.strata, self.seed, done.complete, done.seconds, *parts, described)

    def blank_states(self) -> dict[str, Any]:
        """The states' structure and shapes."""
        return state_shapes(
            self.reducers, self.study.outputs, self.study.sampler.names, self.points.chunk_size, self.points.strata
        )


def plan(
    f: Function,
    distributions: Distributions,
    samples: int,
    seed: int,
    *,
    base: Any = None,
    events: Iterable[str] = (),
    correlations: Correlations | None = None,
    outputs: Iterable[str] | None = None,
    integers: Iterable[str] = (),
    replicates: int = 16,
    rows: int = 4096,
    octaves: tuple[int, int] | None = None,
) -> Plan:
    """What `monte_carlo` does before it runs; the same arguments, and the octaves of the histograms."""
    study = prepare(f, distributions, base, outputs=outputs, correlations=correlations, integers=integers)
    m, replicates, seed = log2_per_replicate(samples, replicates, 1, seed)
    kept = sample_reducers(names_of(events), rows, replicates, octaves)
    _refuse_too_large(kept, study, replicates)
    points = SobolPoints(study.dimensions, m, replicates, seed, min(_LOG2_CHUNK, m))
    pipeline = Pipeline((study.sampler, Evaluate(study.model)), keep=True)
    return Plan(study, points, pipeline, kept, int(seed))


def _refuse_too_large(reducers: dict[str, Reducer], study: Study, replicates: int) -> None:
    """Refuse more replicates than this machine has memory for: each has a histogram of each output."""
    each = state_shapes(reducers, study.outputs, study.sampler.names, 1, 1)
    needed = replicates * sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree_util.tree_leaves(each))
    there = available_bytes()
    if there is not None and needed > there:
        raise UncertaintyError(
            f"replicates = {replicates:,}: what is kept of that many takes {needed / 1e9:,.1f} GB, and this machine has "
            f"{there / 1e9:,.1f} GB free; take fewer (16 is usual: more samples need no more replicates)"
        )
