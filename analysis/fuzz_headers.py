"""What does reading a damaged header do? 100,000 mutations over real headers: accepted, or refused by one error type.

    python analysis/fuzz_headers.py [--count N] [--seed N] [--ledgers FOLDER]

Mutates GGUF files (written from the ledgers of a folder, where there is one, and generated) and ledgers' texts:
flipped bits, numbers and lengths set to extremes, cuts, removed, repeated and swapped stretches. Each result is read as
bytes or through a `read` that gives a few bytes at a time; what is accepted is also summed, turned into a ledger, read
back, and now and then written as GGUF and read again. Prints how many were accepted and refused, and every other
outcome with the seed that repeats it. The exit status is 1 if there was any.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from gguf_bytes import llama  # noqa: E402

from tinker_nomics.decode import GgufError, GgufHeader, HeaderSource, read_header  # noqa: E402

EXTREMES = (0, 1, 7, 13, 32, 43, 255, 2**16, 2**24, 2**30, 2**30 + 1, 2**31 - 1, 2**32 - 1, 2**40)
EXTREMES += (2**63 - 1, 2**63, 2**64 - 1)
WRITE_EVERY = 20


class Drips:
    """An object with `read` that gives at most `most` bytes at a time."""

    def __init__(self, data: bytes, most: int):
        self._file = io.BytesIO(data)
        self._most = most

    def read(self, count: int) -> bytes:
        """The next bytes."""
        return self._file.read(min(count, self._most))


def mutated(data: bytes, dice: random.Random) -> bytes:
    """`data` with one to four faults."""
    raw = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        if not raw:
            break
        # most faults near the front, where the structure is
        reach = len(raw) if dice.random() < 0.5 else min(len(raw), 2000)
        at = dice.randrange(reach)
        fault = dice.randrange(9)
        if fault == 0:
            raw[at] ^= 1 << dice.randrange(8)
        elif fault == 1:
            raw[at] = dice.randrange(256)
        elif fault == 2:
            raw[at : at + 8] = struct.pack("<Q", dice.choice(EXTREMES))
        elif fault == 3:
            raw[at : at + 4] = struct.pack("<I", dice.choice(EXTREMES) % 2**32)
        elif fault == 4:
            del raw[at:]
        elif fault == 5:
            del raw[at : at + dice.randrange(1, 40)]
        elif fault == 6:
            raw[at:at] = raw[at : at + dice.randrange(1, 200)]
        elif fault == 7:
            other = dice.randrange(len(raw))
            size = dice.randrange(1, 24)
            raw[at : at + size] = raw[other : other + size]
        else:
            raw[at:at] = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 16)))
    return bytes(raw)


def exercise(header: GgufHeader, write_to: Path | None) -> None:
    """Ask an accepted header for everything; only GgufError may come, and equal headers must come back."""
    repr(header), header.architecture, header.parameters, hash(header), header.arch("attention.head_count")
    for row in header.tensors:
        try:
            row.bytes  # noqa: B018
        except GgufError:
            continue
    ledger = header.to_ledger()
    back = HeaderSource.from_ledger(json.loads(json.dumps(ledger)))
    assert repr(back.to_ledger()) == repr(ledger), "a ledger read back differs"  # as text: NaN differs from itself
    assert back.tensors == header.tensors, "the tensors of a ledger read back differ"
    if write_to is None:
        return
    try:
        header.to_gguf(write_to, force=True)
    except GgufError:
        return
    again = read_header(write_to)
    assert repr({**again.to_ledger(), "version": 3}) == repr({**ledger, "version": 3}), "a GGUF read back differs"


def try_one(data: bytes, dice: random.Random, write_to: Path | None) -> str:
    """Read `data`: "accepted", "refused", or the name of what else came."""
    source = data if dice.random() < 0.7 else Drips(data, dice.choice((1, 13, 4096)))
    try:
        header = read_header(source)
    except GgufError as error:
        return "refused" if error.what and len(str(error)) < 2000 else f"an error of {len(str(error))} letters"
    except Exception as error:  # the question of this script is which
        return f"{type(error).__name__}: {error}"[:200]
    try:
        exercise(header, write_to)
    except GgufError as error:
        return f"accepted, then GgufError: {error}"[:200]
    except Exception as error:
        return f"accepted, then {type(error).__name__}: {error}"[:200]
    return "accepted"


def seeds(folder: Path | None, most: int = 40) -> list[bytes]:
    """Headers to damage: generated ones, and GGUF and ledger forms of a folder's ledgers, smallest first."""
    found = [llama(), llama(4, 40, expert_count=8), llama(0, 0)]
    if folder is not None:
        with tempfile.TemporaryDirectory() as scratch:
            for path in sorted(folder.glob("**/*.json"), key=lambda path: path.stat().st_size)[::5][:most]:
                header = HeaderSource.from_ledger(path)
                found.append(header.to_gguf(Path(scratch) / "seed.gguf", force=True).read_bytes())
                found.append(json.dumps(header.to_ledger()).encode())
    else:
        found += [json.dumps(read_header(data).to_ledger()).encode() for data in found]
    return found


def fuzz(count: int, seed: int, headers: Iterable[bytes]) -> tuple[Counter[str], float]:
    """Read `count` damaged headers: how often each outcome came, and the longest reading [s].

    Args:
        count: number of mutations.
        seed: of the first; mutation n is made by seed + n alone, so each can be repeated.
        headers: whole files to damage.
    """
    headers = list(headers)
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + count):
            dice = random.Random(number)
            data = mutated(headers[number % len(headers)], dice)
            write_to = Path(folder) / "again.gguf" if number % WRITE_EVERY == 0 else None
            start = time.perf_counter()
            outcome = try_one(data, dice, write_to)
            slowest = max(slowest, time.perf_counter() - start)
            outcomes[outcome if outcome in ("accepted", "refused") else f"seed {number}: {outcome}"] += 1
    return outcomes, slowest


def main(arguments: list[str] | None = None) -> int:
    """Run the study and print its outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="number of mutations")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first mutation")
    parser.add_argument("--ledgers", type=Path, help="folder of ledgers to damage beside the generated headers")
    options = parser.parse_args(arguments)
    headers = seeds(options.ledgers)
    start = time.perf_counter()
    outcomes, slowest = fuzz(options.count, options.seed, headers)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    good = {name: outcomes.pop(name, 0) for name in ("accepted", "refused")}
    print(
        f"{options.count:,} mutations of {len(headers)} headers in {time.perf_counter() - start:.0f} s: "
        f"{good['accepted']:,} accepted, {good['refused']:,} refused by GgufError, {sum(outcomes.values()):,} other; "
        f"longest {slowest:.3f} s, peak memory of the process {peak / 1e6:.1f} MB"
    )
    for name in sorted(outcomes):
        print(name)
    return 1 if outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
