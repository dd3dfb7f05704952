"""Reading a header with a vocabulary of 262,144 tokens: ours beside gguf's GGUFReader, in the same run.

    python benchmarks/header.py [--tokens N] [--repeats N]

The file is generated: token texts, scores and types, a hundred small tensors with their data. Each reader runs in its
own process, which times the reading alone and reports its peak memory, imports included. Goal: at least 100 times
faster, under 60 MB.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MEGABYTE = 1e6


def generate(path: Path, tokens: int) -> None:
    """Write a GGUF file with `tokens` tokens through gguf's own writer."""
    import numpy as np
    from gguf import GGUFWriter

    random = np.random.default_rng(0)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", dtype=np.uint8)
    lengths = random.integers(1, 13, tokens)
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(10)
    writer.add_context_length(131072)
    writer.add_embedding_length(64)
    writer.add_head_count(8)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([random.choice(letters, length).tobytes() for length in lengths])
    writer.add_token_scores(random.normal(size=tokens).tolist())
    writer.add_token_types([1] * tokens)
    for block in range(10):
        for name in range(10):
            writer.add_tensor(f"blk.{block}.part_{name}.weight", np.zeros((64, 64), dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def peak_memory() -> float:
    """Peak resident memory of this process since its program was loaded [B]."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):  # no procfs: the value may then include the parent's memory
        unit = 1 if sys.platform == "darwin" else 1024
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def read(reader: str, path: Path, repeats: int) -> dict[str, float]:
    """Read `path` with one of the readers: seconds of the first and of the median reading, and the peak memory [B]."""
    if reader == "ours":
        from tinker_nomics.decode import read_header

        def once() -> int:
            return read_header(path).get("tokenizer.ggml.tokens").length

    else:
        from gguf import GGUFReader

        def once() -> int:
            return len(GGUFReader(path).fields["tokenizer.ggml.tokens"].data)

    seconds = []
    tokens = 0
    for _ in range(repeats):
        start = time.perf_counter()
        tokens = once()
        seconds.append(time.perf_counter() - start)
    return {"first": seconds[0], "median": statistics.median(seconds), "memory": peak_memory(), "tokens": tokens}


def in_own_process(reader: str, path: Path, repeats: int) -> dict[str, float]:
    """`read` in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--reader", reader, "--file", str(path)]
    code = subprocess.run([*command, "--repeats", str(repeats)], check=True, capture_output=True, text=True)
    return json.loads(code.stdout)


def main(arguments: list[str] | None = None) -> None:
    """Generate the file, run both readers, print times, memory and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=262_144, help="size of the vocabulary")
    parser.add_argument("--repeats", type=int, default=11, help="readings by ours; the median counts, gguf reads once")
    parser.add_argument("--reader", choices=("ours", "gguf"), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(ROOT))
    if options.reader:
        print(json.dumps(read(options.reader, options.file, options.repeats)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocabulary.gguf"
        generate(path, options.tokens)
        print(f"{options.tokens:,} tokens, scores and types, 100 tensors: {path.stat().st_size / MEGABYTE:.1f} MB\n")
        ours = in_own_process("ours", path, options.repeats)
        peer = in_own_process("gguf", path, 1)
    if not ours["tokens"] == peer["tokens"] == options.tokens:
        raise SystemExit(f"the readers disagree on the vocabulary: {ours['tokens']} and {peer['tokens']}")
    print(f"{'':24}{'first':>10}{'median':>10}{'peak memory':>14}")
    for name, row in (("tinker_nomics", ours), ("gguf GGUFReader", peer)):
        print(f"{name:24}{row['first']:>8.3f} s{row['median']:>8.3f} s{row['memory'] / MEGABYTE:>11.1f} MB")
    print(
        f"\nratio of times: {peer['first'] / ours['median']:.0f} ({peer['first'] / ours['first']:.0f} on first reading)"
        f"\nratio of memory: {peer['memory'] / ours['memory']:.1f}"
    )


if __name__ == "__main__":
    main()
