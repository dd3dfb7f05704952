"""Every formula against its plain-Python twin, and the numbers that the published page works out."""

from __future__ import annotations

import inspect
import math
from importlib import import_module

import jax
import numpy as np
import oracle
import pytest
from hand_config import hand_config
from random_configs import random_values, row

from tinker_nomics.boundary import x64
from tinker_nomics.config import Config, replace, set_paths
from tinker_nomics.cost_model import estimate
from tinker_nomics.formulas import api_billing, lora, memory, rollout, sandbox, schedule, tokens, training

COUNT = 3000
CHAPTERS = ("api_billing", "lora", "memory", "rollout", "sandbox", "schedule", "tokens", "training")


def _config(values: dict, training_kind: str = "lora", kind: str = "auto") -> Config:
    return set_paths(hand_config(), {**values, "lora.training": training_kind, "schedule.kind": kind})


# formula -> (through the package, through the oracle); kv, tokens and hours that a formula takes are other parameters
FORMULAS = {
    "tokens.growth_multiplier": (
        lambda c: tokens.growth_multiplier(c.workload.length_growth),
        lambda v: oracle.growth_multiplier(v["workload.length_growth"]),
    ),
    "tokens.output_tokens_per_turn": (
        lambda c: tokens.output_tokens_per_turn(c.workload),
        oracle.output_tokens_per_turn,
    ),
    "tokens.effective_turns": (lambda c: tokens.effective_turns(c.workload), oracle.effective_turns),
    "tokens.rollouts": (lambda c: tokens.rollouts(c.workload), oracle.rollouts),
    "tokens.rollout_tokens": (lambda c: tokens.rollout_tokens(c.workload), oracle.rollout_tokens),
    "tokens.train_tokens": (lambda c: tokens.train_tokens(c.workload), oracle.train_tokens),
    "tokens.prefill_tokens": (lambda c: tokens.prefill_tokens(c.workload), oracle.prefill_tokens),
    "api_billing.stream_cost": (
        lambda c: api_billing.stream_cost(c.model.parameters, c.prices.sample),
        lambda v: oracle.stream_cost(v["model.parameters"], v["prices.sample"]),
    ),
    "api_billing.storage_per_month": (
        lambda c: api_billing.storage_per_month(c.model.weight_bytes, c.prices),
        lambda v: oracle.storage_per_month(v["model.weight_bytes"], v),
    ),
    "rollout.kv_bytes_heuristic": (
        lambda c: rollout.kv_bytes_heuristic(c.model.active_parameters),
        oracle.kv_bytes_heuristic,
    ),
    "rollout.decode_context": (lambda c: rollout.decode_context(c.workload), oracle.decode_context),
    "rollout.bandwidth_tokens_per_second": (
        lambda c: rollout.bandwidth_tokens_per_second(
            c.workload.prompts_per_step * c.workload.rollouts_per_prompt / c.cluster.gpus,
            rollout.decode_context(c.workload),
            c.model.kv_bytes_per_token,
            c.model,
            c.cluster.chip.bandwidth,
        ),
        lambda v: oracle.bandwidth_side(v, v["model.kv_bytes_per_token"]),
    ),
    "rollout.compute_tokens_per_second": (
        lambda c: rollout.compute_tokens_per_second(c.model, c.cluster.chip.matrix_rate),
        oracle.compute_side,
    ),
    "rollout.ridge_batch": (
        lambda c: rollout.ridge_batch(c.cluster.chip.bandwidth, c.cluster.chip.matrix_rate),
        lambda v: v["cluster.chip.matrix_rate"] / v["cluster.chip.bandwidth"],
    ),
    "rollout.rollout_tokens_per_second": (
        lambda c: rollout.rollout_tokens_per_second(c.workload, c.model, c.cluster, c.model.kv_bytes_per_token)[0],
        lambda v: oracle.rollout_tokens_per_second(v, v["model.kv_bytes_per_token"]),
    ),
    "rollout.prefill_tokens_per_second": (
        lambda c: rollout.prefill_tokens_per_second(c.model, c.cluster),
        oracle.prefill_tokens_per_second,
    ),
    "rollout.uncached_prefill": (
        lambda c: rollout.uncached_prefill(tokens.prefill_tokens(c.workload), c.cluster),
        oracle.uncached_prefill,
    ),
    "rollout.hours": (
        lambda c: rollout.hours(c.model.parameters, c.model.kv_bytes_per_token),
        lambda v: v["model.parameters"] / (3600 * v["model.kv_bytes_per_token"]),
    ),
    "training.train_flop_per_token": (
        lambda c: training.train_flop_per_token(c.model, c.lora),
        oracle.train_flop_per_token,
    ),
    "training.train_tokens_per_second": (
        lambda c: training.train_tokens_per_second(c.model, c.cluster, c.lora),
        oracle.train_tokens_per_second,
    ),
    "memory.training_and_rollout_bytes": (
        lambda c: memory.training_and_rollout_bytes(c.model, c.lora),
        oracle.training_and_rollout_bytes,
    ),
    "memory.min_gpus": (
        lambda c: memory.min_gpus(memory.training_and_rollout_bytes(c.model, c.lora), c.cluster)[0],
        oracle.min_gpus,
    ),
    "memory.kv_cache_bytes": (
        lambda c: memory.kv_cache_bytes(c.workload, c.model.kv_bytes_per_token),
        lambda v: oracle.kv_cache_bytes(v, v["model.kv_bytes_per_token"]),
    ),
    "memory.kv_room": (
        lambda c: memory.kv_room(memory.kv_cache_bytes(c.workload, c.model.kv_bytes_per_token), c.model, c.cluster),
        lambda v: oracle.kv_room(v, v["model.kv_bytes_per_token"]),
    ),
    "lora.dense_gqa_parameters_per_rank": (
        lambda c: lora.dense_gqa_parameters_per_rank(
            c.workload.completion_tokens, c.workload.prompt_tokens, c.workload.steps, c.lora.rank
        ),
        lambda v: oracle.dense_gqa_parameters_per_rank(
            v["workload.completion_tokens"], v["workload.prompt_tokens"], v["workload.steps"], v["lora.rank"]
        ),
    ),
    "lora.adapter_parameters": (
        lambda c: lora.adapter_parameters(c.model.lora_parameters_per_rank, c.lora),
        lambda v: oracle.adapter_parameters(v["model.lora_parameters_per_rank"], v),
    ),
    "lora.checkpoint_bytes": (
        lambda c: lora.checkpoint_bytes(c.model.parameters),
        lambda v: oracle.checkpoint_bytes(v["model.parameters"]),
    ),
    "schedule.abort_rate": (lambda c: schedule.abort_rate(c.schedule)[0], oracle.abort_rate),
    "schedule.abort_multiplier": (
        lambda c: schedule.abort_multiplier(schedule.abort_rate(c.schedule)[0]),
        lambda v: oracle.abort_multiplier(oracle.abort_rate(v)),
    ),
    "schedule.overlapped_hours": (
        lambda c: schedule.overlapped_hours(c.cluster.mfu, c.cluster.rollout_efficiency, c.schedule)[0],
        lambda v: oracle.overlapped_hours(v["cluster.mfu"], v["cluster.rollout_efficiency"], v),
    ),
    "schedule.overlap_speedup": (
        lambda c: schedule.overlap_speedup(c.cluster.mfu, c.cluster.rollout_efficiency, c.prices.sample),
        lambda v: (v["cluster.mfu"] + v["cluster.rollout_efficiency"]) / v["prices.sample"],
    ),
    "sandbox.sandbox_cost": (
        lambda c: sandbox.sandbox_cost(tokens.rollouts(c.workload), c.sandbox),
        oracle.sandbox_cost,
    ),
}


