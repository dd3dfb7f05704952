"""The tensors of a step: bytes as stored or re-typed, what one token reads of them, how the work divides."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .deployment import Deployment
from .geometry import Geometry
from .ggml_types import GGML_TYPES, GgmlType, UnknownType
from .gguf_header import GgufHeader
from .layers import Layer
from .stages import HeldClass, Split
from .step_parts import StepParts
from .tensor_roles import Read, Suffix, TensorRole

_INTEGERS = ("I8", "I16", "I32", "I64")  # of tables and indices, not of weights
_DOWNS = ("ffn_down", "channel_mix_value")


@dataclass(frozen=True)
class Stored:
    """One tensor as the deployment stores it: its type, dims and bytes [B]."""

    type: GgmlType
    dims: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """Number of elements."""
        return self.bytes // self.type.block_bytes * self.type.block

    @property
    def row_bytes(self) -> float:
        """Bytes of one row, along the contiguous dimension [B]."""
        return self.bytes * self.dims[0] / self.elements if self.elements and self.dims else float(self.bytes)


@dataclass
class WeightReading:
    """The tensors of a checkpoint as a deployment stores them.

    Args:
        tensors: each by name.
        experts: experts per layer; 0 where the metadata names none.
        used: experts that one token uses, by layer.
        faults: rows that the wanted type's blocks do not divide, and missing expert counts, as sentences.
    """

    tensors: dict[str, Stored]
    experts: int
    used: tuple[int, ...]
    faults: list[str] = field(default_factory=list)

    @staticmethod
    def of(
        header: GgufHeader, geometry: Geometry, deployment: Deployment, roles: dict[str, TensorRole]
    ) -> WeightReading:
        """Read the tensors of `header` as `deployment` stores them; faults are collected, not raised."""
        wanted = deployment.weight_type
        faults: list[str] = []
        tensors: dict[str, Stored] = {}
        undivided: dict[tuple[str, int], list[str]] = {}
        for row in header.tensors:
            kind = row.type
            assert not isinstance(kind, UnknownType), "tensors of unknown type are refused before"
            if wanted is not None and roles[row.name].retyped and len(row.dims) > 1:
                if row.dims[0] % wanted.block:
                    undivided.setdefault((roles[row.name].pattern, row.dims[0]), []).append(row.name)
                else:
                    kind = wanted
            if not row.dims and roles[row.name].product:
                faults.append(f"the tensor {row.name!r} has no dims, and a matrix is needed")
            tensors[row.name] = Stored(kind, row.dims, row.elements // kind.block * kind.block_bytes)
        if wanted is not None and undivided:
            faults += _undivided(wanted, undivided)
        experts, used = 0, ()
        if any(role.read is Read.used for role in roles.values()):
            experts = geometry.number("expert_count")
            used = geometry.per_layer("expert_used_count", geometry.number("block_count"))
            if experts == 0 or not all(0 < count <= experts for count in used):
                faults.append(f"expert_used_count is {max(used)} of expert_count {experts}: 1 to all are needed")
        return WeightReading(tensors, experts, used, faults)


def _undivided(wanted: GgmlType, rows: dict[tuple[str, int], list[str]]) -> list[str]:
    """Rows that the blocks of `wanted` do not divide: one sentence a kind of tensor, the last with the types that do."""
    faults = []
    for (_, length), names in sorted(rows.items()):
        which = f"the tensor {names[0]!r} has" if len(names) == 1 else f"{len(names)} tensors such as {names[0]!r} have"
        faults.append(f"{which} rows of {length} elements, which the {wanted.block} of {wanted.name} does not divide")
    fitting = [t.name for t in GGML_TYPES.values() if not any(n % t.block for _, n in rows) and t.name not in _INTEGERS]
    faults[-1] += f"; types that divide all of these rows: {', '.join(fitting)}"
    return faults


def add_tensor(
    parts: StepParts, reading: WeightReading, name: str, role: TensorRole, read: Read, layer: Layer | None
) -> None:
    """Add one tensor to the parts: its resident bytes, what a step reads of it, and its products.

    Args:
        parts: where to add it.
        reading: the checkpoint's tensors as stored.
        name: the tensor.
        role: its role.
        read: how much of it one token reads.
        layer: its layer; None outside the blocks.
    """
    tensor = reading.tensors[name]
    size = float(tensor.bytes)
    if read is Read.none:
        # Never read, so as cold as the rows of a table: kept where the embedding is, not beside what is hot.
        parts.hold(HeldClass.embedding_rows, size)
        return
    parts.hold(role.held_class, size)
    flops = 2.0 * tensor.elements * role.role.passes if role.product else 0.0
    if read is Read.row:
        amounts = {"bytes_each": tensor.row_bytes, "bytes_each_most": size}
        parts.add(role.role.slot.name, role.block, role.held_class, 1, **amounts)
    elif read is Read.used:
        assert role.block is not None, "experts stand in blocks"
        used, experts = reading.used[role.block], reading.experts
        parts.add(
            role.role.slot.name,
            role.block,
            role.held_class,
            _units(reading, name, role, layer),
            used_fraction=used / experts,
            bytes_once=size * used / experts,
            bytes_rest=size - size * used / experts,
            flops_each=flops * used / experts,
        )
    else:
        for units, share in _shares(reading, name, role, layer):
            parts.add(
                role.role.slot.name,
                role.block,
                role.held_class,
                units,
                bytes_once=size * share,
                flops_each=flops * share,
            )


def _shares(reading: WeightReading, name: str, role: TensorRole, layer: Layer | None) -> list[tuple[int, float]]:
    """The parts of a tensor that divide alike, as units and share: a fused projection's keys divide by other heads."""
    attention = layer.attention if layer is not None else None
    fused = role.pattern.endswith(".attn_qkv") and role.held_class is HeldClass.matrix_weights
    if fused and attention is not None:
        rows = reading.tensors[name].dims[-1]
        kv_rows = attention.kv_heads * (attention.key_length + attention.value_length)
        if kv_rows < rows:
            return [(attention.heads, 1.0 - kv_rows / rows), (attention.kv_heads, kv_rows / rows)]
    return [(_units(reading, name, role, layer), 1.0)]


def _units(reading: WeightReading, name: str, role: TensorRole, layer: Layer | None) -> int:
    split = role.role.split
    if role.held_class is HeldClass.small_weights or split is Split.whole:
        return 1
    if role.suffix is Suffix.bias or role.suffix is Suffix.scale:  # an expert's, which divides as its weight does
        name = f"{name.rpartition('.')[0]}.weight"
    tensor = reading.tensors.get(name)
    if tensor is None:
        return 1
    if split is Split.vocabulary:
        return max(1, tensor.dims[-1])
    if split is Split.columns:
        down = reading.tensors.get(_down_of(name), tensor)
        is_down = down is not tensor or any(word in name for word in _DOWNS)
        columns = down.dims[0] if is_down else tensor.dims[min(1, len(tensor.dims) - 1)]
        return max(1, columns // down.type.block)
    if layer is None:
        return 1
    if split is Split.value_heads or layer.attention is None:
        return max(1, layer.state.value_heads) if layer.state is not None else 1
    return layer.attention.kv_heads if split is Split.kv_heads else layer.attention.heads


def _down_of(name: str) -> str:
    """The name of the down projection whose columns a projection up is cut by."""
    return re.sub(r"\bffn_(gate_up|gate|up)(?=[_.])", "ffn_down", name).replace("channel_mix_key", "channel_mix_value")
