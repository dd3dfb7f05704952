from __future__ import annotations

import json

import pytest
from shared_folder import SHARED

from tinker_nomics.decode.stages import HeldClass, Split, StageKind
from tinker_nomics.decode.tensor_roles import Read, Suffix, parsed, role_table, stems


def role(name: str, *others: str):
    found = role_table().role_of(name, stems([name, *others]))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "pattern", "suffix", "block"),
    [
        ("blk.12.attn_q.weight", "blk.{i}.attn_q", Suffix.weight, 12),
        ("blk.3.ffn_up.7.weight", "blk.{i}.ffn_up.{e}", Suffix.weight, 3),
        ("blk.0.ssm_a", "blk.{i}.ssm_a", Suffix.weight, 0),
        ("blk.0.ffn.act.scales", "blk.{i}.ffn.act", Suffix.scale, 0),
        ("dec.blk.5.attn_o.weight", "dec.blk.{i}.attn_o", Suffix.weight, 5),
        ("blk.2.ffn_up.input_scale", "blk.{i}.ffn_up", Suffix.input_scale, 2),
        ("output.bias", "output", Suffix.bias, None),
        ("weight", "weight", Suffix.weight, None),
    ],
)
def test_a_name_is_taken_apart(name, pattern, suffix, block):
    assert parsed(name) == (pattern, suffix, block)


def test_the_embedding_is_the_head_where_no_head_is():
    tied = role("token_embd.weight")
    assert (tied.held_class, tied.read, tied.product) == (HeldClass.head, Read.all, True)
    untied = role("token_embd.weight", "output.weight")
    assert (untied.held_class, untied.read, untied.product) == (HeldClass.embedding_rows, Read.row, False)


def test_neighbours_decide_between_forms():
    assert role("blk.4.attn_kv_b.weight").read is Read.all
    assert role("blk.4.attn_kv_b.weight", "blk.4.attn_k_b.weight").read is Read.none
    assert role("blk.4.attn_kv_b.weight", "blk.5.attn_k_b.weight").read is Read.all
    assert role("token_embd_norm.weight").role.slot.kind is StageKind.head_norm
    assert role("token_embd_norm.weight", "output_norm.weight").role.slot.kind is StageKind.embed


def test_experts_their_biases_and_scales():
    weight, bias, scale = (role(f"blk.1.ffn_down_exps.{suffix}") for suffix in ("weight", "bias", "scale"))
    assert weight.held_class is bias.held_class is HeldClass.routed_experts
    assert (weight.read, bias.read, scale.read) == (Read.used, Read.used, Read.all)
    assert (weight.product, bias.product) == (True, False)
    assert (weight.retyped, bias.retyped) == (True, False)
    assert weight.role.split is Split.columns


def test_what_stays_as_stored():
    for name in ("blk.0.ffn_gate_inp.weight", "blk.0.attn_norm.weight", "blk.0.ssm_conv1d.weight", "blk.0.attn_q.bias"):
        assert not role(name).retyped
    assert role("token_embd.weight").retyped
    assert not role("token_embd.weight", "output.weight").retyped


def test_the_first_block_has_no_value_residual():
    assert role("blk.0.time_mix_v1.weight").read is Read.none
    assert role("blk.1.time_mix_v1.weight").read is Read.all


def test_an_unknown_name_has_no_role():
    for name in ("blk.0.attn_magic.weight", "attn_q.weight", "v", "blk.attn_q.weight", ""):
        assert role_table().role_of(name, frozenset()) is None


@pytest.mark.skipif(SHARED is None, reason="needs the specification folder")
def test_every_known_pattern_has_a_role():
    assert SHARED is not None
    patterns = {row["pattern"] for row in json.loads((SHARED / "facts" / "tensor_roles.json").read_text())}
    assert len(patterns) == 569
    names = [pattern.replace("%d", "3") + ".weight" for pattern in patterns]
    assert [name for name in names if role_table().role_of(name, frozenset()) is None] == []
