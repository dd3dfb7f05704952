"""Decode steps and chips made by hand, so that pricing is tested without a checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinker_nomics.decode.stages import HeldClass, Stage, StageKind
from tinker_nomics.decode.step import DecodeStep, StepTotals
from tinker_nomics.hardware import Chip, Link, Tier, TierKind, Topology

Part = tuple[int, HeldClass, float, float, float, float, float, float]


def step_of(
    stages: list[Stage], parts: list[Part], held: dict[HeldClass, float], payload: list[float], context: float = 0.0
) -> DecodeStep:
    """A step of parts (stage, class, units, window, bytes, bytes per token, FLOP, FLOP per token)."""
    columns = np.array([part[2:] for part in parts], dtype=np.float64).T
    held_bytes = np.zeros(7)
    for held_class, count in held.items():
        held_bytes[held_class.index] = count
    return DecodeStep(
        stages=tuple(stages),
        part_stage=tuple(part[0] for part in parts),
        part_class=tuple(part[1].index for part in parts),
        context=np.float64(context),
        part_units=columns[0],
        part_window=columns[1],
        part_bytes=columns[2],
        part_bytes_per_token=columns[3],
        part_flops=columns[4],
        part_flops_per_token=columns[5],
        held_bytes=held_bytes,
        stage_payload=np.array(payload, dtype=np.float64),
        totals=StepTotals(parameters=np.float64(0.0), weight_bytes=held_bytes[:5].sum()),
    )


def one_class(moved: float, flops: float = 0.0, held: float | None = None, units: float = 1e9) -> DecodeStep:
    """One stage that moves `moved` bytes of matrix weights."""
    kind = HeldClass.matrix_weights
    part = (0, kind, units, np.inf, moved, 0.0, flops, 0.0)
    return step_of([Stage(StageKind.ffn_up)], [part], {kind: moved if held is None else held}, [0.0])


def dense_step(
    *,
    layers: int,
    hidden: int,
    ffn: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    vocabulary: int,
    weight_bytes: float = 2.0,
    cache_bytes: float = 2.0,
    norm_bytes: float = 4.0,
    context: float = 0.0,
    sequences: int = 1,
    collective: bool = True,
) -> DecodeStep:
    """A dense grouped-query transformer with gated FFN and its own head: seven stages a block, three around them."""
    inf = np.inf
    matrix, small, kv = HeldClass.matrix_weights, HeldClass.small_weights, HeldClass.kv_cache
    stages, parts, payload = [Stage(StageKind.embed)], [], [0.0]
    held = {kind: 0.0 for kind in (matrix, small, kv, HeldClass.head, HeldClass.embedding_rows)}

    def add(kind: StageKind, block: int | None, rows: list[tuple], reduce: str = "none") -> None:
        stages.append(Stage(kind, block, reduce if collective else "none"))
        bytes_each = {"none": 0.0, "all_reduce": hidden * 2.0, "argmax": 8.0}
        payload.append(bytes_each[reduce if collective else "none"] * sequences)
        for held_class, units, elements, size in rows:
            held[held_class] += elements * size
            flops = 0.0 if held_class is small else 2.0 * elements * sequences
            parts.append((len(stages) - 1, held_class, units, inf, elements * size, 0.0, flops, 0.0))

    row_bytes = hidden * weight_bytes
    held[HeldClass.embedding_rows] = vocabulary * row_bytes
    parts.append((0, HeldClass.embedding_rows, 1.0, inf, row_bytes * sequences, 0.0, 0.0, 0.0))
    q, key = heads * head_dim, kv_heads * head_dim
    for block in range(layers):
        add(StageKind.mixer_norm, block, [(small, 1.0, hidden, norm_bytes)])
        projections = [(matrix, heads, hidden * q, weight_bytes), (matrix, kv_heads, 2 * hidden * key, weight_bytes)]
        add(StageKind.mixer_in, block, projections)
        stages.append(Stage(StageKind.mixer, block))
        payload.append(0.0)
        token = 2.0 * key * cache_bytes * sequences
        parts.append((len(stages) - 1, kv, kv_heads, inf, 0.0, token, 0.0, 4.0 * q * sequences))
        held[kv] += token * context
        add(StageKind.mixer_out, block, [(matrix, heads, hidden * q, weight_bytes)], "all_reduce")
        add(StageKind.ffn_norm, block, [(small, 1.0, hidden, norm_bytes)])
        add(StageKind.ffn_up, block, [(matrix, ffn, 2 * hidden * ffn, weight_bytes)])
        add(StageKind.ffn_down, block, [(matrix, ffn, hidden * ffn, weight_bytes)], "all_reduce")
    add(StageKind.head_norm, None, [(small, 1.0, hidden, norm_bytes)])
    add(StageKind.head, None, [(HeldClass.head, vocabulary, hidden * vocabulary, weight_bytes)], "argmax")
    return step_of(stages, parts, held, payload, context)


LLAMA_8B: dict[str, Any] = {
    "layers": 32, "hidden": 4096, "ffn": 14336, "heads": 32, "kv_heads": 8, "head_dim": 128, "vocabulary": 128256,
}  # fmt: skip


def hand_chip(
    bandwidth: float | None = 1e12,
    capacity: float = 1e15,
    rate: float | None = 1e15,
    overhead: float | None = 0.0,
    link: Link | None = None,
    **more: Any,
) -> Chip:
    """A chip with one tier; every figure may be left undeclared."""
    tiers = more.pop("tiers", (Tier(TierKind.HBM, capacity, bandwidth),))
    rates = more.pop("matrix_rates", {"bf16": rate})
    return Chip(id=more.pop("id", "hand"), tiers=tiers, matrix_rates=rates, stage_overhead=overhead, link=link, **more)


def hand_link(
    topology: Topology | None = Topology.ALL_TO_ALL,
    bandwidth: float | None = 4e11,
    latency: float | None = 1e-6,
    peer: float | None = None,
    domain: int | None = None,
) -> Link:
    """A link; every figure may be left undeclared."""
    return Link(
        bandwidth_per_chip=bandwidth, bandwidth_per_peer=peer, latency=latency, topology=topology, domain=domain
    )
