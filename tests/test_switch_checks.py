"""What the revised edition refuses, each by one clear problem that names the figure and the way out."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hand_config import hand_config

import tinker_nomics as tn
from tinker_nomics.assumptions import SWITCHES, Assumptions
from tinker_nomics.boundary import x64
from tinker_nomics.config import copy_with, problems_of
from tinker_nomics.cost_parts.switched_figures import cluster_figures, rollout_model
from tinker_nomics.formulas.itemised_memory import concurrency
from tinker_nomics.formulas.trained_tokens import sequence_tokens


def revised(**more):
    chosen = {"model": "Qwen/Qwen3-8B", "prices": "2026-10-07", "assumptions": "revised", **more}
    return tn.Config.from_recipe("math_rl", **chosen)


REFUSALS = {
    "weights on one GPU": (
        {"model": "Qwen/Qwen3-235B-A22B-Instruct-2507", "prices": "2026-01-05"},
        "cluster.gpus",
        ["do not fit", "itemised_memory"],
    ),
    "a narrow replica": (
        {"model": "Qwen/Qwen3-32B", "prices": "2026-01-05", "overrides": {"cluster.engine.tensor_parallel": 1}},
        "cluster.engine.tensor_parallel",
        ["do not fit", "Give 2 or more"],
    ),
    "too many sequences": (
        {"overrides": {"cluster.engine.sequences": 5000}},
        "cluster.engine.sequences",
        ["allows 2", "Give 2"],
    ),
    "no GPUs for training": (
        {"overrides": {"schedule.max_steps_off_policy": 1, "schedule.rollout_share": 0.99}},
        "schedule.rollout_share",
        ["for training", "0.875"],
    ),
    "no GPUs for rollouts": (
        {"overrides": {"schedule.max_steps_off_policy": 1, "schedule.rollout_share": 0.05}},
        "schedule.rollout_share",
        ["for rollouts"],
    ),
    "a pool of one": (
        {"gpus": 1, "overrides": {"schedule.max_steps_off_policy": 1}},
        "cluster.gpus",
        ["at least 2", "pool_split"],
    ),
    "no cached price": (
        {"prices": "2026-01-05", "overrides": {"workload.turns": 3}},
        "prices.cached_prefill",
        ["2026-01-05", "--assumptions published", "revised,-cached_prefill"],
    ),
    "no minibatches": ({"schedule": "stream_minibatch"}, "schedule.minibatches", ["--schedule.minibatches"]),
    "a trainer without room": (
        {"training": "full", "model": "Qwen/Qwen3-32B", "prices": "2026-01-05", "gpus": 4},
        "cluster.gpus",
        ["the trainer", "needs 7 GPUs"],
    ),
    "a model off the page": (
        {"assumptions": {"edition": "published", "dated_prices": False}, "model": "Qwen/Qwen3.5-9B"},
        "published_prices.prefill",
        ["one table"],
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_it_is_refused_by_name(name):
    chosen, path, words = REFUSALS[name]
    with pytest.raises(tn.ConfigError) as caught:
        revised(**chosen)
    paths = [problem.path for problem in caught.value.problems]
    assert paths[0] == path and (len(paths) == 1 or name == "a model off the page")
    assert all(word in str(caught.value) for word in words)


def test_the_way_out_works():
    chosen = {"prices": "2026-01-05", "overrides": {"workload.turns": 3}}
    without = revised(**chosen, assumptions={"cached_prefill": False})
    assert without.assumptions.edition == "revised without cached_prefill"
    assert revised(**chosen, assumptions="published").assumptions == Assumptions()
    assert tn.estimate(without).tinker.cached_prefill is None


@pytest.mark.parametrize("switch", SWITCHES)
def test_each_switch_names_what_a_hand_made_configuration_lacks(switch):
    config = copy_with(hand_config(), {"assumptions": Assumptions(**{switch: switch != "dated_prices"})})
    named = " ".join(f"{problem.path} {problem.allowed}" for problem in problems_of(config))
    lacking = {
        "dated_prices": "published_prices.sample",
        "cached_prefill": "workload.cache_hit_turns",
        "whole_sequences": "workload.strips_thinking",
        "experts_hit": "model.expert_bytes",
        "batch_roof": "model.blocks",
        "itemised_memory": "model.kv_heads",
        "mfu_surface": "cluster.trainer.mfu_dense",
        "train_flop": "model.attention_flops",
        "long_tail": "workload.length_p99_over_p50",
        "step_remainder": "cluster.trainer.fixed_seconds",
    }
    assert (lacking[switch] in named) if switch in lacking else named == ""


def test_a_model_without_an_architecture_is_one_problem():
    with pytest.raises(tn.ConfigError) as caught:
        tn.replace(copy_with(hand_config(), {"assumptions": Assumptions(experts_hit=True, batch_roof=True)}), {})
    of_model = [problem for problem in caught.value.problems if problem.path.startswith("model.")]
    assert len(of_model) == 1 and "model.expert_bytes" in of_model[0].allowed and "-batch_roof" in of_model[0].hint


@pytest.mark.parametrize("width", [1.0, 2.0, 8.0])
def test_the_check_counts_what_the_formula_counts(width):
    config = revised(overrides={"cluster.engine.tensor_parallel": width})
    with x64():
        model = rollout_model(config, config.assumptions)
        cluster, _ = cluster_figures(config, config.assumptions, model, False)
        fits = int(np.floor(float(concurrency(sequence_tokens(config.workload), model, cluster))))
    tn.replace(config, {"cluster.engine.sequences": fits})
    with pytest.raises(tn.ConfigError, match=f"allows {fits} at a time"):
        tn.replace(config, {"cluster.engine.sequences": fits + 1})


def test_arrays_are_taken_unchecked():
    def total(gpus):
        return tn.cost_model.evaluate(tn.replace(revised(), {"cluster.gpus": gpus})).self_hosted.total

    with x64():
        assert np.isfinite(np.asarray(jax.jit(total)(np.float64(8.0))))


@pytest.mark.parametrize(
    ("given", "edition"),
    [
        ("published", "published"),
        ("revised", "revised"),
        ("kv_bytes, experts-hit", "published with kv_bytes and experts_hit"),
        ("revised,-cached_prefill", "revised without cached_prefill"),
        ("-cached_prefill", "revised without cached_prefill"),
        ({"kv_bytes": True}, "published with kv_bytes"),
        ({"cached_prefill": False, "long_tail": False}, "revised without cached_prefill and long_tail"),
        ({"edition": "published", "dated_prices": False}, "published without dated_prices"),
    ],
)
def test_assumptions_as_people_write_them(given, edition):
    parsed = Assumptions.parse(given)
    assert parsed.edition == edition
    assert tn.Config.from_toml(revised(assumptions=parsed).to_toml()).assumptions == parsed


@pytest.mark.parametrize(
    "given", ["hopeful", "revised, hopeful", {"hopeful": True}, {"edition": "hopeful"}, {"kv_bytes": 3}]
)
def test_unknown_assumptions_are_named(given):
    with pytest.raises(tn.TinkerNomicsError, match=r"hopeful|kv_bytes"):
        Assumptions.parse(given)
