"""Importing a script of the analysis folder, with the modules beside it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[1] / "analysis"


def script(name: str) -> ModuleType:
    """The module `analysis/<name>.py`."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)
