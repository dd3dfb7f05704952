"""From a header and a deployment to a step: what one token reads, writes and computes, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import Problem, TinkerNomicsError
from ..printable import printable
from .architecture_rules import ArchitectureRules, rules_of
from .caches import add_attention, add_indexer, add_state, cache_faults
from .consistency import contradictions
from .deployment import Deployment
from .geometry import Geometry
from .ggml_types import UnknownType
from .gguf_header import GgufHeader
from .gguf_source import read_header
from .layers import Layer, layers_of
from .refusal import DecodeRefusal
from .step_parts import StepParts
from .tensor_roles import Read, TensorRole, role_table, stems
from .weights import WeightReading, add_tensor

if TYPE_CHECKING:
    from .step import DecodeStep

_MOST_NAMED = 8
UNKNOWN = (
    "the architecture '{architecture}' is none that is known here, so no rule of its own is either (windows, shared caches, "
    "layers that are not run): it is priced as its tensors' names and common keys tell"
)
"""What is noted of a step whose architecture the table of rules does not name."""


def decode_step(header: GgufHeader | Any, deployment: Deployment | None = None) -> DecodeStep:
    """What one token of a deployment reads, writes and computes, as the chain of its dependent stages.

    Roles of tensors are read off their names, geometry off the metadata, and what both leave unsaid off rules by
    architecture. Nothing is read of blocks for multi-token prediction, of vision and audio towers, of an encoder.

    Args:
        header: a checkpoint's header, or anything that `read_header` takes.
        deployment: context, cache types, storage of the weights, sequences; None for `Deployment()`.

    Returns:
        The step, on the host: NumPy float64 leaves. Its `notes` say so where no rule of the architecture is known.

    Raises:
        DecodeRefusal: lists why no step is computed: the architecture, tensors without a role or of unknown type,
            missing metadata, metadata that contradict the tensors' dims, rows that a type's blocks do not divide.
        GgufError: `header` is no header and cannot be read as one.
    """
    header = read_header(header)
    deployment = Deployment() if deployment is None else deployment
    if not isinstance(deployment, Deployment):
        raise TinkerNomicsError(
            str(Problem("deployment", deployment, "a Deployment, such as Deployment(context=4096)"))
        )
    architecture = header.architecture
    subject = f"the decode step of {architecture!r}"
    if architecture is None:
        raise DecodeRefusal("the decode step", ["the metadata lacks general.architecture, or it is no text"])
    rules = rules_of(architecture)
    if rules.refusal is not None:
        raise DecodeRefusal(subject, [rules.refusal])
    roles = _roles(header, subject)
    dims = {row.name: row.dims for row in header.tensors}
    geometry = Geometry(header)
    decoder = any(role.pattern.startswith("dec.blk.") for role in roles.values())
    layers = layers_of(geometry, rules, _blocks(roles, dims, decoder), decoder)
    if layers and not any(layer.attention or layer.state for layer in layers):
        geometry.faults.append(
            "no block carries attention or a recurrence: the accounting of such a model is not known"
        )
    reading = WeightReading.of(header, geometry, deployment, roles)
    width = geometry.number("embedding_length")
    faults = geometry.faults + cache_faults(layers, deployment) + reading.faults
    if not geometry.faults:
        faults += contradictions(architecture, width, dims, layers)
    if faults:
        raise DecodeRefusal(subject, faults)

    parts = StepParts(width, deployment)
    for name, role in roles.items():
        read = _read(role, rules, layers)
        layer = layers[role.block] if role.block is not None and role.block < len(layers) else None
        add_tensor(parts, reading, name, role, read, layer)
    for block, layer in enumerate(layers):
        if layer.attention is not None:
            add_attention(parts, block, layer.attention, deployment)
        if layer.indexer is not None:
            add_indexer(parts, block, layer.indexer, deployment)
        if layer.state is not None:
            add_state(parts, block, layer.state, deployment)
    return parts.step(header.parameters, () if rules.known else (UNKNOWN.format(architecture=printable(architecture)),))


def _roles(header: GgufHeader, subject: str) -> dict[str, TensorRole]:
    table = role_table()
    names = stems([row.name for row in header.tensors])
    roles: dict[str, TensorRole] = {}
    reasons: list[str] = []
    for row in header.tensors:
        role = table.role_of(row.name, names)
        if role is None:
            reasons.append(f"no role is known for the tensor {row.name!r}")
        elif isinstance(row.type, UnknownType):
            reasons.append(f"the tensor {row.name!r} has {row.type.name}, whose bytes are not known")
        else:
            roles[row.name] = role
    if not header.tensors:
        reasons.append("the header has no tensors")
    if reasons:
        more = len(reasons) - _MOST_NAMED
        raise DecodeRefusal(subject, reasons[:_MOST_NAMED] + ([f"and {more} tensors more"] if more > 0 else []))
    return roles


def _blocks(
    roles: dict[str, TensorRole], dims: dict[str, tuple[int, ...]], decoder: bool
) -> dict[int, dict[str, tuple[int, ...]]]:
    prefix = "dec.blk.{i}." if decoder else "blk.{i}."
    blocks: dict[int, dict[str, tuple[int, ...]]] = {}
    for name, role in roles.items():
        if role.block is not None and role.pattern.startswith(prefix):
            blocks.setdefault(role.block, {})[role.pattern.removeprefix(prefix)] = dims[name]
    return blocks


def _read(role: TensorRole, rules: ArchitectureRules, layers: tuple[Layer, ...]) -> Read:
    """How much of a tensor one token reads, by its name, its architecture's graph and its layer."""
    if f"{role.pattern}.{role.suffix.value}" in rules.unread:
        return Read.none
    if role.block is None or role.block >= len(layers):
        return role.read
    layer = layers[role.block]
    if not layer.runs:
        return Read.none
    shares = layer.attention is not None and not layer.attention.owns_cache
    if shares and role.pattern.split(".")[-1] in ("attn_k", "attn_v", "attn_k_norm"):
        return Read.none
    return role.read
