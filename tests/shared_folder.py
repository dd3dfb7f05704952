"""Where the specification folder lies, for the tests that hold the package to it; they skip where it does not."""

from __future__ import annotations

import os
from pathlib import Path

_given = os.environ.get("TINKER_NOMICS_SHARED")
_candidate = Path(_given) if _given else Path(__file__).resolve().parents[2] / "shared"
SHARED: Path | None = _candidate if (_candidate / "COST_MODEL.md").is_file() else None
