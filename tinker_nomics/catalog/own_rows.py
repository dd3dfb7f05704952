"""A row of the catalog as the TOML file that a user's own row is written in: a start for one's own chip, model or prices."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import listed
from .chip_table import chip
from .lookup import CatalogError
from .model_table import NUMBERS, model
from .price_table import RATES, price

KINDS = ("chips", "models", "prices")


def own_row(kind: str, words: Sequence[str], date: object = None) -> str:
    """The row that `words` name, as TOML that `--chip`, `--model` or `--prices` reads back.

    Args:
        kind: "chips", "models" or "prices".
        words: the row's name.
        date: for prices, the day whose list is in force; default: the newest list's.

    Raises:
        CatalogError: another kind, no name, or no such row (names the nearest three).
    """
    if kind not in KINDS:
        raise CatalogError(f"{kind} are not read from files of one's own; {listed(KINDS)} are")
    if not words:
        raise CatalogError(f"name one row, e.g. tinker-nomics catalog {kind} {_EXAMPLES[kind]} --toml")
    name = " ".join(words)
    if kind == "chips":
        return chip(name).to_toml().rstrip("\n") + "\n"
    if kind == "models":
        row = model(name)
        numbers = {key: getattr(row, key) for key in NUMBERS}
        return _table({"id": f"own/{row.id.split('/')[-1]}", "source": row.source}, numbers)
    rates = price(name, date)
    about = {"model": rates.model, "date": rates.list_date, "source": rates.source}
    return _table(about, {**{key: getattr(rates, key) for key in RATES}, "storage": rates.storage})


_EXAMPLES = {"chips": "h100-sxm", "models": "Qwen3-8B", "prices": "Qwen3-8B"}


def _table(texts: dict[str, str], numbers: dict[str, float | None]) -> str:
    quoted = {key: text.replace("\\", "\\\\").replace('"', '\\"') for key, text in texts.items()}
    lines = [f'{key} = "{text}"' for key, text in quoted.items()]
    lines += [f"{key} = {_number(value)}" for key, value in numbers.items() if value is not None]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
