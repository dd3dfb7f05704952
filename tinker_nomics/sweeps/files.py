"""A Sweep as a file: CSV for people and spreadsheets, NPZ to read back."""

from __future__ import annotations

import json
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from ..errors import TinkerNomicsError, listed
from ..files import atomic_path
from ..outputs import UNITS
from .result import Sweep

_LINES = 4096  # rows that are text at a time
# what NumPy and zipfile raise on files with bits flipped, found by flipping each
_DAMAGE = (zipfile.BadZipFile, zlib.error, tokenize.TokenError, KeyError, ValueError, EOFError, AttributeError, TypeError,
           RuntimeError, SyntaxError, OSError)  # fmt: skip


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
            block = [[cell(value) for value in column[start : start + _LINES].tolist()] for column in columns]
            file.writelines(",".join(row) + "\n" for row in zip(*block))
    return Path(path)


def cell(value: str | float) -> str:
    """A value as a cell of CSV: text quoted where it has to be, numbers with every digit."""
    if isinstance(value, str):
        quoted = value.replace('"', '""')
        return f'"{quoted}"' if any(mark in value for mark in ',"\n') else value
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)


def write_npz(batch: Sweep, path: str | Path, force: bool = False) -> Path:
    """Arrays "axis:PATH" and "output:NAME" (over the axes that it depends on), and a JSON text "about": mode, shape,
    units, provenance, names of axes and outputs. The name of the file should end in .npz.

    Raises:
        OutputExistsError: the file exists and `force` is not set.
    """
    about = {"mode": batch.mode, "shape": batch.shape, "units": batch.units, "provenance": batch.provenance}
    about |= {"axes": list(batch.axes), "outputs": list(batch.values)}
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
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            axes = {name: file[f"axis:{name}"] for name in about["axes"]}
            values = {name: file[f"output:{name}"] for name in about["outputs"]}
        batch = Sweep(axes, about["mode"], tuple(about["shape"]), values, about["provenance"])
    except FileNotFoundError:
        raise TinkerNomicsError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise TinkerNomicsError(f"{path} is a folder; name a file that to_npz wrote") from None
    except PermissionError:
        raise
    except _DAMAGE as error:
        what = f": {error}" if isinstance(error, zipfile.BadZipFile | zlib.error | KeyError) else ""
        raise TinkerNomicsError(f"{path} is not a sweep that to_npz wrote, or damaged{what}") from None
    wrong = _misshapen(batch)
    if wrong:
        raise TinkerNomicsError(f"{path} is damaged: {listed(wrong)} do not fit a {batch.mode} of shape {batch.shape}")
    return batch


def _misshapen(batch: Sweep) -> list[str]:
    """The axes and outputs whose arrays cannot belong to the batch."""
    zipped = batch.mode == "zip"
    if batch.mode not in ("grid", "zip") or len(batch.shape) != (1 if zipped else len(batch.axes)):
        return [*batch.axes, *batch.values]
    lengths = {name: batch.shape[0 if zipped else place] for place, name in enumerate(batch.axes)}
    wrong = [
        name for name, values in batch.axes.items() if values.shape != (lengths[name],) or values.dtype.kind not in "fU"
    ]
    for name, values in batch.values.items():
        fits = values.ndim == len(batch.shape) and all(
            of in (1, length) for of, length in zip(values.shape, batch.shape)
        )
        if not fits or values.dtype != np.float64 or name not in UNITS:
            wrong.append(name)
    return wrong
