"""The table of storage types, against gguf's own where that one is right."""

from __future__ import annotations

import gguf
import pytest

from tinker_nomics.decode import GGML_TYPES_SOURCE, GgmlType, GgufError
from tinker_nomics.decode.ggml_types import GGML_TYPES, REMOVED_TYPES, UnknownType, ggml_type, type_of_id

WRONG_IN_GGUF = {"Q8_1"}  # 40 bytes there: two floats and 32 bytes, where ggml stores two halves
LACKING_IN_GGUF = {"Q2_0", "Q1_0"}


def test_blocks_are_those_of_gguf_where_it_has_them():
    sizes = {kind.name: (int(kind), *gguf.GGML_QUANT_SIZES[kind]) for kind in gguf.GGML_QUANT_SIZES}
    ours = {kind.name: (kind.id, kind.block, kind.block_bytes) for kind in GGML_TYPES.values()}
    common = sizes.keys() & ours.keys() - WRONG_IN_GGUF
    assert len(common) >= 30
    assert {name: ours[name] for name in common} == {name: sizes[name] for name in common}
    assert ours.keys() - sizes.keys() <= LACKING_IN_GGUF
    assert not sizes.keys() - ours.keys()


def test_the_two_types_that_gguf_019_has_wrong():
    assert (ggml_type("Q8_1").block, ggml_type("Q8_1").block_bytes) == (32, 36)  # 2 halves and 32 bytes
    assert type_of_id(42) == GgmlType(42, "Q2_0", 64, 18)  # a half and 64 times 2 bits


def test_there_is_a_source_and_every_id_is_known_or_removed_up_to_the_count():
    assert "0c1e57098" in GGML_TYPES_SOURCE
    assert GGML_TYPES.keys() | REMOVED_TYPES.keys() == set(range(43))
    assert not GGML_TYPES.keys() & REMOVED_TYPES.keys()


def test_lookup_by_name_in_any_case():
    assert ggml_type("q4_k") is GGML_TYPES[12]
    with pytest.raises(GgufError, match=r"'q4_x'.*allowed: F32, F16"):
        ggml_type("q4_x")


def test_bytes_of_elements():
    assert ggml_type("Q4_K").bytes_of(512) == 288
    assert ggml_type("MXFP4").bytes_per_element == 17 / 32
    with pytest.raises(GgufError, match=r"100 elements.*Q4_K.*multiples of 256"):
        ggml_type("Q4_K").bytes_of(100)


def test_an_unknown_type_keeps_its_id():
    assert type_of_id(137) == UnknownType(137)
    assert UnknownType(137).name == "type 137"
    assert UnknownType(31).name == "type 31 (Q4_0_4_4, removed from ggml)"
