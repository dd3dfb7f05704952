"""Reading an architecture from a Hugging Face ``config.json``: the file, its fields, and what of it is not understood.

`architecture_families.py` says which layers a family has. A default is taken only where the format itself defines one
(kv heads = heads, head_dim = hidden / heads, the family's tied flag); anything else that is missing is named in an error,
and any field that nobody read is named in ``Architecture.unknown_fields``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .architecture import Architecture, ArchitectureError
from .architecture_families import FAMILIES, TIED_BY_DEFAULT, WRAPPERS
from .catalog.lookup import nearest
from .errors import listed

# fields that say nothing about geometry, whatever the family
_ELSEWHERE = frozenset(
    """_name_or_path _attn_implementation add_cross_attention architectures attention_bias attention_dropout attention_in_multiplier
    attention_multiplier attention_out_multiplier attn_logit_softcapping attn_pdrop aux_loss_alpha auto_map bad_words_ids
    begin_suppress_tokens bos_token_id cache_implementation chunk_size clip_qkv decoder_start_token_id dtype embd_pdrop
    embedding_multiplier eos_token_id expand ep_size experts_implementation final_logit_softcapping finetuning_task generation_config
    hidden_act hidden_activation hidden_dropout id2label image_token_id image_token_index initial_context_length initializer_range
    initializer_factor is_decoder is_encoder_decoder key_multiplier label2id layer_norm_epsilon lm_head_multiplier logits_scaling
    long_factor mamba_chunk_size mamba_conv_bias mamba_hidden_act mamba_norm_before_gate mamba_proj_bias mamba_rms_norm
    mamba_ssm_cache_dtype max_position_embeddings max_window_layers mlp_bias mlp_hidden_act mlp_multipliers model_max_length model_type
    moe_aux_loss_coeff moe_grouped_topk moe_implementation moe_layer_freq moe_renormalize moe_router_activation_func
    moe_router_dtype moe_router_enable_expert_bias moe_router_score_function moe_shared_expert_overlap mtp_hybrid_override_pattern
    mtp_layers_block_type mtp_loss_scaling_factor mtp_num_hidden_layers mtp_use_dedicated_embeddings n_group norm_eps
    norm_topk_prob num_expert_group num_key_value_groups num_logits_to_keep num_mtp_layers num_nextn_predict_layers
    original_max_position_embeddings output_router_logits pad_token_id partial_rotary_factor position_embedding_type pretraining_tp
    projectors_bias qkv_bias quantization_config query_pre_attn_scalar rescale_prenorm_residual resid_pdrop residual_in_fp32
    residual_multiplier rms_norm_eps rope_interleave rope_local_base_freq rope_parameters rope_scaling rope_theta rope_type
    routed_scaling_factor router_aux_loss_coef router_jitter_noise scoring_func seq_aux ssm_in_multiplier ssm_multipliers
    ssm_out_multiplier swiglu_alpha swiglu_limit tie_encoder_decoder time_step_floor time_step_limit time_step_max time_step_min
    time_step_rank tokenizer_class topk_group topk_method torch_dtype torchscript transformers_version use_bias use_cache use_conv_bias
    use_grouped_topk use_mamba_kernels use_qk_norm use_bidirectional_attention use_sliding_window video_token_id vision_config
    audio_config vision_end_token_id vision_start_token_id mm_tokens_per_image boi_token_index eoi_token_index rope_local_theta
    head_dim_unused mla_use_nope sliding_window_size_unused cope_interval use_mla attn_output_gate moe_router_topk_scaling_factor
    unk_token_id sep_token_id media_placeholder_token_id ignore_index text_hidden_size num_local_heads""".split()
)


class Fields:
    """A config's fields, read by name: missing ones are collected, and the unread ones can be listed."""

    def __init__(self, table: Mapping[str, Any], family: str):
        self.table = table
        self.family = family
        self.read: set[str] = set()
        self.missing: list[str] = []

    def has(self, *names: str) -> bool:
        """Whether any of the names stands in the config with a value."""
        return any(self.table.get(name) is not None for name in names)

    def value(self, *names: str, default: Any = None) -> Any:
        """The first of the names that has a value, else `default`."""
        self.read.update(names)
        return next((self.table[name] for name in names if self.table.get(name) is not None), default)

    def number(self, *names: str, default: int | None = None) -> int:
        """A whole number; where it is missing and has no `default`, its first name is collected and 1 returned."""
        value = self.value(*names, default=default)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.missing.append(names[0] if value is None else f"{names[0]} (a whole number, not {value!r})")
        return 1

    def kinds(self, name: str, layers: int) -> list[str] | None:
        """The list `name` with one text per layer, or None."""
        kinds = self.value(name)
        if kinds is None:
            return None
        if not isinstance(kinds, list) or len(kinds) != layers:
            self.missing.append(f"{name} (a list of {layers}, one per layer)")
            return None
        return [str(kind) for kind in kinds]


def _load(config: Mapping[str, Any] | str | os.PathLike[str]) -> tuple[Mapping[str, Any], str]:
    if isinstance(config, Mapping):
        return config, "this config"
    text, where = str(config), "this config text"
    if isinstance(config, os.PathLike) or not text.lstrip().startswith("{"):
        where = str(config)
        try:
            text = Path(config).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise ArchitectureError(f"{where}: {reason}; give the path of a config.json") from None
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArchitectureError(f"{where} is no JSON: {error}") from None
    if not isinstance(table, dict):
        raise ArchitectureError(f"{where} holds a {type(table).__name__}, not the object of a config.json")
    return table, where


def read_hf_config(config: Mapping[str, Any] | str | os.PathLike[str]) -> Architecture:
    """See `Architecture.from_hf_config`."""
    outer, where = _load(config)
    inner: Any = outer.get("text_config", outer)
    if not isinstance(inner, Mapping):
        raise ArchitectureError(f"{where}: text_config is {inner!r}, not an object")
    family = inner.get("model_type") or outer.get("model_type")
    family = WRAPPERS.get(str(family), str(family))
    if family not in FAMILIES and inner is not outer:
        family = WRAPPERS.get(str(outer.get("model_type")), family)
    if family not in FAMILIES:
        raise ArchitectureError(
            f"{where}: no reader for model_type {inner.get('model_type')!r}; the nearest of {len(FAMILIES)} are "
            f"{listed(nearest(family, FAMILIES))}. Give the layers in a TOML [architecture] table instead"
        )
    fields = Fields(inner, family)
    tied_outside = outer.get("tie_word_embeddings") if inner is not outer else None
    tied = fields.value("tie_word_embeddings", default=tied_outside)
    hidden, vocab = fields.number("hidden_size"), fields.number("vocab_size")
    groups = tuple(group for group in FAMILIES[family](fields) if group.layers)
    if fields.missing:
        raise ArchitectureError(f"{where}: a {family} config needs {listed(dict.fromkeys(fields.missing))}")
    if not hidden or not vocab or not groups:
        raise ArchitectureError(f"{where}: hidden_size, vocab_size and the number of layers must be above zero")
    unknown = sorted(set(inner) - fields.read - _ELSEWHERE)
    return Architecture(
        family, hidden, vocab, bool(family in TIED_BY_DEFAULT if tied is None else tied), groups, tuple(unknown)
    )
