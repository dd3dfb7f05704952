"""Measured batch-1 decode rows, and the floor that each must not beat.

A row is priced by the first of these that it allows: a header ledger of the same model, stored as the row says, or a
header made from the model's published configuration (either way exact bytes, and the cache that the row's context reads,
in 16 bits as these engines keep it); the bytes per token that its source reports; the size of its file, an upper bound of
the bytes read, which may prove the floor right and never wrong. What allows none of them is listed as not priced, with
the reason.
"""

from __future__ import annotations

import csv
import dataclasses
import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from floor_models import dense_models

import tinker_nomics as tn
from tinker_nomics.decode.refusal import DecodeRefusal
from tinker_nomics.decode.stages import HeldClass, Stage, StageKind
from tinker_nomics.decode.step import DecodeStep, StepTotals
from tinker_nomics.hardware import PRECISIONS, Chip, Machine, Topology

DATA = Path(__file__).parent / "data"
LEDGER, MADE, REPORTED, FILE = "ledger", "published configuration", "bytes reported", "file size"

# models whose checkpoint a ledger describes: part of the model's name -> start of the ledger's
LEDGERS = {
    "llama3-8b": "llama-3.1-8b-instruct.q4_k_m",
    "qwen3-8b": "qwen3-8b.q4_k_m",
    "qwen3-30b-a3b": "qwen3-30b-a3b.q4_k_m",
    "mixtral-8x7b": "mixtral-8x7b.q4_k_m",
    "gpt-oss-120b": "gpt-oss-120b.mxfp4_moe",
    "GLM-4.7-Flash": "glm-4.7-flash.bf16",
    "Qwen3.5-122B-A10B": "qwen3.5-122b-a10b.bf16",
    "gemma-4-31B-it": "gemma-4-31b-it.bf16",
}
# storage of a row -> the type that every matrix takes; "as stored" where the ledger is so already. Where no type is the
# same, the next smaller: a format of mixed types counts as the type it is named for, 8-bit floats and integers as one
# byte, block floats of 4 bits with a shared exponent as 4.5 bits.
STORAGE = {
    "F16": "f16", "bf16": "bf16", "BF16": "bf16", "16-bit": "f16", "Q4_0": "q4_0", "Q8_0": "q8_0",
    "Q4_K_M": "as stored", "MXFP4": "as stored", "MXFP4 (gguf mixed)": "as stored",
    "Q8_K_XL": "q8_0", "Q5_K_XL": "q5_k", "Q4_K_XL": "q4_k", "UD-Q4_K_XL": "q4_k", "int8 w-only": "i8", "int8": "i8",
    "bfp4 MLP + bfp8 attention (performance config)": "q4_0", "bfp4 MLP FF1+FF3 (rest bfp8)": "q4_0",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One measured row.

    Bytes in B; `context` is the mean number of tokens attended while the row was measured: those there at the start and
    half of those generated. `layout` is one chip, tensor-parallel, layers (one chip at a time) or unknown.
    """

    chip: str
    count: int | None
    layout: str
    model: str
    kind: str
    storage: str
    file_bytes: float | None
    bytes_per_token: float | None
    context: float
    tokens_per_second: float
    source: str


@dataclass(frozen=True)
class Priced:
    """A row with its floor [s] and the bytes of its weights [B], or the reason why it has none."""

    row: Row
    basis: str = ""
    floor: float = 0.0
    bytes_held: float = 0.0
    why: str = ""

    @property
    def ratio(self) -> float:
        """Measured time over the floor: below 1 the floor would be beaten."""
        return 1.0 / self.row.tokens_per_second / self.floor


def load_rows(path: Path = DATA / "decode_measured.csv") -> list[Row]:
    """The rows that are shipped. Bytes counted on one rank become the machine's."""
    sources = tomllib.loads((DATA / "decode_measured_sources.toml").read_text())
    rows = []
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
            count = int(line["count"]) if line["count"] else None
            moved = float(line["bytes_per_token"]) if line["bytes_per_token"] else None
            if moved is not None and line["bytes_of"] == "rank":
                moved *= count or 1
            rows.append(
                Row(
                    chip=line["chip"],
                    count=count,
                    layout=line["layout"],
                    model=line["model"],
                    kind=line["kind"],
                    storage=line["storage"],
                    file_bytes=float(line["file_gib"]) * 2.0**30 if line["file_gib"] else None,
                    bytes_per_token=moved,
                    context=float(line["context"] or 0.0) + float(line["generated"] or 0.0) / 2.0,
                    tokens_per_second=float(line["tokens_per_second"]),
                    source=sources[line["source"]],
                )
            )
    return rows


def one_class_step(moved: float) -> DecodeStep:
    """A step that streams `moved` bytes and does nothing else."""
    column = np.array([moved])
    zero, held = np.zeros(1), np.zeros(len(HeldClass))
    held[HeldClass.matrix_weights.index] = moved
    return DecodeStep(
        stages=(Stage(StageKind.ffn_up),),
        part_stage=(0,),
        part_class=(HeldClass.matrix_weights.index,),
        context=np.float64(0.0),
        part_units=np.array([1e9]),
        part_window=np.array([math.inf]),
        part_bytes=column,
        part_bytes_per_token=zero,
        part_flops=zero,
        part_flops_per_token=zero,
        held_bytes=held,
        stage_payload=zero,
        totals=StepTotals(parameters=np.float64(0.0), weight_bytes=np.float64(moved)),
    )


@cache
def _header(path: Path):
    return tn.read_header(path)


def ledger_step(row: Row, ledgers: Path | None) -> DecodeStep | None:
    """The step of the same model's ledger, stored as the row says; None where there is none."""
    if ledgers is None or row.storage not in STORAGE:
        return None
    name = next((ledger for model, ledger in LEDGERS.items() if row.model.startswith(model)), None)
    found = sorted(ledgers.glob(f"{name}*.json")) if name else []
    if not found:
        return None
    stored = STORAGE[row.storage]
    deployment = tn.Deployment(context=max(row.context, 1.0), weights=None if stored == "as stored" else stored)
    step = tn.decode_step(_header(found[0]), deployment)
    held = step.totals.weight_bytes
    if row.file_bytes is not None and held > 1.01 * row.file_bytes:
        return None  # the file is smaller than this storage, so it is stored otherwise
    return step


@cache
def _made_header(model: str, storage: str):
    known = dense_models().get(model)
    return None if known is None else known.header(storage)


def made_step(row: Row) -> DecodeStep | None:
    """The step of the model as its published configuration describes it; None where model or storage are not known."""
    header = _made_header(row.model, row.storage)
    if header is None:
        return None
    if row.file_bytes is not None and abs(header.weight_bytes / row.file_bytes - 1.0) > 0.005:
        return None  # the file is stored otherwise
    return tn.decode_step(header, tn.Deployment(context=max(row.context, 1.0)))


def study_machine(row: Row) -> Machine:
    """The row's machine, as fast as its record allows.

    Layers on several chips stream one chip at a time. Memory sizes differ between versions of a chip and the row ran,
    so capacity is raised. A link that does not join so many chips by its record counts nothing.
    """
    chip: Chip = tn.catalog.chip(row.chip)
    width = 1 if row.layout in ("one", "layers") else row.count or 1
    tiers = tuple(dataclasses.replace(tier, capacity=tier.capacity * 1e6) for tier in chip.tiers)
    link = chip.link
    if link is not None and width > 1:
        narrow = link.domain is not None and width > link.domain
        pair = link.topology is Topology.PAIR and width != 2
        link = None if narrow or pair or link.topology is Topology.NONE else link
    return Machine(dataclasses.replace(chip, tiers=tiers, link=link), width)


def fastest_precision(chip: Chip) -> str:
    """The precision of the highest declared rate: no implementation computes faster."""
    return max(PRECISIONS, key=lambda precision: chip.matrix_rates[precision] or 0.0)


def price_row(row: Row, ledgers: Path | None = None) -> Priced:
    """The floor of one row."""
    if row.layout == "unknown" or row.count is None:
        return Priced(row, why="the number of chips is not published")
    try:
        machine = study_machine(row)
    except tn.catalog.CatalogError:
        return Priced(row, why="no record of the chip with a source")
    step, basis = ledger_step(row, ledgers), LEDGER
    if step is None:
        step, basis = made_step(row), MADE
    if step is None:
        if row.kind == "moe":
            return Priced(row, why="mixture of experts without a ledger of it")
        if row.bytes_per_token is not None:
            step, basis = one_class_step(row.bytes_per_token), REPORTED
        elif row.file_bytes is not None:
            step, basis = one_class_step(row.file_bytes), FILE
        else:
            return Priced(row, why="no bytes in the source, and no header of the model so stored")
    try:
        cost = tn.price(step, machine, fastest_precision(machine.chip))
    except DecodeRefusal as refusal:
        return Priced(row, why="; ".join(refusal.reasons))
    if not cost.floor:
        return Priced(row, why="the chip's bandwidth is not declared")
    return Priced(row, basis, cost.floor, float(step.totals.weight_bytes))


def price_rows(rows: Iterable[Row], ledgers: Path | None = None) -> list[Priced]:
    """Every row with its floor or its reason."""
    return [price_row(row, ledgers) for row in rows]


def dense_single_gpu(
    priced: Iterable[Priced], chips: tuple[str, ...], layouts: tuple[str, ...] = ("one", "layers"), least: float = 4e9
) -> list[Priced]:
    """Priced rows of dense models of `least` bytes and more where one GPU of `chips` streams at a time."""
    return [
        p
        for p in priced
        if p.basis and p.row.kind == "dense" and p.row.layout in layouts and p.row.chip in chips
        and p.bytes_held >= least
    ]  # fmt: skip
