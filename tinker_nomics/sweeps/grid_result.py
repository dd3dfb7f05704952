"""GridReduction: what reducers found in a grid, with labels, units, provenance and its own files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..axis_names import long_name
from ..errors import TinkerNomicsError, listed, shown
from ..outputs import UNITS
from ..parameters import nearest, registry
from ..streaming.described import reducers_from
from ..streaming.engine import merged
from ..streaming.part_files import whole_of
from ..streaming.state_files import StateFile, StateFileError, read_states, write_states
from ..uncertainty.sample_states import state_shapes
from .grid_slices import sliced
from .grid_texts import with_texts
from .selecting import places_on

KIND = "grid-reduction"


@dataclass(frozen=True, eq=False)
class GridReduction:
    """What reducers found in a grid: `found["cheapest"]`, `found.at(found["cheapest"].number[0])`, `found.sel(...)`.

    Attributes:
        axes: {path: values}, float64 or text, in the order of the numbering of points: those that shape the formulas
            (schedule.kind, lora.training) first, then the others as they were given, the last one fastest.
        results: {name: the reducer's result}; points in it have the texts of their choices.
        points, seconds, complete: of the run.
        chunks: (first, stop) of the chunks that went into it.
        about: what decides the numbers: grid, reducers, outputs, configuration, version, and a hash of all that.
        states: the reducers' states, from which `results` are read; None of a selection.
        resumed: those of the points that a run found done, which took none of its time.
    """

    axes: Mapping[str, np.ndarray]
    results: Mapping[str, Any]
    points: int
    seconds: float
    complete: bool
    chunks: tuple[int, int]
    about: Mapping[str, Any]
    states: Mapping[str, Any] | None
    resumed: int = 0

    def __getitem__(self, name: str) -> Any:
        if name in self.results:
            return self.results[name]
        every = self.about["reducers"] or ()
        if name in every:
            raise TinkerNomicsError(f"{name!r} is of all points and cannot say anything of a selection of them")
        raise TinkerNomicsError(f"no result {name!r}; there are {listed(self.results)}")

    def __repr__(self) -> str:
        selected = self.about.get("selected", {})
        texts, points = [], 1
        for path, values in self.axes.items():
            count = np.size(selected[path]) if path in selected else len(values)
            points *= count
            texts.append(f"{path}[{count}]" if np.ndim(selected.get(path, ())) else f"{path} = {selected[path]}")
        if selected and self.complete and self.points == self.size:
            return f"GridReduction({', '.join(texts)}: selection of {points:,} points; {listed(self.results)})"
        whole = "selection of a grid with " if selected else ""
        return f"GridReduction({', '.join(texts)}: {whole}{self.points:,} points; {listed(self.results)})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The grid's shape."""
        return tuple(len(values) for values in self.axes.values())

    @property
    def size(self) -> int:
        """Points of the whole grid, of which `points` may be a part."""
        return math.prod(self.shape)

    @property
    def total_chunks(self) -> int:
        """Chunks of the whole grid, of which `chunks` may be a part."""
        return _chunks(self.about)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """As of a Sweep: parameters, choices, edition, version."""
        return self.about["provenance"]

    @property
    def units(self) -> dict[str, str]:
        """The unit of every axis that is a number and of every output."""
        numbers = {path: registry()[path].unit for path in self.axes if path in registry()}
        return numbers | {name: UNITS[name] for name in self.about["outputs"]}

    def at(self, number: int) -> dict[str, Any]:
        """{path: value} of the point with this number.

        Raises:
            TinkerNomicsError: it is no whole number of a point.
        """
        whole = isinstance(number, int | float | np.number) and not isinstance(number, bool) and number % 1 == 0
        if not whole or not 0 <= number < self.size:
            raise TinkerNomicsError(f"point {shown(number)}: this grid has the points 0 to {self.size - 1:,}")
        place = np.unravel_index(int(number), self.shape)
        return {path: values[index].item() for (path, values), index in zip(self.axes.items(), place)}

    def sel(self, choice: Mapping[str, Any]) -> GridReduction:
        """The results where axes have these values.

        Tables by group are sliced along their groups; of points that were kept (cheapest, front) those with these
        values stay, which need not be the cheapest or the front of the selection: those have to be asked for. What is
        of all points, such as moments, is left out.

        Args:
            choice: {path: value or list of values}; "tp", "gpus", "schedule", "training" and "rent" are short for
                their paths. Numbers may be text with a unit and match to six digits. A single value drops its axis of a
                table by group, a list keeps it.

        Raises:
            TinkerNomicsError: no such axis, a value that it or the selection does not have, or nothing that could be
                sliced so.
        """
        if not isinstance(choice, Mapping) or not choice:
            raise TinkerNomicsError(f"sel takes a mapping, {{path: value or values}}, not {shown(choice)}")
        spelled = {long_name(path): value for path, value in choice.items()}
        grouped = {path for table in self.results.values() for path in getattr(table, "by", {})}
        for path in spelled:
            if path not in self.axes and path not in grouped:
                alike = listed(nearest(path, dict.fromkeys((*self.axes, *grouped))))
                raise TinkerNomicsError(f"{path!r} is no axis of this grid; the nearest are {alike}")
        before = dict(self.about.get("selected", {}))
        for path in before.keys() & spelled.keys() & self.axes.keys():
            kept = np.concatenate(places_on(path, self.axes[path], before[path]))
            places_on(path, self.axes[path][kept], spelled[path])
        # a table by group has no axis of which one value was selected
        single = {path for path, value in before.items() if np.ndim(value) == 0}
        parts = {name: sliced(self.axes, result, spelled, single) for name, result in self.results.items()}
        kept = {name: result for name, result in parts.items() if result is not None}
        if not kept:
            raise TinkerNomicsError(
                f"no result is by {listed(spelled)}: reduce the grid with Groups or Winners by it, or over these values"
            )
        return replace(self, results=kept, states=None, about={**self.about, "selected": before | spelled})

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, floats and texts: axes, results, units, provenance; choices of points as texts."""
        from .grid_tables import plain

        return {
            "points": self.points,
            "complete": self.complete,
            "seconds": self.seconds,
            "axes": {path: values.tolist() for path, values in self.axes.items()},
            "results": {name: plain(name, result) for name, result in self.results.items()},
            "units": self.units,
            "chunks": list(self.chunks),
            "about": dict(self.about),
        }

    def to_csv(self, path: str | Path, force: bool = False) -> Path:
        """Write one line per point kept and per group, with units and provenance; see `grid_tables.write_csv`."""
        from .grid_tables import write_csv

        return write_csv(self, path, force)

    def to_npz(self, path: str | Path, force: bool = False) -> Path:
        """Write everything to one file that `from_npz` and `merge_grid_parts` read.

        Raises:
            OutputExistsError: the file exists and `force` is not set.
            TinkerNomicsError: this is a selection, or a reducer is not of this package.
        """
        if self.states is None:
            raise TinkerNomicsError("a selection has no states of its own: write the whole, and select when it is read")
        if self.about["reducers"] is None:
            raise TinkerNomicsError("a reducer of your own cannot be described in a file; keep its result yourself")
        ends = (self.chunks[0], self.chunks[1], self.chunks[1])
        return write_states(path, dict(self.states), self.about, ends, self.seconds, force)

    @classmethod
    def from_npz(cls, path: str | Path) -> GridReduction:
        """The reduction in a file that `to_npz` or a run with `out` wrote; what an unfinished one has done so far.

        Raises:
            StateFileError: no such file, or it is damaged or of another kind.
        """
        file = read_states(path)
        return reduction_from(file.about, states_of(file), file.seconds, (file.first, file.next), file.complete)


def merge_grid_parts(paths: Any) -> GridReduction:
    """The whole reduction, from the files of its parts in any order; a part that does not fit is refused by name.

    Raises:
        StateFileError: a part that is missing, given twice or overlapping, unfinished, damaged, or of another run.
    """
    whole = whole_of(paths, KIND, _chunks, lambda about: reducers_from(about["reducers"]), states_of)
    return reduction_from(whole.about, whole.states, whole.seconds, (0, whole.stop), True)


def reduction_from(
    about: Mapping[str, Any],
    states: Mapping[str, Any],
    seconds: float,
    chunks: tuple[int, int],
    complete: bool,
    reducers: Mapping[str, Any] | None = None,
) -> GridReduction:
    """The reduction that a run's states describe."""
    axes = axes_of(about)
    reducers = reducers_from(about["reducers"]) if reducers is None else reducers
    whole = merged(reducers, states)
    results = {name: with_texts(axes, reducer.result(whole[name])) for name, reducer in reducers.items()}
    size, total = about["chunk_size"], math.prod(len(values) for values in axes.values())
    points = min(chunks[1] * size, total) - min(chunks[0] * size, total)
    return GridReduction(axes, results, points, seconds, complete, chunks, about, states)


def axes_of(about: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """{path: values} of the grid that a description tells."""
    return {path: np.array(about["axes"][path]) for path in about["order"]}


def states_of(file: StateFile) -> dict[str, Any]:
    """The states in a file of a grid's reduction.

    Raises:
        StateFileError: the file is of another kind, or of another version of the program.
    """
    if file.about.get("kind") != KIND:
        raise StateFileError(f"{file.path} holds {file.kind}, not the reduction of a grid")
    try:
        return file.states(shapes_of(file.about))
    except StateFileError:
        raise
    except (KeyError, TypeError, ValueError, TinkerNomicsError) as error:
        raise StateFileError(f"{file.path} was written by another version of the program ({error})") from None


def shapes_of(about: Mapping[str, Any]) -> dict[str, Any]:
    """The shapes of the states that a description belongs to."""
    return state_shapes(reducers_from(about["reducers"]), about["outputs"], about["order"], about["chunk_size"], 1)


def _chunks(about: Mapping[str, Any]) -> int:
    return -(-math.prod(map(len, about["axes"].values())) // about["chunk_size"])
