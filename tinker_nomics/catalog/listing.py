"""Catalog rows as text: one table per kind, every row with its source, date and status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import listed
from ..quantities import show
from .lookup import CatalogError, nearest, plain


@dataclass(frozen=True)
class Listing:
    """A table of text: its header, one letter of alignment a column, its rows."""

    header: tuple[str, ...]
    align: str
    rows: tuple[tuple[str, ...], ...]


def _number(value: float | None, unit: str = "1") -> str:
    return "-" if value is None else show(value, unit)


def _plain(value: float | None, digits: int = 6) -> str:
    return "-" if value is None else f"{value:.{digits}g}"


def _billions(value: float | None) -> str:
    return "-" if value is None else f"{value / 1e9:.4g}B"


def _about(source: str, date: str, status: str, note: str = "") -> tuple[str, ...]:
    return status, date or "-", source, note


_ABOUT = ("status", "date", "source", "note")


def _chips(_: object) -> Listing:
    from .chip_table import chips

    rows = []
    for chip in chips():
        tier = next((t for t in chip.tiers if t.capacity == chip.memory_bytes and t.bandwidth == chip.bandwidth), None)
        source = tier.source if tier else None
        rows.append(
            (
                chip.id,
                chip.vendor,
                _number(chip.memory_bytes, "B"),
                _number(chip.bandwidth, "B/s"),
                _number(chip.matrix_rate, "FLOP/s"),
                *(
                    _about(f"{source.text} {source.document}".strip(), source.date, source.status)
                    if source
                    else _about("-", "-", "-")
                ),
            )
        )
    return Listing(("id", "vendor", "memory", "bandwidth", "bf16 rate", *_ABOUT), "llrrr", tuple(rows))


def _models(_: object) -> Listing:
    from .model_table import models

    rows = [
        (
            row.id,
            _billions(row.parameters),
            _billions(row.active_parameters),
            _plain(row.kv_bytes_per_token),
            _plain(row.lora_parameters_per_rank, 9),
            *_about(row.source, row.date, row.status, row.note),
        )
        for row in models()
    ]
    header = ("id", "parameters", "active", "KV B/token", "LoRA per rank", *_ABOUT)
    return Listing(header, "lrrrr", tuple(rows))


def _prices(date: object) -> Listing:
    from .price_table import prices

    rows = [
        (
            row.model,
            _plain(row.prefill),
            _plain(row.cached_prefill),
            _plain(row.sample),
            _plain(row.train),
            row.list_date,
            _plain(row.context, 9),
            *_about(row.source, row.date, row.status, row.note),
        )
        for row in prices(date).values()
    ]
    header = ("model", "prefill", "cached", "sample", "train", "list", "context", *_ABOUT)
    return Listing(header, "lrrrrlr", tuple(rows))


def _recipes(_: object) -> Listing:
    from .recipe_table import recipes

    short = {
        "B": "workload.prompts_per_step",
        "G": "workload.rollouts_per_prompt",
        "L cap": "workload.completion_tokens",
        "turns": "workload.turns",
        "steps": "workload.steps",
        "rank": "lora.rank",
    }
    rows = [
        (
            row.name,
            *(_plain(row.values.get(path)) for path in short.values()),
            row.model,
            row.sandbox or "-",
            *_about(row.source, row.date, row.status, "; ".join((row.title, *row.notes))),
        )
        for row in recipes()
    ]
    return Listing(("name", *short, "model", "sandbox", *_ABOUT), "lrrrrrr", tuple(rows))


def _rents(_: object) -> Listing:
    from .rent_table import rent_rows, standing

    rows = [
        (
            row.chip,
            row.provider,
            f"{row.usd_per_hour:.2f}",
            standing(row),
            *_about(f"{row.source.text} {row.source.document}".strip(), str(row.date), row.source.status, row.note),
        )
        for row in rent_rows()
    ]
    return Listing(("chip", "provider", "USD/h", "counts", *_ABOUT), "llrl", tuple(rows))


def _sandboxes(_: object) -> Listing:
    from .sandbox_table import sandboxes

    rows = [
        (
            row.name,
            f"{row.core_second:.4g}",
            f"{row.gib_second:.4g}",
            _plain(row.cores),
            _plain(row.gib),
            *_about(row.source, row.date, row.status, row.note),
        )
        for row in sandboxes()
    ]
    return Listing(("name", "USD/core-s", "USD/GiB-s", "cores", "GiB", *_ABOUT), "lrrrr", tuple(rows))


def _runs(_: object) -> Listing:
    from .run_table import reference_runs

    rows = [
        (
            row.name,
            row.model,
            row.gpu or "-",
            _plain(row.gpus),
            _plain(row.hours),
            _plain(row.gpu_hours, 7),
            _plain(row.step_seconds),
            _plain(row.cost_usd),
            *_about(row.source, row.date, row.status, row.note),
        )
        for row in reference_runs()
    ]
    header = ("name", "model", "GPU", "GPUs", "hours", "GPU-h", "s/step", "USD", *_ABOUT)
    return Listing(header, "lllrrrrr", tuple(rows))


KINDS: dict[str, Callable[[Any], Listing]] = {
    "chips": _chips,
    "models": _models,
    "prices": _prices,
    "recipes": _recipes,
    "rents": _rents,
    "sandboxes": _sandboxes,
    "runs": _runs,
}


def listing(kind: str, text: str | Sequence[str] | None = None, date: object = None) -> Listing:
    """The rows of one kind, as text.

    Args:
        kind: a key of `KINDS`.
        text: words of which each must stand somewhere in a row; case and punctuation are forgiven.
        date: for prices, the day whose list is in force; default: the newest.

    Raises:
        CatalogError: no such kind, a date for another kind than prices, or no row with that text (names the nearest
            three rows).
    """
    if kind not in KINDS:
        raise CatalogError(f"no catalog of {kind!r}; there are {listed(KINDS)}")
    if date is not None and kind != "prices":
        raise CatalogError(f"a date picks a price list, and {kind} have none; leave it out, or list prices")
    table = KINDS[kind](date)
    words = [plain(word) for word in (text.split() if isinstance(text, str) else text or ())]
    rows = tuple(row for row in table.rows if all(word in plain(" ".join(row)) for word in words))
    if not rows:
        wanted = text if isinstance(text, str) else " ".join(text or ())
        alike = nearest(wanted, [row[0] for row in table.rows])
        raise CatalogError(f"no row of {kind} has {wanted!r}; the nearest are {listed(alike)}")
    return Listing(table.header, table.align, rows)
