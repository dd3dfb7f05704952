"""Sweep: a batch of estimates with named axes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..config import Config
from ..errors import TinkerNomicsError, listed, shown
from ..outputs import UNITS
from ..parameters import nearest, registry
from .selecting import places_on


@dataclass(frozen=True, eq=False)
class Sweep:
    """Every output of every point: `batch["tinker.total"]`, `batch.sel({"workload.steps": 100})`.

    Args:
        axes: {path: values}, float64 or text. In a grid each is a dimension, in this order; in a zip all share one.
        mode: "grid" or "zip".
        shape: the batch's shape: the axes' lengths, or (n,).
        values: {output: float64 array}, with one dimension per dimension of the batch, of length 1 along what the
            output does not depend on; `batch[name]` spreads it.
        provenance: what the batch was computed from: parameters, choices, assumptions, version.
    """

    axes: Mapping[str, np.ndarray]
    mode: str
    shape: tuple[int, ...]
    values: Mapping[str, np.ndarray]
    provenance: Mapping[str, Any]

    def __getitem__(self, name: str) -> np.ndarray:
        """An output or an axis, by name, at every point: an array of the batch's shape (not to be written to)."""
        if name in self.values:
            return np.broadcast_to(self.values[name], self.shape)
        path = name.replace("-", "_")
        if path in self.axes:
            return np.broadcast_to(self._spread(path), self.shape)
        known = (*self.values, *self.axes)
        raise TinkerNomicsError(f"{name!r} is no output of this sweep; the nearest are {listed(nearest(name, known))}")

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        axes = ", ".join(f"{path}[{len(values)}]" for path, values in self.axes.items())
        return f"Sweep({self.mode} of {axes}: {len(self):,} points, {len(self.values)} outputs)"

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(self.values)

    @property
    def units(self) -> dict[str, str]:
        """The unit of every axis that is a number and of every output."""
        numbers = {path: registry()[path].unit for path in self.axes if path in registry()}
        return numbers | {name: UNITS[name] for name in self.values}

    def _spread(self, path: str) -> np.ndarray:
        values = self.axes[path]
        if self.mode == "zip":
            return values
        dimension = list(self.axes).index(path)
        return values.reshape([-1 if d == dimension else 1 for d in range(len(self.shape))])

    def sel(self, choice: Mapping[str, Any]) -> Sweep:
        """The part of the batch where axes have these values.

        Args:
            choice: {path: value or list of values}. Numbers may be text with a unit and match to nine digits. In a
                grid a single value drops its axis and a list keeps it; in a zip the rows that match stay.

        Raises:
            TinkerNomicsError: no such axis, or a value that it does not have; the axis' values are listed.
        """
        if not isinstance(choice, Mapping):
            raise TinkerNomicsError(f"sel takes a mapping, {{path: value or values}}, not {shown(choice)}")
        spelled = {str(path).replace("-", "_"): value for path, value in choice.items()}
        places = {path: self._places(path, value) for path, value in spelled.items()}
        if self.mode == "zip":
            keep = np.ones(self.shape, bool)
            for found in places.values():
                keep &= np.isin(np.arange(len(keep)), np.concatenate(found))
            return self._taken({0: np.flatnonzero(keep)}, set())
        order = list(self.axes)
        chosen = {order.index(path): np.array([found[0] for found in each]) for path, each in places.items()}
        return self._taken(chosen, {path for path, value in spelled.items() if np.ndim(value) == 0})

    def _places(self, path: str, value: Any) -> list[np.ndarray]:
        """For each value asked for, where the axis has it."""
        if path not in self.axes:
            raise TinkerNomicsError(f"{path!r} is no axis of this sweep; its axes are {listed(self.axes)}")
        return places_on(path, self.axes[path], value, nearest=self.mode == "grid")

    def _taken(self, chosen: Mapping[int, np.ndarray], dropped: set[str]) -> Sweep:
        """The batch at these places of these dimensions, without the axes in `dropped`."""
        dimension = {path: 0 if self.mode == "zip" else d for d, path in enumerate(self.axes)}
        kept = [d for d in range(len(self.shape)) if d not in {dimension[path] for path in dropped}]

        def take(array: np.ndarray) -> np.ndarray:
            for d, places in chosen.items():
                if array.shape[d] > 1:
                    array = np.take(array, places, axis=d)
            return array.reshape([array.shape[d] for d in kept])

        def along(path: str) -> np.ndarray:
            values = self.axes[path]
            return values[chosen[dimension[path]]] if dimension[path] in chosen else values

        shape = tuple(len(chosen[d]) if d in chosen else self.shape[d] for d in kept)
        axes = {path: along(path) for path in self.axes if path not in dropped}
        fixed = {path: along(path)[0].item() for path in self.axes if path in dropped}
        provenance = {**self.provenance, "selected": {**self.provenance.get("selected", {}), **fixed}}
        return Sweep(axes, self.mode, shape, {name: take(array) for name, array in self.values.items()}, provenance)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and floats: {"mode", "shape", "axes", "outputs", "units", "provenance"}."""
        return {
            "mode": self.mode,
            "shape": list(self.shape),
            "axes": {path: values.tolist() for path, values in self.axes.items()},
            "outputs": {name: self[name].tolist() for name in self.values},
            "units": self.units,
            "provenance": dict(self.provenance),
        }

    def to_csv(self, path: str | Path, force: bool = False) -> Path:
        """Write one line per point: axes, then outputs; see `sweep_files.write_csv`."""
        from .files import write_csv

        return write_csv(self, path, force)

    def to_npz(self, path: str | Path, force: bool = False) -> Path:
        """Write everything to one .npz file that `from_npz` reads back; see `sweep_files.write_npz`."""
        from .files import write_npz

        return write_npz(self, path, force)

    @classmethod
    def from_npz(cls, path: str | Path) -> Sweep:
        """The Sweep that `to_npz` wrote; another or a damaged file is refused."""
        from .files import read_npz

        return read_npz(path)


def provenance_of(config: Config) -> dict[str, Any]:
    """What a batch on `config` was computed from, as plain values."""
    from .. import __version__

    return {
        "program": f"tinker_nomics {__version__}",
        "assumptions": config.assumptions.edition,
        "schedule.kind": config.schedule.kind,
        "lora.training": config.lora.training,
        "choices": dict(config.provenance.choices),
        "overridden": list(config.provenance.overridden),
        "notes": list(config.provenance.notes),
        "parameters": config.to_dict(),
    }
