"""Ledgers: what their values stand for, and that nothing is lost between header, ledger and GGUF."""

from __future__ import annotations

import copy
import io
import json
import pickle
from pathlib import Path

import pytest
from gguf_bytes import F32, gguf, llama, tensor, value
from shared_folder import SHARED

from tinker_nomics.decode import DecodeRefusal, GgufError, GgufHeader, HeaderSource, decode_step, read_header
from tinker_nomics.decode.value_types import SkippedArray, inferred_type

LEDGER = {
    "metadata": {
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.rope.freq_base": 500000.0,
        "llama.scale": 0.1,
        "llama.offset": -4,
        "llama.big": 2**40,
        "llama.flag": True,
        "llama.heads": [8, 0, 4],
        "llama.factors": [1.0, 0.1],
        "tokenizer.ggml.tokens": "<128256 strings>",
    },
    "tensors": [["token_embd.weight", "Q4_K", [256, 100]], ["output_norm.weight", "F32", [256]]],
    "provenance": "typed by hand",
}
FILES = [] if SHARED is None else sorted((SHARED / "ledgers").glob("**/*.json"))


def test_the_types_that_json_values_stand_for():
    types = HeaderSource.from_ledger(LEDGER).value_types
    assert types == {
        "general.architecture": "str",
        "llama.block_count": "u32",
        "llama.rope.freq_base": "f32",
        "llama.scale": "f64",
        "llama.offset": "i32",
        "llama.big": "u64",
        "llama.flag": "bool",
        "llama.heads": "arr[u32]",
        "llama.factors": "arr[f32]",
        "tokenizer.ggml.tokens": "str",
    }


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (2**32 - 1, "u32"), (2**32, "u64"), (2**64 - 1, "u64"), (-1, "i32"), (-(2**31), "i32"), (-(2**31) - 1, "i64"),
        (0.5, "f32"), (1e-5, "f64"), (9.999999747378752e-06, "f32"), (1e300, "f64"), (float("inf"), "f32"),
        ([-1, 5], "arr[i32]"), ([5, -1], "arr[i32]"), ([1, 2**40], "arr[u64]"), ([], "arr[u32]"),
        ([True, False], "arr[bool]"), (["a"], "arr[str]"), ([0.1, 1.0], "arr[f64]"), ([0.5, 1], "arr[f32]"),
        ("<3 strings>", "str"), ("", "str"),
    ],
)  # fmt: skip
def test_each_rule_of_the_types(content: object, kind: str):
    assert inferred_type(content) == kind


def test_an_array_of_binary32_numbers_holds_binary32_numbers():
    assert HeaderSource.from_ledger(LEDGER).get("llama.factors") == (1.0, 0.10000000149011612)


def test_the_interface_is_that_of_a_header():
    header = HeaderSource.from_ledger(LEDGER)
    assert isinstance(header, GgufHeader)
    assert header.origin == "ledger"
    assert header.architecture == "llama"
    assert header.parameters == 25600 + 256
    assert header.weight_bytes == 100 * 144 + 1024
    assert header.data_offset is None and header.shards == ()
    assert header.tensors[1].offset == 14400
    assert header.arch("heads") == (8, 0, 4)
    assert header.get("tokenizer.ggml.tokens") == "<128256 strings>"
    assert header.get("tokenizer.ggml.tokens").length == 128256


def test_every_form_of_a_ledger_reads_the_same(tmp_path):
    text = json.dumps(LEDGER)
    path = tmp_path / "ledger.json"
    path.write_text(text)
    expected = HeaderSource.from_ledger(LEDGER)
    for source in (path, str(path), text, "\n " + text, text.encode(), b"\xef\xbb\xbf" + text.encode()):
        assert HeaderSource.from_ledger(source) == expected
        assert read_header(source) == expected
    assert read_header(LEDGER) == expected
    assert read_header(io.BytesIO(text.encode())) == expected
    assert read_header(path).origin == "ledger"


def test_header_to_ledger_to_header_keeps_values_and_types():
    header = read_header(llama())
    ledger = header.to_ledger()
    back = HeaderSource.from_ledger(json.loads(json.dumps(ledger)))
    assert back == header
    assert back.value_types == header.value_types
    assert back.tensors == header.tensors and [row.offset for row in back.tensors] == [
        row.offset for row in header.tensors
    ]
    assert back.get("tokenizer.ggml.tokens").item_type == "str"
    assert ledger["metadata"]["tokenizer.ggml.tokens"] == "<300 strings>"
    assert "general.name" not in ledger["types"] and ledger["types"]["llama.attention.head_count_kv"] == "arr[i32]"
    assert back.to_ledger() == ledger


