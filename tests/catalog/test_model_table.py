"""The models: every geometry reproduces the published LoRA table, and the numbers are those of the cost model."""

from __future__ import annotations

import json

import pytest
from shared_folder import SHARED

from tinker_nomics import catalog
from tinker_nomics.catalog.tables import packaged
from tinker_nomics.errors import ConfigError

LORA = packaged("lora_table.toml")["parameters_per_rank"]
WITH_ARCHITECTURE = [row.id for row in catalog.models() if row.architecture is not None]


def test_all_46_published_ids_are_here_and_42_have_an_architecture() -> None:
    assert {row.id for row in catalog.models()} == set(LORA)
    assert (len(LORA), len(WITH_ARCHITECTURE)) == (46, 42)


@pytest.mark.parametrize("name", WITH_ARCHITECTURE)
def test_the_geometry_reproduces_the_published_lora_parameters_exactly(name: str) -> None:
    row = catalog.model(name)
    assert row.architecture is not None
    assert row.architecture.lora_components == LORA[name]
    assert row.lora_parameters_per_rank == sum(LORA[name].values())


def test_an_id_without_architecture_has_its_lora_parameters_and_nothing_else() -> None:
    row = catalog.model("Kimi-K3.1-Pro")
    assert row.lora_parameters_per_rank == 766_457_856 + 8_040_960 + 171_008
    assert (row.architecture, row.parameters, row.weight_bytes, row.kv_bytes_per_token) == (None,) * 4


@pytest.mark.parametrize(
    ("name", "megabytes"),
    [
        ("Qwen3-8B", 184.6),
        ("Qwen3-32B", 546.9),
        ("Llama-3.1-8B", 176.2),
        ("Llama-3.1-70B", 837.1),
        ("Qwen3-30B-A3B", 988.2),
        ("Qwen3-235B-A22B-Instruct-2507", 3835.6),
        ("DeepSeek-V3.1", 6200.6),
        ("Kimi-K2.6", 9388.5),
    ],
)
def test_exact_checkpoint_sizes_at_rank_32(name: str, megabytes: float) -> None:
    per_rank = catalog.model(name).lora_parameters_per_rank
    assert per_rank is not None
    assert round(per_rank * 32 * 2 / 1e6, 1) == megabytes


@pytest.mark.parametrize(
    ("name", "megabytes"),
    [
        ("Qwen3-32B", 511.7),
        ("Llama-3.1-8B", 167.8),
        ("Llama-3.1-70B", 828.4),
        ("Qwen3-8B", 174.6),
        ("Qwen3-235B-A22B-Instruct-2507", 154.0),
        ("Qwen3-30B-A3B", 40.9),
        ("DeepSeek-V3.1", 273.5),
        ("Kimi-K2.6", 235.3),
    ],
)
def test_published_checkpoint_sizes_at_rank_32(name: str, megabytes: float) -> None:
    per_rank = catalog.model(name).lora_parameters_per_rank_published
    assert per_rank is not None
    assert round(per_rank * 32 * 2 / 1e6, 1) == megabytes


def test_the_page_has_no_count_for_hybrids() -> None:
    assert catalog.model("Qwen3.5-9B").lora_parameters_per_rank_published is None


@pytest.mark.parametrize(
    ("name", "full", "windowed", "window"),
    [
        ("Llama-3.1-8B", 131_072, 0, None),
        ("Llama-3.1-70B", 327_680, 0, None),
        ("Qwen3-8B", 147_456, 0, None),
        ("Qwen3-32B", 262_144, 0, None),
        ("Qwen3-30B-A3B", 98_304, 0, None),
        ("DeepSeek-V3.1", 70_272, 0, None),
        ("Kimi-K2-Thinking", 70_272, 0, None),
        ("gpt-oss-20b", 24_576, 24_576, 128),
        ("Qwen3.5-27B", 65_536, 0, None),
    ],
)
def test_cache_bytes_per_token(name: str, full: float, windowed: float, window: float | None) -> None:
    row = catalog.model(name)
    assert (row.kv_bytes_per_token, row.window_kv_bytes_per_token, row.window) == (full, windowed, window)


def test_states_and_totals() -> None:
    assert catalog.model("Qwen3.5-27B").state_bytes_per_sequence == 156_893_184
    eight = catalog.model("Qwen3-8B")
    assert (eight.parameters, eight.active_parameters, eight.weight_bytes) == (
        8_190_427_136,
        8_190_427_136,
        16_380_854_272,
    )
    moe = catalog.model("Qwen3-30B-A3B")
    assert (moe.parameters, moe.active_parameters) == (30_531_911_680, 3_352_821_760)


