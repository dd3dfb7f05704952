"""Chips on the host: figures, their checks, TOML there and back, and the arrays that they become."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import sys
import tomllib

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinker_nomics.errors import ConfigError
from tinker_nomics.hardware import (
    PRECISIONS,
    AllReduceTime,
    Chip,
    Link,
    Machine,
    Source,
    Tier,
    TierKind,
    Topology,
)
from tinker_nomics.hardware.arrays import ChipArrays
from tinker_nomics.hardware.reader import chip_from_table

DATASHEET = Source("a datasheet", "https://example.org/sheet", "2026-01", "V", 'says "so"\nin two lines')
OWN = """
[chip]
id = "mine"
tiers = [
    {kind = "SRAM", capacity = "230 MB", bandwidth = "80 TB/s"},
    {kind = "HBM", capacity = "80 GiB", bandwidth = "3.35 TB/s", source = "sheet"},
    {kind = "SRAM", capacity = "50 MiB", resident = false},
]
matrix_rates = {bf16 = "989 TFLOP/s", fp8 = 2e15}
link = {name = "wire", bandwidth_per_chip = "450 GB/s", latency = "1.5 us", topology = "all_to_all", domain = 8}
stage_overhead = "1.3 us"
streaming_fraction = "90%"

[sources.sheet]
text = "its sheet"
status = "V"
"""


def test_a_chip_of_ones_own_from_toml() -> None:
    chip = Chip.from_toml(OWN)
    assert [tier.kind for tier in chip.tiers] == [TierKind.SRAM, TierKind.HBM, TierKind.SRAM]
    assert chip.tiers[1].capacity == 80 * 2**30 and chip.tiers[1].bandwidth == 3.35e12
    assert chip.tiers[2].bandwidth is None and not chip.tiers[2].resident
    assert chip.matrix_rates == {"bf16": 989e12, "fp16": None, "fp8": 2e15, "int8": None, "fp4": None}
    assert chip.link == Link("wire", 450e9, None, 1.5e-6, Topology.ALL_TO_ALL, 8)
    assert (chip.stage_overhead, chip.streaming_fraction) == (1.3e-6, 0.9)
    assert chip.source("tiers.1.bandwidth").status == "V" and chip.source("tiers.0.bandwidth").status == "U"


def test_the_weights_live_in_the_largest_resident_tier_with_a_bandwidth() -> None:
    chip = Chip.from_toml(OWN)
    assert (chip.bandwidth, chip.memory_bytes, chip.matrix_rate) == (3.35e12, 80 * 2**30, 989e12)
    unknown = Chip("x", (Tier(TierKind.HBM, 1e9, None),))
    assert (unknown.bandwidth, unknown.memory_bytes, unknown.matrix_rate) == (None, None, None)


@pytest.mark.parametrize("keys_at_top", [False, True])
def test_toml_takes_a_table_or_keys_at_the_top(keys_at_top: bool, tmp_path) -> None:
    text = 'id = "a"\ntiers = [{kind = "DDR", capacity = 1e9}]\n'
    path = tmp_path / "chip.toml"
    path.write_text(text if keys_at_top else "[chip]\n" + text)
    assert Chip.from_toml(path) == Chip.from_toml(str(path)) == Chip("a", (Tier(TierKind.DDR, 1e9, None),))


figures = st.none() | st.floats(min_value=1e-12, max_value=1e18, allow_nan=False)
sources = st.builds(
    Source, st.text(max_size=8), st.text(max_size=8), st.just("2026"), st.sampled_from("VSDU"), st.text(max_size=8)
)


@settings(max_examples=60)
@given(
    st.lists(
        st.builds(
            Tier,
            st.sampled_from(TierKind),
            st.floats(min_value=1, max_value=1e18),
            figures,
            st.booleans(),
            sources,
            st.none() | sources,
            st.text(max_size=5),
        ),
        min_size=1,
        max_size=4,
    ),
    st.dictionaries(st.sampled_from(PRECISIONS), figures),
    st.none()
    | st.builds(Link, st.text(max_size=5), figures, st.none(), figures, st.none() | st.sampled_from(Topology)),
    figures,
    st.none() | st.floats(min_value=1e-3, max_value=1),
    st.lists(
        st.builds(AllReduceTime, st.integers(2, 99), st.just(4096.0), st.just(3.9e-6), st.text(max_size=5), sources)
    ),
    st.dictionaries(st.text(min_size=1, max_size=5), sources, max_size=2),
    st.lists(st.text(max_size=9), max_size=3),
)
def test_toml_there_and_back(tiers, rates, link, overhead, fraction, times, named, notes) -> None:
    tiers[0] = dataclasses.replace(tiers[0], resident=True)
    chip = Chip(
        "id",
        tuple(tiers),
        "a name",
        "a vendor",
        rates,
        link,
        overhead,
        fraction,
        tuple(times),
        {"stage_overhead": "measured"},
        tuple(notes),
        named,
        ("alias",),
        2026,
        "half",
    )
    assert Chip.from_toml(chip.to_toml()) == chip


def test_every_problem_of_a_chip_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        Chip(
            "",
            (Tier(TierKind.HBM, -1.0, float("inf"), resident=False),),
            matrix_rates={"bf8": 1.0, "bf16": 0.0},
            link=Link(bandwidth_per_chip=1.0, bandwidth_per_peer=2.0, latency=-1.0, domain=0),
            streaming_fraction=1.5,
            stage_overhead=float("nan"),
            declared_by={"stage_overhead": "a friend"},
            sources={"stage_overhead": Source("x", status="R")},
        )
    assert {problem.path for problem in error.value.problems} == {
        *("id", "tiers", "tiers.0.capacity", "tiers.0.bandwidth", "matrix_rates.bf8", "matrix_rates.bf16"),
        *("link.bandwidth_per_peer", "link.latency", "link.domain", "streaming_fraction", "stage_overhead"),
        *("declared_by.stage_overhead", "stage_overhead.source.status"),
    }


def test_every_problem_of_a_toml_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        Chip.from_toml(
            '[chip]\nid = "x"\nbandwith = 3\nstage_overhead = "3 kg"\n'
            'tiers = [{kind = "HBN", capacity = "80 GB/s"}, {kind = "HBM"}, '
            '{kind = "HBM", capacity = 1e9, source = "s"}]\n'
            'link = {topology = "star", latenzy = 1}\n'
        )
    told = {problem.path for problem in error.value.problems}
    assert told == {
        *("bandwith", "stage_overhead", "tiers.0.kind", "tiers.0.capacity", "tiers.1.capacity", "tiers.2.source"),
        *("link.topology", "link.latenzy"),
    }
    assert "latency" in str(error.value) and "HBM, GDDR" in str(error.value)


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        ("capacity = 80", "80 GB"),
        ('capacity = "80"', "80 GB"),
        ('capacity = "80 GB", bandwidth = 3.35', "3.35 TB/s"),
        ('capacity = "80 GB"}]\nstage_overhead = 2 #', "2 us"),
    ],
)
def test_a_number_whose_unit_was_forgotten_is_doubted(figure: str, told: str) -> None:
    text = '[chip]\nid = "x"\ntiers = [{kind = "HBM", ' + figure + "}]\n"
    with pytest.raises(ConfigError, match="a number without a unit") as error:
        Chip.from_toml(text)
    assert told in str(error.value) and len(error.value.problems) == 1


def test_a_small_payload_needs_no_unit_and_a_unit_ends_the_doubt() -> None:
    text = 'id = "x"\ntiers = [{kind = "SRAM", capacity = "80 B", bandwidth = "3 B/s"}]\n'
    chip = Chip.from_toml(text + 'all_reduce_times = [{width = 2, payload = 2048, seconds = "3 us"}]\n')
    assert (chip.bandwidth, chip.all_reduce_times[0].payload) == (3.0, 2048.0)


def test_a_file_may_start_with_a_mark_and_must_be_utf8(tmp_path) -> None:
    path = tmp_path / "chip.toml"
    path.write_bytes(b"\xef\xbb\xbf" + OWN.encode())
    assert Chip.from_toml(path) == Chip.from_toml(OWN)
    path.write_bytes(OWN.replace("mine", "m\u00fcne").encode("latin-1"))
    with pytest.raises(ConfigError, match="UTF-8"):
        Chip.from_toml(path)


def test_one_fault_of_a_tier_is_told_once() -> None:
    with pytest.raises(ConfigError) as error:
        Chip.from_toml('id = "x"\ntiers = [{kind = "HBN", capacity = "80 GB"}]\n')
    assert [problem.path for problem in error.value.problems] == ["tiers.0.kind"]


@pytest.mark.parametrize(
    "changes",
    [
        {"id": 5}, {"tiers": "HBM"}, {"tiers": (1,)}, {"matrix_rates": 5}, {"matrix_rates": None}, {"link": "NVLink"},
        {"all_reduce_times": 3}, {"declared_by": ["measured"]}, {"notes": "a note"}, {"sources": {"x": "y"}},
    ],
)  # fmt: skip
def test_what_is_of_another_kind_is_refused_by_name(changes: dict) -> None:
    with pytest.raises(ConfigError, match=next(iter(changes))):
        dataclasses.replace(Chip.from_toml(OWN), **changes)


@pytest.mark.parametrize("path", [5, None, "", "\0"])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(ConfigError, match="path"):
        Chip.from_toml(path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[chip]\nid = \n", "line 2"),
        ("nowhere.toml", "a file that exists"),
        ("[[chip]]\nid = 'a'\n[[chip]]\nid = 'b'\n", "one [chip]"),
        ("chip = 3", "a table"),
    ],
)
def test_toml_that_is_no_chip(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told.replace("[", r"\[")):
        Chip.from_toml(text)


@settings(max_examples=150)
@given(st.data())
def test_no_other_error_escapes_from_a_broken_chip(data) -> None:
    """Any value of TOML at any place of a chip either reads or is refused by name."""
    table = tomllib.loads(OWN)["chip"] | {
        "all_reduce_times": [{"width": 2, "payload": "4 KiB", "seconds": "5 us"}],
        "sources": {"stage_overhead": {"text": "x"}},
        "declared_by": {"stage_overhead": "measured"},
        "notes": ["a"],
        "aliases": ["b"],
        "year": 2026,
    }
    scalars = st.sampled_from(
        [3, -1.0, float("nan"), True, "text", "3 GB", "", [], [[]], {}, {"a": 1}, [{"b": 2}], 10**400]
    )
    place = data.draw(st.sampled_from(sorted(table)))
    inner = table[place]
    if isinstance(inner, list) and inner and isinstance(inner[0], dict) and data.draw(st.booleans()):
        inner = inner[0]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        inner[data.draw(st.sampled_from([*sorted(inner), "source", "extra"]))] = data.draw(scalars)
    else:
        table[place] = data.draw(scalars)
    with contextlib.suppress(ConfigError):
        chip = chip_from_table(table, {})
        assert Chip.from_toml(chip.to_toml()) == chip


def test_kinds_and_topologies_may_be_named() -> None:
    assert Tier("HBM", 1.0, 1.0).kind is TierKind.HBM  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="SRAM, HBM"):
        Tier("HBM9", 1.0, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="torus2d"):
        Link(topology="star")  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, -1, 1.5, float("nan"), True, "8", None])
def test_a_machine_has_a_whole_number_of_chips(count: object) -> None:
    with pytest.raises(ConfigError, match="count"):
        Machine(Chip.from_toml(OWN), count)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="rent"):
        Machine(Chip.from_toml(OWN), 1, rent=-1.0)


@pytest.mark.parametrize("count", [8, 8.0, np.int64(8), np.float32(8)])
def test_any_whole_number_will_do(count: object) -> None:
    machine = Machine(Chip.from_toml(OWN), count)  # type: ignore[arg-type]
    assert machine.count == 8 and type(machine.count) is int


def test_a_machine_is_of_a_chip() -> None:
    with pytest.raises(ConfigError, match=r"catalog\.chip"):
        Machine("h100-sxm")  # type: ignore[arg-type]


def test_a_chip_is_shown_in_a_line_or_two() -> None:
    chip = dataclasses.replace(Chip.from_toml(OWN), all_reduce_times=tuple(AllReduceTime(2, 1e3, 1e-6) for _ in "ab"))
    assert len(repr(Machine(chip))) < 900 and "DATASHEET" not in repr(chip) and "3350000000000.0" in repr(chip)


def test_arrays_pair_each_optional_figure_with_whether_it_is_declared() -> None:
    arrays = Chip.from_toml(OWN).arrays(rent=2.5)
    assert all(isinstance(leaf, np.ndarray) and leaf.dtype == np.float64 for leaf in jax.tree.leaves(arrays))
    assert arrays.tier_capacity.tolist() == [230e6, 80 * 2**30, 50 * 2**20, 0.0]
    assert arrays.tier_bandwidth.tolist() == [80e12, 3.35e12, 0.0, 0.0]
    assert arrays.tier_bandwidth_declared.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert arrays.tier_resident.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert arrays.matrix_rate.tolist() == [989e12, 0.0, 2e15, 0.0, 0.0]
    assert arrays.matrix_rate_declared.tolist() == [1.0, 0.0, 1.0, 0.0, 0.0]
    assert (arrays.link_latency, arrays.link_latency_declared, arrays.link_latency_measured) == (1.5e-6, 1.0, 0.0)
    assert (arrays.peer_bandwidth, arrays.peer_bandwidth_declared) == (0.0, 0.0)
    assert (arrays.topology, arrays.link_domain, arrays.streaming_fraction) == (0.0, 8.0, 0.9)
    assert (arrays.rent, arrays.rent_declared) == (2.5, 1.0)
    bare = Chip("x", (Tier(TierKind.HBM, 1e9, None),)).arrays()
    assert (bare.topology, bare.link_domain, bare.link_bandwidth_declared, bare.rent_declared) == (-1.0, 0.0, 0.0, 0.0)
    assert (bare.streaming_fraction, bare.stage_overhead_declared) == (1.0, 0.0)


def test_machines_stack() -> None:
    chip = Chip.from_toml(OWN)
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), Machine(chip, 1).arrays(), Machine(chip, 8).arrays())
    assert isinstance(stacked.chip, ChipArrays)
    assert stacked.count.tolist() == [1.0, 8.0] and stacked.chip.tier_capacity.shape == (2, 4)


def test_chips_are_values() -> None:
    chip = Chip.from_toml(OWN)
    faster = dataclasses.replace(chip, stage_overhead=1e-6)
    assert faster != chip and hash(faster) == hash(dataclasses.replace(faster)) and len({chip, faster}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        chip.id = "other"  # type: ignore[misc]


def test_hosts_read_chips_without_jax() -> None:
    code = "import sys; from tinker_nomics.catalog import chip; chip('h100-sxm'); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_chip_states_its_own_rent() -> None:
    text = 'id = "mine"\ntiers = [{kind = "HBM", capacity = "96 GB"}]\nrent = "2.5 USD/h"\n'
    chip = Chip.from_toml(text)
    assert chip.rent == 2.5 and Machine(chip, 2).rent == 2.5 and Machine(chip, 2, rent=1.0).rent == 1.0
    assert Chip.from_toml(chip.to_toml()) == chip
    sourced = Chip.from_toml(text + 'sources = {rent = {text = "my invoice", date = "2026-11"}}\n')
    assert sourced.source("rent").text == "my invoice" and sourced.source("rent").date == "2026-11"
    assert Chip.from_toml(sourced.to_toml()) == sourced
    for wrong in ("-1", '"3 GB"', '"free"'):
        with pytest.raises(ConfigError, match="rent"):
            Chip.from_toml(text.replace('"2.5 USD/h"', wrong))


def test_tables_beside_a_chip_that_nobody_reads_are_refused() -> None:
    text = '[chip]\nid = "mine"\ntiers = [{kind = "HBM", capacity = "96 GB"}]\n'
    with pytest.raises(ConfigError, match=r"link = .*under \[chip\]"):
        Chip.from_toml(text + '[link]\ntopology = "ring"\n')
    with pytest.raises(ConfigError, match="matrix_rates"):
        Chip.from_toml("matrix_rates = {bf16 = 1e15}\n" + text)


def test_a_name_of_a_chip_prints() -> None:
    for name in ("a\x1b[31m", "a\nb", "a\0"):
        with pytest.raises(ConfigError, match="letters that print"):
            Chip(name, (Tier(TierKind.HBM, 1e9, 1e12),))
