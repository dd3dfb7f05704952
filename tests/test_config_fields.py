"""Every field of every model type's config.json: missing, it is refused by name or has that type's own default."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from family_configs import FAMILY_CONFIGS

from tinker_nomics.architectures.architecture import Architecture, ArchitectureError
from tinker_nomics.architectures.families import FAMILIES
from tinker_nomics.architectures.layer_groups import Attention, Moe

# what the configuration class of the model type (Hugging Face transformers 5.24) has where the file has no such field
KV_OF_HEADS = {name: {"num_key_value_heads": 8} for name in ("llama", "granite", "olmo2", "olmo3", "olmoe", "phi3")}
DIM_OF_WIDTH = {
    name: {"head_dim": 64 // 8}
    for name in (*KV_OF_HEADS, "mistral", "mixtral", "qwen2", "qwen2_moe", "smollm3")
}  # fmt: skip
TIED = {name: {"tie_word_embeddings": True} for name in ("gemma", "gemma2", "gemma3_text", "gemma4_text", "smollm3")}
SWITCHED = {name: {"use_sliding_window": False} for name in ("qwen2", "qwen3", "qwen2_moe", "qwen3_moe")}
BY_STEP = {
    name: {"decoder_sparse_step": 1, "mlp_only_layers": []}
    for name in ("qwen2_moe", "qwen3_moe", "qwen3_next", "qwen3_5_moe")
}  # fmt: skip
LINEAR = {name: {"full_attention_interval": 4} for name in ("qwen3_next", "qwen3_5", "qwen3_5_moe")}
SHARING = {name: {"index_topk_freq": 1, "index_skip_topk_offset": 2} for name in ("glm_moe_dsa", "glm5_next")}
OWN: dict[str, dict[str, Any]] = {
    "mistral": {"sliding_window": 4096},
    "ministral3": {"sliding_window": None},
    "phi3": {"sliding_window": None},
    "mixtral": {"sliding_window": None},
    "gemma3_text": {
        "sliding_window_pattern": 6,
        "vocab_size": 262_208,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
    },
    "gemma4_text": {"attention_k_eq_v": False, "global_head_dim": 512, "num_global_key_value_heads": 2},
    "deepseek_v2": {"first_k_dense_replace": 0},
    "kimi_linear": {"q_lora_rank": None},
    "nemotron_h": {"n_shared_experts": 1, "moe_latent_size": None},
    "inkling": {"local_layer_ids": [0, 1, 2, 3, 4, 6, 7]},
}


def _default(family: str, field: str) -> dict[str, Any] | None:
    for table in (OWN, KV_OF_HEADS, DIM_OF_WIDTH, TIED, SWITCHED, BY_STEP, LINEAR, SHARING):
        if field in table.get(family, {}):
            return {field: table[family][field]}
    return None


def _shape(config: dict[str, Any]) -> tuple[object, ...]:
    found = Architecture.from_hf_config(config)
    return found.hidden, found.vocab, found.tied, found.groups


def test_there_is_a_config_of_every_model_type() -> None:
    assert set(FAMILY_CONFIGS) == set(FAMILIES)
    for name, config in FAMILY_CONFIGS.items():
        unknown = Architecture.from_hf_config(config).unknown_fields
        assert unknown == (), (name, unknown)


FIELDS = [(name, field) for name, config in FAMILY_CONFIGS.items() for field in config if field != "model_type"]


@pytest.mark.parametrize(("family", "field"), FIELDS)
def test_a_missing_field_is_named_or_has_its_types_default_or_changes_nothing(family: str, field: str) -> None:
    whole = FAMILY_CONFIGS[family]
    less = {name: value for name, value in whole.items() if name != field}
    default = _default(family, field)
    if default is not None:
        assert _shape(less) == _shape(less | default) != _shape(whole)
        return
    try:
        found = _shape(less)
    except ArchitectureError as error:
        assert field in str(error)
    else:
        assert found == _shape(whole)


@pytest.mark.parametrize("family", ["kimi_linear", "glm5_next"])
@pytest.mark.parametrize("field", ["num_heads", "head_dim", "short_conv_kernel_size"])
def test_a_missing_nested_field_is_named(family: str, field: str) -> None:
    config = copy.deepcopy(FAMILY_CONFIGS[family])
    del config["linear_attn_config"][field]
    with pytest.raises(ArchitectureError, match=f"linear_attn_config.{field}"):
        Architecture.from_hf_config(config)


def test_only_widths_and_counts_that_a_layer_needs_are_required() -> None:
    """Removing the widths of what is computed never passes: no width is guessed from another one."""
    for family, config in FAMILY_CONFIGS.items():
        for field in ("hidden_size", "num_hidden_layers", "num_attention_heads", "moe_intermediate_size"):
            if (
                field not in config
                or field in OWN.get(family, ())
                or (family, field) == ("nemotron_h", "num_hidden_layers")
            ):
                continue
            with pytest.raises(ArchitectureError, match=field):
                Architecture.from_hf_config({name: config[name] for name in config if name != field})


def _windows(family: str, **more: Any) -> dict[int | None, int]:
    found = Architecture.from_hf_config(FAMILY_CONFIGS[family] | more)
    layers: dict[int | None, int] = {}
    for group in found.groups:
        if isinstance(group, Attention):
            layers[group.window] = layers.get(group.window, 0) + group.layers
    return layers


@pytest.mark.parametrize(
    ("family", "more", "layers"),
    [
        ("mistral", {}, {32: 8}),
        ("mistral", {"sliding_window": None}, {None: 8}),
        ("mixtral", {}, {32: 8}),
        ("qwen3", {}, {None: 3, 32: 5}),
        ("qwen2", {"max_window_layers": 9}, {None: 8}),
        ("qwen3", {"use_sliding_window": False}, {None: 8}),
        ("qwen3", {"layer_types": ["full_attention"] * 7 + ["sliding_attention"]}, {None: 7, 32: 1}),
        ("qwen2_moe", {}, {None: 6, 32: 2}),
        ("qwen3_moe", {}, {32: 8}),
        ("smollm3", {}, {None: 4, 32: 4}),
        ("gemma2", {}, {None: 4, 32: 4}),
        ("olmo3", {}, {None: 2, 32: 6}),
        ("gemma4_text", {"layer_types": ["sliding_attention"] * 8}, {None: 1, 32: 7}),
    ],
)
def test_a_window_is_where_the_model_type_has_it(family: str, more: dict[str, Any], layers: dict[Any, int]) -> None:
    assert _windows(family, **more) == layers


def test_a_window_bounds_the_cache_of_mistral() -> None:
    found = Architecture.from_hf_config(FAMILY_CONFIGS["mistral"])
    assert found.kv_cache_bytes(32) == found.kv_cache_bytes(1000) == 2.0 * 8 * 2 * 2 * 12 * 32


@pytest.mark.parametrize(
    ("family", "more", "words"),
    [
        ("llama", {"num_key_value_heads": 16}, "16 key/value heads .* do not divide 8 heads"),
        ("llama", {"num_key_value_heads": 3}, "3 key/value heads .* do not divide 8 heads"),
        ("llama", {"head_dim": None, "hidden_size": 60}, "hidden_size 60 is no multiple of num_attention_heads 8"),
        ("deepseek_v3", {"num_key_value_heads": 16}, "a divisor of num_attention_heads 8, not 16"),
        ("deepseek_v3", {"qk_head_dim": 20}, "qk_nope_head_dim . qk_rope_head_dim = 16, not 20"),
        ("deepseek_v3", {"first_k_dense_replace": 9}, "at most the 8 layers, not 9"),
        ("deepseek_v3", {"moe_layer_freq": 2}, "moe_layer_freq = 1"),
        ("glm4_moe", {"mlp_layer_types": ["wide"] * 8}, "mlp_layer_types of dense and sparse only, not .'wide'"),
        ("nemotron_h", {"hybrid_override_pattern": "ME*-"}, "for each of num_hidden_layers 8, not 4"),
        ("nemotron_h", {"n_groups": 3}, "a divisor of mamba_num_heads 8, not 3"),
        ("qwen3_next", {"linear_num_value_heads": 3}, "a multiple of linear_num_key_heads 2, not 3"),
        ("qwen3_next", {"attn_output_gate": False}, "attn_output_gate = true"),
        ("qwen3_moe", {"decoder_sparse_step": 0}, "decoder_sparse_step .at least 1"),
        ("qwen3_moe", {"mlp_only_layers": [8]}, "numbers of layers below 8, not 8"),
        ("qwen3", {"use_sliding_window": False, "layer_types": ["sliding_attention"] * 8}, "use_sliding_window = true"),
        ("qwen3", {"sliding_window": 0}, "the window must be above zero"),
        ("llama", {"intermediate_size": 0}, "width of a feed-forward layer must be above zero"),
        ("olmoe", {"intermediate_size": 0}, "width of an expert must be above zero"),
        ("qwen3_5", {"linear_conv_kernel_dim": 0}, "conv_kernel must be above zero"),
        ("kimi_linear", {"layer_types": ["linear_attention"] * 8}, "as many linear_attention as"),
        ("gemma3_text", {"use_bidirectional_attention": True}, "use_bidirectional_attention = false"),
        ("gemma4_text", {"use_bidirectional_attention": "all"}, "use_bidirectional_attention other than 'all'"),
        ("llama", {"tie_word_embeddings": "yes"}, "tie_word_embeddings .true or false"),
        ("inkling", {"local_layer_ids": [8]}, "different numbers of layers below 8"),
    ],
)
def test_fields_that_contradict_one_another_are_refused(family: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ArchitectureError, match=words):
        Architecture.from_hf_config(FAMILY_CONFIGS[family] | more)


def test_a_tie_is_told_once_and_where_the_classes_differ() -> None:
    text = {name: value for name, value in FAMILY_CONFIGS["mistral"].items() if name != "tie_word_embeddings"}
    with pytest.raises(ArchitectureError, match="needs tie_word_embeddings"):
        Architecture.from_hf_config({"model_type": "mistral3", "text_config": text})
    assert Architecture.from_hf_config(
        {"model_type": "mistral3", "text_config": text, "tie_word_embeddings": True}
    ).tied
    both = {"model_type": "mistral3", "text_config": FAMILY_CONFIGS["mistral"], "tie_word_embeddings": True}
    with pytest.raises(ArchitectureError, match="the same within text_config and outside"):
        Architecture.from_hf_config(both)


def test_the_plain_width_of_inkling_is_the_experts_where_the_dense_layers_have_their_own() -> None:
    less = {name: value for name, value in FAMILY_CONFIGS["inkling"].items() if name != "moe_intermediate_size"}
    found = Architecture.from_hf_config(less | {"dense_intermediate_size": 96, "intermediate_size": 24})
    assert found.groups == Architecture.from_hf_config(FAMILY_CONFIGS["inkling"]).groups
    assert [group.width for group in found.groups if isinstance(group, Moe)] == [24]


def test_qwen3_moe_is_not_read_without_the_width_of_its_experts() -> None:
    less = {name: value for name, value in FAMILY_CONFIGS["qwen3_moe"].items() if name != "moe_intermediate_size"}
    with pytest.raises(ArchitectureError, match="a qwen3_moe config needs moe_intermediate_size"):
        Architecture.from_hf_config(less)


def test_a_switch_that_nobody_reads_is_named_where_it_is_on() -> None:
    off = FAMILY_CONFIGS["qwen3_next"] | {"use_sliding_window": False, "max_window_layers": 8}
    assert Architecture.from_hf_config(off).unknown_fields == ()
    assert Architecture.from_hf_config(off | {"use_sliding_window": True}).unknown_fields == (
        "max_window_layers",
        "use_sliding_window",
    )
    assert Architecture.from_hf_config(FAMILY_CONFIGS["llama"] | {"sliding_window": 32}).unknown_fields == (
        "sliding_window",
    )
    assert Architecture.from_hf_config(FAMILY_CONFIGS["llama"] | {"sliding_window": None}).unknown_fields == ()


def test_a_published_file_that_leaves_out_what_its_class_has() -> None:
    """The text tower of google/gemma-3-4b-it: 34 layers of 94.37 M parameters and a table of 671.25 M."""
    text = {
        "hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024,
    }  # fmt: skip
    found = Architecture.from_hf_config({"model_type": "gemma3", "text_config": text, "torch_dtype": "bfloat16"})
    assert (found.vocab, found.unknown_fields) == (262_208, ())
    assert round(found.parameters / 1e6) == 3880
