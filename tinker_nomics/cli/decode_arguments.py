"""The flags that say which deployment of a checkpoint is meant, shared by `header` and `decode`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import Problem, TinkerNomicsError

if TYPE_CHECKING:
    from ..decode.deployment import Deployment
    from ..decode.gguf_header import GgufHeader


def add_file_argument(parser: argparse.ArgumentParser) -> None:
    """FILE: a checkpoint or a ledger of its header."""
    parser.add_argument(
        "file", metavar="FILE", help="a GGUF file, a folder or first shard of a split one, or a JSON ledger of a header"
    )


def add_deployment_arguments(parser: argparse.ArgumentParser) -> None:
    """--kv, --weights, --sequences, --capacity, --ubatch, --kv-unified."""
    parser.add_argument(
        "--kv", default="f16", metavar="TYPE", help="cache type, or KEY,VALUE: f16, q8_0, f16,q4_0 (f16)"
    )
    parser.add_argument(
        "--weights", metavar="TYPE", help="store every matrix as this type, e.g. bf16 or q4_k (as stored)"
    )
    parser.add_argument("--sequences", type=float, default=1.0, metavar="N", help="sequences decoded together (1)")
    parser.add_argument("--capacity", type=float, metavar="N", help="cache cells reserved per sequence (the context)")
    parser.add_argument("--ubatch", type=float, default=512.0, metavar="N", help="most tokens written at once (512)")
    parser.add_argument("--kv-unified", action="store_true", help="all sequences share one pool of cache cells")


def deployment_from(args: argparse.Namespace, context: float) -> Deployment:
    """The deployment that the flags describe, at `context` tokens per sequence."""
    from ..decode.deployment import Deployment

    types = [part.strip() for part in args.kv.split(",")]
    if len(types) > 2 or not all(types):
        raise TinkerNomicsError(str(Problem("--kv", args.kv, "one cache type, or a key and a value type: f16,q8_0")))
    capacity = None if args.capacity is None else max(args.capacity, context)
    return Deployment(
        context=context,
        capacity=capacity,
        k_type=types[0],
        v_type=types[-1],
        weights=args.weights,
        sequences=args.sequences,
        ubatch=args.ubatch,
        kv_unified=args.kv_unified,
    )


def names_of(text: str, flag: str) -> list[str]:
    """The parts of a list such as "a,b"."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise TinkerNomicsError(str(Problem(flag, text, "at least one, separated by commas")))
    return parts


def counts_of(text: str, flag: str) -> list[int]:
    """The whole numbers of a list such as "1,2,4"; 4k and 128k count in 1024s."""
    counts = []
    for part in names_of(text, flag):
        scale = 1024 if part[-1] in "kK" else 1
        digits = part[:-1] if scale > 1 else part
        if not digits.isdigit() or int(digits) < 1:
            raise TinkerNomicsError(str(Problem(flag, part, "a whole number, 1 or more, such as 4096 or 4k")))
        counts.append(int(digits) * scale)
    return counts


def title_of(header: GgufHeader, file: str) -> str:
    """What the checkpoint calls itself, else the file's name."""
    from pathlib import Path

    name = header.get("general.name")
    return name if isinstance(name, str) and name else Path(file).name


def bytes_text(count: float) -> str:
    """4.913 GB (4.576 GiB)."""
    from ..decode.reasons import bytes_in_words

    binary = f" ({count / 2**30:.3f} GiB)" if count >= 2**27 else ""
    return bytes_in_words(count) + binary


def count_text(count: float) -> str:
    """8.03 billion."""
    for word, size in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if count >= size:
            return f"{count / size:.4g} {word}"
    return f"{count:,.0f}"


def si(count: float) -> str:
    """8.03 G, to be followed by a unit: a number with a decimal prefix."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.4g} {prefix}"
    return f"{count:.4g} "
