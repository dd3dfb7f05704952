"""A model from its own files: a Hugging Face config.json, a GGUF header or ledger, or a user's TOML row."""

from __future__ import annotations

import os
from pathlib import Path

from ..architectures.architecture import Architecture, ArchitectureError
from ..printable import printable
from ..reading import read_text
from .model_table import ModelRow


def model_from_file(path: str | os.PathLike[str], name: str | None = None) -> ModelRow:
    """The model that a file describes; its kind is told by the file's name and content.

    A GGUF header or ledger gives the weights' bytes as stored, every tensor counted; a config.json gives them in bf16.

    Args:
        path: a ``.toml`` row, a ``config.json``, a ``.gguf`` file or a ledger in JSON.
        name: the model's id; default: what the file calls it, else the file's or its folder's name.

    Raises:
        ArchitectureError: a family or layers that the readers do not know, or fields missing (all named).
        CatalogError, ConfigError: as `ModelRow.from_toml`.
        GgufError: a malformed header or ledger.
        UnreadableFileError: a file that cannot be opened.
    """
    where = Path(path)
    if where.suffix.lower() == ".toml":
        return ModelRow.from_toml(where)
    if where.suffix.lower() == ".json":
        text = read_text(where, "a config.json, a ledger or a GGUF file", ArchitectureError)
        if '"tensors"' not in text:
            architecture = Architecture.from_hf_config(where)
            note = ""
            if architecture.unknown_fields:
                note = f"fields not understood, which may change the numbers: {', '.join(architecture.unknown_fields)}"
            own = name or (where.parent.name if where.name == "config.json" else where.stem) or where.stem
            return ModelRow.from_architecture(own, architecture, str(where), note=note)
    from ..decode import HeaderSource, read_header

    header = HeaderSource.from_ledger(where) if where.suffix.lower() == ".json" else read_header(where)
    called = header.get("general.name")
    return ModelRow.from_architecture(
        name or (printable(called) if isinstance(called, str) and called else where.stem),
        Architecture.from_header(header),
        str(where),
        weight_bytes=float(header.weight_bytes),
        note="weights as stored",
    )
