"""Rules by `general.architecture` for what names and metadata leave unsaid: a table, `architecture_rules.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class WindowRule:
    """Which layers of an architecture attend to a window only.

    Args:
        period: every `period`-th layer is global where no pattern says otherwise; 0: none is; None: a pattern must.
        dense_first: the global layer is the first of its period, else the last.
        window: the window where `attention.sliding_window` is absent [tokens].
        fixed: the window whatever the key says, where it is not 0 [tokens].
        chunked: attention sees the tokens since the start of a chunk, not the last `window`.
        only_blocks: the rule holds for that many blocks only.
        ignore_pattern: the metadata's pattern does not count.
    """

    period: int | None = None
    dense_first: bool = False
    window: int | None = None
    fixed: int | None = None
    chunked: bool = False
    only_blocks: int | None = None
    ignore_pattern: bool = False


@dataclass(frozen=True)
class IndexerRule:
    """Sparse attention by an indexer: which layers attend to the picked tokens, and whether its cache has values."""

    every_layer: bool
    values: bool


@dataclass(frozen=True)
class ArchitectureRules:
    """All that the table says of one architecture.

    Args:
        refusal: why no step is computed for it; None where one is.
        window: its sliding windows, if any.
        own_layers: layers with a cache of their own, later layers reading those; None for all.
        shared_layers_key: metadata key that counts the last layers without a cache of their own.
        indexer: its sparse attention, if any.
        linear_attention: its recurrent layers are told by metadata alone.
        unread: tensors that its graph does not read, as pattern and suffix.
        known: the table has heard of it; of any other it is not known whether it has rules of its own.
    """

    refusal: str | None
    window: WindowRule | None
    own_layers: int | None
    shared_layers_key: str | None
    indexer: IndexerRule | None
    linear_attention: bool
    unread: frozenset[str]
    known: bool = True


def rules_of(architecture: str) -> ArchitectureRules:
    """The rules of `architecture`; of one that the table does not name, that there are none."""
    table = _table()
    refused = _row(table, "refused", architecture)
    window = _row(table, "window", architecture)
    shared = _row(table, "shared_cache", architecture)
    indexer = _row(table, "indexer", architecture)
    unread = [name for row in table["unread"] if architecture in row["architectures"] for name in row["tensors"]]
    return ArchitectureRules(
        refusal=refused["reason"] if refused else None,
        window=_window(window) if window else None,
        own_layers=shared.get("own_layers") if shared else None,
        shared_layers_key=shared.get("shared_layers_key") if shared else None,
        indexer=IndexerRule(indexer["layers"] == "all", indexer.get("values", False)) if indexer else None,
        linear_attention=_row(table, "linear_attention", architecture) is not None,
        unread=frozenset(unread),
        known=any(architecture in row["architectures"] for rows in table.values() for row in rows),
    )


def _window(row: dict[str, Any]) -> WindowRule:
    fields = ("period", "dense_first", "window", "fixed", "chunked", "only_blocks", "ignore_pattern")
    return WindowRule(**{name: row[name] for name in fields if name in row})


def _row(table: dict[str, list[dict[str, Any]]], kind: str, architecture: str) -> dict[str, Any] | None:
    return next((row for row in table[kind] if architecture in row["architectures"]), None)


@lru_cache(maxsize=1)
def _table() -> dict[str, list[dict[str, Any]]]:
    text = resources.files("tinker_nomics.decode").joinpath("architecture_rules.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
