"""A language model's geometry, and its reduction to the few numbers that cost formulas need. Host side, no JAX.

``parameters`` counts matrix parameters: embedding, head, projections, experts and routers. Norms, biases, convolution
kernels, per-head vectors and rope tables are listed apart by every source of an architecture, so the totals of a
``config.json`` and of a GGUF header of the same model agree.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, Problem, TinkerNomicsError
from .layer_groups import GROUPS, Attention, LatentAttention, LayerGroup

if TYPE_CHECKING:
    from ..decode.gguf_header import GgufHeader

CACHE_BYTES = 2.0  # bf16 element
STATE_BYTES = 4.0  # recurrent states are kept in fp32
COMPONENTS = ("attn", "mlp", "unembed")


class ArchitectureError(TinkerNomicsError):
    """A model whose geometry cannot be read or asked for."""


@dataclass(frozen=True)
class Architecture:
    """What a model is made of.

    Args:
        kind: the family as its file names it, e.g. "qwen3_moe".
        hidden: width d of the residual stream.
        vocab: rows of the embedding table.
        tied: whether the head is the embedding table.
        groups: layer groups, mixers and feed-forward layers in one list.
        unknown_fields: fields of the file that this reader does not know; they may change the numbers.
    """

    kind: str
    hidden: int
    vocab: int
    tied: bool
    groups: tuple[LayerGroup, ...]
    unknown_fields: tuple[str, ...] = ()

    @property
    def embedding_parameters(self) -> float:
        """Parameters of one table of vocab x hidden."""
        return float(self.vocab * self.hidden)

    @property
    def parameters(self) -> float:
        """Matrix parameters held: every expert, the embedding and, unless tied, the head."""
        tables = 1 if self.tied else 2
        return tables * self.embedding_parameters + sum(group.parameters(self.hidden) for group in self.groups)

    @property
    def active_matrix_parameters(self) -> float:
        """Parameters that one token multiplies with: used experts and the head, not the embedding row."""
        return self.embedding_parameters + sum(group.active_parameters(self.hidden) for group in self.groups)

    @property
    def active_parameters(self) -> float:
        """Active parameters as model cards count them: an untied embedding table included."""
        return self.active_matrix_parameters + (0.0 if self.tied else self.embedding_parameters)

    @property
    def weight_bytes(self) -> float:
        """Bytes of the matrix parameters in bf16 [B]."""
        return 2.0 * self.parameters

    @property
    def kv_bytes_per_token(self) -> float:
        """Cache bytes per token of context that grow without limit, bf16 [B]; windowed layers come apart."""
        return CACHE_BYTES * sum(group.cache_elements for group in self.groups if group.span is None)

    @property
    def window_kv_bytes_per_token(self) -> float:
        """Cache bytes per token within the sliding window, bf16 [B]."""
        return CACHE_BYTES * sum(group.cache_elements for group in self.groups if group.span is not None)

    @property
    def window(self) -> float | None:
        """The sliding window [tokens]; None without one.

        Raises:
            ArchitectureError: layers with several windows, which have no one number.
        """
        spans = sorted({group.span for group in self.groups if group.span is not None})
        if len(spans) > 1:
            raise ArchitectureError(f"{self.kind} has windows of {spans} tokens: ask kv_cache_bytes(context) instead")
        return float(spans[0]) if spans else None

    @property
    def state_bytes_per_sequence(self) -> float:
        """Bytes of fixed recurrent state per sequence, convolution rows included, fp32 [B]."""
        return STATE_BYTES * sum(group.state_elements for group in self.groups)

    def kv_cache_bytes(
        self,
        context: float,
        sequences: float = 1.0,
        bytes_per_element: float = CACHE_BYTES,
        whole_windows: bool = False,
    ) -> float:
        """Cache bytes that `sequences` sequences of `context` tokens each hold [B].

        bytes = sequences x bytes_per_element x sum over layers of elements x min(context, window).

        Args:
            context: tokens per sequence.
            sequences: sequences in flight.
            bytes_per_element: 2 for bf16 and f16, 34/32 for q8_0.
            whole_windows: True for an engine that reserves windowed layers for the whole context.

        Source: closed forms of the layer kinds. **Kinks:** at context = window.
        """
        cells = 0.0
        for group in self.groups:
            seen = context if group.span is None or whole_windows else min(context, float(group.span))
            cells += group.cache_elements * seen
        return sequences * bytes_per_element * cells

    @property
    def attention_flops_per_context_token(self) -> float:
        """FLOP per token and token of context: 2 x 2 x layers x heads x head_dim, global layers."""
        return float(sum(group.attention_flops for group in self.groups if group.span is None))

    @property
    def window_attention_flops_per_context_token(self) -> float:
        """As above for the windowed layers, per token within the window."""
        return float(sum(group.attention_flops for group in self.groups if group.span is not None))

    @property
    def absorbed_attention_flops_per_context_token(self) -> float:
        """As `attention_flops_per_context_token` for a decode step with compressed latent attention."""
        total = 0
        for group in self.groups:
            if group.span is None:
                latent = isinstance(group, LatentAttention)
                total += group.absorbed_attention_flops if latent else group.attention_flops
        return float(total)

    @property
    def lora_components(self) -> dict[str, float]:
        """Exact LoRA parameters per unit of rank by component; routers never, the head even when tied."""
        totals: dict[str, float] = dict.fromkeys(COMPONENTS, 0.0)
        for group in self.groups:
            totals[group.component] += group.lora_parameters(self.hidden)
        totals["unembed"] = float(self.hidden + self.vocab)
        return totals

    @property
    def lora_parameters_per_rank(self) -> float:
        """Exact LoRA parameters per unit of rank, all components."""
        return sum(self.lora_components.values())

    @property
    def published_lora_parameters_per_rank(self) -> float | None:
        """The calculator page's count per unit of rank; None for layer kinds that the page has no formula for.

        Per layer 2d + 2(kv + d) + 2d + 3(ffn + d); MoE: attention and shared expert only; latent attention by its
        closed form; leading dense layers with their dense ffn. No unembedding.
        """
        counts = [group.published_lora_parameters(self.hidden) for group in self.groups]
        known = [float(count) for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def attention_layers(self) -> int:
        """Layers with softmax attention of any kind."""
        return sum(group.layers for group in self.groups if isinstance(group, (Attention, LatentAttention)))

    def to_dict(self) -> dict[str, Any]:
        """The table form of `from_dict`: plain values, defaults left out."""
        out: dict[str, Any] = {"kind": self.kind, "hidden": self.hidden, "vocab": self.vocab, "tied": self.tied}
        for group in self.groups:
            row = {f.name: getattr(group, f.name) for f in fields(group) if getattr(group, f.name) != f.default}  # type: ignore[arg-type]
            out.setdefault(group.kind, []).append(row)
        return out

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], where: str = "architecture") -> Architecture:
        """An architecture from its own table form, as in the catalog and in a user's TOML.

        Args:
            table: kind, hidden, vocab, tied and, per layer kind, a list of tables with that kind's fields.
            where: the path that errors name.

        Raises:
            ConfigError: every missing, unknown or impossible entry at once.
        """
        problems: list[Problem] = []
        head: dict[str, Any] = {}
        for name in ("hidden", "vocab", "tied"):
            head[name] = value = table.get(name)
            if name == "tied" and not isinstance(value, bool):
                problems.append(Problem(f"{where}.tied", value, "true or false"))
            elif name != "tied" and (isinstance(value, bool) or not isinstance(value, int) or value <= 0):
                problems.append(Problem(f"{where}.{name}", value, "a whole number > 0"))
        groups: list[LayerGroup] = []
        for name, rows in table.items():
            if name in ("kind", "hidden", "vocab", "tied"):
                continue
            if name not in GROUPS:
                problems.append(Problem(f"{where}.{name}", rows, f"a layer kind is one of {', '.join(GROUPS)}"))
                continue
            for number, row in enumerate(rows if isinstance(rows, (list, tuple)) else [rows]):
                group = _group(GROUPS[name], row, f"{where}.{name}[{number}]", problems)
                if group is not None:
                    groups.append(group)
        if not groups and not problems:
            problems.append(Problem(where, dict(table), f"needs at least one list of layers: {', '.join(GROUPS)}"))
        if problems:
            raise ConfigError(problems, where)
        return cls(str(table.get("kind", "user")), head["hidden"], head["vocab"], head["tied"], tuple(groups))

    @classmethod
    def from_hf_config(cls, config: Mapping[str, Any] | str | os.PathLike[str]) -> Architecture:
        """An architecture from a Hugging Face ``config.json``: the parsed dict, its text or its path.

        Raises:
            ArchitectureError: no such family here, or fields that the family needs are missing (all named).
        """
        from .hf_config import read_hf_config

        return read_hf_config(config)

    @classmethod
    def from_header(cls, header: GgufHeader) -> Architecture:
        """An architecture from a GGUF header or ledger.

        Raises:
            ArchitectureError: a family whose layers this reader does not know, or metadata that it needs is missing.
        """
        from .gguf_geometry import read_header_architecture

        return read_header_architecture(header)


def _group(kind: type[LayerGroup], row: object, where: str, problems: list[Problem]) -> LayerGroup | None:
    allowed = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(row, Mapping):
        problems.append(Problem(where, row, f"a table with {', '.join(allowed)}"))
        return None
    before = len(problems)
    for name, value in row.items():
        if name not in allowed:
            problems.append(Problem(f"{where}.{name}", value, f"not a field of {kind.kind}: {', '.join(allowed)}"))
            continue
        declared = str(allowed[name].type)
        if declared.startswith("int") and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            problems.append(Problem(f"{where}.{name}", value, "a whole number >= 0"))
        elif declared == "bool" and not isinstance(value, bool):
            problems.append(Problem(f"{where}.{name}", value, "true or false"))
        elif declared == "str" and not isinstance(value, str):
            problems.append(Problem(f"{where}.{name}", value, "text"))
    for name, field in allowed.items():
        if field.default is MISSING and name not in row:
            problems.append(Problem(f"{where}.{name}", None, "is needed: a whole number"))
    if len(problems) > before:
        return None
    group = kind(**row)
    what = group.impossible() if group.layers else None
    if what is None:
        return group
    problems.append(Problem(where, dict(row), what))
    return None
