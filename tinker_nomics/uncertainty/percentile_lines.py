"""Spider: each output along the percentiles of each input's own range."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import UncertaintyError, unknown_name
from .study import Distributions, Evaluate, Function, centre, evaluate_table, one_at_a_time, prepare, stacked
from .text import columns, number

MOST_LINES = 7


@dataclass(frozen=True)
class Spider:
    """Lines of every output, one input moved at a time.

    Attributes:
        percentiles: of each input's own distribution [n], the x axis.
        values: {input: its values there [n]}.
        lines: {output: {input: the output there [n]}}.
        base: {output: value} with every input at its centre.
    """

    percentiles: np.ndarray
    values: dict[str, np.ndarray]
    lines: dict[str, dict[str, np.ndarray]]
    base: dict[str, float]

    def of(self, output: str | None = None, limit: int = MOST_LINES) -> dict[str, np.ndarray]:
        """The lines of one output that swing most, at most `limit`, largest swing first."""
        if output is None and len(self.lines) == 1:
            output = next(iter(self.lines))
        if output is None:
            raise UncertaintyError(f"output: there are {', '.join(self.lines)}; name one")
        if output not in self.lines:
            raise unknown_name("output", output, self.lines)
        lines = self.lines[output]
        ranked = sorted(lines, key=lambda name: -np.nan_to_num(np.ptp(lines[name])))
        return {name: lines[name] for name in ranked[:limit]}

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        return {
            "percentiles": self.percentiles.tolist(),
            "values": {name: x.tolist() for name, x in self.values.items()},
            "lines": {o: {name: y.tolist() for name, y in part.items()} for o, part in self.lines.items()},
            "base": dict(self.base),
        }

    def table(self, output: str | None = None) -> str:
        """A text table: the lines of one output, or of all, at a few percentiles."""
        if output is None and len(self.lines) > 1:
            return "\n\n".join(self.table(name) for name in self.lines)
        shown = [0, len(self.percentiles) // 4, len(self.percentiles) // 2, -1 - len(self.percentiles) // 4, -1]
        head = [output or "input", *[f"P{self.percentiles[k]:g}" for k in shown]]
        return columns(head, [[name, *[number(y[k]) for k in shown]] for name, y in self.of(output).items()])


def spider(
    f: Function, distributions: Distributions, *, base: Any = None, outputs: Iterable[str] | None = None
) -> Spider:
    """Every output along P5, P10, ..., P95 of each input, the others at the base's values (or their medians).

    Args:
        f, distributions, base, outputs: as in `monte_carlo`.
    """
    study = prepare(f, distributions, base, outputs=outputs)
    middle = centre(study)
    percentiles = np.linspace(5.0, 95.0, 19)
    values = {n: np.asarray(d.quantile(percentiles / 100.0)) for n, d in study.distributions.items()}
    first = next(iter(middle))
    tables = [one_at_a_time(middle, name, x) for name, x in values.items()]
    found = evaluate_table(Evaluate(study.model), stacked([*tables, one_at_a_time(middle, first, [middle[first]])]))
    size = len(percentiles)
    lines = {
        output: {name: found[output][i * size : (i + 1) * size] for i, name in enumerate(values)}
        for output in study.outputs
    }
    return Spider(percentiles, values, lines, {output: float(found[output][-1]) for output in study.outputs})
