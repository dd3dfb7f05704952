"""A Sweep as a file: CSV for people and spreadsheets, NPZ to read back."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

from .errors import TinkerNomicsError
from .files import atomic_path
from .sweep_result import Sweep

_LINES = 4096  # rows that are text at a time


def write_csv(batch: Sweep, path: str | Path, force: bool = False) -> Path:
    """One line per point, axes first, the last axis of a grid fastest; each column's unit in brackets.

    Lines before the header begin with "# " and hold the provenance as JSON. Numbers have every digit.

    Raises:
        OutputExistsError: the file exists and `force` is not set.
    """
    units = batch.units
    names = (*batch.axes, *batch.values)
    header = [f"{name} [{units[name]}]" if name in units else name for name in names]
    with atomic_path(path, force) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        for key, value in batch.provenance.items():
            file.write(f"# {key} = {json.dumps(value)}\n")
        file.write(",".join(header) + "\n")
        # the flat view of a spread array is not copied: a block of lines is all that exists beside the batch
        columns = [batch[name].flat for name in names]
        for start in range(0, len(batch), _LINES):
            block = [[_cell(cell) for cell in column[start : start + _LINES].tolist()] for column in columns]
            file.writelines(",".join(row) + "\n" for row in zip(*block))
    return Path(path)


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        quoted = value.replace('"', '""')
        return f'"{quoted}"' if any(mark in value for mark in ',"\n') else value
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)


def write_npz(batch: Sweep, path: str | Path, force: bool = False) -> Path:
    """Arrays "axis:PATH" and "output:NAME" (over the axes that it depends on), and a JSON text "about": mode, shape,
    units, provenance. The name of the file should end in .npz.

    Raises:
        OutputExistsError: the file exists and `force` is not set.
    """
    about = {"mode": batch.mode, "shape": batch.shape, "units": batch.units, "provenance": batch.provenance}
    arrays = {f"axis:{name}": values for name, values in batch.axes.items()}
    arrays |= {f"output:{name}": values for name, values in batch.values.items()}
    with atomic_path(path, force) as temporary, temporary.open("wb") as file:
        np.savez(file, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]
    return Path(path)


def read_npz(path: str | Path) -> Sweep:
    """The Sweep in a file that `write_npz` wrote.

    Raises:
        TinkerNomicsError: no such file, or it is not one of these.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            parts = {name: file[name] for name in file.files if name != "about"}
    except FileNotFoundError:
        raise TinkerNomicsError(f"there is no file {path}") from None
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, AttributeError) as error:
        raise TinkerNomicsError(f"{path} is not a sweep that to_npz wrote: {error}") from None
    named = {
        kind: {name.removeprefix(kind): values for name, values in parts.items() if name.startswith(kind)}
        for kind in ("axis:", "output:")
    }
    return Sweep(named["axis:"], about["mode"], tuple(about["shape"]), named["output:"], about["provenance"])
