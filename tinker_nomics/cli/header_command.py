"""`tinker-nomics header`: what a checkpoint's header says, without reading its data."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .decode_arguments import (
    add_deployment_arguments,
    add_file_argument,
    bytes_text,
    count_text,
    counts_of,
    deployment_from,
    si,
    title_of,
)
from .text_table import table

if TYPE_CHECKING:
    from ..decode.gguf_header import GgufHeader


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, the contexts and the deployment."""
    add_file_argument(parser)
    parser.add_argument("--context", default="4k,32k,128k", metavar="N,M", help="tokens per sequence (4k,32k,128k)")
    add_deployment_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(args: argparse.Namespace) -> int:
    """Print sizes and types; then caches and reads, or why they cannot be told (then the status is 1)."""
    contexts = counts_of(args.context, "--context")
    from ..decode.gguf_error import GgufError
    from ..decode.gguf_source import read_header

    header = read_header(args.file)
    try:
        weight_bytes: int | None = header.weight_bytes
        unknown = ""
    except GgufError as error:
        weight_bytes, unknown = None, str(error)
    steps, refusal = steps_of(args, header, contexts)
    if args.json:
        print(json.dumps(as_document(args.file, header, weight_bytes, contexts, steps, refusal or unknown), indent=2))
    else:
        print(screen(args, header, weight_bytes, unknown, contexts, steps, refusal))
    return 0 if steps else 1


def steps_of(args: argparse.Namespace, header: GgufHeader, contexts: list[int]) -> tuple[list[dict[str, float]], str]:
    """The figures of the decode step at every context, or why there are none."""
    from ..decode.accounting import decode_step
    from ..decode.gguf_error import GgufError
    from ..decode.refusal import DecodeRefusal

    try:
        return [decode_step(header, deployment_from(args, float(c))).to_dict() for c in contexts], ""
    except (DecodeRefusal, GgufError) as error:
        return [], str(error)


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
    file: str, header: GgufHeader, weight_bytes: int | None, contexts: list[int], steps: list[dict], why: str
) -> dict[str, Any]:
    """The same as JSON values."""
    return {
        "name": title_of(header, file),
        "architecture": header.architecture,
        "origin": header.origin,
        "parameters": header.parameters,
        "weight_bytes": weight_bytes,
        "tensors": len(header.tensors),
        "metadata_values": len(header.metadata),
        "types": [
            {"type": name, "tensors": tensors, "elements": elements, "bytes": size}
            for name, tensors, elements, size in types_of(header)
        ],
        "contexts": [{"context": context, **step} for context, step in zip(contexts, steps, strict=False)],
        "refusal": why or None,
    }


def screen(
    args: argparse.Namespace,
    header: GgufHeader,
    weight_bytes: int | None,
    unknown: str,
    contexts: list[int],
    steps: list[dict[str, float]],
    refusal: str,
) -> str:
    """Everything on one screen."""
    size = bytes_text(weight_bytes) if weight_bytes is not None else f"size unknown: {unknown}"
    facts = [
        ["architecture", header.architecture or "not stated"],
        ["read from", f"{header.origin}, {len(header.tensors)} tensors, {len(header.metadata)} metadata values"],
        ["parameters", f"{count_text(header.parameters)} ({header.parameters:,})"],
        ["weights", size],
    ]
    facts += [
        [words, f"{header.arch(key):,}"]
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
    lines = [title_of(header, args.file), table(facts, indent=2), ""]
    lines.append(table(types, ["type", "tensors", "elements", "bytes"], "lrrr", indent=2))
    if steps:
        rows = [
            [f"{context:,}", bytes_text(step["kv_bytes_reserved"]), bytes_text(step["kv_bytes_read"]),
             bytes_text(step["state_bytes"]), si(sum(value for name, value in step.items() if name.endswith("_flops"))) + "FLOP"]
            for context, step in zip(contexts, steps, strict=True)
        ]  # fmt: skip
        several = f", {args.sequences:g} sequences" if args.sequences != 1 else ""
        lines += ["", f"  one decode step, cache {args.kv}{several}"]
        columns = ["context", "cache reserved", "cache read", "state", "arithmetic"]
        lines.append(table(rows, columns, "rrrrr", indent=2))
    else:
        lines += ["", f"  no decode step: {refusal}"]
    return "\n".join(lines)
