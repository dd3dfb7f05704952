"""In how many bytes a ``config.json`` says that its model's weights are stored, and in words what it leaves open.

``dtype`` (older files: ``torch_dtype``) is honoured. Of a ``quantization_config`` only what the file makes certain is: the
mxfp4 experts of gpt-oss. The other methods leave open which matrices they convert or how wide their scales are, so the
weights are then counted in bf16, and the note names the method that is not applied.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..printable import printable
from .architecture import Architecture
from .hf_config import load_config
from .layer_groups import Moe
from .model_figures import routed_parameters

_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0}
_BLOCK = 32  # weights that share a scale of one byte in mxfp4
MXFP4_BYTES = 0.5 + 1 / _BLOCK
_UNCONVERTED = frozenset({"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"})
HOW = (
    "the true size comes from a GGUF file of the model, or from --model.weight-bytes and, with experts, "
    "--model.expert-bytes"
)


@dataclass(frozen=True)
class StoredWeights:
    """Bytes of a model's weights by its ``config.json``.

    Args:
        figures: weight_bytes, and expert_bytes and lookup_bytes where their bytes per weight differ from the mean [B].
        note: in what the weights are counted, and what of the file is not applied.
    """

    figures: Mapping[str, float]
    note: str


def stored_weights(config: Mapping[str, Any] | str | os.PathLike[str], architecture: Architecture) -> StoredWeights:
    """The bytes of the weights as a ``config.json`` says that they are stored.

    bytes = parameters x bytes of the dtype; gpt-oss in mxfp4: 17/32 byte per parameter of the routed experts.

    Args:
        config: the parsed dict, its text or its path.
        architecture: what was read from it.

    Raises:
        ArchitectureError: no such file, or no JSON.

    Source: OCP Microscaling Formats (MX) specification 1.0: blocks of 32 weights of 4 bits with one scale of 8 bits;
    4.25 bits per parameter in OpenAI's gpt-oss model card (August 2025), which gives checkpoints of 60.8 and 12.8 GiB.
    """
    outer, _ = load_config(config)
    inner = outer.get("text_config", outer)
    tables = [table for table in (inner, outer) if isinstance(table, Mapping)]
    width, words = _dtype(tables)
    weights = architecture.parameters
    method = _first(tables, "quantization_config", "compression_config")
    if method is None:
        return StoredWeights({"weight_bytes": width * weights}, words)
    if not _mxfp4_experts(method, architecture):
        name = method.get("quant_method") if isinstance(method, Mapping) else None
        called = f" ({printable(str(name))[:40]})" if name else ""
        note = f"quantization_config{called} is not applied: weights are counted in bf16; {HOW}"
        return StoredWeights({"weight_bytes": 2.0 * weights}, note)
    routed = float(sum(routed_parameters(g, architecture.hidden) for g in architecture.groups if isinstance(g, Moe)))
    figures = {
        "weight_bytes": width * (weights - routed) + MXFP4_BYTES * routed,
        "expert_bytes": MXFP4_BYTES * routed,
        "lookup_bytes": 0.0 if architecture.tied else width * architecture.embedding_parameters,
    }
    return StoredWeights(figures, f"experts counted in mxfp4, 4.25 bits per weight; the rest: {words}")


def _first(tables: list[Mapping[str, Any]], *names: str) -> Any:
    return next((table[name] for table in tables for name in names if table.get(name) is not None), None)


def _dtype(tables: list[Mapping[str, Any]]) -> tuple[float, str]:
    """Bytes of a weight, and the words for it."""
    said = _first(tables, "dtype", "torch_dtype")
    if said is None:
        return 2.0, "dtype is absent: weights are counted in bf16"
    name = str(said).removeprefix("torch.")
    if name in _BYTES:
        return _BYTES[name], f"weights are counted in {name}, as dtype says"
    return 2.0, f"dtype {printable(name)[:40]!r} is not applied: weights are counted in bf16; {HOW}"


def _mxfp4_experts(method: object, architecture: Architecture) -> bool:
    """Whether the file says that the routed experts of gpt-oss, and nothing else, are stored in mxfp4."""
    if architecture.kind != "gpt_oss" or not isinstance(method, Mapping) or method.get("quant_method") != "mxfp4":
        return False
    kept = method.get("modules_to_not_convert")
    if not isinstance(kept, list) or {str(name) for name in kept} != _UNCONVERTED:
        return False
    experts = [group for group in architecture.groups if isinstance(group, Moe)]
    return all(side % _BLOCK == 0 for group in experts for side in (architecture.hidden, group.width))