@pytest.mark.parametrize(
    "name", ["Nemotron-3-Super-120B-A12B", "nvidia-nemotron-3-super-120b-a12b", "Nemotron-3-Super-120B-A12B-BF16"]
)
def test_a_vendor_in_the_name_and_a_number_format_may_be_left_off(name: str) -> None:
    assert catalog.model(name).id == "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16"


def test_a_long_context_id_means_its_base_model() -> None:
    assert catalog.model("moonshotai/Kimi-K2.6:peft:131072").id == "moonshotai/Kimi-K2.6"


def test_a_miss_names_three() -> None:
    with pytest.raises(catalog.CatalogError, match="nearest are Qwen/Qwen3-8B, "):
        catalog.model("Qwen3-8C")


@pytest.mark.skipif(SHARED is None, reason="the specification folder is not here")
def test_the_facts_agree() -> None:
    assert SHARED is not None
    facts = json.loads((SHARED / "facts" / "tinker.json").read_text())["models"]
    checked = 0
    for name, fact in facts.items():
        if not fact["params"]:
            continue
        row = catalog.model(name)
        assert row.architecture is not None and row.parameters is not None
        moe_gates = 0.0
        for group in row.architecture.groups:
            # the facts leave out the one-row gates of shared experts and the router's rows for them
            extra = getattr(group, "shared_gate", False) + getattr(group, "router_rows", 0)
            moe_gates += group.layers * extra * row.architecture.hidden
        assert row.parameters - moe_gates == fact["params"]["total"], name
        assert row.architecture.active_matrix_parameters - moe_gates == fact["params"]["active_matmul"], name
        assert row.kv_bytes_per_token == fact["kv_cache_bf16"]["bytes_per_token"], name
        checked += 1
    assert checked == 21


MODEL = """
id = "mine/model"
parameters = "8.19B"
source = "my measurement"
kv_bytes_per_token = "144 KiB"
"""


def test_a_users_own_model_takes_units_and_defaults() -> None:
    row = catalog.ModelRow.from_toml(MODEL)
    assert (row.parameters, row.active_parameters, row.weight_bytes) == pytest.approx(
        (8.19e9, 8.19e9, 16.38e9), rel=1e-15
    )
    assert (row.kv_bytes_per_token, row.status, row.source) == (147_456, "U", "my measurement")
    assert row.lora_parameters_per_rank is None


def test_a_users_own_geometry_gives_every_number_and_may_be_overridden(tmp_path) -> None:
    architecture = catalog.model("Qwen3-8B").architecture
    assert architecture is not None
    text = 'id = "mine"\nweight_bytes = "8 GB"\n[architecture]\nhidden = 4096\nvocab = 151936\ntied = false\n'
    text += "attention = [{ layers = 36, heads = 32, kv_heads = 8, head_dim = 128 }]\n"
    text += "mlp = [{ layers = 36, width = 12288 }]\n"
    path = tmp_path / "mine.toml"
    path.write_text(text)
    row = catalog.ModelRow.from_toml(path)
    assert row.weight_bytes == 8e9
    assert row.parameters == architecture.parameters
    assert row.lora_parameters_per_rank == architecture.lora_parameters_per_rank


def test_a_users_config_json_is_read_beside_the_file(tmp_path) -> None:
    config = {
        "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "head_dim": 64,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": True,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.toml").write_text('[model]\nid = "mine/small"\nconfig = "config.json"\n')
    row = catalog.ModelRow.from_toml(tmp_path / "model.toml")
    assert row.parameters == catalog.model("Llama-3.2-1B").parameters


def test_all_problems_of_a_users_model_come_at_once() -> None:
    text = 'parameters = "-1"\nactive_parameters = "80 GB"\nspeed = 3\nsource = 4\n'
    text += "[architecture]\nhidden = 0\nmlp = [{ layers = 2 }]\n"
    with pytest.raises(ConfigError) as caught:
        catalog.ModelRow.from_toml(text)
    paths = {problem.path for problem in caught.value.problems}
    assert {"parameters", "active_parameters", "speed", "source", "id"} <= paths
    assert {"architecture.hidden", "architecture.vocab", "architecture.tied", "architecture.mlp[0].width"} <= paths


@pytest.mark.parametrize(
    ("given", "match"),
    [("nowhere.toml", "there is no file"), ("id = \n", "line 1, column"), ('id = "x"\n', "parameters")],
)
def test_unreadable_and_empty_models_are_refused(given: str, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        catalog.ModelRow.from_toml(given)
