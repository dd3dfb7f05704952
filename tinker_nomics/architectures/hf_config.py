"""Reading an architecture from a Hugging Face ``config.json``: the file, its fields, and what of it is not understood.

`families.py` says which layers a family has. A default is taken only where the model type's own configuration class
defines one; anything else that is missing is named in an error, and any field that nobody read is named in
``Architecture.unknown_fields``.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from ..catalog.lookup import nearest
from ..errors import listed
from ..reading import read_text
from .architecture import Architecture, ArchitectureError
from .families import CLASS_WIDTHS, FAMILIES, TIED_BY_DEFAULT, TIED_ONLY_IF_SAID, WRAPPERS


@cache
def _elsewhere() -> frozenset[str]:
    text = (
        resources.files("tinker_nomics.architectures").joinpath("architecture_fields.toml").read_text(encoding="utf-8")
    )
    return frozenset(tomllib.loads(text)["no_geometry"])


# switches that say nothing where they are off, and the fields that then say nothing either
_WHERE_OFF = {"use_sliding_window": ("max_window_layers", "sliding_window"), "use_bidirectional_attention": ()}


class Fields:
    """A config's fields, read by name: missing ones are collected, and the unread ones can be listed."""

    def __init__(self, table: Mapping[str, Any], family: str):
        self.table = table
        self.family = family
        self.read: set[str] = set()
        self.missing: list[str] = []

    def has(self, *names: str) -> bool:
        """Whether any of the names stands in the config with a value."""
        return any(self.table.get(name) is not None for name in names)

    def value(self, *names: str, default: Any = None) -> Any:
        """The first of the names that has a value, else `default`."""
        self.read.update(names)
        return next((self.table[name] for name in names if self.table.get(name) is not None), default)

    def known(self, *names: str) -> None:
        """These fields say nothing that the family's layers need."""
        self.read.update(names)

    def number(self, *names: str, default: int | None = None, most: int = 2**40) -> int:
        """A whole number up to `most`; a missing one without `default`, or a wrong one, is collected and 1 returned."""
        name = names[0] if len(names) == 1 else f"{names[0]} (or {', '.join(names[1:])})"
        return self._checked(name, self.value(*names, default=default), most)

    def within(self, table: Mapping[str, Any], name: str) -> int:
        """The whole number `name` of a nested object."""
        return self._checked(name, table.get(name), 2**40)

    def _checked(self, name: str, value: Any, most: int) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
            return value
        shown = f"{value!r}"[:40]
        self.missing.append(name if value is None else f"{name} (a whole number from 0 to {most}, not {shown})")
        return 1

    def optional(self, *names: str) -> int | None:
        """As `number`, or None where none of the names has a value."""
        return self.number(*names) if self.has(*names) else self.value(*names)

    def items(self, *names: str) -> list[Any] | None:
        """The first of the names that has a value, which must be a list; None where there is none."""
        value = self.value(*names)
        if value is None or isinstance(value, list):
            return value
        self.missing.append(f"{names[0]} (a list, not {value!r})")
        return None

    def nested(self, name: str) -> Mapping[str, Any]:
        """The object at `name`, empty where there is none."""
        value = self.value(name, default={})
        if isinstance(value, Mapping):
            return value
        self.missing.append(f"{name} (an object, not {value!r})")
        return {}

    def kinds(self, name: str, layers: int) -> list[str] | None:
        """The list `name` with one text per layer, or None."""
        kinds = self.value(name)
        if kinds is None:
            return None
        if not isinstance(kinds, list) or len(kinds) != layers:
            self.missing.append(f"{name} (a list of {layers}, one per layer)")
            return None
        return [str(kind) for kind in kinds]

    def only(self, name: str, kinds: list[str], *allowed: str) -> None:
        """Collect the kinds of the list `name` that are none of the allowed ones."""
        unknown = sorted(set(kinds) - set(allowed))
        if unknown:
            self.missing.append(f"{name} of {' and '.join(allowed)} only, not {unknown}")


def load_config(config: Mapping[str, Any] | str | os.PathLike[str]) -> tuple[Mapping[str, Any], str]:
    """The parsed object of a config.json, given itself, as text or as a path, and how errors call it."""
    if isinstance(config, Mapping):
        return config, "this config"
    text, where = str(config), "this config text"
    if isinstance(config, os.PathLike) or not text.lstrip().startswith("{"):
        where = str(config)
        text = read_text(config, "the path of a config.json", ArchitectureError)
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArchitectureError(f"{where} is no JSON: {error}") from None
    if not isinstance(table, dict):
        raise ArchitectureError(f"{where} holds a {type(table).__name__}, not the object of a config.json")
    return table, where


def read_hf_config(config: Mapping[str, Any] | str | os.PathLike[str]) -> Architecture:
    """See `Architecture.from_hf_config`."""
    outer, where = load_config(config)
    inner: Any = outer.get("text_config", outer)
    if not isinstance(inner, Mapping):
        raise ArchitectureError(f"{where}: text_config is {inner!r}, not an object")
    family = inner.get("model_type") or outer.get("model_type")
    family = WRAPPERS.get(str(family), str(family))
    if family not in FAMILIES and inner is not outer:
        family = WRAPPERS.get(str(outer.get("model_type")), family)
    if family not in FAMILIES:
        raise ArchitectureError(
            f"{where}: no reader for model_type {inner.get('model_type')!r}; the nearest of {len(FAMILIES)} are "
            f"{listed(nearest(family, FAMILIES))}. Give the layers in a TOML [architecture] table instead"
        )
    fields = Fields({**CLASS_WIDTHS.get(family, {}), **inner}, family)
    tied = _tied(fields, outer, inner)
    hidden, vocab = fields.number("hidden_size"), fields.number("vocab_size")
    groups = tuple(group for group in FAMILIES[family](fields) if group.layers)
    if fields.missing:
        raise ArchitectureError(f"{where}: a {family} config needs {listed(dict.fromkeys(fields.missing))}")
    if not hidden or not vocab or not groups:
        raise ArchitectureError(f"{where}: hidden_size, vocab_size and the number of layers must be above zero")
    wrong = [what for group in groups if (what := group.impossible())]
    if wrong:
        raise ArchitectureError(f"{where}: no {family} model can be this: {'; '.join(dict.fromkeys(wrong))}")
    for switch, more in _WHERE_OFF.items():
        if inner.get(switch) is False:
            fields.known(switch, *more)
    given = {name for name, value in inner.items() if value is not None}
    return Architecture(family, hidden, vocab, tied, groups, tuple(sorted(given - fields.read - _elsewhere())))


def _tied(fields: Fields, outer: Mapping[str, Any], inner: Mapping[str, Any]) -> bool:
    """Whether the head is the embedding table: as the file says, else as the family's class has it."""
    said = {value for table in (inner, outer) if (value := table.get("tie_word_embeddings")) in (True, False)}
    fields.known("tie_word_embeddings")
    if any(table.get("tie_word_embeddings") not in (True, False, None) for table in (inner, outer)):
        fields.missing.append("tie_word_embeddings (true or false)")
    if len(said) > 1:
        fields.missing.append("tie_word_embeddings (the same within text_config and outside)")
    if not said and TIED_ONLY_IF_SAID & {str(outer.get("model_type")), str(inner.get("model_type"))}:
        fields.missing.append("tie_word_embeddings")
    return said == {True} if said else fields.family in TIED_BY_DEFAULT
