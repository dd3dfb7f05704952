"""The result of `price_grid`: labelled arrays [chip, width, context], with masks where a point is refused."""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..catalog.lookup import plain
from ..errors import Problem, TinkerNomicsError
from ..files import atomic_path, write_text
from ..reading import reading
from .reasons import reasons_of
from .stages import Stage, StageKind

FLOOR_BINDS = np.array(["memory", "compute", "collective"])
PREDICTION_BINDS = np.array(["memory", "compute", "collective", "overhead"])
_FLOOR_FIELDS = ("floor", "floor_memory", "floor_compute", "floor_collective")
_PREDICTION_FIELDS = (
    "prediction", "prediction_memory", "prediction_compute", "prediction_collective", "prediction_overhead",
)  # fmt: skip
STAGE_TERMS = ("stage_memory", "stage_compute", "stage_collective", "stage_overhead")
COLUMNS = (
    *_FLOOR_FIELDS, "binds", *_PREDICTION_FIELDS, "prediction_binds", "basis", "tokens_per_second",
    "usd_per_million_tokens", "priced", "predicted", "fits", "reason", "needed", "had", "precision",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class PriceTable:
    """Prices on chips x widths x contexts: `table["floor"]` or `table.floor`, `table.sel(chip="h100-sxm")`.

    Args:
        axes: labels by axis name, in the order of the arrays' axes.
        data: arrays by name. Seconds: floor and its sums floor_memory, floor_compute, floor_collective; prediction and
            its terms. `binds`, `prediction_binds`: what binds, by name. `tokens_per_second`, `usd_per_million_tokens`
            follow from what `basis` names: "prediction" where there is one, else "floor", and are then bounds (at most,
            at least). `basis` is "", and the floor masked, where nothing that bounds the time is declared. `priced`,
            `predicted`, `fits`: True or False; `reason`: the code that `reasons_of` spells out; `needed`, `had`:
            resident bytes. Figures are NumPy masked arrays, masked (and 0 underneath) where refused or unknown.
            With stages: stage_memory, stage_compute, stage_collective, stage_overhead [..., distinct stage].
        stages: the distinct stages, where they were asked for: each named by the first of its kind.
        notes: what the step leaves open, as in `DecodeCost.notes`.

    An axis is an attribute too: `table.chip` are the labels of `table.axes["chip"]`.
    """

    axes: dict[str, tuple]
    data: dict[str, np.ndarray]
    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = ()

    @staticmethod
    def from_arrays(
        values: Mapping[str, np.ndarray],
        axes: dict[str, tuple],
        precisions: Sequence[str],
        stages: tuple[Stage, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> PriceTable:
        """A table of what `GridPricer` returned."""
        shape = tuple(len(labels) for labels in axes.values())
        full = {name: np.broadcast_to(v, shape) for name, v in values.items() if not name.startswith("stage_")}
        priced, predicted = full["priced"].astype(bool), full["predicted"].astype(bool)
        bounded = priced & full["bounded"].astype(bool)
        known = bounded & full["usd_known"].astype(bool)
        seconds = np.where(predicted, full["prediction"], full["floor"])
        counts = np.where(priced & (seconds > 0.0), seconds, 1.0)
        data: dict[str, np.ndarray] = {name: _masked(full[name], priced) for name in _FLOOR_FIELDS}
        data["floor"] = _masked(full["floor"], bounded)
        data |= {name: _masked(full[name], predicted) for name in _PREDICTION_FIELDS}
        data["binds"] = np.where(bounded, FLOOR_BINDS[full["floor_bind"].astype(int)], "")
        data["prediction_binds"] = np.where(predicted, PREDICTION_BINDS[full["prediction_bind"].astype(int)], "")
        data["basis"] = np.where(predicted, "prediction", np.where(bounded, "floor", ""))
        data["tokens_per_second"] = _masked(full["sequences"] / counts, priced & (seconds > 0.0))
        data["usd_per_million_tokens"] = _masked(np.where(predicted, full["usd_prediction"], full["usd_floor"]), known)
        data |= {"priced": priced, "predicted": predicted, "fits": full["fits"].astype(bool)}
        data["reason"] = full["reason"].astype(np.int64)
        data["needed"], data["had"] = np.array(full["needed"]), np.array(full["had"])
        data["precision"] = np.array(precisions)[full["precision"].astype(int)]
        for name, value in values.items():
            if name.startswith("stage_"):
                data[name] = np.array(np.broadcast_to(value, (*shape, value.shape[-1])))
        return PriceTable(dict(axes), data, stages, notes)

    def __repr__(self) -> str:
        if self.shape:
            axes = ", ".join(f"{axis}={list(labels)}" for axis, labels in self.axes.items())
            return f"PriceTable({axes}; {', '.join(self.data)})"
        told = ("floor", "prediction", "binds", "tokens_per_second", "usd_per_million_tokens")
        return f"PriceTable({', '.join(f'{name}={_plain(self.data[name][()])}' for name in told if name in self.data)})"

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.data:
            raise TinkerNomicsError(str(Problem("column", name, f"one of {', '.join(self.data)}")))
        return self.data[name]

    def __getattr__(self, name: str) -> Any:
        held, axes = self.__dict__.get("data", {}), self.__dict__.get("axes", {})
        if name.startswith("__") or (name not in held and name not in axes):
            raise AttributeError(f"no column or axis {name!r}; there are {', '.join((*axes, *held))}")
        return held[name] if name in held else axes[name]

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of every axis."""
        return tuple(len(labels) for labels in self.axes.values())

    def sel(self, labels: Mapping[str, Any] | None = None, /, **more: Any) -> PriceTable:
        """The table at the given labels: `sel(chip="h100-sxm", width=8)` or `sel({"context": [4096, 8192]})`.

        A single label drops its axis, a list keeps it. Names of chips forgive case and punctuation, as the catalog does.

        Raises:
            TinkerNomicsError: an axis or a label that the table does not have, with those that it has.
        """
        wanted = {**(labels or {}), **more}
        for axis in wanted:
            if axis not in self.axes:
                raise TinkerNomicsError(str(Problem("axis", axis, f"one of {', '.join(self.axes) or 'none'}")))
        axes: dict[str, tuple] = {}
        index: list[Any] = []
        for axis, held in self.axes.items():
            if axis not in wanted:
                index.append(np.arange(len(held)))
                axes[axis] = held
                continue
            value = wanted[axis]
            several = isinstance(value, (list, tuple, np.ndarray))
            places = [_place(axis, held, label) for label in (value if several else [value])]
            index.append(np.array(places, dtype=int))
            if several:
                axes[axis] = tuple(held[place] for place in places)
        dropped = tuple(i for i, axis in enumerate(self.axes) if axis not in axes)
        data = {name: np.squeeze(value[np.ix_(*index)], axis=dropped) for name, value in self.data.items()}
        return PriceTable(axes, data, self.stages, self.notes)

    def reasons(self) -> dict[int, tuple[str, ...]]:
        """Every reason code of the table in words."""
        codes = np.unique(self.data["reason"])
        return {int(code): tuple(reason.words for reason in reasons_of(float(code))) for code in codes if code}

    def rows(self) -> Iterator[dict[str, Any]]:
        """One plain dictionary per point, axis labels first; refused and unknown figures are None.

        Where stages were asked for, their terms follow, named such as "stage_memory:mixer_in.0" (the block of the first
        stage of that kind) [s].
        """
        names = [name for name in COLUMNS if name in self.data]
        for place in np.ndindex(*self.shape):
            row = {axis: held[i] for (axis, held), i in zip(self.axes.items(), place, strict=True)}
            row |= {name: _plain(self.data[name][place]) for name in names}
            for term in STAGE_TERMS if self.stages else ():
                row |= {f"{term}:{name}": float(x) for name, x in zip(self.stage_names, self.data[term][place])}
            yield row

    @property
    def stage_names(self) -> list[str]:
        """The last axis of the stage terms: the kind of each distinct stage and the block of its first occurrence."""
        return [s.kind.value + ("" if s.block is None else f".{s.block}") for s in self.stages]

    def to_dict(self) -> dict[str, Any]:
        """Axes and arrays as nested lists; refused and unknown figures are None."""
        held = {name: _lists(value) for name, value in self.data.items()}
        words = {str(code): list(reasons) for code, reasons in self.reasons().items()}
        axes = {axis: list(labels) for axis, labels in self.axes.items()}
        return {"axes": axes, "stages": self.stage_names, **held, "reasons": words, "notes": list(self.notes)}

    def to_csv(self, path: str | Path, force: bool = False) -> Path:
        """Write one line per point, as `rows` gives them; refused and unknown figures are empty.

        The last column spells out reasons, and the notes on the step after them.
        """
        text = io.StringIO()
        names = [name for name in COLUMNS if name in self.data]
        names += [f"{term}:{name}" for term in STAGE_TERMS if self.stages for name in self.stage_names]
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.axes, *names, "why"])
        for row in self.rows():
            why = "; ".join((*(reason.words for reason in reasons_of(row["reason"])), *self.notes))
            writer.writerow(["" if value is None else value for value in row.values()] + [why])
        return write_text(path, text.getvalue(), force)

    def to_npz(self, path: str | Path, force: bool = False) -> Path:
        """Write axes (axis_chip ...) and arrays to an npz file; a masked figure NAME has its mask in NAME_mask.

        Stages stand in stages_kind, stages_block (-1 where in none) and stages_collective, notes in table_notes.
        """
        arrays: dict[str, Any] = {f"axis_{axis}": np.array(labels) for axis, labels in self.axes.items()}
        if self.stages:
            arrays["stages_kind"] = np.array([stage.kind.value for stage in self.stages])
            arrays["stages_block"] = np.array([-1 if stage.block is None else stage.block for stage in self.stages])
            arrays["stages_collective"] = np.array([stage.collective for stage in self.stages])
        if self.notes:
            arrays["table_notes"] = np.array(self.notes)
        for name, value in self.data.items():
            arrays[name] = np.ma.getdata(value)
            if isinstance(value, np.ma.MaskedArray):
                arrays[f"{name}_mask"] = np.ma.getmaskarray(value)
        with atomic_path(path, force) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)
        return Path(path)

    @staticmethod
    def from_npz(path: str | Path) -> PriceTable:
        """Read back what `to_npz` wrote.

        Raises:
            TinkerNomicsError: the file cannot be read, or is none of these.
        """
        wanted = "the path of a table that to_npz wrote"
        try:
            with reading(path, wanted), Path(path).open("rb") as file, np.load(file, allow_pickle=False) as held:
                arrays = {name: held[name] for name in held.files}
        except (zipfile.BadZipFile, zlib.error, EOFError, AttributeError, ValueError, NotImplementedError) as error:
            if isinstance(error, TinkerNomicsError):
                raise
            raise TinkerNomicsError(f"{path} is no such table, or damaged; give {wanted}") from None
        axes = {name[5:]: tuple(value.tolist()) for name, value in arrays.items() if name.startswith("axis_")}
        shape = tuple(len(labels) for labels in axes.values())
        data: dict[str, np.ndarray] = {}
        notes = tuple(arrays.pop("table_notes", np.array([], dtype=str)).tolist())
        columns = [arrays.pop(f"stages_{field}", None) for field in ("kind", "block", "collective")]
        for name, value in arrays.items():
            if not name.startswith("axis_") and not name.endswith("_mask"):
                mask = arrays.get(f"{name}_mask")
                data[name] = value if mask is None else np.ma.MaskedArray(value, mask)
        if "floor" not in data or any(value.shape[: len(shape)] != shape for value in data.values()):
            raise TinkerNomicsError(f"{path} holds no table of prices; give {wanted}")
        try:
            stages = _stages(*columns)
        except (ValueError, KeyError):
            raise TinkerNomicsError(f"{path} names stages that there are not; give {wanted}") from None
        return PriceTable(axes, data, stages, notes)


def _stages(kinds: Any, blocks: Any, collectives: Any) -> tuple[Stage, ...]:
    """The stages of a file's three columns; none where it has none."""
    if kinds is None or blocks is None or collectives is None:
        return ()
    rows = zip(kinds.tolist(), blocks.tolist(), collectives.tolist(), strict=True)
    return tuple(Stage(StageKind(kind), block if block >= 0 else None, collective) for kind, block, collective in rows)


def _masked(values: np.ndarray, valid: np.ndarray) -> np.ma.MaskedArray:
    return np.ma.MaskedArray(np.where(valid, values, 0.0), mask=~valid)


def _place(axis: str, labels: tuple, label: Any) -> int:
    for place, held in enumerate(labels):
        if held == label:
            return place
    if isinstance(label, str):
        alike = [place for place, held in enumerate(labels) if isinstance(held, str) and plain(held) == plain(label)]
        if len(alike) == 1:
            return alike[0]
    raise TinkerNomicsError(str(Problem(axis, label, f"one of {', '.join(str(held) for held in labels)}")))


def _plain(value: Any) -> Any:
    if value is np.ma.masked:
        return None
    return value.item() if isinstance(value, (np.generic, np.ndarray)) else value


def _lists(values: np.ndarray) -> Any:
    return values.tolist()
