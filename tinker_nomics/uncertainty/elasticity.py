"""Derivatives and elasticities at one point, from both sides where a kink or a jump lies there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..streaming.reducer import Evaluation
from .distribution_base import Distribution
from .errors import UncertaintyError, finite_number
from .model import SCALAR, Model
from .study import Function, bare, evaluate_table, names_of, one_at_a_time, output_names
from .text import columns, number

_SIDE = 1e-7  # one-sided values are taken at x (1 +- 1e-7)
_CHECK = 1e-5  # the central difference spans x (1 +- 1e-5)
_SLOPE = "\0slope"


class Slopes(eqx.Module):
    """Rows ({input: [n]}, {input direction: [n]}) into every output and its derivative along the direction."""

    model: Model

    def __call__(self, rows: tuple[dict[str, jax.Array], dict[str, jax.Array]]) -> Evaluation:
        values, slopes = jax.vmap(lambda x, t: jax.jvp(self.model, (x,), (t,)))(*rows)
        return Evaluation({**values, **{name + _SLOPE: slope for name, slope in slopes.items()}})


@dataclass(frozen=True)
class Elasticities:
    """Local sensitivities. Fields are {input: value}, or {output: {input: value}} where the function returns a dict.

    Attributes:
        point: {input: value} where they were taken.
        output: the value of each output there.
        derivative: dY/dx by automatic differentiation. elasticity: d ln Y / d ln x = derivative x / Y.
        left, right: the derivative at x (1 -+ 1e-7), which differ from each other at a kink.
        jump_left, jump_right: Y(x) - Y(x-) and Y(x+) - Y(x) at a jump, else 0.
        kink: whether left and right differ or there is a jump.
        one_more: Y(x + 1) - Y(x), the exact effect of one more unit.
        difference: the central difference over x (1 +- 1e-5), a check on the derivative.
        agrees: whether the two agree to 1e-5; False means that a kink or a jump lies that near.
    """

    point: dict[str, float]
    output: Any
    derivative: Any
    elasticity: Any
    left: Any
    right: Any
    jump_left: Any
    jump_right: Any
    kink: Any
    one_more: Any
    difference: Any
    agrees: Any
    outputs: tuple[str, ...]

    def of(self, what: Any, output: str) -> Any:
        """The part of one output of a field such as `elasticity`."""
        return what if self.outputs == (SCALAR,) else what[output]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        fields = ("point", "output", "derivative", "elasticity", "left", "right", "jump_left", "jump_right", "kink")
        return {name: getattr(self, name) for name in (*fields, "one_more", "difference", "agrees")}

    def table(self) -> str:
        """A text table per output, largest elasticity first; `left | right` where a kink lies at the point."""
        texts = []
        for output in self.outputs:
            slope, elastic, kink, left, right, more = (
                self.of(field, output)
                for field in (self.derivative, self.elasticity, self.kink, self.left, self.right, self.one_more)
            )
            rows = []
            for name in sorted(self.point, key=lambda n: -np.nan_to_num(abs(elastic[n]))):
                sides = f"{number(left[name])} | {number(right[name])}" if kink[name] else ""
                rows.append(
                    [name, *[number(v) for v in (self.point[name], slope[name], elastic[name], more[name])], sides]
                )
            head = [output or "input", "at", "derivative", "elasticity", "one more", "left | right"]
            texts.append(columns(head, rows))
        return "\n\n".join(texts)


def elasticities(
    f: Function, inputs: Mapping[str, Any] | Iterable[str], *, base: Any = None, outputs: Iterable[str] | None = None
) -> Elasticities:
    """Derivative, elasticity and one-sided derivatives of every output by every input, one input at a time.

    **Kinks:** the derivative at a kink is the one of the branch that the function takes there; `left` and `right` say
    what it is on either side, and jumps are taken apart from slopes.

    Args:
        f, base, outputs: as in `monte_carlo`.
        inputs: {input: value, or a distribution for its median}; with a base also just the paths, at the base's values.

    Source: forward-mode derivatives; the check by central differences costs two more evaluations per input.
    """
    model = Model(f, base, outputs)
    point = _point(model, inputs)
    found_names = output_names(model, tuple(point))
    tables, directions, widths = [], [], []
    for name, value in point.items():
        side, check = (step * (abs(value) or 1.0) for step in (_SIDE, _CHECK))
        values = np.array([value, value - side, value + side, value - check, value + check, value + 1.0])
        widths.append((values[0] - values[1], values[2] - values[0], values[4] - values[3]))
        tables.append(one_at_a_time(point, name, values))
        directions.append({other: np.full(6, float(other == name)) for other in point})
    rows = tuple({name: np.concatenate([t[name] for t in part]) for name in point} for part in (tables, directions))
    found = evaluate_table(Slopes(model), rows)
    per_output = {}
    for output in found_names:
        y, slope = (found[key].reshape(len(point), 6) for key in (output, output + _SLOPE))
        per_output[output] = _local(tuple(point.values()), np.array(widths), y, slope)
    fields = tuple(next(iter(per_output.values())))

    def named(values: np.ndarray) -> dict[str, Any]:
        return dict(zip(point, values.tolist()))

    return Elasticities(
        point,
        bare({output: float(found[output][0]) for output in found_names}),
        *(bare({o: named(part[field]) for o, part in per_output.items()}) for field in fields),
        outputs=found_names,
    )


def _point(model: Model, inputs: Mapping[str, Any] | Iterable[str]) -> dict[str, float]:
    if not isinstance(inputs, Mapping):
        inputs = names_of(inputs)
        if not model.has_base:
            raise UncertaintyError("inputs: without a base give {input: value}, not only names")
        inputs = dict.fromkeys(inputs)
    model.check_paths(inputs)
    point = {}
    for name, value in inputs.items():
        if model.has_base and (value is None or isinstance(value, Distribution)):
            value = model.value(name)
        point[name] = finite_number(name, value.median if isinstance(value, Distribution) else value)
    if not point:
        raise UncertaintyError("no input given")
    return point


def _local(point: tuple[float, ...], widths: np.ndarray, y: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    """The fields of one output from values and slopes [d, 6] at x, x-, x+, x - H, x + H, x + 1."""
    here, below, above, far_below, far_above, more = y.T
    derivative, left, right = slope[:, 0], slope[:, 1], slope[:, 2]
    x = np.array(point)
    with np.errstate(divide="ignore", invalid="ignore"):
        elasticity = np.where(here != 0, derivative * x / here, np.nan)
    jumps = [here - below - left * widths[:, 0], above - here - right * widths[:, 1]]
    # what curvature and rounding leave is of the order of 1e-14 of the value
    floor = 1e-10 * np.maximum(np.abs(here), np.abs(derivative * x))
    jumps = [np.where(np.abs(jump) > floor, jump, 0.0) for jump in jumps]
    size = np.maximum(np.abs(left), np.abs(right))
    kink = (np.abs(right - left) > 1e-5 * size) | (jumps[0] != 0) | (jumps[1] != 0)
    difference = (far_above - far_below) / widths[:, 2]
    # two evaluations 2e-5 apart tell the slope to about 1e-11 of Y / x
    noise = 1e-5 * np.abs(derivative) + 1e-9 * np.abs(here) / np.where(x == 0, 1.0, np.abs(x))
    return {
        "derivative": derivative,
        "elasticity": elasticity,
        "left": left,
        "right": right,
        "jump_left": jumps[0],
        "jump_right": jumps[1],
        "kink": kink,
        "one_more": more - here,
        "difference": difference,
        "agrees": np.abs(difference - derivative) <= noise,
    }