def test_version_and_unknown_types_survive_a_ledger():
    header = read_header(gguf([], [tensor("a", [100], 137, 0), tensor("b", [4], F32, 512)], version=2))
    ledger = header.to_ledger()
    assert ledger["version"] == 2 and ledger["tensors"][0] == ["a", 137, [100]]
    back = HeaderSource.from_ledger(ledger)
    assert back == header
    assert back.tensors[1].offset is None  # nobody knows where a tensor of unknown type ends


def test_bytes_that_are_no_text_survive_a_ledger():
    header = read_header(gguf([value(b"\xff", "str", b"\xfe"), value("k", "[str]", [b"\xfd", "ü"])]))
    assert HeaderSource.from_ledger(json.dumps(header.to_ledger())) == header


def test_plain_values_need_no_types_entry():
    assert HeaderSource.from_ledger(LEDGER).to_ledger().keys() == {"metadata", "tensors"}


BROKEN = {
    "not json": ('{"metadata": ', "not JSON"),
    "not text": (b'{"\xff": 1}', "not JSON"),
    "deep": ('{"metadata":' + "[" * 100_000, "nested too deeply"),
    "array": ([], "holds no header"),
    "no metadata": ({"tensors": []}, "the ledger has no 'metadata'"),
    "no tensors": ({"metadata": {}}, "the ledger has no 'tensors'"),
    "metadata as a list": ({"metadata": [], "tensors": []}, "at metadata: 'metadata' is a list"),
    "tensors as a dict": ({"metadata": {}, "tensors": {}}, "at tensors: 'tensors' is a dict"),
    "null": ({"metadata": {"a": None}, "tensors": []}, r"at metadata\['a'\]: a NoneType is no metadata value"),
    "object": ({"metadata": {"a": {}}, "tensors": []}, r"at metadata\['a'\]: a dict is no metadata value"),
    "nested": ({"metadata": {"a": [[1]]}, "tensors": []}, "an array of arrays"),
    "mixed": ({"metadata": {"a": [1, "b"]}, "tensors": []}, "item 1 is 'b', but the array has its first item's type"),
    "bool among numbers": ({"metadata": {"a": [1, True]}, "tensors": []}, "item 1 is True"),
    "decimal among integers": ({"metadata": {"a": [1, 0.5]}, "tensors": []}, "item 1 is 0.5"),
    "past 64 bits": ({"metadata": {"a": 2**64}, "tensors": []}, "does not fit 64 bits; allowed: -2"),
    "signed past 64 bits": ({"metadata": {"a": [-1, 2**63]}, "tensors": []}, "does not fit 64 bits"),
    "f32 overflow": ({"metadata": {"a": [1.0, 1e300]}, "tensors": []}, r"1e\+300 does not fit f32"),
    "empty key": ({"metadata": {"": 1}, "tensors": []}, "allowed: texts that are not empty"),
    "lone surrogate": ({"metadata": {"a": "\ud800"}, "tensors": []}, "cannot be written as UTF-8"),
    "alignment": ({"metadata": {"general.alignment": 24}, "tensors": []}, "general.alignment is 24; allowed: powers"),
    "alignment text": ({"metadata": {"general.alignment": "32"}, "tensors": []}, "general.alignment is '32'"),
    "duplicate key": ('{"metadata": {"a": 1, "a": 2}, "tensors": []}', "the key 'a' stands twice"),
    "version": ({"metadata": {}, "tensors": [], "version": 1}, "version 1; allowed: 2 or 3"),
    "types as a list": ({"metadata": {}, "tensors": [], "types": []}, "at types"),
    "type that is none": ({"metadata": {"a": 1}, "tensors": [], "types": {"a": "u7"}}, "no value type is called 'u7'"),
    "type that does not fit": ({"metadata": {"a": 300}, "tensors": [], "types": {"a": "u8"}}, "300 is no u8"),
    "array type on a number": ({"metadata": {"a": 3}, "tensors": [], "types": {"a": "arr[u8]"}}, "a int is no arr"),
    "array of arrays": ({"metadata": {"a": []}, "tensors": [], "types": {"a": "arr[arr]"}}, "no items have the type"),
    "too many skipped": (
        {"metadata": {"a": "<9999999999 strings>"}, "tensors": [], "types": {"a": "arr[str]"}},
        "'<9999999999 strings>' is no arr",
    ),
    "row of two": ({"metadata": {}, "tensors": [["a", "F32"]]}, r"tensors\[0\]: .*allowed: \[name, type, \[dims\]"),
    "a type without a name": ({"metadata": {}, "tensors": [["a", "", [1]]]}, "allowed: a ggml type's name"),
    "a dim past 2^63": ({"metadata": {}, "tensors": [["a", "F32", [9999999999999999999]]]}, r"dims\[0\] is 9999999999999999999"),
    "known type by id": ({"metadata": {}, "tensors": [["a", 0, [1]]]}, "allowed: its name, 'F32'"),
    "dims as text": ({"metadata": {}, "tensors": [["a", "F32", "4"]]}, "allowed: a list of integers"),
    "dims as decimals": ({"metadata": {}, "tensors": [["a", "F32", [4.0]]]}, r"dims\[0\] is 4.0; allowed: a list of integers"),
    "five dims": ({"metadata": {}, "tensors": [["a", "F32", [1] * 5]]}, "has 5 dims; allowed: up to 4"),
    "negative dim": ({"metadata": {}, "tensors": [["a", "F32", [-1]]]}, r"dims\[0\] is -1"),
    "partial blocks": ({"metadata": {}, "tensors": [["a", "Q4_K", [100]]]}, "allowed: multiples of 256"),
    "long name": ({"metadata": {}, "tensors": [["a" * 64, "F32", [1]]]}, "has 64 bytes; allowed: up to 63"),
    "duplicate name": ({"metadata": {}, "tensors": [["a", "F32", [1]], ["a", "F32", [1]]]}, r"\[1\]: two tensors"),
    "name as number": ({"metadata": {}, "tensors": [[1, "F32", [1]]]}, "the name 1; allowed: a text"),
    "huge integer": ({"metadata": {"a": 10**6000}, "tensors": [], "types": {"a": "u8"}}, "an integer of 19932 bits"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_ledgers_are_refused_by_place(name: str):
    source, text = BROKEN[name]
    with pytest.raises(GgufError, match=text) as caught:
        read_header(source)
    assert caught.value.allowed


def test_what_is_no_ledger_is_refused_by_its_type():
    with pytest.raises(GgufError, match="a list is no ledger; allowed: a path"):
        HeaderSource.from_ledger([])  # type: ignore[arg-type]
    with pytest.raises(GgufError, match="is neither a path nor a ledger"):
        HeaderSource.from_ledger("a\0b")


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "typed.json"
    path.write_text('{"metadata": {"a": null}, "tensors": []}')
    with pytest.raises(GgufError, match=r"^typed.json, at metadata"):
        read_header(path)
    with pytest.raises(GgufError, match=r"^typed.json, at metadata"):
        HeaderSource.from_ledger(path)


@pytest.mark.parametrize("depth", range(900, 1000, 7))
def test_nesting_near_the_recursion_limit_is_one_error(depth: int):
    with pytest.raises(GgufError):
        read_header('{"metadata": {}, "tensors": [' + "[" * depth + "]" * depth + "]}")


def test_a_skipped_array_is_its_text():
    array = SkippedArray("f32", 7)
    assert array == "<7 numbers>" and json.dumps(array) == '"<7 numbers>"'
    for other in (pickle.loads(pickle.dumps(array)), copy.deepcopy(array)):
        assert (other, other.item_type, other.length) == (array, "f32", 7)
    assert SkippedArray.from_text("<7 numbers>") == array
    assert SkippedArray.from_text("<7 strings>", "f32") is None
    assert SkippedArray.from_text("<7 words>") is None


@pytest.mark.skipif(not FILES, reason="the specification folder is not beside this checkout")
def test_every_ledger_reads_with_the_sizes_that_llama_cpp_reports():
    compared = 0
    for path in FILES:
        content = json.loads(path.read_text())
        header = read_header(path)
        ledger = header.to_ledger()
        assert ledger == {"metadata": content["metadata"], "tensors": content["tensors"]}, path.name
        assert HeaderSource.from_ledger(json.dumps(ledger)) == header
        truth = content["truth"]
        total = truth.get("decode_graph", {}).get("weight_bytes_total")
        if total is not None:
            assert header.weight_bytes == total, path.name
            compared += 1
    assert compared >= 60


def test_a_type_name_that_is_not_in_the_table_keeps_its_row_and_has_no_bytes(tmp_path: Path) -> None:
    given = {"metadata": {"general.architecture": "llama"}, "tensors": [["a", "Q9_K", [100, 3]], ["b", "F32", [4]]]}
    header = HeaderSource.from_ledger(given)
    assert header.parameters == 304 and header.architecture == "llama" and header.tensor["b"].bytes == 16
    for ask in (lambda: header.weight_bytes, lambda: header.tensor["a"].bytes, lambda: header.to_gguf(tmp_path / "x")):
        with pytest.raises(GgufError, match=r"'a'.*'Q9_K'"):
            ask()
    assert header.to_ledger()["tensors"] == given["tensors"]
    assert HeaderSource.from_ledger(header.to_ledger()) == header
    given["tensors"][0][0] = "token_embd.weight"
    with pytest.raises(DecodeRefusal, match=r"the tensor 'token_embd\.weight' has type 'Q9_K'"):
        decode_step(given)


def test_a_list_is_called_a_ledger_of_the_wrong_form() -> None:
    with pytest.raises(GgufError, match="a ledger is an object, not a list"):
        read_header(b" []")
