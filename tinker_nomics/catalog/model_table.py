"""The models: geometry and its reduction, LoRA parameters, source and status."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..architectures.architecture import Architecture
from ..architectures.hf_storage import stored_weights
from ..architectures.model_figures import figure_values
from ..errors import ConfigError, Problem, TinkerNomicsError
from .lookup import find, tail
from .tables import packaged, quantity, refuse_unknown, users_own

_TEXT = ("id", "source", "date", "note")
NUMBERS = {
    "parameters": "parameters",
    "active_parameters": "parameters",
    "weight_bytes": "B",
    "kv_bytes_per_token": "B/token",
    "window_kv_bytes_per_token": "B/token",
    "window": "tokens",
    "state_bytes_per_sequence": "B",
    "lora_parameters_per_rank": "parameters",
    "lora_parameters_per_rank_published": "parameters",
    "matrix_parameters": "parameters",
    "lookup_bytes": "B",
    "expert_bytes": "B",
    "experts": "1",
    "experts_per_token": "1",
    "blocks": "1",
    "hidden": "1",
    "kv_heads": "1",
    "attention_flops": "FLOP",
    "window_attention_flops": "FLOP",
    "decode_attention_flops": "FLOP",
    "lora_used_per_rank": "parameters",
}
# what the revised edition needs besides; `model_figures.py` reduces a geometry to them
_FIGURES = (
    *list(NUMBERS)[list(NUMBERS).index("matrix_parameters") :],
    "window_kv_bytes_per_token",
    "window",
    "state_bytes_per_sequence",
)


@dataclass(frozen=True)
class ModelRow:
    """One model.

    Args:
        id: its full id, e.g. "Qwen/Qwen3-8B".
        architecture: the geometry; None where no source gives it.
        parameters: matrix parameters, all experts counted; None without an architecture.
        active_parameters: those that a token uses, the embedding table included.
        weight_bytes: bytes of the weights [B]: in bf16 in the catalog; of a file, as its note says.
        kv_bytes_per_token: cache bytes per token of context that grow without limit, bf16 [B].
        window_kv_bytes_per_token: cache bytes per token within `window` tokens, bf16 [B].
        window: the sliding window [tokens]; None without one.
        state_bytes_per_sequence: fixed recurrent state, fp32 [B].
        lora_parameters_per_rank: exact; from the geometry, or from the published table where there is none.
        lora_parameters_per_rank_published: the calculator page's own count; None for kinds that it does not treat.
        weights: in what the weights are counted where the published ones are stored otherwise; "" elsewhere.
        source, date, status, note: where the row comes from; status V, S, D, or U for a user's own.
        matrix_parameters ... lora_used_per_rank: as `formulas.figures.ModelFigures`; None without an architecture, and
            for one that those formulas do not describe.
    """

    id: str
    architecture: Architecture | None
    parameters: float | None
    active_parameters: float | None
    weight_bytes: float | None
    kv_bytes_per_token: float | None
    window_kv_bytes_per_token: float | None
    window: float | None
    state_bytes_per_sequence: float | None
    lora_parameters_per_rank: float | None
    lora_parameters_per_rank_published: float | None
    source: str
    date: str = ""
    status: str = "U"
    note: str = ""
    weights: str = ""
    matrix_parameters: float | None = None
    lookup_bytes: float | None = None
    expert_bytes: float | None = None
    experts: float | None = None
    experts_per_token: float | None = None
    blocks: float | None = None
    hidden: float | None = None
    kv_heads: float | None = None
    attention_flops: float | None = None
    window_attention_flops: float | None = None
    decode_attention_flops: float | None = None
    lora_used_per_rank: float | None = None

    @classmethod
    def from_architecture(cls, id: str, architecture: Architecture, source: str, **more: Any) -> ModelRow:
        """A row whose numbers all follow from a geometry; `more` overrides any of them and names date, status, note."""
        windows = {group.span for group in architecture.groups if group.span is not None}
        numbers: dict[str, Any] = {
            "parameters": architecture.parameters,
            "active_parameters": architecture.active_parameters,
            "weight_bytes": architecture.weight_bytes,
            "kv_bytes_per_token": architecture.kv_bytes_per_token,
            "window_kv_bytes_per_token": architecture.window_kv_bytes_per_token,
            "window": architecture.window if len(windows) < 2 else None,
            "state_bytes_per_sequence": architecture.state_bytes_per_sequence,
            "lora_parameters_per_rank": architecture.lora_parameters_per_rank,
            "lora_parameters_per_rank_published": architecture.published_lora_parameters_per_rank,
        }
        stored = float(more.get("weight_bytes") or architecture.weight_bytes)
        numbers |= _revised_figures(architecture, stored / architecture.parameters)
        return cls(id=id, architecture=architecture, source=source, **(numbers | more))

    @classmethod
    def from_toml(cls, given: str | os.PathLike[str]) -> ModelRow:
        """A user's own model, from a TOML file or its text.

        Entries: ``id``; a geometry, either as ``[architecture]`` (layer kinds as in the catalog) or as ``config``, the
        path of a ``config.json``; any number of the row, which then overrides the geometry's; ``source``, ``date``,
        ``note``. Numbers take units: ``weight_bytes = "16.4 GB"``, ``parameters = "8.19B"``.

        Raises:
            ConfigError: every problem at once; a row needs a geometry, or at least parameters and weight_bytes' basis.
            CatalogError: an unreadable file or wrong TOML.
        """
        table, folder = users_own(given, "model")
        problems: list[Problem] = []
        refuse_unknown(table, [*_TEXT, *NUMBERS, "architecture", "config"], problems)
        for key in _TEXT:
            if key in table and not isinstance(table[key], str):
                problems.append(Problem(key, table[key], "text"))
        if not table.get("id"):
            problems.append(Problem("id", table.get("id"), "is needed: a name for the model"))
        architecture = _geometry(table, folder, problems)
        numbers = {
            key: quantity(table, key, unit, problems, positive=key in ("parameters", "active_parameters"))
            for key, unit in NUMBERS.items()
        }
        own = {key: value for key, value in numbers.items() if value is not None}
        if architecture is None and "parameters" not in own and "architecture" not in table and "config" not in table:
            problems.append(Problem("parameters", None, "is needed where no architecture is given"))
        if problems:
            raise ConfigError(problems, "this model")
        text = {key: str(table.get(key, "")) for key in _TEXT}
        source = text["source"] or "given by the user"
        if architecture is not None:
            notes = [text["note"], unknown_fields_note(architecture)]
            if "config" in table and "weight_bytes" not in own:
                stored = stored_weights(_config(table, folder), architecture)
                own, notes = {**stored.figures, **own}, [*notes, stored.note]
            note = "; ".join(part for part in notes if part)
            return cls.from_architecture(text["id"], architecture, source, date=text["date"], note=note, **own)
        own.setdefault("active_parameters", own["parameters"])
        own.setdefault("weight_bytes", 2.0 * own["parameters"])
        filled: dict[str, Any] = {key: own.get(key) for key in NUMBERS}
        return cls(text["id"], None, **filled, source=source, date=text["date"], note=text["note"])


def _revised_figures(architecture: Architecture, bytes_per_weight: float) -> dict[str, float | None]:
    try:
        values = figure_values(architecture, bytes_per_weight)
    except TinkerNomicsError:
        return {}  # no attention layer, or windows of several widths: the revised edition refuses the model by name
    return {name: values[name] for name in _FIGURES}


def unknown_fields_note(architecture: Architecture) -> str:
    """The fields of a file that its reader does not know, in words; "" where there are none."""
    if not architecture.unknown_fields:
        return ""
    return f"fields not understood, which may change the numbers: {', '.join(architecture.unknown_fields)}"


def _config(table: Mapping[str, Any], folder: Any) -> Any:
    return (folder / table["config"]) if folder else table["config"]


def _geometry(table: Mapping[str, Any], folder: Any, problems: list[Problem]) -> Architecture | None:
    if "architecture" in table and "config" in table:
        problems.append(Problem("config", table["config"], "either [architecture] or config, not both"))
        return None
    try:
        if "architecture" in table:
            return Architecture.from_dict(table["architecture"])
        if "config" in table:
            return Architecture.from_hf_config(_config(table, folder))
    except ConfigError as error:
        problems.extend(error.problems)
    except TinkerNomicsError as error:
        problems.append(Problem("config", table.get("config"), str(error)))
    return None


@cache
def _rows() -> dict[str, ModelRow]:
    rows: dict[str, ModelRow] = {}
    for row in packaged("models.toml")["model"]:
        architecture = Architecture.from_dict(row["architecture"], row["ids"][0])
        about = {key: row.get(key, "") for key in ("date", "status", "note", "weights")}
        for identity in row["ids"]:
            rows[identity] = ModelRow.from_architecture(identity, architecture, row["source"], **about)
    table = packaged("lora_table.toml")
    for identity, parts in table["parameters_per_rank"].items():
        if identity not in rows:
            nothing: dict[str, Any] = dict.fromkeys(NUMBERS)
            nothing["lora_parameters_per_rank"] = float(sum(parts.values()))
            rows[identity] = ModelRow(
                identity,
                None,
                **nothing,
                source=table["source"],
                date=table["date"],
                status=table["status"],
                note="only its LoRA parameters are published: no source here gives the architecture",
            )
    return rows


def short_names(ids: Iterable[str]) -> dict[str, str]:
    """Names that people shorten to: without the vendor's name in front and the number format at the end."""
    short = {}
    for identity in ids:
        base, _, rest = tail(identity).partition(":")
        front = base.removeprefix("NVIDIA-")
        for name in {front, base.removesuffix("-BF16"), front.removesuffix("-BF16")} - {base}:
            short[name + (f":{rest}" if rest else "")] = identity
    return short


def models() -> tuple[ModelRow, ...]:
    """Every model of the catalog, by id."""
    return tuple(row for _, row in sorted(_rows().items()))


def model(name: str) -> ModelRow:
    """The model that `name` means; a long-context id ("...:peft:131072") means its base model.

    Raises:
        CatalogError: no such model; names the nearest three.
    """
    base = name.split(":", 1)[0] if isinstance(name, str) else name
    return _rows()[find(base, _rows(), "model", short_names(_rows()))]
