"""Reading well-formed GGUF headers, from everything that can hold one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tracemalloc

import gguf
import numpy as np
import pytest
from gguf_bytes import F32, LETTERS, Q4_K, Q8_1, llama, tensor, value
from gguf_bytes import gguf as gguf_file

from tinker_nomics.decode import GgufError, GgufHeader, TensorRow, read_header
from tinker_nomics.decode.ggml_types import UnknownType
from tinker_nomics.decode.value_types import SkippedArray

LLAMA = llama()


class Reader:
    """Nothing but `read`, giving at most `most` bytes at a time."""

    def __init__(self, data: bytes, most: int):
        self.left = io.BytesIO(data)
        self.most = most
        self.given = 0

    def read(self, count: int) -> bytes:
        piece = self.left.read(min(count, self.most))
        self.given += len(piece)
        return piece


def test_everything_in_a_header_is_read():
    header = read_header(LLAMA)
    assert header.architecture == "llama"
    assert header.origin == "gguf"
    assert header.version == 3
    assert header.get("general.name") == "Lämmchen"
    assert header.get("general.tags") == ("text", "test", "ü")
    assert header.arch("attention.head_count") == 8
    assert header.arch("attention.head_count_kv") == (4, 4)
    assert header.arch("attention.sliding_window_pattern") == (True, False)
    assert header.arch("nothing", 7) == 7
    assert header.arch("use_parallel_residual") is False
    assert header.arch("logit_scale") == 0.1
    assert header.arch("attention.layer_norm_rms_epsilon") == float(np.float32(1e-5))
    assert [header.arch(key) for key in ("small", "tiny", "short", "long")] == [-3, 200, -300, -(2**40)]
    assert header.value_types["llama.attention.head_count_kv"] == "arr[i32]"
    assert header.value_types["llama.long"] == "i64"
    assert header.parameters == 300 * 256 + 2 * (256 * 256 + 2 * 128 * 256 + 256 + 512 * 256)
    assert header.weight_bytes == sum(row.bytes for row in header.tensors)
    assert header.tensor["blk.1.ffn_down.weight"].bytes == 512 * 256 * 2
    assert header.data_offset == len(LLAMA) + -len(LLAMA) % 32


def test_arrays_of_the_tokenizer_are_skipped_and_their_length_is_kept():
    header = read_header(LLAMA)
    tokens = header.get("tokenizer.ggml.tokens")
    assert isinstance(tokens, SkippedArray)
    assert (tokens.length, tokens.item_type, tokens) == (300, "str", "<300 strings>")
    assert header.get("tokenizer.ggml.scores") == "<300 numbers>"
    assert header.get("tokenizer.ggml.token_type") == "<300 integers>"
    assert header.get("tokenizer.ggml.bos_token_id") == 1
    assert header.get("tokenizer.chat_template").startswith("{{ messages }}")


def test_long_arrays_are_skipped_wherever_they_stand():
    header = read_header(gguf_file([value("a", "[u8]", [1] * 65_536), value("b", "[u8]", [1] * 65_537)]))
    assert header.get("a") == (1,) * 65_536
    assert header.get("b").length == 65_537


@pytest.mark.parametrize("kind", [kind for kind in LETTERS if kind not in ("str", "arr")])
def test_every_kind_of_number_alone_and_in_an_array(kind: str):
    values = {"f32": [0.5, -2.0], "f64": [0.1, 1e300], "bool": [True, False]}.get(kind)
    if values is None:
        bits = int(kind[1:])
        values = [0, 2**bits - 1] if kind[0] == "u" else [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1]
    header = read_header(gguf_file([value("one", kind, values[1]), value("all", f"[{kind}]", values)]))
    assert header.metadata == {"one": values[1], "all": tuple(values)}
    assert header.value_types == {"one": kind, "all": f"arr[{kind}]"}
    assert type(header.get("one")) is type(values[1])


def test_empty_arrays_strings_and_files():
    header = read_header(gguf_file([value("a", "[f32]", []), value("b", "str", ""), value("c", "[str]", [])]))
    assert header.metadata == {"a": (), "b": "", "c": ()}
    empty = read_header(gguf_file())
    assert (empty.parameters, empty.weight_bytes, empty.architecture) == (0, 0, None)


def test_version_2_reads_as_version_3_does():
    header = read_header(LLAMA[:4] + b"\2" + LLAMA[5:])
    assert header.version == 2
    assert header.tensors == read_header(LLAMA).tensors


def test_bytes_that_are_no_text_survive():
    header = read_header(gguf_file([value(b"\xff\xfe", "str", b"\xfa!")], [tensor(b"\xe4", [4], F32, 0)]))
    assert header.metadata == {"\udcff\udcfe": "\udcfa!"}
    assert header.tensors[0].name == "\udce4"


@pytest.mark.parametrize("alignment", [1, 8, 32, 4096])
def test_alignment_moves_the_data_and_the_offsets(alignment: int):
    step = 20 + -20 % alignment
    data = gguf_file(
        [value("general.alignment", "u32", alignment)], [tensor("a", [5], F32, 0), tensor("b", [5], F32, step)]
    )
    header = read_header(data)
    assert header.alignment == alignment
    assert header.tensors[1].offset == step
    assert header.data_offset == len(data) + -len(data) % alignment


def test_every_way_to_hand_over_a_file(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(LLAMA)
    expected = read_header(LLAMA)
    with path.open("rb") as buffered, path.open("rb", buffering=0) as raw:
        sources = [path, str(path), LLAMA, bytearray(LLAMA), memoryview(LLAMA), buffered, raw, io.BytesIO(LLAMA)]
        sources += [Reader(LLAMA, most) for most in (1, 7, 1000, 2**20)]
        for source in sources:
            assert read_header(source) == expected
    assert expected.shards[0].data_bytes == 0
    assert read_header(path).shards[0].name == "model.gguf"


def test_a_pipe_is_read_without_seeking():
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb") as writer:
        writer.write(LLAMA)  # fits the pipe's buffer
    with os.fdopen(read_end, "rb") as reader:
        assert read_header(reader) == read_header(LLAMA)


def test_the_tensor_data_are_never_read():
    data = LLAMA + bytes(50 * 2**20)
    source = Reader(data, 2**20)
    assert read_header(source) == read_header(LLAMA)
    assert source.given <= 2**20


def test_absent_data_are_reported_not_refused(tmp_path):
    path = tmp_path / "model.gguf"
    start = len(LLAMA) + -len(LLAMA) % 32
    header = read_header(LLAMA)
    last = header.tensors[-1]
    assert last.offset is not None
    end = last.offset + last.bytes
    for there in (0, 1, 5000, end - 1, end, end + 100):
        path.write_bytes(LLAMA + bytes(start - len(LLAMA) + there))
        assert read_header(path).missing_data_bytes == max(end - there, 0)
    assert header.missing_data_bytes == end
    assert read_header(Reader(LLAMA, 4096)).missing_data_bytes is None
    assert read_header(header.to_ledger()).missing_data_bytes is None


def test_a_file_opened_as_text_is_refused(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + bytes(20))
    with path.open() as file, pytest.raises(GgufError, match='open the file in binary mode, open\\(path, "rb"\\)'):
        read_header(file)


def test_a_read_that_gives_no_bytes_is_refused():
    class Empty:
        def read(self, count: int) -> None:
            return None

    with pytest.raises(GgufError, match="read gave a NoneType; allowed: bytes"):
        read_header(Empty())


def test_other_sources_are_refused(tmp_path):
    with pytest.raises(GgufError, match=r"a int holds no header.*allowed: a path"):
        read_header(3)
    with pytest.raises(GgufError, match="is no path"):
        read_header("mo\0del.gguf")
    with pytest.raises(FileNotFoundError):
        read_header(tmp_path / "absent.gguf")


def test_any_cut_says_how_many_bytes_are_needed():
    whole = read_header(LLAMA)
    for cut in range(0, len(LLAMA), 5):
        for source in (LLAMA[:cut], Reader(LLAMA[:cut], 4096)):
            with pytest.raises(GgufError) as caught:
                read_header(source)
            needed = caught.value.bytes_needed
            assert needed is not None and cut < needed <= len(LLAMA)
            assert f"at least {needed} bytes" in str(caught.value)
            assert caught.value.offset is not None and caught.value.offset <= cut
    assert read_header(LLAMA[: len(LLAMA)]) == whole
    with pytest.raises(GgufError) as caught:
        read_header(LLAMA[:-1])
    assert caught.value.bytes_needed == len(LLAMA)


def test_fetching_what_the_error_asks_for_ends_at_the_header():
    data, fetched, steps = llama(2, 5000) + bytes(10_000), 1000, 0
    while True:
        try:
            header = read_header(data[:fetched])
            break
        except GgufError as error:
            assert error.bytes_needed is not None and error.bytes_needed > fetched
            fetched, steps = error.bytes_needed, steps + 1
    assert header == read_header(data)
    assert fetched <= len(data) - 10_000
    assert steps < 40


def test_a_vocabulary_of_a_quarter_million_takes_little_memory_and_time():
    data = llama(2, 262_144)
    source = Reader(data, 2**20)
    tracemalloc.start()
    try:
        header = read_header(source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert header.get("tokenizer.ggml.tokens").length == 262_144
    assert peak < 10e6


@pytest.mark.parametrize("kind", [36, 43, 97, 137, 399, 2**31 - 1])
def test_an_unknown_type_keeps_everything_but_bytes(kind: int):
    rows = [tensor("a", [8], F32, 0), tensor("odd", [100, 3], kind, 32), tensor("b", [8], F32, 4096)]
    header = read_header(gguf_file([value("general.architecture", "str", "llama")], rows))
    assert header.architecture == "llama"
    assert header.parameters == 8 + 300 + 8
    assert header.tensors[1] == TensorRow("odd", UnknownType(kind), (100, 3))
    assert header.tensors[2].bytes == 32
    for ask in (lambda: header.tensors[1].bytes, lambda: header.weight_bytes):
        with pytest.raises(GgufError, match=f"'odd'.*type {kind}.*allowed: types with known blocks"):
            ask()


def test_offsets_after_an_unknown_type_must_still_rise_and_be_aligned():
    for offset in (0, 32, 33, 2**63):
        rows = [tensor("a", [8], F32, 0), tensor("odd", [8], 99, 32), tensor("b", [8], F32, offset)]
        with pytest.raises(GgufError, match="'b' starts at offset"):
            read_header(gguf_file([], rows))


def test_types_that_gguf_has_wrong_or_not_at_all():
    header = read_header(gguf_file([], [tensor("a", [32], Q8_1, 0), tensor("b", [64], 42, 64)]))
    assert [row.bytes for row in header.tensors] == [36, 18]


def test_agrees_with_gguf_on_a_file_that_gguf_wrote(tmp_path):
    path = tmp_path / "peer.gguf"
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_block_count(3)
    writer.add_rope_freq_base(1e6)
    writer.add_head_count_kv([8, 4, 8])
    writer.add_token_list(["a", "bc", "def"])
    writer.add_token_scores([0.0, -1.0, -2.0])
    writer.add_bool("qwen3.flag", True)
    writer.add_tensor("a.weight", np.zeros((3, 64), np.float32))
    writer.add_tensor("b.weight", np.zeros((5,), np.float16))
    packed = np.zeros((4, 144), np.uint8)
    writer.add_tensor("c.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q4_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    ours, peer = read_header(path), gguf.GGUFReader(path)
    assert ours.data_offset == peer.data_offset
    for row, theirs in zip(ours.tensors, peer.tensors, strict=True):
        assert (row.name, row.type.id, list(row.dims)) == (theirs.name, int(theirs.tensor_type), theirs.shape.tolist())
        assert (row.bytes, row.elements) == (theirs.n_bytes, theirs.n_elements)
        assert ours.data_offset is not None and row.offset is not None
        assert ours.data_offset + row.offset == theirs.data_offset
    for key, found in ours.metadata.items():
        theirs = peer.fields[key]
        if isinstance(found, SkippedArray):
            assert found.length == len(theirs.data)
        else:
            assert (list(found) if isinstance(found, tuple) else found) == theirs.contents()
    assert ours.tensors[2].type.id == Q4_K


def test_equality_is_about_what_the_checkpoint_is():
    header = read_header(LLAMA)
    assert header == read_header(LLAMA) and hash(header) == hash(read_header(LLAMA))
    assert header != read_header(llama(4))
    assert header != read_header(LLAMA[:4] + b"\2" + LLAMA[5:])
    assert header != "header"
    assert isinstance(header, GgufHeader) and "llama" in repr(header)


def test_reading_imports_neither_jax_nor_gguf_nor_numpy(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(LLAMA)
    code = (
        "import sys; from tinker_nomics.decode import read_header, HeaderSource; h = read_header(sys.argv[1]);"
        "HeaderSource.from_ledger(h.to_ledger()); print([m for m in ('jax', 'gguf', 'numpy') if m in sys.modules])"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    result = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, cwd=root, timeout=60
    )
    assert result.stdout.strip() == "[]"
