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
