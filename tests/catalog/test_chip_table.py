"""The shipped chips: every figure with its document, the traps of the datasheets, lookups."""

from __future__ import annotations

import json
import re

import pytest
from shared_folder import SHARED

from tinker_nomics.catalog.chip_table import chip, chips
from tinker_nomics.catalog.effective_table import all_effective_rates
from tinker_nomics.catalog.lookup import CatalogError
from tinker_nomics.hardware import Chip, TierKind, Topology
from tinker_nomics.hardware.checks import cited

WANTED = [
    *("a100-40-sxm", "a100-80-sxm", "a100-80-pcie", "h100-sxm", "h200-sxm", "b200", "l40s", "rtx3090"),
    *("rtx4090", "rtx5090", "rtxa6000", "a40", "rtx6000ada", "mi300x", "mi325x", "mi355x"),
    *("m1-max", "m1-ultra", "m2-max", "m2-ultra", "m3-max", "m3-ultra", "m4-max", "tpu-v4"),
    *("tpu-v5e", "tpu-v5p", "tpu-v6e", "trainium2", "gaudi3", "groq-lpu1", "wse2", "wse3"),
    *("sn40l", "tt-n150", "tt-p150", "corsair"),
]
IDS = [row.id for row in chips()]


def test_the_chips_that_users_ask_for_are_there() -> None:
    assert len(set(IDS)) == len(IDS) >= 85
    assert set(WANTED) <= set(IDS)
    assert all(chip(name).bandwidth for name in WANTED)


@pytest.mark.parametrize("row", chips(), ids=IDS)
def test_every_figure_names_its_document(row: Chip) -> None:
    for figure, source in cited(row):
        assert source.status in "VSD", (figure, source)
        assert source.text and source.document.startswith("http"), (figure, source)
        assert re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", source.date), (figure, source)
        assert "unnamed" not in source.text + source.document
    figures = [f"matrix_rates.{key}" for key, rate in row.matrix_rates.items() if rate is not None]
    figures += [name for name in ("stage_overhead", "streaming_fraction") if getattr(row, name) is not None]
    assert all(row.source(figure).status in "VSD" for figure in figures)
    for name in ("stage_overhead", "streaming_fraction"):
        assert (getattr(row, name) is not None) == (row.declared_by.get(name) == "measured")


@pytest.mark.parametrize("row", chips(), ids=IDS)
def test_shipped_chips_go_through_toml(row: Chip) -> None:
    assert Chip.from_toml(row.to_toml()) == row


def test_traps_of_the_datasheets() -> None:
    mi300x = chip("mi300x").link
    assert mi300x is not None and (mi300x.bandwidth_per_chip, mi300x.bandwidth_per_peer) == (448e9, 64e9)
    assert all(chip(name).matrix_rates["fp8"] is None for name in IDS if name.startswith("a100"))
    assert chip("h100-sxm").matrix_rates["bf16"] == 989e12 and chip("h100-sxm").matrix_rates["fp8"] == 1979e12
    assert chip("rtx4090").matrix_rates["bf16"] == 165.2e12 and chip("rtx4090").matrix_rates["fp16"] == 330.3e12
    assert chip("gb10").matrix_rates["fp4"] is None and chip("jetson-thor").matrix_rates["fp4"] is None
    assert chip("corsair").matrix_rates["fp4"] is None and chip("tt-p150").matrix_rates["fp8"] is None


def test_caches_and_staging_memories_hold_no_weights() -> None:
    for row in chips():
        for tier in row.tiers:
            if tier.kind is TierKind.SRAM:
                assert tier.resident == (row.id in ("groq-lpu1", "wse2", "wse3", "corsair", "ipu-bow")), row.id
            else:
                assert tier.resident, row.id
    sn40l = chip("sn40l").tiers
    assert [(tier.kind, tier.bandwidth) for tier in sn40l] == [
        (TierKind.SRAM, None),
        (TierKind.HBM, 1.6e12),
        (TierKind.DDR, 1e11),
    ]


