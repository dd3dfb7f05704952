"""Malformed GGUF files: each is refused with what, where and what is allowed, quickly and in little memory."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from gguf_bytes import F32, Q4_K, gguf, string, tensor, value
from shared_folder import SHARED

from tinker_nomics.decode import GgufError, read_header

ARCH = value("general.architecture", "str", "llama")


def typed(key: str, *numbers: int) -> bytes:
    """A key, then a type and whatever follows it, as u32 (or u64 past that)."""
    return string(key) + b"".join(struct.pack("<I" if n < 2**32 else "<Q", n) for n in numbers)


def array(item_type: int, count: int, body: bytes = b"") -> bytes:
    return string("k") + struct.pack("<IIQ", 9, item_type, count) + body


# name -> (file, text of the error, byte offset)
REFUSED: dict[str, tuple[bytes, str, int]] = {
    "magic": (gguf(magic=b"GGML"), "starts with b'GGML'; allowed: b'GGUF'", 0),
    "version 0": (gguf(version=0), "version 0; allowed: 2 or 3", 4),
    "version 1": (gguf(version=1), "version 1; allowed: 2 or 3", 4),
    "version 9": (gguf(version=9), "version 9; allowed: 2 or 3", 4),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "the file is big-endian", 4),
    "negative number of tensors": (gguf(counts=(-2, 0)), "the number of tensors is -2; allowed: 0 to 2^63 - 1", 8),
    "negative number of values": (gguf(counts=(0, -1)), "the number of metadata values is -1", 16),
    "more values than bytes": (gguf([ARCH], counts=(0, 10**7)), "needs at least 140000024 bytes", 24),
    "more tensors than bytes": (gguf([ARCH], counts=(10**7, 1)), "needs at least 240000038 bytes", 24),
    "endless key": (gguf([struct.pack("<Q", 2**64 - 1) + b"key"], counts=(0, 0))[:16] + struct.pack("<Q", 1)
                    + struct.pack("<Q", 2**62) + bytes(20), "declared length of 4611686018427387904 bytes", 24),
    "key past the end": (gguf([struct.pack("<Q", 900) + bytes(30)]), "within the key of metadata value 0", 32),
    "empty key": (gguf([value("", "u32", 1)]), "the key of metadata value 0 is empty", 24),
    "duplicate key": (gguf([value("a", "u8", 1), value("b", "u8", 1), value("a", "i8", 2)]), "'a' stands twice", 52),
    "value type 13": (gguf([typed("k", 13, 0)]), "'k' has the value type 13; allowed: 0 to 12", 33),
    "value type 2^32-1": (gguf([typed("k", 2**32 - 1, 0)]), "has the value type 4294967295", 33),
    "item type 13": (gguf([array(13, 1, bytes(8))]), "the array of 'k' has the value type 13", 37),
    "nested array": (gguf([array(9, 1, struct.pack("<IQ", 4, 0))]), "holds arrays; allowed: arrays of numbers", 37),
    "deeply nested array": (gguf([array(9, 1, struct.pack("<IQ", 9, 1) * 5000)]), "holds arrays", 37),
    "long string": (gguf([string("k") + struct.pack("<IQ", 8, 2**35) + b"abc"]), "length of 34359738368 bytes", 37),
    "string past the end": (gguf([string("k") + struct.pack("<IQ", 8, 2**29) + b"abc"]), "within the value of 'k'", 45),
    "long array": (gguf([array(0, 2**33, b"abc")]), "declares 8589934592 items; allowed: up to 1073741824", 41),
    "array past the end": (gguf([array(5, 2**26, b"abc")]), "within the array of 'k'; the header needs", 49),
    "strings past the end": (gguf([array(8, 2**26, b"abc")]), "within the array of 'k'; the header needs", 49),
    "long token": (gguf([string("tokenizer.t") + struct.pack("<IIQ", 9, 8, 2) + struct.pack("<QQ", 2**40, 1)]),
                   "a string of the array of 'tokenizer.t' has a declared length of 1099511627776", 59),
    "alignment 24": (gguf([value("general.alignment", "u32", 24)]), "general.alignment is 24; allowed: powers of", 53),
    "alignment 0": (gguf([value("general.alignment", "u32", 0)]), "general.alignment is 0", 53),
    "alignment as u64": (gguf([value("general.alignment", "u64", 32)]), "of type u64; allowed: u32", 49),
    "alignment as array": (gguf([value("general.alignment", "[u32]", [32])]), "of type arr[u32]; allowed: u32", 49),
    "long name": (gguf([], [tensor("n" * 64, [4], F32, 0)]), "has 64 bytes; allowed: up to 63", 24),
    "duplicate name": (gguf([], [tensor("t", [8], F32, 0), tensor("t", [8], F32, 32)]), "two tensors are called", 57),
    "five dims": (gguf([], [tensor("t", [1] * 5, F32, 0)]), "'t' has 5 dims; allowed: up to 4", 33),
    "2^32-1 dims": (gguf([], [tensor("t", [1], F32, 0, 2**32 - 1)]), "'t' has 4294967295 dims", 33),
    "negative dim": (gguf([], [tensor("t", [4, -3], F32, 0)]), "dims[1] is -3; allowed: 0 to 2^63 - 1", 37),
    "product past 2^63": (gguf([], [tensor("t", [2**32, 2**31], F32, 0)]), "a product past 2^63 - 1", 37),
    "product past 2^63 beside a zero": (gguf([], [tensor("t", [2**32, 0, 2**32], F32, 0)]), "a product past 2^63", 37),
    "bytes past 2^64": (gguf([], [tensor("t", [2**62], 27, 0)]), "ends at byte 36893488147419103232", 37),
    "padding past 2^64": (gguf([], [tensor("t", [2**62 - 1], F32, 0)]), "of 18446744073709551612 bytes ends at", 37),
    "sum past 2^64": (gguf([], [tensor("a", [2**62 - 8], F32, 0), tensor("b", [8], F32, 2**64 - 32)]),
                      "tensor 'b' of 32 bytes ends at byte 18446744073709551616", 70),
    "type -1": (gguf([], [tensor("t", [4], -1, 0)]), "'t' has type -1; allowed: ids of GGML_TYPES", 45),
    "type 5": (gguf([], [tensor("t", [32], 5, 0)]), "'t' has type 5 (Q4_3, removed from ggml)", 45),
    "partial blocks": (gguf([], [tensor("t", [8, 256], Q4_K, 0)]), "rows of 8 elements do not fill whole blocks", 37),
    "scalar in blocks": (gguf([], [tensor("t", [], Q4_K, 0)]), "rows of 1 elements do not fill whole blocks", 37),
    "negative offset": (gguf([], [tensor("t", [4], F32, -1)]), "at offset 18446744073709551615; allowed: 0,", 49),
    "offset past the end": (gguf([], [tensor("t", [4], F32, 2**40)]), "starts at offset 1099511627776; allowed: 0", 49),
    "unaligned offset": (gguf([], [tensor("t", [4], F32, 4)]), "starts at offset 4; allowed: 0", 49),
    "gap": (gguf([], [tensor("a", [8], F32, 0), tensor("b", [8], F32, 64)]), "at offset 64; allowed: 32, where", 82),
    "overlap": (gguf([], [tensor("a", [9], F32, 0), tensor("b", [8], F32, 32)]), "at offset 32; allowed: 64", 82),
    "other order": (gguf([], [tensor("a", [8], F32, 32), tensor("b", [8], F32, 0)]), "'a' starts at offset 32", 49),
    "offsets of another alignment": (gguf([value("general.alignment", "u32", 64)],
                                          [tensor("a", [8], F32, 0), tensor("b", [8], F32, 32)]), "allowed: 64", 115),
    "nothing": (b"", "ends at byte 0, within the magic; the header needs at least 24 bytes", 0),
    "four bytes": (b"GGUF", "ends at byte 4, within the version; the header needs at least 24 bytes", 4),
    "cut counts": (gguf()[:19], "within the counts of tensors and metadata values", 8),
    "cut value": (gguf([ARCH])[:-1], "ends at byte 68, within the value of 'general.architecture'", 64),
    "cut row": (gguf([], [tensor("t", [4, 4], F32, 0)])[:-3], "within the row of tensor 't'", 37),
    "zeros": (gguf(counts=(0, 50_000)) + bytes(2**20), "the key of metadata value 0 is empty", 24),
    "cut key with huge length": (gguf([struct.pack("<Q", 2**30) + bytes(9)]), "within the key of metadata value 0", 32),
}  # fmt: skip

ACCEPTED: dict[str, bytes] = {
    "no dims": gguf([], [tensor("t", [], F32, 0)]),
    "empty name": gguf([], [tensor("", [4], F32, 0)]),
    "zero dim": gguf([], [tensor("t", [4, 0], F32, 0), tensor("u", [4], F32, 0)]),
    "name of 63 bytes": gguf([], [tensor("n" * 63, [4], F32, 0)]),
    "data absent": gguf([ARCH], [tensor("token_embd.weight", [4096, 1024], F32, 0)]),
    "data almost absent": gguf([ARCH], [tensor("t", [4096], F32, 0)]) + bytes(40),
    "data past 2^63": gguf([], [tensor("a", [2**63 - 64], 24, 0), tensor("b", [2**63 - 64], 24, 2**63 - 64)]),
    "key called GGUF.version": gguf([value("GGUF.version", "u32", 99)]),
    "truth as 7": gguf([string("k") + struct.pack("<IB", 7, 7)]),
    "random bytes after": gguf([ARCH], [tensor("t", [8], F32, 0)]) + bytes(range(256)),
    "alignment 2^31": gguf([value("general.alignment", "u32", 2**31)], [tensor("t", [8], F32, 0)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_what_where_and_what_is_allowed(name: str):
    data, text, offset = REFUSED[name]
    with pytest.raises(GgufError) as caught:
        read_header(data)
    error = caught.value
    assert text in str(error)
    assert error.offset == offset
    assert f"at byte {offset}: " in str(error)
    assert error.allowed and f"allowed: {error.allowed}" in str(error)


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_as_llama_cpp_does(name: str):
    read_header(ACCEPTED[name]).to_ledger()


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "broken.gguf"
    path.write_bytes(gguf(version=7))
    with pytest.raises(GgufError, match=r"^broken.gguf, at byte 4: GGUF version 7; allowed: 2 or 3$"):
        read_header(path)


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory) -> Path:
    if SHARED is None:
        pytest.skip("the specification folder is not beside this checkout")
    folder = tmp_path_factory.mktemp("bad")
    subprocess.run(
        [sys.executable, SHARED / "tools" / "make_bad_gguf.py", folder], check=True, stdout=subprocess.DEVNULL
    )
    return folder


def test_all_57_files_are_answered_as_expected_quickly_and_in_little_memory(bad_files: Path):
    assert SHARED is not None
    expected = json.loads((SHARED / "truth" / "bad_gguf_expected.json").read_text())["files"]
    assert len(expected) == len(list(bad_files.glob("*.gguf"))) == 57
    found = {}
    for name in expected:
        tracemalloc.start()
        start = time.perf_counter()
        try:
            read_header(bad_files / f"{name}.gguf").weight_bytes  # noqa: B018
            found[name] = "accept"
        except GgufError as error:
            found[name] = "reject"
            assert error.what and error.allowed
            assert error.offset is not None or name == "TENSORS_BAD_TYPE_43"  # met when asked for bytes
        seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert seconds < 0.5 and peak < 50e6, name
    assert found == {name: row["llama_cpp"] for name, row in expected.items()}