@pytest.fixture(scope="module")
def computed() -> tuple[dict, dict[str, np.ndarray]]:
    """The random configurations, and every formula on them in one compiled call."""
    values = random_values(COUNT)
    every = jax.jit(lambda v: {name: formula(_config(v)) for name, (formula, _) in FORMULAS.items()})
    with x64():
        return values, {name: np.asarray(value) for name, value in every(values).items()}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_equals_its_plain_twin(computed, name):
    values, got = computed
    plain = FORMULAS[name][1]
    want = np.array([plain(row(values, index)) for index in range(COUNT)])
    if name == "memory.kv_room":
        scales = [oracle.difference_scales(row(values, index)) for index in range(COUNT)]
        atol = 1e-12 * np.array([scale["branches.kv_fits"] for scale in scales])
        atol += 1e-12 * values["model.kv_bytes_per_token"] * got["tokens.rollouts"]
        assert np.all(np.abs(got[name] - want) <= atol)
    else:
        np.testing.assert_allclose(got[name], want, rtol=1e-12, atol=0)


def test_every_formula_has_a_twin():
    written = set()
    for chapter in CHAPTERS:
        module = import_module(f"tinker_nomics.formulas.{chapter}")
        functions = inspect.getmembers(module, inspect.isfunction)
        written |= {f"{chapter}.{name}" for name, f in functions if f.__module__ == module.__name__ and name[0] != "_"}
    assert written == set(FORMULAS)


@pytest.mark.parametrize("factor", [0.4, 1.0, 1.5, 3.0])
@pytest.mark.parametrize("steps", [1, 7, 180])
def test_growth_is_the_mean_over_the_steps(factor, steps):
    mean = math.fsum(1 + (factor - 1) * (s - 0.5) / steps for s in range(1, steps + 1)) / steps
    assert tokens.growth_multiplier(factor) == pytest.approx(mean, rel=1e-13)


