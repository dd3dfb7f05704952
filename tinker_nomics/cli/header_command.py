"""`tinker-nomics header`: what a checkpoint's header says, without reading its data."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .decode_arguments import (
    add_deployment_arguments,
    add_file_argument,
    capacity_of,
    counts_of,
    deployment_document,
    deployment_from,
    header_of,
    title_of,
)
from .decode_figures import bytes_text, count_text, si, tokens_text
from .json_text import json_text
from .text_table import table

if TYPE_CHECKING:
    from ..decode.deployment import Deployment
    from ..decode.gguf_header import GgufHeader

_CONTEXTS = "4k,32k,128k"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, the contexts and the deployment."""
    add_file_argument(parser)
    parser.add_argument(
        "--context", metavar="N,M", help=f"tokens per sequence ({_CONTEXTS}; with --capacity up to that)"
    )
    add_deployment_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(args: argparse.Namespace) -> int:
    """Print sizes and types; then caches and reads, or why they cannot be told (then the status is 1)."""
    from ..decode.gguf_error import GgufError

    deployments = [deployment_from(args, context) for context in contexts_of(args)]
    header = header_of(args.file)
    try:
        weight_bytes: int | None = header.weight_bytes
        unknown = ""
    except GgufError as error:
        weight_bytes, unknown = None, str(error)
    steps, refusal, notes = steps_of(header, deployments)
    if args.json:
        told = as_document(args.file, header, weight_bytes, deployments, steps, refusal or unknown, notes)
        print(json_text(told))
    else:
        print(screen(args.file, header, weight_bytes, unknown, deployments, steps, refusal, notes))
    return 0 if steps else 1


def contexts_of(args: argparse.Namespace) -> list[float]:
    """The contexts asked for; else the usual ones, and where cells are reserved those that fit, and all of them."""
    asked = counts_of(_CONTEXTS if args.context is None else args.context, "--context", "4096, 128k or 1M")
    capacity = capacity_of(args)
    if args.context is not None or capacity is None:
        return [float(context) for context in asked]
    return [float(context) for context in asked if context < capacity] + [capacity]


def steps_of(header: GgufHeader, deployments: list[Deployment]) -> tuple[list[dict[str, float]], str, tuple[str, ...]]:
    """The figures of the decode step at every context, or why there are none, and what is noted of the step."""
    from ..decode.accounting import decode_step
    from ..decode.gguf_error import GgufError
    from ..decode.refusal import DecodeRefusal

    try:
        steps = [decode_step(header, deployment) for deployment in deployments]
    except (DecodeRefusal, GgufError) as error:
        return [], str(error), ()
    return [step.to_dict() for step in steps], "", steps[0].notes


def types_of(header: GgufHeader) -> list[tuple[str, int, int, int | None]]:
    """Tensors, elements and bytes by storage type, most elements first; bytes None where the type is unknown."""
    from ..decode.ggml_types import UnknownType

    found: dict[str, list] = {}
    for row in header.tensors:
        entry = found.setdefault(row.type.name, [0, 0, 0])
        entry[0] += 1
        entry[1] += row.elements
        entry[2] = None if isinstance(row.type, UnknownType) or entry[2] is None else entry[2] + row.bytes
    return sorted(((name, *entry) for name, entry in found.items()), key=lambda item: -item[2])


def as_document(
    file: str,
    header: GgufHeader,
    weight_bytes: int | None,
    deployments: list[Deployment],
    steps: list[dict],
    why: str,
    notes: tuple[str, ...],
) -> dict[str, Any]:
    """The same as JSON values."""
    return {
        "name": title_of(header, file),
        "architecture": header.architecture,
        "origin": header.origin,
        "parameters": header.parameters,
        "experts": _counts(header.arch("expert_count")),
        "experts_used": _counts(header.arch("expert_used_count")),
        "weight_bytes": weight_bytes,
        "missing_data_bytes": header.missing_data_bytes,
        "tensors": len(header.tensors),
        "metadata_values": len(header.metadata),
        "types": [
            {"type": name, "tensors": tensors, "elements": elements, "bytes": size}
            for name, tensors, elements, size in types_of(header)
        ],
        "contexts": [
            {
                "context": int(held.context),
                "sequences": held.sequences,
                "deployment": deployment_document(held),
                **step,
            }
            for held, step in zip(deployments, steps, strict=False)
        ],
        "refusal": why or None,
        "notes": list(notes),
    }


