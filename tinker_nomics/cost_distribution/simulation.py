"""`monte_carlo` of a run: the cost under uncertain parameters, on one machine or many, with progress that is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..config import Config, set_paths
from ..cost_parts.known_schedule import known_schedule
from ..declared_ranges import check_distributions, declared_distributions, held, refuse_none
from ..errors import TinkerNomicsError
from ..outputs import UNITS
from ..parameters import registry
from ..plain_config import checked
from ..report_outputs import OUTPUTS, check_output, every_output
from ..streaming.chunk_range import chunk_range
from ..streaming.devices import Devices
from ..streaming.engine import total_chunks
from ..streaming.kept_run import run_kept
from ..sweeps.result import provenance_of
from ..totals_text import leaves_discards_out
from ..uncertainty.correlation import Correlations
from ..uncertainty.distribution_base import Distribution
from ..uncertainty.simulation import Plan, plan
from .bounds import refuse_out_of_bounds
from .length_path import read_lengths, with_lengths
from .result import CostDistribution, budget_events, distribution_from

OWN_CHEAPER = "difference.total < 0"
ROWS = 4096
OCTAVES = (-24, 56)  # of USD, hours, tokens and bytes: 6e-8 to 7e16


def monte_carlo(
    config: Config,
    distributions: Mapping[str, Distribution] | None = None,
    samples: int = 10_000_000,
    seed: int = 0,
    *,
    lengths: Any = None,
    budget: float | None = None,
    outputs: Iterable[str] = OUTPUTS,
    events: Iterable[str] = (),
    correlations: Correlations | None = None,
    replicates: int = 16,
    chunks: range | str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    mesh: Devices = None,
    progress: bool | None = None,
    every: float = 5.0,
) -> CostDistribution:
    """The distribution of a run's costs under uncertain parameters, at constant memory.

    Under `jax.distributed` every process makes the same call and gets the same result.

    Args:
        config: what everything else is taken from.
        distributions: {path: distribution}; when None every declared range that applies to the run, but of parameters
            that it overrides: those are held at its values.
        samples: the total, rounded up to replicates x 2^m.
        seed: whole number >= 0; the same seed gives the same counts on any layout.
        lengths: mean completion tokens per step (array [steps] or a CSV file), in the place of length and growth.
        budget: USD; P(cost > budget) of both sides is then counted exactly.
        outputs: names of the outputs to follow, as in `outputs.UNITS`; difference.total always is one.
        events: further comparisons to count exactly, e.g. "self_hosted.total < 100 and difference.total < 0".
        correlations: {(path, path): rank correlation}.
        replicates: independent scrambles, from which all errors come.
        chunks: only these chunks: a range, "0:4096", or "3/64" (the fourth of 64 parts, counted from 0).
        out: a file (.npz) for progress and result; `CostDistribution.from_npz` and `merge_parts` read it.
        resume: go on from `out` where it exists.
        force: overwrite `out`.
        mesh: the devices that compute, as in `streaming.run`; all of them, of all processes, when None.
        progress: True, False, or None for "where stderr is a terminal" (and after two seconds).
        every: seconds between writes of `out`.

    Raises:
        TinkerNomicsError: an unknown path, output or event, a distribution beyond a parameter's bounds, a file that
            exists or belongs to another run: each by name.
    """
    checked(config, "monte_carlo")
    given = check_distributions({} if distributions is None else distributions)
    path = None if lengths is None else read_lengths(lengths)
    if distributions is None:
        given = declared_distributions(config)
        if path is not None:
            given.pop("workload.length_growth", None)
        refuse_none(config, given)
    if path is not None:
        config = with_lengths(config, path, given)
    refuse_out_of_bounds(config, given, "this Monte Carlo run")
    followed = tuple(dict.fromkeys((*(check_output(name, tuple(UNITS)) for name in outputs), "difference.total")))
    counted = tuple(dict.fromkeys((*_budget_events(followed, budget), OWN_CHEAPER, *events)))
    # an absent figure that is uncertain needs a leaf to be put in the place of
    base = set_paths(config, {name: float(distribution.median) for name, distribution in given.items()})
    base = known_schedule(base, given)
    planned = plan(
        every_output,
        given,
        samples,
        seed,
        base=base,
        events=counted,
        correlations=correlations,
        outputs=followed,
        integers=[name for name in given if registry()[name].kind == "integer"],
        replicates=replicates,
        rows=ROWS,
        octaves=OCTAVES,
    )
    asked = chunk_range(chunks, total_chunks(planned.points))
    about = _description(config, planned, followed, counted, correlations, budget, path)
    done = run_kept(
        planned.points,
        planned.pipeline,
        planned.reducers,
        out,
        about,
        planned.blank_states(),
        chunks=asked,
        resume=resume,
        force=force,
        mesh=mesh,
        progress=progress,
        every=every,
    )
    ends = (asked.start, done.stop)
    found = distribution_from(about, done.states, done.points, done.complete, done.seconds, ends)
    return replace(found, resumed=done.resumed)


def _budget_events(outputs: Iterable[str], budget: float | None) -> list[str]:
    if budget is None:
        return []
    if not np.isfinite(budget):
        raise TinkerNomicsError(f"budget = {budget!r}: a number of USD is allowed")
    return budget_events(outputs, budget)


def _description(
    config: Config,
    planned: Plan,
    outputs: tuple[str, ...],
    events: tuple[str, ...],
    correlations: Correlations | None,
    budget: float | None,
    lengths: np.ndarray | None,
) -> dict[str, Any]:
    """What decides the numbers of a run, as plain JSON values; its "hash" names the configuration."""
    points, sampler = planned.points, planned.study.sampler
    provenance = provenance_of(config)
    about: dict[str, Any] = {
        "kind": "monte-carlo",
        "program": provenance.pop("program"),
        "jax": jax.__version__,
        "seed": planned.seed,
        "replicates": points.replicates,
        "log2_points": points.log2_points,
        "log2_chunk": points.log2_chunk,
        "outputs": list(outputs),
        "events": list(events),
        "rows": ROWS,
        "octaves": list(OCTAVES),
        "budget": budget,
        "uncertain": {
            name: {
                "distribution": structure[0].__name__,
                "integer": bool(structure[1]),
                "parameters": [np.asarray(leaf).tolist() for leaf in leaves],
                "described": planned.study.distributions[name].describe(),
                "source": planned.study.distributions[name].source,
            }
            for name, structure, leaves in zip(sampler.names, sampler.structures, sampler.leaves)
        },
        "correlations": sorted([*sorted(pair), float(rank)] for pair, rank in (correlations or {}).items()),
        "lengths": None if lengths is None else lengths.tolist(),
        "held": list(held(config, planned.study.distributions)),
        "without_discarded": leaves_discards_out(config, planned.study.distributions),
        "provenance": provenance,
    }
    about["hash"] = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
    return json.loads(json.dumps(about))
