"""The short names of axes, wherever an axis is named: on the command line, in conditions and in selections."""

from __future__ import annotations

import re

SHORT = {
    "gpus": "cluster.gpus",
    "rent": "provider",
    "schedule": "schedule.kind",
    "tp": "cluster.engine.tensor_parallel",
    "training": "lora.training",
}
_WORD = re.compile(rf"(?<![\w.-])({'|'.join(SHORT)})(?![\w.-])")


def long_name(name: object) -> str:
    """An axis' path by its name, hyphens read as underscores, or by its short name."""
    word = str(name).strip().replace("-", "_")
    return SHORT.get(word, word)


def with_long_names(condition: str) -> str:
    """A condition such as "tp <= 2", with paths for its short names."""
    return _WORD.sub(lambda found: SHORT[found[0]], condition)