def screen(
    file: str,
    header: GgufHeader,
    weight_bytes: int | None,
    unknown: str,
    deployments: list[Deployment],
    steps: list[dict[str, float]],
    refusal: str,
    notes: tuple[str, ...],
) -> str:
    """Everything on one screen."""
    from ..printable import printable

    size = bytes_text(weight_bytes) if weight_bytes is not None else f"size unknown: {unknown}"
    facts = [
        ["architecture", printable(header.architecture or "not stated")],
        ["read from", f"{header.origin}, {len(header.tensors)} tensors, {len(header.metadata)} metadata values"],
        ["parameters", f"{count_text(header.parameters)} ({header.parameters:,})"],
        ["weights", size],
    ]
    if header.missing_data_bytes:
        absent = f"{bytes_text(header.missing_data_bytes)} of tensor data are not in the file; its header is whole"
        facts.append(["missing", absent])
    facts += [
        [words, f"{header.arch(key):,}{_used(header) if key == 'expert_count' else ''}"]
        for words, key in (
            ("blocks", "block_count"),
            ("trained context", "context_length"),
            ("experts", "expert_count"),
        )
        if isinstance(header.arch(key), int)
    ]
    if steps:
        facts.append(["read by a token", f"{bytes_text(steps[0]['weight_bytes_read'])} of weights"])
    types = [
        [name, f"{tensors:,}", count_text(elements), "unknown" if size is None else bytes_text(size)]
        for name, tensors, elements, size in types_of(header)
    ]
    lines = [title_of(header, file), table(facts, indent=2), ""]
    lines.append(table(types, ["type", "tensors", "elements", "bytes"], "lrrr", indent=2))
    if steps:
        rows = [
            [f"{held.context:,.0f}", bytes_text(step["kv_bytes_reserved"]), bytes_text(step["kv_bytes_read"]),
             bytes_text(step["state_bytes"]), si(sum(value for name, value in step.items() if name.endswith("_flops"))) + "FLOP"]
            for held, step in zip(deployments, steps, strict=True)
        ]  # fmt: skip
        held = deployments[0]
        several = f", {tokens_text(held.sequences)} sequences" if held.sequences != 1.0 else ""
        several += f", {held.rs_seq:.0f} more states kept to roll back to" if held.rs_seq else ""
        types = "/".join(dict.fromkeys((held.k_type.lower(), held.v_type.lower())))
        lines += ["", f"  one decode step, cache {types}{several}"]
        columns = ["context", "cache reserved", "cache read", "state", "arithmetic"]
        lines.append(table(rows, columns, "rrrrr", indent=2))
    else:
        lines += ["", f"  no decode step: {printable(refusal, keep=chr(10))}"]
    lines += [f"  note: {note}" for note in notes]
    return "\n".join(lines)


def _counts(value: object) -> int | list[int] | None:
    """A count, or one per layer; None where the metadata hold something else, or nothing."""
    if isinstance(value, int):
        return value
    counts = list(value) if isinstance(value, tuple) else []
    return counts if counts and all(isinstance(count, int) for count in counts) else None


def _used(header: GgufHeader) -> str:
    """How many experts one token uses, where the metadata say so: one number, or a range over the layers."""
    used = _counts(header.arch("expert_used_count"))
    if used is None:
        return ""
    counts = used if isinstance(used, list) else [used]
    least, most = min(counts), max(counts)
    return f", of which a token uses {least:,}" + (f" to {most:,}" if most > least else "")
