"""A model from its own files: a Hugging Face config.json, a GGUF header or ledger, or a user's TOML row."""

from __future__ import annotations

import os
from pathlib import Path

from ..architectures.architecture import Architecture, ArchitectureError
from ..architectures.hf_storage import stored_weights
from ..printable import printable
from ..reading import read_text
from .model_table import ModelRow, unknown_fields_note


def model_from_file(path: str | os.PathLike[str], name: str | None = None) -> ModelRow:
    """The model that a file describes; its kind is told by the file's name and content.

    A GGUF header or ledger gives the weights' bytes as stored, every tensor counted; a config.json gives those of its
    matrices, as `stored_weights` says, and the row's note tells in what they are counted.

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
            stored = stored_weights(where, architecture)
            note = "; ".join(text for text in (unknown_fields_note(architecture), stored.note) if text)
            own = name or (where.parent.name if where.name == "config.json" else where.stem) or where.stem
            return ModelRow.from_architecture(own, architecture, str(where), note=note, **stored.figures)
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
