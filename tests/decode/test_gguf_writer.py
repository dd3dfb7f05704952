"""Header-only GGUF files: what is written reads back equal, by us and, where it can, by gguf."""

from __future__ import annotations

import struct

import gguf
import pytest
from gguf_bytes import F32, llama, tensor, value
from gguf_bytes import gguf as gguf_file
from shared_folder import SHARED

from tinker_nomics.decode import GgufError, GgufHeader, HeaderSource, read_header
from tinker_nomics.files import OutputExistsError

FILES = [] if SHARED is None else sorted((SHARED / "ledgers").glob("**/*.json"))


def test_a_header_written_reads_back_equal(tmp_path):
    header = read_header(llama(4, expert_count=8))
    path = header.to_gguf(tmp_path / "header.gguf")
    again = read_header(path)
    assert again == header
    assert again.value_types == header.value_types
    assert [row.offset for row in again.tensors] == [row.offset for row in header.tensors]
    assert again.data_offset == path.stat().st_size


def test_gguf_to_ledger_to_gguf_keeps_value_types(tmp_path):
    header = read_header(llama())
    again = read_header(HeaderSource.from_ledger(header.to_ledger()).to_gguf(tmp_path / "header.gguf"))
    assert again == header


def test_gguf_reads_the_types_of_a_ledger(tmp_path):
    ledger = {
        "metadata": {
            "general.architecture": "llama",
            "count": 3,
            "big": 2**40,
            "minus": -3,
            "single": 0.5,
            "double": 0.1,
            "flag": False,
            "heads": [8, 0],
            "factors": [1.0, 0.1],
            "tokenizer.ggml.tokens": "<128 strings>",
        },
        "tensors": [],
    }
    path = HeaderSource.from_ledger(ledger).to_gguf(tmp_path / "ledger.gguf")
    fields = gguf.GGUFReader(path).fields
    kinds = {key: [kind.name for kind in fields[key].types] for key in ledger["metadata"]}
    assert kinds == {
        "general.architecture": ["STRING"],
        "count": ["UINT32"],
        "big": ["UINT64"],
        "minus": ["INT32"],
        "single": ["FLOAT32"],
        "double": ["FLOAT64"],
        "flag": ["BOOL"],
        "heads": ["ARRAY", "UINT32"],
        "factors": ["ARRAY", "FLOAT32"],
        "tokenizer.ggml.tokens": ["STRING"],
    }
    assert fields["tokenizer.ggml.tokens"].contents() == "<128 strings>"
    assert fields["double"].contents() == 0.1


def test_gguf_reads_the_tensor_table_once_the_data_are_there(tmp_path):
    header = read_header(llama())
    path = header.to_gguf(tmp_path / "header.gguf")
    with path.open("ab") as file:
        file.write(bytes(header.weight_bytes))
    reader = gguf.GGUFReader(path)
    rows = [(row.name, int(row.tensor_type), tuple(row.shape.tolist()), row.n_bytes) for row in reader.tensors]
    assert rows == [(row.name, row.type.id, row.dims, row.bytes) for row in header.tensors]
    assert len(reader.fields["tokenizer.ggml.tokens"].data) == 300


def test_what_gguf_itself_cannot_write_is_written_all_the_same(tmp_path):
    rows = [
        tensor("q8_1", [64], 9, 0),  # 72 bytes, 80 by gguf 0.19
        tensor("q2_0", [64], 42, 96),
        tensor("odd", [100], 399, 128),
        tensor(b"\xff", [], F32, 4096),
    ]
    values = [
        value("empty", "[f32]", []),
        value("none", "str", ""),
        value(b"\xff", "str", b"\xfe"),
        value("bools", "[bool]", [True, False]),
        value("tokenizer.flags", "[bool]", [True]),
        value("tokenizer.list", "[str]", []),
        value("general.alignment", "u32", 32),
    ]
    header = read_header(gguf_file(values, rows))
    again = read_header(header.to_gguf(tmp_path / "header.gguf"))
    assert again == header
    assert [row.offset for row in again.tensors] == [0, 96, 128, 4096]


@pytest.mark.parametrize("alignment", [1, 64, 4096])
def test_alignment_is_kept(tmp_path, alignment: int):
    step = 20 + -20 % alignment
    rows = [tensor("a", [5], F32, 0), tensor("b", [5], F32, step)]
    header = read_header(gguf_file([value("general.alignment", "u32", alignment)], rows))
    again = read_header(header.to_gguf(tmp_path / "header.gguf"))
    assert again == header and again.tensors[1].offset == step


def test_an_unknown_offset_is_refused_by_name_and_leaves_no_file(tmp_path):
    ledger = {"metadata": {}, "tensors": [["odd", 137, [8]], ["b", "F32", [8]]]}
    with pytest.raises(GgufError, match="offset of tensor 'b' is unknown, for 'odd' before it has type 137"):
        HeaderSource.from_ledger(ledger).to_gguf(tmp_path / "header.gguf")
    assert list(tmp_path.iterdir()) == []


def test_more_skipped_items_than_any_vocabulary_are_refused(tmp_path):
    ledger = {"metadata": {"k": "<16777217 integers>"}, "tensors": [], "types": {"k": "arr[i32]"}}
    with pytest.raises(GgufError, match=r"16777217 skipped items.*allowed: up to 16777216"):
        HeaderSource.from_ledger(ledger).to_gguf(tmp_path / "header.gguf")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_left_alone_unless_forced(tmp_path):
    path = tmp_path / "header.gguf"
    path.write_bytes(b"mine")
    header = read_header(llama())
    with pytest.raises(OutputExistsError, match="exists"):
        header.to_gguf(path)
    assert path.read_bytes() == b"mine"
    assert header.to_gguf(path, force=True) == path
    assert read_header(path) == header


def test_a_version_2_header_is_written_as_version_3(tmp_path):
    header = read_header(gguf_file([value("a", "u8", 1)], version=2))
    path = header.to_gguf(tmp_path / "header.gguf")
    assert struct.unpack("<I", path.read_bytes()[4:8]) == (3,)
    assert read_header(path).metadata == header.metadata


@pytest.mark.skipif(not FILES, reason="the specification folder is not beside this checkout")
def test_gguf_agrees_on_every_small_ledger(tmp_path):
    compared = 0
    for path in FILES:
        header = read_header(path)
        if header.weight_bytes > 20e6:
            continue
        written = header.to_gguf(tmp_path / "header.gguf", force=True)
        last = header.tensors[-1]
        with written.open("r+b") as file:  # zeros in place of the data, without which gguf reads nothing
            file.truncate(written.stat().st_size + (last.offset or 0) + last.bytes)
        peer = gguf.GGUFReader(written)
        again = read_header(written)
        assert again == header and again.missing_data_bytes == 0
        assert [(row.name, int(row.tensor_type), tuple(row.shape.tolist()), row.n_bytes) for row in peer.tensors] == [
            (row.name, row.type.id, row.dims, row.bytes) for row in again.tensors
        ]
        for key, found in again.metadata.items():
            assert (list(found) if isinstance(found, tuple) else found) == peer.fields[key].contents(), key
        compared += 1
        if compared == 40:
            break
    assert compared == 40


@pytest.mark.skipif(not FILES, reason="the specification folder is not beside this checkout")
def test_every_ledger_survives_gguf(tmp_path):
    for path in FILES:
        header: GgufHeader = read_header(path)
        written = header.to_gguf(tmp_path / "header.gguf", force=True)
        assert read_header(written) == header, path.name
        assert read_header(written).to_ledger() == header.to_ledger(), path.name
