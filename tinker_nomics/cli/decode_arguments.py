"""The flags that say which checkpoint and which deployment of it are meant, shared by `header` and `decode`."""

from __future__ import annotations

import argparse
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..errors import Problem, TinkerNomicsError

if TYPE_CHECKING:
    from ..decode.deployment import Deployment
    from ..decode.gguf_header import GgufHeader

STDIN = "-"
_COUNT = re.compile(r"((?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE]\+?\d{1,3})?)\s*([kKmM]?)")
_SCALES = {"": 1, "k": 2**10, "m": 2**20}
_MOST = 2**53


def add_file_argument(parser: argparse.ArgumentParser) -> None:
    """FILE: a checkpoint or a ledger of its header."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a GGUF file, a folder or first shard of a split one, a JSON ledger of a header, or - for standard input",
    )


def add_deployment_arguments(parser: argparse.ArgumentParser) -> None:
    """--kv, --weights, --sequences, --capacity, --ubatch, --kv-unified, --rs-seq."""
    parser.add_argument(
        "--kv", default="f16", metavar="TYPE", help="cache type, or KEY,VALUE: f16, q8_0, f16,q4_0 (f16)"
    )
    parser.add_argument(
        "--weights", metavar="TYPE", help="store every matrix as this type, e.g. bf16 or q4_k (as stored)"
    )
    parser.add_argument("--sequences", default="1", metavar="N", help="sequences decoded together (1)")
    parser.add_argument("--capacity", metavar="N", help="cache cells reserved per sequence (the context)")
    parser.add_argument("--ubatch", default="512", metavar="N", help="most tokens written at once (512)")
    parser.add_argument("--kv-unified", action="store_true", help="all sequences share one pool of cache cells")
    parser.add_argument(
        "--rs-seq", default="0", metavar="N", help="recurrent states kept per sequence to roll back to (0)"
    )


def header_of(file: str) -> GgufHeader:
    """The header that FILE names."""
    from ..decode.gguf_source import read_header

    if file != STDIN:
        return read_header(file)
    import sys

    if sys.stdin is None:
        raise TinkerNomicsError("standard input is closed; give a file, or send one in")
    return read_header(sys.stdin.buffer)


def deployment_from(args: argparse.Namespace, context: float) -> Deployment:
    """The deployment that the flags describe, at `context` tokens per sequence."""
    from ..decode.deployment import Deployment

    types = [part.strip() for part in args.kv.split(",")]
    if len(types) > 2 or not all(types):
        raise TinkerNomicsError(str(Problem("--kv", args.kv, "one cache type, or a key and a value type: f16,q8_0")))
    return Deployment(
        context=context,
        capacity=capacity_of(args),
        k_type=types[0],
        v_type=types[-1],
        weights=args.weights,
        sequences=number_of(args.sequences, "--sequences", "16, 1.5 or 1k"),
        ubatch=number_of(args.ubatch, "--ubatch", "512"),
        kv_unified=args.kv_unified,
        rs_seq=number_of(args.rs_seq, "--rs-seq", "0 or 6", whole=True, least=0),
    )


def deployment_document(deployment: Deployment) -> dict[str, Any]:
    """The deployment as JSON values."""
    stored = deployment.weight_type
    return {
        "context": deployment.context,
        "capacity": deployment.reserved,
        "k_type": deployment.k_type.lower(),
        "v_type": deployment.v_type.lower(),
        "weights": "as stored" if stored is None else stored.name,
        "sequences": deployment.sequences,
        "ubatch": deployment.ubatch,
        "kv_unified": deployment.kv_unified,
        "rs_seq": deployment.rs_seq,
    }


def capacity_of(args: argparse.Namespace) -> float | None:
    """The cells that --capacity reserves per sequence; None where the context alone tells."""
    return None if args.capacity is None else number_of(args.capacity, "--capacity", "8192 or 8k")


def names_of(text: str, flag: str) -> list[str]:
    """The parts of a list such as "a,b", each once."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise TinkerNomicsError(str(Problem(flag, text, "at least one, separated by commas")))
    return list(dict.fromkeys(parts))


def counts_of(text: str, flag: str, such_as: str) -> list[int]:
    """The whole numbers of a list such as "1,2,4" or "4k,128k,1M", each once."""
    numbers = [number_of(part, flag, such_as, whole=True) for part in names_of(text, flag)]
    return list(dict.fromkeys(int(number) for number in numbers))


def number_of(text: str, flag: str, such_as: str, whole: bool = False, least: int = 1) -> float:
    """A number of `least` or more; k counts in 1,024s and M in 1,048,576s, as contexts do."""
    match = _COUNT.fullmatch(text.strip())
    value = Fraction(match[1].replace("_", "")) * _SCALES[match[2].lower()] if match else Fraction(-1)
    if not least <= value <= _MOST or (whole and value.denominator != 1):
        kind = "a whole number" if whole else "a number"
        raise TinkerNomicsError(str(Problem(flag, text, f"{kind} from {least} to {_MOST:,}, such as {such_as}")))
    return float(value)


def title_of(header: GgufHeader, file: str) -> str:
    """What the checkpoint calls itself, else the file's name; letters that do not print are escaped."""
    from pathlib import Path

    from ..printable import printable

    name = header.get("general.name")
    if isinstance(name, str) and name.strip():
        return printable(name.strip())
    return "standard input" if file == STDIN else printable(Path(file).resolve().name or file)
