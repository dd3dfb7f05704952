"""The cost model around one configuration: slopes from both sides, steps, and where its branches switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..boundary import x64
from ..config import Config, get
from ..cost_model import evaluate
from ..one_shot import one_shot
from ..parameters import Parameter, registry
from ..report_outputs import OUTPUTS

SIDE = 1e-9  # relative distance at which a slope is taken from one side of a kink
TIE = (
    1e-9  # a margin [h, GPUs, steps, ...] that stays within it is a tie that the model makes, and its sign is rounding
)
_WHOLE = {
    "replica_gpus_ceil": -2,
    "trainer_gpus_ceil": -1,
}  # where the number lies that is rounded up; others: min_gpus
_ROWS = 72  # of a call of the one program: few calls hold more, and padding to one number keeps the trace


@cache
def _program(structure: Any) -> tuple[Any, list[str]]:
    """(rows of leaves, tangents) -> outputs, margins, slopes of the outputs; the margins' names, once it has run.

    One program and the quickest compilation: it runs for a tenth of the time that another program takes to compile.
    """
    branches: list[str] = []

    def flat(vector: jax.Array) -> tuple[jax.Array, jax.Array]:
        estimate = evaluate(jax.tree.unflatten(structure, list(vector)))
        branches[:] = sorted(estimate.branches)
        outputs = jnp.stack([jnp.asarray(estimate[name]) for name in OUTPUTS])
        need = estimate.memory
        sides = (need.min_gpus if gpus is None else gpus for gpus in (need.engine_gpus, need.trainer_gpus))
        margins = [*(estimate.branches[name] for name in branches), need.min_gpus, *sides]
        return outputs, jnp.stack([jnp.asarray(margin) for margin in margins])

    def with_slopes(vector: jax.Array, tangent: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        (outputs, margins), (slopes, _) = jax.jvp(flat, (vector,), (tangent,))
        return outputs, margins, slopes

    return one_shot(jax.vmap(with_slopes)), branches


class LocalModel:
    """The four outputs of a configuration as functions of its numbers, batched over rows.

    Args:
        config: plain numbers.

    Attributes:
        paths: the parameters that are present, in the order of a row.
        base: the configuration's own row [n].
        branches: names of the margins, in the order of their columns; three more follow, whole numbers of GPUs: all that
            are needed, those of a replica, those of the trainer.
    """

    def __init__(self, config: Config):
        leaves, structure = jax.tree.flatten(config)
        self.paths = tuple(path for path in registry() if get(config, path) is not None)
        self.base = np.array(leaves, dtype=np.float64)
        self._program, branches = _program(structure)
        self._call(self.base[None], np.zeros((1, len(leaves))))
        self.branches = tuple(branches)

    def rows(self, path: str, values: Sequence[float] | np.ndarray) -> np.ndarray:
        """The base repeated [m, n], with the parameter at `path` taking `values` [m]."""
        values = np.asarray(values, dtype=np.float64)
        rows = np.repeat(self.base[None], len(values), axis=0)
        rows[:, self.paths.index(path)] = values
        return rows

    def outputs(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs [m, 4] and margins [m, branches + 3] of rows [m, n]."""
        outputs, margins, _ = self._call(rows, np.zeros_like(rows))
        return outputs, margins

    def table(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """{output or branch margin: [m]} at the rows {path: [m]} of a table that holds every path."""
        outputs, margins = self.outputs(np.stack([columns[path] for path in self.paths], axis=1))
        found = {name: outputs[:, index] for index, name in enumerate(OUTPUTS)}
        return found | {name: margins[:, index] for index, name in enumerate(self.branches)}

    @property
    def centre(self) -> dict[str, float]:
        """The configuration's own values {path: value}."""
        return dict(zip(self.paths, map(float, self.base)))

    def _call(self, rows: np.ndarray, tangents: np.ndarray) -> list[np.ndarray]:
        """Outputs [m, 4], margins [m, branches + 3] and slopes [m, 4] of rows and tangents [m, n]."""
        found = []
        with x64():
            for start in range(0, len(rows), _ROWS):
                blocks = (given[start : start + _ROWS] for given in (rows, tangents))
                short = max(0, start + _ROWS - len(rows))
                padded = (np.concatenate([block, np.repeat(block[:1], short, axis=0)]) for block in blocks)
                found.append([np.asarray(part)[: _ROWS - short] for part in self._program(*padded)])
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]

    def slopes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives [n, 4] at the base, and from the left and from the right; NaN where that side is out of bounds."""
        count = len(self.base)
        step = np.where(self.base == 0, SIDE, np.abs(self.base) * SIDE)
        sides = (0.0, -1.0, 1.0)
        points = np.concatenate([self.base + np.diag(side * step) for side in sides])
        tangents = np.concatenate([np.eye(count)] * 3)
        _, _, found = self._call(points, tangents)
        middle, left, right = found.reshape(3, count, len(OUTPUTS))
        for index, path in enumerate(self.paths):
            parameter = registry()[path]
            if self.base[index] <= parameter.low:
                left[index] = np.nan
            if self.base[index] >= parameter.high:
                right[index] = np.nan
        return middle, left, right


@dataclass(frozen=True)
class Switch:
    """The nearest value of one parameter at which one branch of the model switches.

    Args:
        branch: the margin's name.
        margin: its value at the configuration.
        path, value: the parameter that gets there with the least relative change, and where.
        jump: change of each output at the switch itself (zero at a kink), from below to above; of a whole number that
            jumps, the change over the step that switches it; None where the run does not fit on one side.
        step: the two neighbouring whole numbers of that step; None for other parameters.
    """

    branch: str
    margin: float
    path: str | None
    value: float | None
    jump: dict[str, float | None]
    step: tuple[float, float] | None = None


def bisect(
    model: LocalModel, path: str, low: float, high: float, crossed: Any, rounds: int = 20
) -> tuple[float, float]:
    """The ends of the smallest interval in which `crossed(outputs, margins) -> bool [m]` changes from its value at `low`.

    Args:
        low, high: values of the parameter; `crossed` differs between them.
    """
    start = bool(crossed(*model.outputs(model.rows(path, [low])))[0])
    for _ in range(rounds):
        # a call costs the same full as with one row in it, so every round asks for as many points as it holds
        points = np.unique(np.linspace(low, high, _ROWS))
        points = points if low <= high else points[::-1]
        inside = points[(points != low) & (points != high)]
        if len(inside) == 0:
            break
        changed = np.asarray(crossed(*model.outputs(model.rows(path, inside))), dtype=bool) != start
        first = int(np.argmax(changed)) if changed.any() else len(inside)
        ends = [low, *inside.tolist(), high]
        low, high = ends[first], ends[first + 1]
    return low, high


def reach(parameter: Parameter, value: float, factor: float = 10.0, count: int = 65) -> np.ndarray:
    """Values on both sides of `value`, within its bounds: a factor of 10 either way, or a rate's whole range."""
    if parameter.kind == "integer":
        low, high = max(parameter.low, np.floor(value / factor)), min(parameter.high, max(np.ceil(value * factor), 8.0))
        return np.unique(np.round(np.concatenate([np.geomspace(max(low, 1), max(high, 1), count), [low, value, high]])))
    if parameter.high <= 1:
        inside = np.linspace(parameter.low, parameter.high, count)
        return np.unique(np.append(inside[1:] if parameter.open_low else inside, value))
    if value == 0:
        return np.array([0.0])
    most = min(value * factor, parameter.high)
    around = np.append(np.geomspace(value / factor, most, count), [value, max(value / factor, parameter.low)])
    return np.unique(around[around > parameter.low] if parameter.open_low else around[around >= parameter.low])


