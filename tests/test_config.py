"""Config: one name per parameter, copies along a path, every problem at once."""

from __future__ import annotations

import jax
import pytest
from hand_config import hand_config

import tinker_nomics as tn
from tinker_nomics.config import Provenance, get, problems_of, set_paths
from tinker_nomics.parameters import registry


def test_fields_are_the_registry_in_its_order():
    leaves = jax.tree_util.tree_flatten_with_path(hand_config(), is_leaf=lambda leaf: leaf is None)[0]
    paths = [".".join(key.name for key in keys) for keys, _ in leaves]
    assert paths == list(registry())


def test_replace_changes_only_the_named_paths():
    config = hand_config()
    changed = tn.replace(config, {"workload.rollouts_per_prompt": 32, "cluster.chip.bandwidth": "3.35 TB/s"})
    assert changed.workload.rollouts_per_prompt == 32.0
    assert changed.cluster.chip.bandwidth == 3.35e12
    assert config.workload.rollouts_per_prompt == 16.0
    same = set(registry()) - {"workload.rollouts_per_prompt"}
    assert {path for path in same if get(changed, path) != get(config, path)} == set()
    assert changed.provenance.overridden == ("workload.rollouts_per_prompt", "cluster.chip.bandwidth")
    assert any("workload.rollouts_per_prompt" in note for note in tn.estimate(changed).notes)


def test_every_problem_is_listed_at_once():
    with pytest.raises(tn.ConfigError) as caught:
        tn.replace(
            hand_config(),
            {
                "workload.steps": 0,
                "workload.rollout_per_prompt": 3,
                "workload.failure_rate": 1.5,
                "workload.completion_tokens": float("nan"),
                "cluster.gpus": float("inf"),
                "cluster.chip.bandwidth": "3.35 apples",
                "schedule.max_steps_off_policy": -1,
                "workload.length_growth": 0,
                "workload.prompts_per_step": 2.5,
            },
        )
    named = {problem.path for problem in caught.value.problems}
    assert named == {
        "workload.steps",
        "workload.rollout_per_prompt",
        "workload.failure_rate",
        "workload.completion_tokens",
        "cluster.gpus",
        "cluster.chip.bandwidth",
        "schedule.max_steps_off_policy",
        "workload.length_growth",
        "workload.prompts_per_step",
    }
    message = str(caught.value)
    assert "9 problems" in message and "workload.rollouts_per_prompt" in message and "3.35 TB/s" in message


@pytest.mark.parametrize("path", [path for path, row in registry().items() if not row.optional])
def test_each_bound_is_held(path):
    parameter = registry()[path]
    outside = [parameter.low if parameter.open_low else parameter.low - 1, float("nan"), float("inf"), None]
    for value in outside:
        assert [problem.path for problem in problems_of(set_paths(hand_config(), {path: value}))].count(path) == 1


def test_on_policy_kinds_refuse_a_lag():
    config = tn.replace(hand_config(), {"schedule.kind": "stream_minibatch"})
    with pytest.raises(tn.ConfigError, match="on-policy"):
        tn.replace(config, {"schedule.max_steps_off_policy": 2})
    with pytest.raises(tn.ConfigError, match="auto, sync, stream_minibatch, async"):
        tn.replace(config, {"schedule.kind": "sometimes"})


def test_a_sandbox_with_a_fee_needs_its_seconds():
    with pytest.raises(tn.ConfigError, match=r"sandbox\.seconds"):
        tn.replace(hand_config(), {"sandbox.price_per_core_second": 3.942e-05, "sandbox.cores": 1})


def test_full_training_needs_no_adapter_and_lora_does():
    figures = ("model.lora_parameters_per_rank", "model.lora_parameters_per_rank_published")
    unknown = set_paths(hand_config(), dict.fromkeys(figures))
    assert [problem.path for problem in problems_of(unknown)] == ["model.lora_parameters_per_rank"]
    unlisted = tn.estimate(set_paths(hand_config(), {figures[1]: None}))
    assert unlisted.lora.parameters is None and any("lora.parameters is absent" in note for note in unlisted.notes)
    full = tn.estimate(tn.replace(unknown, {"lora.training": "full"}))
    assert full.lora.checkpoint_bytes is None and full.tinker.storage_per_month is None


def test_provenance_never_causes_a_new_trace():
    traces = []

    @jax.jit
    def total(config):
        traces.append(1)
        return tn.cost_model.evaluate(config).tinker.total

    config = hand_config()
    for steps in (10, 20, 30):
        total(tn.replace(config, {"workload.steps": steps}))
    assert len(traces) == 1
    assert Provenance({"a": "b"}) == Provenance() and hash(Provenance({"a": "b"})) == hash(Provenance())


def test_replace_takes_tracers():
    def total(growth):
        return tn.cost_model.evaluate(tn.replace(hand_config(), {"workload.length_growth": growth})).tinker.total

    slope = float(jax.grad(total)(1.5))
    assert slope == pytest.approx(94371840 / 2 * 0.8e-6, rel=1e-6)
