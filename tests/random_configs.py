"""Random configurations over wide ranges, by parameter path: one seed, the same points everywhere."""

from __future__ import annotations

import numpy as np

from tinker_nomics.parameters import registry

# (low, high): log-uniform, or uniform from zero where low is 0
RANGES = {
    "workload.prompts_per_step": (1, 1024),
    "workload.rollouts_per_prompt": (1, 128),
    "workload.completion_tokens": (16, 32768),
    "workload.prompt_tokens": (10, 8192),
    "workload.steps": (1, 5000),
    "workload.epochs": (1, 8),
    "workload.length_growth": (0.5, 4),
    "workload.turns": (1, 60),
    "workload.turns_growth": (0.6, 2.5),
    "workload.observation_tokens": (0, 4000),
    "workload.failure_rate": (0, 1),
    "workload.failure_extra_turns": (0, 1),
    "workload.recipe_multiplier": (0.5, 100),
    "model.parameters": (1e8, 2e12),
    "model.active_parameters": (1e8, 1e11),
    "model.weight_bytes": (2e8, 2e12),
    "model.kv_bytes_per_token": (1e3, 1e6),
    "model.lora_parameters_per_rank": (1e4, 1e8),
    "model.lora_parameters_per_rank_published": (1e4, 1e8),
    "prices.prefill": (0.01, 10),
    "prices.cached_prefill": (0.002, 2),
    "prices.sample": (0.01, 10),
    "prices.train": (0.01, 10),
    "prices.storage": (0, 1),
    "cluster.gpus": (1, 2048),
    "cluster.price_per_gpu_hour": (0.1, 20),
    "cluster.rollout_efficiency": (0.05, 1),
    "cluster.mfu": (0.01, 0.7),
    "cluster.prefix_cache_hit_rate": (0, 1),
    "cluster.chip.bandwidth": (1e11, 2e13),
    "cluster.chip.memory_bytes": (8e9, 3e11),
    "cluster.chip.matrix_rate": (1e13, 5e15),
    "schedule.max_steps_off_policy": (0, 6),
    "lora.rank": (1, 256),
    "sandbox.seconds": (0, 100),
    "sandbox.cores": (0, 16),
    "sandbox.gib": (0, 64),
    "sandbox.price_per_core_second": (0, 1e-4),
    "sandbox.price_per_gib_second": (0, 1e-4),
    "workload.max_completion_tokens": (16, 131072),
    "workload.length_p99_over_p50": (1.5, 30),
    "workload.cache_hit_turns": (0, 1),
    "workload.cache_hit_group": (0, 1),
    "workload.strips_thinking": (0, 1),
    "model.matrix_parameters": (1e8, 1e11),
    "model.lookup_bytes": (0, 1e8),
    "model.expert_bytes": (0, 1e8),
    "model.experts": (8, 512),
    "model.experts_per_token": (1, 8),
    "model.blocks": (8, 100),
    "model.hidden": (512, 16384),
    "model.kv_heads": (1, 16),
    "model.window_kv_bytes_per_token": (0, 1e5),
    "model.window": (128, 65536),
    "model.state_bytes_per_sequence": (0, 1e8),
    "model.attention_flops": (1e4, 1e7),
    "model.window_attention_flops": (0, 1e6),
    "model.decode_attention_flops": (1e4, 1e7),
    "model.lora_used_per_rank": (1e4, 1e8),
    "cluster.engine.tensor_parallel": (1, 16),
    "cluster.engine.memory_fraction": (0.3, 1),
    "cluster.engine.sequences": (1, 1024),
    "cluster.engine.decode_efficiency": (0.1, 1),
    "cluster.engine.block_seconds": (0, 3e-4),
    "cluster.engine.token_seconds": (0, 2e-4),
    "cluster.engine.prefill_efficiency": (0.1, 1),
    "cluster.trainer.mfu_dense": (0.05, 0.6),
    "cluster.trainer.mfu_moe": (0.02, 0.3),
    "cluster.trainer.mfu_power": (0, 0.5),
    "cluster.trainer.fixed_seconds": (0, 60),
    "cluster.trainer.sync_rate": (1e9, 1e12),
    "cluster.trainer.recompute": (0, 1),
    "cluster.trainer.logprob_passes": (0, 2),
    "cluster.trainer.reference_parameters": (0, 1e10),
    "cluster.trainer.reward_parameters": (0, 1e10),
    "cluster.trainer.tokens_in_flight": (1e2, 1e6),
    "cluster.trainer.buffer_bytes": (0, 1e10),
    "schedule.rollout_share": (0.05, 0.95),
    "schedule.minibatches": (1, 16),
    "schedule.rho": (0.1, 4),
    "schedule.variation": (0.15, 2),
    "published_prices.prefill": (0.01, 10),
    "published_prices.sample": (0.01, 10),
    "published_prices.train": (0.01, 10),
    "evaluation.sequences": (0, 1000),
    "evaluation.every": (1, 100),
}


def random_values(count: int, seed: int = 20260105) -> dict[str, np.ndarray]:
    """{path: float64 [count]} within the registry's bounds; whole numbers where the registry asks for them."""
    rng = np.random.default_rng(seed)
    values = {}
    for path, parameter in registry().items():
        low, high = RANGES[path]
        u = rng.random(count)
        drawn = low + (high - low) * u if low == 0 else low * (high / low) ** u
        values[path] = np.round(drawn) if parameter.kind == "integer" else drawn
    return values


def row(values: dict[str, np.ndarray], index: int) -> dict[str, float]:
    """One configuration as plain floats."""
    return {path: float(column[index]) for path, column in values.items()}