def switches(model: LocalModel, margins: np.ndarray) -> list[Switch]:
    """For every branch of the model its margin here and the nearest switch along any one parameter.

    Args:
        margins: the margins of the base row [branches + 3].
    """
    best: dict[str, tuple[float, str, float, float]] = {}
    for index, path in enumerate(model.paths):
        value = model.base[index]
        grid = reach(registry()[path], value)
        _, found = model.outputs(model.rows(path, grid))
        here = int(np.searchsorted(grid, value))
        for column, branch in enumerate(model.branches):
            marks = _marks(found, column, branch)
            if np.abs(found[:, column]).max() <= TIE:
                continue
            for side in (range(here, len(grid) - 1), range(here, 0, -1)):
                step = 1 if side.step > 0 else -1
                crossing = next((i for i in side if marks[i + step] != marks[i]), None)
                if crossing is None:
                    continue
                near, far = grid[crossing], grid[crossing + step]
                distance = abs(far - value) / abs(value) if value else abs(far)
                if branch not in best or distance < best[branch][0]:
                    best[branch] = (distance, path, near, far)
    return [_switch(model, branch, margins[column], best.get(branch)) for column, branch in enumerate(model.branches)]


def _marks(margins: np.ndarray, column: int, branch: str) -> np.ndarray:
    """Which side of the branch each row is on: the margin's sign, or for a ceil the whole number itself."""
    return margins[:, _WHOLE.get(branch, -3)] if branch.endswith("_ceil") else margins[:, column] >= 0


def _switch(model: LocalModel, branch: str, margin: float, found: tuple[float, str, float, float] | None) -> Switch:
    if found is None:
        return Switch(branch, float(margin), None, None, {})
    _, path, near, far = found
    column = model.branches.index(branch)
    parameter = registry()[path]
    start = _marks(model.outputs(model.rows(path, [near]))[1], column, branch)[0]
    if parameter.kind == "integer":
        near, far = _whole_bisect(model, path, near, far, branch)
    # of a whole number too: what one step does besides switching the branch is its slope, not the jump
    ends = bisect(model, path, near, far, lambda _, margins: _marks(margins, column, branch) != start)
    values, _ = model.outputs(model.rows(path, sorted(ends)))
    jump = values[1] - values[0]
    scale = np.abs(values).max(axis=0)
    # two neighbouring floats differ by their slope; only what exceeds rounding is a jump
    jump = np.where(np.abs(jump) <= 1e-9 * scale, 0.0, jump)
    if parameter.kind != "integer":
        return Switch(branch, float(margin), path, float(ends[1]), _known(jump))
    step = (float(min(near, far)), float(max(near, far)))
    whole, _ = model.outputs(model.rows(path, step))
    # half a GPU or half a step off-policy is nobody's to choose: a jump is told as what the whole step changes
    jump = np.where(jump == 0, 0.0, whole[1] - whole[0])
    return Switch(branch, float(margin), path, float(far), _known(jump), step)


def _known(jump: np.ndarray) -> dict[str, float | None]:
    return {name: float(value) if np.isfinite(value) else None for name, value in zip(OUTPUTS, jump)}


def _whole_bisect(model: LocalModel, path: str, near: float, far: float, branch: str) -> tuple[float, float]:
    """The neighbouring whole numbers between which the branch switches."""
    column = model.branches.index(branch)
    start = _marks(model.outputs(model.rows(path, [near]))[1], column, branch)[0]
    while abs(far - near) > 1:
        middle = float(np.round(0.5 * (near + far)))
        if _marks(model.outputs(model.rows(path, [middle]))[1], column, branch)[0] == start:
            near = middle
        else:
            far = middle
    return near, far
