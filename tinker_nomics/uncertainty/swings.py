"""Tornado: how far each input alone moves each output, over the same quantiles of every input's own range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .bars import Bar, Tornado
from .errors import UncertaintyError, unknown_name
from .model import SCALAR, Model
from .roots import Bracket, Crossing, brackets, refine
from .study import (
    Distributions,
    Evaluate,
    Function,
    centre,
    evaluate_table,
    names_of,
    one_at_a_time,
    output_names,
    prepare,
    stacked,
)

_POINTS = 33  # of each input, the two ends included


def tornado(
    f: Function,
    distributions: Distributions,
    *,
    base: Any = None,
    outputs: Iterable[str] | None = None,
    quantiles: tuple[float, float] = (0.1, 0.9),
    range: str | None = None,
    decision: str | None = None,
    threshold: float = 0.0,
    branches: Iterable[str] = (),
    undeclared: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
) -> Tornado:
    """Swing of every output over the same quantiles of each input's distribution, one input at a time.

    Args:
        f, base: as in `monte_carlo`. The others stay at the base's values (at their medians without a base).
        distributions: {input: distribution}.
        outputs: the outputs that get bars; all but the branches when None.
        quantiles: the ends of all bars.
        range: another question: "10%" moves every input by 10 % of its centre, whatever its distribution says.
        decision: the output whose crossing of `threshold` is the decision; ticks mark where it flips.
        branches: outputs that are margins of the model's branches; ticks mark where they cross zero.
        undeclared: inputs without a range, listed and not drawn.
        units: {input: unit} for labels.

    Raises:
        UncertaintyError: quantiles that do not rise within (0, 1), an unknown output or path.
    """
    if len(quantiles) != 2 or not 0 < quantiles[0] < quantiles[1] < 1:
        raise UncertaintyError(f"quantiles = {quantiles!r}: must be two that rise within (0, 1), such as (0.1, 0.9)")
    low, high = quantiles
    study = prepare(f, distributions, base)
    middle = centre(study)
    label = f"P{100 * low:g} to P{100 * high:g}"
    if range is None:
        p = np.linspace(low, high, _POINTS)
        ranges = {name: np.asarray(d.quantile(p)) for name, d in study.distributions.items()}
    else:
        share = _share(range)
        label = f"-{100 * share:g} % to +{100 * share:g} %, not from any distribution"
        ranges = {name: _around(name, value, share) for name, value in middle.items()}
    values = {name: (x, ("", "")) for name, x in ranges.items()}
    return _bars(
        study.model, middle, values, outputs, "uncertainties", label, decision, threshold, branches, undeclared, units
    )


def levers(
    f: Function,
    steps: Mapping[str, Sequence[Any]],
    *,
    base: Any = None,
    at: Mapping[str, float] | None = None,
    outputs: Iterable[str] | None = None,
    decision: str | None = None,
    threshold: float = 0.0,
    branches: Iterable[str] = (),
    undeclared: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
    label: str = "natural steps",
) -> Tornado:
    """Swing of every output when each lever is moved by its own natural step: a `Tornado` of kind "levers".

    Args:
        f, base, outputs, decision, threshold, branches, undeclared, units: as in `tornado`.
        steps: {input: (low, high)} or (low, high, low label, high label), values on either side of the centre.
        at: {input: value}, the centre, of all inputs where there is no base; the base's values when None.
    """
    model = Model(f, base)
    model.check_paths(steps)
    if not model.has_base and (at is None or any(name not in at for name in steps)):
        raise UncertaintyError("at: without a base give the centre of every lever, {input: value}")
    middle = {name: model.value(name) for name in steps} if model.has_base else {}
    middle |= {name: float(value) for name, value in (at or {}).items()}
    values = {}
    for name, step in steps.items():
        low, high, *labels = step
        if not float(low) < float(high):
            raise UncertaintyError(f"{name}: the step {low!r} to {high!r} must rise")
        values[name] = (np.array([low, high], dtype=np.float64), tuple(labels) if labels else ("", ""))
    return _bars(model, middle, values, outputs, "levers", label, decision, threshold, branches, undeclared, units)


def _share(text: str) -> float:
    try:
        share = float(text.rstrip().rstrip("%")) / 100.0
    except (AttributeError, ValueError):
        share = float("nan")
    if not 0 < share < 1:
        raise UncertaintyError(f"range = {text!r}: must be a share such as '10%'")
    return share


def _around(name: str, value: float, share: float) -> np.ndarray:
    if value == 0:
        raise UncertaintyError(f"{name} = 0: a share of it is no range; leave it out or declare a distribution")
    ends = sorted((value * (1 - share), value * (1 + share)))
    return np.linspace(ends[0], ends[1], _POINTS)


def _bars(
    model: Model,
    middle: dict[str, float],
    values: Mapping[str, tuple[np.ndarray, Any]],
    outputs: Iterable[str] | None,
    kind: str,
    label: str,
    decision: str | None,
    threshold: float,
    branches: Iterable[str],
    undeclared: Iterable[str],
    units: Mapping[str, str] | None,
) -> Tornado:
    known, branches = output_names(model, tuple(middle)), names_of(branches)
    wanted = tuple(name for name in known if name not in branches) if outputs is None else names_of(outputs)
    for name in (*wanted, *branches, *(() if decision is None else (decision,))):
        if name not in known:
            raise unknown_name("output", name, known)
    tables = [one_at_a_time(middle, name, x) for name, (x, _) in values.items()]
    tables.append(one_at_a_time(middle, next(iter(middle)), [middle[next(iter(middle))]]))
    evaluate = partial(evaluate_table, Evaluate(model))
    found = evaluate(stacked(tables))
    places = np.cumsum([0, *[len(x) for x, _ in values.values()]])
    cut = {n: slice(places[i], places[i + 1]) for i, n in enumerate(values)}
    watched = [(branch, 0.0) for branch in branches] + ([(decision, threshold)] if decision is not None else [])
    brackets_found: list[Bracket] = []
    for name, (x, _) in values.items():
        for output, target in watched:
            brackets_found += brackets(name, output, x, found[output][cut[name]], target)
    marks: dict[tuple[str, str], list[Crossing]] = {}
    for bracket, crossing in zip(brackets_found, refine(evaluate, middle, brackets_found)):
        marks.setdefault((bracket.name, bracket.output), []).append(crossing)
    bars = {}
    for output in wanted:
        row = [
            Bar(
                name,
                x,
                found[output][cut[name]],
                tuple(marks.get((name, decision or SCALAR), ())) if decision is not None else (),
                {branch: tuple(marks[name, branch]) for branch in branches if (name, branch) in marks},
                labels,
                (units or {}).get(name, ""),
            )
            for name, (x, labels) in values.items()
        ]
        bars[output] = tuple(sorted(row, key=lambda bar: -np.nan_to_num(bar.swing)))
    at_centre = {output: float(found[output][-1]) for output in known}
    return Tornado(at_centre, bars, kind, label, names_of(undeclared), dict(middle), decision, threshold)