@pytest.mark.parametrize("turns", [1, 2, 5, 40])
def test_prefill_reads_every_earlier_turn_again(turns):
    values = {"workload.turns": turns, "workload.observation_tokens": 750, "workload.length_growth": 1}
    config = replace(hand_config(), values)
    read = sum(200 + turn * (512 + 750) for turn in range(turns))
    assert tokens.prefill_tokens(config.workload) == pytest.approx(64 * 16 * 180 * read, rel=1e-13)


# ---- the numbers that the page works out -----------------------------------------------------------------------------

PLAIN_RUN = {"workload.length_growth": 1}
GROWING = {"workload.length_growth": 1.5}


def test_worked_token_streams():
    streams = estimate(replace(hand_config(), PLAIN_RUN)).tokens
    assert (streams.rollout, streams.train, streams.prefill) == (94_371_840, 94_371_840, 36_864_000)


def test_worked_bill():
    bill = estimate(replace(hand_config(), PLAIN_RUN)).tinker
    parts = [round(cost, 2) for cost in (bill.rollout, bill.train, bill.prefill, bill.total)]
    assert parts == [37.75, 37.75, 4.79, 80.29]


def test_worked_single_sequence_decode():
    model = replace(hand_config(), {"model.weight_bytes": 16e9}).model
    assert rollout.bandwidth_tokens_per_second(1, 0, 0, model, 3.35e12) == pytest.approx(209.4, abs=0.05)


def test_worked_ridge():
    assert round(rollout.ridge_batch(3.35e12, 989e12)) == 295


def test_worked_hours():
    own = estimate(replace(hand_config(), GROWING)).self_hosted
    assert own.train_hours == pytest.approx(1.36, abs=0.005)
    assert 0.47 <= own.decode_hours <= 0.52
    assert own.prefill_hours == pytest.approx(0.04, abs=0.005)
    eight = estimate(replace(hand_config(), {**GROWING, "model.active_parameters": 8.0e9})).self_hosted
    assert eight.train_hours == pytest.approx(1.33, abs=0.005)


def test_worked_context_of_a_decoded_token():
    assert rollout.decode_context(hand_config().workload) == 200 + 1.25 * 512 / 2


@pytest.mark.parametrize(
    ("hidden", "kv_width", "ffn", "layers", "megabytes"),
    [
        (5120, 1024, 25600, 64, 511.7),  # Qwen3-32B
        (4096, 1024, 14336, 32, 167.8),  # Llama-3.1-8B
        (8192, 1024, 28672, 80, 828.4),  # Llama-3.1-70B
        (4096, 1024, 12288, 36, 174.6),  # Qwen3-8B
    ],
)
def test_worked_lora_checkpoints(hidden, kv_width, ffn, layers, megabytes):
    parameters = lora.dense_gqa_parameters_per_rank(hidden, kv_width, ffn, layers) * 32
    assert lora.checkpoint_bytes(parameters) / 1e6 == pytest.approx(megabytes, abs=0.05)


def test_worked_storage():
    assert api_billing.storage_per_month(186e6, hand_config().prices) == pytest.approx(0.019, abs=0.0005)


@pytest.mark.parametrize(("k", "share"), [(0, 0.0), (1, 0.0), (2, 0.10), (4, 0.05)])
def test_worked_abort_rates(k, share):
    assert estimate(replace(hand_config(), {"schedule.max_steps_off_policy": k})).staleness.abort_rate == share


def test_worked_overlap():
    own = {k: estimate(replace(hand_config(), {"schedule.max_steps_off_policy": k})).self_hosted for k in (0, 1, 2)}
    assert own[0].hours == own[0].rollout_hours + own[0].train_hours
    assert own[1].hours == max(own[1].rollout_hours, own[1].train_hours)
    assert own[2].decode_hours == pytest.approx(own[1].decode_hours / 0.9, rel=1e-14)
    assert own[2].prefill_hours == own[1].prefill_hours


def test_worked_memory():
    need = estimate(hand_config()).memory
    assert need.weights_bytes == pytest.approx(8190427136 * 2 * 2 * 1.8, rel=1e-14)
    assert need.min_gpus == 2
    big = estimate(replace(hand_config(), {"model.parameters": 70e9})).memory
    assert big.min_gpus == math.ceil(70e9 * 2 * 2 * 1.8 / 80e9)
    full = estimate(replace(hand_config(), {"model.parameters": 70e9, "lora.training": "full"})).memory
    assert full.weights_bytes == pytest.approx(1.5 * big.weights_bytes, rel=1e-14)