def test_measured_rates_are_declared_apart() -> None:
    h100 = chip("h100-sxm")
    assert h100.stage_overhead == 1.3e-6 and h100.declared_by["stage_overhead"] == "measured"
    times = {(time.width, time.payload): time.seconds for time in h100.all_reduce_times if "SGLang" in time.condition}
    assert times[8, 4096 * 4] == 5.7e-6, "the source counts float32 elements, not bytes"
    pcie = chip("h100-pcie")
    assert pcie.streaming_fraction == pytest.approx(1942e9 / pcie.tiers[0].bandwidth, rel=1e-12)  # type: ignore[operator]
    assert chip("h200-sxm").streaming_fraction is None, "a lower bound is no declaration"
    tpu = chip("tpu-v5p").link
    assert tpu is not None and tpu.latency == 1e-6 and tpu.latency_declared_by == "measured"
    assert chip("tpu-v5p").arrays().link_latency_measured == 1.0
    groq = chip("groq-lpu1").link
    assert groq is not None and groq.latency is None and groq.topology is None
    assert all(rate.chip in IDS for rate in all_effective_rates() if rate.declared)
    assert all(rate.why_not for rate in all_effective_rates() if not rate.declared)


def test_no_gpu_vendor_publishes_a_link_latency() -> None:
    for row in chips():
        if row.link is not None and row.link.latency is not None:
            assert row.link.latency_declared_by == "measured" and row.vendor == "Google"


def test_domains() -> None:
    for name, topology, domain in [
        ("h100-sxm", Topology.ALL_TO_ALL, 8),
        ("gb200", Topology.ALL_TO_ALL, 72),
        ("rtx3090", Topology.PAIR, 2),
        ("rtx4090", Topology.HOST, None),
        ("tpu-v5e", Topology.TORUS2D, 256),
        ("trainium2", Topology.TORUS2D, 16),
        ("tt-p100", Topology.NONE, 1),
    ]:
        link = chip(name).link
        assert link is not None and (link.topology, link.domain) == (topology, domain), name


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("H100 SXM", "h100-sxm"),
        ("nvidia h200", "h200-sxm"),
        ("A100 80GB SXM4", "a100-80-sxm"),
        ("GeForce RTX 3090", "rtx3090"),
        ("MI300X", "mi300x"),
        ("apple m3 max", "m3-max"),
        ("TPU_v5e", "tpu-v5e"),
        ("groq", "groq-lpu1"),
        ("n150", "tt-n150"),
    ],
)
def test_lookup_forgives(name: str, identity: str) -> None:
    assert chip(name).id == identity


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("h100", ["family", "h100-sxm", "h100-pcie", "h100-nvl"]),
        ("A100", ["family", "a100-40-sxm", "a100-80-sxm", "a100-80-pcie"]),
        ("rtx 3091", ["nearest", "rtx3090"]),
        ("mi300", ["nearest", "mi300x"]),
        ("", ["nearest"]),
        (None, ["nearest"]),
    ],
)
def test_a_miss_names_the_nearest(name: str, told: list[str]) -> None:
    with pytest.raises(CatalogError) as error:
        chip(name)
    assert all(word in str(error.value) for word in told)


@pytest.mark.skipif(SHARED is None, reason="the specification folder is not beside the checkout")
def test_against_the_facts_at_hand() -> None:
    """Bandwidths with a source agree with the collected facts to 1 %, and every chip with one is shipped."""
    assert SHARED is not None
    facts = json.loads((SHARED / "facts" / "chips.json").read_text())["chips"]
    for fact in facts:
        first = next((tier for tier in fact["tiers"] if tier["bandwidth_Bps"]), None)
        if first is None or first["status"] == "R" or fact["id"] == "m3-max-30":
            continue
        mine = [tier.bandwidth for tier in chip(fact["id"]).tiers if tier.bandwidth]
        assert mine[0] == pytest.approx(first["bandwidth_Bps"], rel=0.01), fact["id"]
