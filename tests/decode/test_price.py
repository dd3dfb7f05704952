"""`price`: every term of the rule against NumPy, refusals by name, placement, dollars."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hand_steps import LLAMA_8B, dense_step, hand_chip, hand_link, one_class

from tinker_nomics import catalog
from tinker_nomics.decode.dollars import usd_per_million_tokens
from tinker_nomics.decode.grid import price_grid
from tinker_nomics.decode.pricing import Bind, price
from tinker_nomics.decode.refusal import DecodeRefusal
from tinker_nomics.decode.stages import HeldClass, StageKind
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.hardware import Link, Machine, Tier, TierKind, Topology

STEP = dense_step(**LLAMA_8B, context=4096)


def test_the_floor_is_the_largest_sum_on_even_shares() -> None:
    chip = hand_chip(2e12, rate=3e14, link=hand_link())
    for width in (1, 2, 8):
        cost = price(STEP, Machine(chip, width))
        moved, flops = STEP.held, float(np.sum(STEP.part_flops + STEP.part_flops_per_token * 4096))
        least = 64 * (1e-6 + 2 * (width - 1) / width * 8192 / 4e11) + 1e-6 + 2 * (width - 1) / width * 8 / 4e11
        assert cost.floor_terms[Bind.MEMORY] == pytest.approx(sum(h.moved for h in moved) / 2e12 / width, rel=1e-12)
        assert cost.floor_terms[Bind.COMPUTE] == pytest.approx(flops / 3e14 / width, rel=1e-12)
        assert cost.floor_terms[Bind.COLLECTIVE] == pytest.approx(least if width > 1 else 0.0, rel=1e-12)
        assert cost.floor == max(cost.floor_terms.values())
        assert cost.floor_terms[cost.binds] == cost.floor


def test_the_prediction_is_the_chain_on_the_fullest_chip() -> None:
    """64 chips: 32 heads and 8 key/value heads replicate by themselves."""
    chip = hand_chip(2e12, rate=3e14, overhead=2e-6, link=hand_link(), streaming_fraction=0.8)
    cost = price(STEP, Machine(chip, 64))
    reduce = 1e-6 + 63 * 8192 / 4e11
    hidden, ffn, key = 4096, 14336, 1024
    shares = {
        StageKind.mixer_norm: (hidden * 4.0, 0.0, 0.0),
        StageKind.mixer_in: (
            2.0 * hidden * (hidden / 32 + 2 * key / 8),
            2.0 * hidden * (hidden / 32 + 2 * key / 8),
            0.0,
        ),
        StageKind.mixer: (4096 * 2 * key * 2.0 / 8, 4096 * 4.0 * hidden / 8, 0.0),
        StageKind.mixer_out: (2.0 * hidden * hidden / 32, 2.0 * hidden * hidden / 32, reduce),
        StageKind.ffn_norm: (hidden * 4.0, 0.0, 0.0),
        StageKind.ffn_up: (4.0 * hidden * ffn / 64, 4.0 * hidden * ffn / 64, 0.0),
        StageKind.ffn_down: (2.0 * hidden * ffn / 64, 2.0 * hidden * ffn / 64, reduce),
    }
    total = 0.0
    for stage in cost.stages:
        if stage.stage.kind in shares:
            moved, flops, collective = shares[stage.stage.kind]
            assert stage.memory == pytest.approx(moved / 2e12 / 0.8, rel=1e-12)
            assert stage.compute == pytest.approx(flops / 3e14, rel=1e-12)
            assert stage.collective == pytest.approx(collective, rel=1e-12)
        assert stage.overhead == 2e-6
        total += stage.seconds
    assert len(cost.stages) == 32 * 7 + 3
    assert cost.prediction == pytest.approx(total, rel=1e-12)
    assert sum(cost.prediction_terms.values()) == pytest.approx(total, rel=1e-12)
    assert cost.prediction is not None and cost.prediction > cost.floor


def test_uneven_shares_make_a_staircase() -> None:
    machine = Machine(hand_chip(overhead=0.0, link=hand_link(latency=0.0, bandwidth=1e30)), 3)
    cost = price(one_class(8e9, units=8), machine)
    assert cost.prediction == pytest.approx(3 / 8 * 8e9 / 1e12, rel=1e-12)
    assert cost.floor == pytest.approx(1 / 3 * 8e9 / 1e12, rel=1e-12)


def test_a_refusal_names_every_undeclared_term() -> None:
    bare = hand_chip(None, rate=None, overhead=None)
    cost = price(STEP, Machine(bare, 2))
    assert cost.prediction is None and cost.refusal is not None
    words = ("tier bandwidth", "matrix rate", "link topology", "link bandwidth", "link latency", "stage overhead")
    assert len(cost.refusal.reasons) == len(words)
    for word, reason in zip(words, cost.refusal.reasons, strict=True):
        assert word in reason
    assert cost.floor is None and cost.seconds is None and cost.tokens_per_second is None and cost.basis is None


def test_where_nothing_bounds_the_time_there_is_no_bound() -> None:
    """Not a floor of 0 s, which would read as infinitely many tokens a second for nothing."""
    bare = Machine(hand_chip(None, rate=None, overhead=None), rent=2.5)
    told = price(STEP, bare).to_dict()
    assert [told[name] for name in ("floor_s", "prediction_s", "binds", "tokens_per_second", "basis")] == [None] * 5
    json.dumps(told, allow_nan=False)
    for basis in (None, "floor", "prediction"):
        with pytest.raises(DecodeRefusal, match="tier bandwidth"):
            usd_per_million_tokens(price(STEP, bare), basis=basis)
    computed = price(STEP, Machine(hand_chip(None, overhead=None)))
    assert (
        computed.basis == "floor"
        and computed.binds == Bind.COMPUTE
        and computed.floor == computed.floor_terms["compute"]
    )
    assert price(one_class(0.0), Machine(hand_chip())).floor == 0.0


def test_a_bound_says_that_it_is_one_and_what_is_hidden_is_told() -> None:
    full, silent = price(STEP, Machine(hand_chip())), price(STEP, Machine(hand_chip(overhead=None)))
    assert (full.basis, silent.basis) == ("prediction", "floor")
    hidden = full.hidden_terms
    assert hidden[Bind.COMPUTE] > 0.0
    assert hidden[Bind.COMPUTE] + full.prediction_terms[Bind.COMPUTE] == pytest.approx(
        sum(s.compute for s in full.stages)
    )
    assert hidden[Bind.MEMORY] + full.prediction_terms[Bind.MEMORY] == pytest.approx(sum(s.memory for s in full.stages))
    assert full.to_dict()["hidden_terms_s"] == {"memory": hidden[Bind.MEMORY], "compute": hidden[Bind.COMPUTE]}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"bandwidth": None}, "tier bandwidth"), ({"rate": None}, "matrix rate"),
        ({"overhead": None}, "stage overhead"),
        ({"link": None}, "link latency"), ({"link": hand_link(topology=None)}, "link topology"),
        ({"link": hand_link(bandwidth=None)}, "link bandwidth"), ({"link": hand_link(latency=None)}, "link latency"),
    ],
)  # fmt: skip
def test_each_term_is_refused_alone(change: dict, word: str) -> None:
    cost = price(STEP, Machine(hand_chip(**{"link": hand_link(), **change}), 2))
    assert cost.refusal is not None and any(word in reason for reason in cost.refusal.reasons)
    assert len(cost.refusal.reasons) == (3 if change == {"link": None} else 1)


def test_one_chip_needs_no_link() -> None:
    assert price(STEP, Machine(hand_chip(link=None))).refusal is None


def test_peer_links_stand_for_the_rate_of_the_chip() -> None:
    cost = price(STEP, Machine(hand_chip(link=hand_link(bandwidth=None, peer=64e9)), 4))
    assert cost.refusal is None


def test_a_machine_too_small_is_refused_with_bytes_needed_and_had() -> None:
    with pytest.raises(
        DecodeRefusal, match=r"memory capacity: 16597925888 bytes .* are needed and .* 15000000000 bytes"
    ):
        price(STEP, Machine(hand_chip(capacity=15e9)))
    assert price(STEP, Machine(hand_chip(capacity=15e9, link=hand_link()), 2)).fits


def test_the_fullest_chip_is_told_where_the_machine_holds_the_step() -> None:
    """66 chips of 256 MB hold an 8B model, though 32 heads leave some of them idle in attention."""
    cost = price(STEP, Machine(hand_chip(capacity=0.256e9, link=hand_link()), 66))
    assert cost.prediction is not None
    assert cost.fullest_chip_bytes > 0.256e9
    assert len(cost.notes) == 1 and "fullest chip" in cost.notes[0]


def test_a_width_beyond_the_work_is_refused() -> None:
    with pytest.raises(DecodeRefusal, match=r"width of 9 exceeds the 8 parts"):
        price(one_class(1e9, units=8), Machine(hand_chip(link=hand_link()), 9))
    wide = price(STEP, Machine(hand_chip(link=hand_link()), 4096))
    assert wide.prediction is not None


@pytest.mark.parametrize(
    ("link", "width", "words"),
    [
        (hand_link(domain=8), 16, "exceeds the link domain of 8"),
        (hand_link(Topology.PAIR), 4, "joins a pair"),
        (Link(topology=Topology.NONE), 2, "no chip-to-chip link"),
    ],
)
def test_a_width_that_the_link_does_not_join_is_refused(link: Link, width: int, words: str) -> None:
    with pytest.raises(DecodeRefusal, match=words):
        price(STEP, Machine(hand_chip(link=link), width))


def test_precision_is_never_substituted() -> None:
    chip = hand_chip(matrix_rates={"fp16": 2e14, "int8": 4e14})
    cost = price(STEP, Machine(chip), precision="bf16")
    assert cost.floor_terms[Bind.COMPUTE] == 0.0 and cost.refusal is not None
    assert "declared: fp16, int8" in cost.refusal.reasons[0]
    best = price(STEP, Machine(chip), precision="best")
    assert best.precision == "fp16" and best.refusal is None
    with pytest.raises(TinkerNomicsError, match="bf16, fp16, fp8, int8, fp4 or best"):
        price(STEP, Machine(chip), precision="bf61")


def test_identical_stages_keep_their_place_in_the_chain() -> None:
    cost = price(STEP, Machine(hand_chip()))
    assert [stage.stage for stage in cost.stages] == list(STEP.stages)
    assert cost.stages[7 * 31 + 1].stage.block == 31


def test_a_cost_is_plain_data() -> None:
    tiers = (Tier(TierKind.HBM, 4e9, 1e12), Tier(TierKind.DDR, 1e12, 1e11))
    told = price(STEP, Machine(hand_chip(tiers=tiers, overhead=None))).to_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["prediction_s"] is None and told["refusal"]
    rows = {row["class"]: row for row in told["placement"]}
    assert rows[HeldClass.matrix_weights.value]["tiers"][0] == pytest.approx(4e9 / rows["matrix_weights"]["bytes"])
    assert math.isclose(sum(row["bytes"] for row in told["placement"]), told["bytes_needed"])


def test_dollars_follow_from_a_rent() -> None:
    """USD per million tokens = USD/h over tokens per hour, in millions."""
    step = dense_step(**LLAMA_8B, context=1024, sequences=64)
    cost = price(step, Machine(hand_chip(3.35e12), rent=2.5))
    assert cost.prediction is not None and cost.sequences == 64
    expected = 2.5 / (64 / cost.prediction * 3600) * 1e6
    assert usd_per_million_tokens(cost) == pytest.approx(expected, rel=1e-12)
    assert usd_per_million_tokens(cost, 5.0) == pytest.approx(2 * expected, rel=1e-12)
    assert usd_per_million_tokens(cost, basis="floor") == pytest.approx(
        expected * cost.floor / cost.prediction, rel=1e-12
    )
    with pytest.raises(DecodeRefusal, match="no rent is known"):
        usd_per_million_tokens(dataclasses.replace(cost, machine=Machine(hand_chip(3.35e12, id="no such chip"))))
    silent = price(step, Machine(hand_chip(overhead=None), rent=2.5))
    assert usd_per_million_tokens(silent) == pytest.approx(2.5 / 3600 * silent.floor / 64 * 1e6, rel=1e-12)
    with pytest.raises(DecodeRefusal, match="stage overhead"):
        usd_per_million_tokens(silent, basis="prediction")


def test_a_rent_of_the_catalog_by_day_and_provider() -> None:
    cost = price(dense_step(**LLAMA_8B, context=1024), Machine(catalog.chip("h100-sxm"), rent=100.0))
    assert cost.prediction is not None
    for chosen in ({"date": "2026-09-25"}, {"date": "2026-09-25", "provider": "nebius"}):
        meant = catalog.rent("h100-sxm", **chosen).usd_per_hour
        found = usd_per_million_tokens(cost, **chosen)
        assert found == pytest.approx(meant / 3600 * cost.prediction * 1e6, rel=1e-12)
    assert usd_per_million_tokens(cost, provider="nebius") < usd_per_million_tokens(cost)
    with pytest.raises(TinkerNomicsError, match="Leave one of them out"):
        usd_per_million_tokens(cost, 2.0, provider="nebius")
    with pytest.raises(TinkerNomicsError, match="is no date"):
        usd_per_million_tokens(cost, date="soon")
    with pytest.raises(DecodeRefusal, match="no rent of h100-sxm from 'nobody'"):
        usd_per_million_tokens(cost, provider="nobody")


def test_no_rent_of_the_catalog_is_of_a_day_before_its_first_row() -> None:
    cost = price(dense_step(**LLAMA_8B, context=1024), Machine(catalog.chip("h100-sxm")))
    with pytest.raises(
        DecodeRefusal, match="no rent of h100-sxm is known on 2020-01-01: the earliest is of 2026-05-07"
    ):
        usd_per_million_tokens(cost, date="2020-01-01")
    with pytest.raises(DecodeRefusal, match="from Nebius is known on 2026-06-01: the earliest is of 2026-09-25"):
        usd_per_million_tokens(cost, date="2026-06-01", provider="nebius")
    assert usd_per_million_tokens(cost, date="2026-12-31") == usd_per_million_tokens(cost)


def test_a_chip_of_ones_own_has_no_rent_but_its_own() -> None:
    """Also where it bears the name of a chip of the catalog."""
    step = dense_step(**LLAMA_8B, context=1024)
    own = hand_chip(3.35e12, id="h100-sxm")
    with pytest.raises(DecodeRefusal, match="is not the catalog's chip of that name, and states no rent"):
        usd_per_million_tokens(price(step, Machine(own)))
    assert np.ma.is_masked(price_grid(step, own, contexts=1024).usd_per_million_tokens)
    stated = dataclasses.replace(own, rent=2.5)
    cost = price(step, Machine(stated))
    assert cost.machine.rent == 2.5
    assert usd_per_million_tokens(cost) == usd_per_million_tokens(price(step, Machine(own)), 2.5)
    assert price_grid(step, stated, contexts=1024).usd_per_million_tokens.item() == usd_per_million_tokens(cost)
    assert usd_per_million_tokens(price(step, Machine(stated, rent=5.0))) == 2 * usd_per_million_tokens(cost)
