"""The revised edition as a whole: against its plain twin, switch by switch, at its kinks, and beside the published one."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import revised_oracle
from hand_config import hand_config
from jax.extend.core import jaxprs_in_params
from random_configs import random_values, row

import tinker_nomics as tn
from tinker_nomics import cost_model
from tinker_nomics.assumptions import SWITCHES, Assumptions
from tinker_nomics.boundary import x64
from tinker_nomics.config import Config, get, set_paths
from tinker_nomics.cost_parts import own_run
from tinker_nomics.one_shot import one_shot
from tinker_nomics.outputs import UNITS, by_path
from tinker_nomics.parameters import registry

COUNT = 600


def recipe(**more) -> Config:
    chosen = {"model": "Qwen/Qwen3-8B", "prices": "2026-10-07", "assumptions": "revised", **more}
    return tn.Config.from_recipe("math_rl", **chosen)


def shaped(values: dict, kind: str, training: str = "lora") -> Config:
    return set_paths(hand_config(), {**values, "schedule.kind": kind, "lora.training": training})


@pytest.mark.parametrize(
    ("kind", "training"), [("partial", "lora"), ("partial", "full"), ("async", "lora"), ("sync", "full")]
)
def test_random_mixtures_of_switches_equal_the_plain_twin(kind, training):
    values = random_values(COUNT, seed=len(kind) + len(training))
    if kind != "async":
        values["schedule.max_steps_off_policy"] = np.zeros(COUNT)
    on = np.random.default_rng(1).random((COUNT, len(SWITCHES))) < 0.5
    waits = np.full(COUNT, kind == "sync") | ((kind == "async") & (values["schedule.max_steps_off_policy"] < 1))
    on[waits, SWITCHES.index("long_tail")] = False
    on[waits, SWITCHES.index("itemised_memory")] = False  # its twin lets what does not fit take turns in equal parts

    def totals(v, switches):
        estimate = cost_model.evaluate(shaped(v, kind, training), Assumptions(**dict(zip(SWITCHES, switches))))
        return estimate.tinker.total, estimate.self_hosted.total

    with x64():
        tinker, own = map(np.asarray, jax.jit(jax.vmap(totals))(values, on))
    for index in range(COUNT):
        v, names = row(values, index), {name for name, flag in zip(SWITCHES, on[index]) if flag}
        assert tinker[index] == pytest.approx(revised_oracle.tinker_total(v, names, kind == "async"), rel=1e-9), names
        assert own[index] == pytest.approx(revised_oracle.own_total(v, names, kind, training), rel=1e-9), names


@pytest.mark.parametrize("kind", ["auto", "stream_minibatch"])
def test_steps_without_any_deviation_are_the_published_chapters(kind, monkeypatch):
    values = random_values(300, seed=5)

    def both(v):
        published = cost_model.evaluate(shaped(v, kind), Assumptions())
        monkeypatch.setattr(cost_model, "has_steps", lambda switches: True)
        stepped = cost_model.evaluate(shaped(v, kind), Assumptions())
        monkeypatch.setattr(cost_model, "has_steps", own_run.has_steps)
        return by_path(published), by_path(stepped)

    with x64():
        published, stepped = jax.jit(both)(values)
    for name in (name for name in published if name.startswith(("tinker", "self_hosted", "memory", "tokens"))):
        np.testing.assert_allclose(stepped[name], published[name], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_traced_switch_gives_either_side(switch):
    config = recipe(
        overrides={
            "schedule.max_steps_off_policy": 2,
            "schedule.rho": 0.8,
            "schedule.variation": 0.5,
            "workload.turns": 3,
            "workload.completion_tokens": 300,
        }
    )
    others = Assumptions.parse("revised")

    def total(flag):
        estimate = cost_model.evaluate(config, Assumptions(**{**vars(others), switch: flag}))
        return jnp.stack([estimate.tinker.total, estimate.self_hosted.total])

    with x64():
        traced = np.asarray(jax.jit(jax.vmap(total))(np.array([False, True])))
        each = [np.asarray(jax.jit(lambda flag=flag: total(flag))()) for flag in (False, True)]
    np.testing.assert_allclose(traced, each, rtol=1e-12)


def test_evaluations_are_billed_on_both_sides_and_only_by_their_switch():
    # a full batch sampled again after every step, of which nothing is trained: rollout and prefill are paid twice
    asked = {"evaluation.sequences": 1024, "evaluation.every": 1, "schedule.rho": 1.0, "schedule.variation": 1.0}
    for more in ({}, {"schedule.max_steps_off_policy": 2}):
        config = recipe(overrides={**asked, **more})
        plain, evaluated = (tn.estimate(tn.replace(config, {"evaluation.sequences": n})) for n in (0, 1024))
        again = 1 / (1 - plain.staleness.discarded)
        extra = (plain.tinker.rollout + plain.tinker.prefill) / again  # no queue throws an evaluation away
        assert evaluated.tinker.evaluation == pytest.approx(extra, rel=1e-12)
        assert evaluated.tinker.total - plain.tinker.total == pytest.approx(extra, rel=1e-9)
        assert evaluated.tokens.evaluation == plain.tokens.rollout == evaluated.tokens.rollout
        assert evaluated.tokens.evaluation_prefill == plain.tokens.prefill
        assert evaluated.self_hosted.total > plain.self_hosted.total
        assert plain.tinker.evaluation == 0
    published = tn.estimate(recipe(assumptions="published", overrides={}))
    assert published.tinker.evaluation is None
    line = next(row for row in tn.explain(recipe(overrides=asked)).lines if row.deviation.switch == "step_remainder")
    assert line.tinker > 0


def test_an_asynchronous_run_at_k_0_overlaps_nothing_on_own_gpus():
    known = {"schedule.rho": 0.5, "schedule.variation": 0.5, "workload.completion_tokens": 300}
    queued, synchronous = (tn.estimate(recipe(schedule=kind, overrides=known)) for kind in ("async", "sync"))
    assert queued.self_hosted.total == pytest.approx(synchronous.self_hosted.total, rel=1e-12)
    assert queued.self_hosted.share == 1 and queued.self_hosted.overlap_speedup == 1
    assert queued.memory.min_gpus == synchronous.memory.min_gpus
    assert queued.staleness.discarded > 0.5 and synchronous.staleness.discarded == 0
    assert any("async at k = 0" in note for note in queued.notes)
    ahead = tn.estimate(recipe(schedule="async", overrides={**known, "schedule.max_steps_off_policy": 1}))
    assert ahead.self_hosted.share < 1
    assert not any("async at k = 0" in note for note in ahead.notes)


def test_every_output_and_branch_has_a_unit_and_words():
    from tinker_nomics.cost_sensitivity.branch_words import _WORDS

    for more in ({}, {"schedule": "async"}, {"schedule": "stream_minibatch", "overrides": {"schedule.minibatches": 4}}):
        named = by_path(tn.estimate(recipe(**more)))
        assert set(named) <= set(UNITS)
        assert all(np.isfinite(value) for value in named.values())
        assert {name.split(".")[1] for name in named if name.startswith("branches.")} <= set(_WORDS)


SWITCH_VALUES = {
    "k = 0": {"schedule.max_steps_off_policy": 0.0},
    "k = 1": {"schedule.max_steps_off_policy": 1.0},
    "k = 2": {"schedule.max_steps_off_policy": 2.0},
    "a mean at its cap": {"workload.max_completion_tokens": 640.0},
    "no spread": {"workload.length_p99_over_p50": 1.0},
    "nothing cached": {"workload.cache_hit_turns": 0.0},
    "several turns": {"workload.turns": 4.0, "workload.observation_tokens": 100.0},
    "one sequence fits": {"cluster.engine.sequences": 1.0},
    "no evaluation": {"evaluation.sequences": 0.0, "cluster.trainer.fixed_seconds": 0.0},
    "full speed": {"cluster.trainer.mfu_dense": 1.0},
}


TOTALS = ("tinker.total", "self_hosted.total", "self_hosted.hours")


@pytest.fixture(scope="module")
def slopes():
    """A recipe, and the compiled totals and their Jacobian to every leaf."""
    config = recipe(
        overrides={
            "schedule.rho": 0.8,
            "schedule.variation": 0.5,
            "cluster.engine.sequences": 64,
            "workload.max_completion_tokens": 4096,
            "cluster.engine.tensor_parallel": 1,
        }
    )
    structure = jax.tree.structure(config)

    def outputs(vector):
        estimate = cost_model.evaluate(jax.tree.unflatten(structure, list(vector)))
        return jnp.stack([jnp.asarray(estimate[name]) for name in TOTALS])

    return config, one_shot(jax.jacrev(outputs)), one_shot(outputs)  # compiling is what takes long here


@pytest.mark.parametrize("name", SWITCH_VALUES)
def test_slopes_are_finite_at_every_switch_value(slopes, name):
    config, jacobian, _ = slopes
    leaves = np.array(jax.tree.leaves(set_paths(config, SWITCH_VALUES[name])))
    with x64():
        assert np.isfinite(np.asarray(jacobian(leaves))).all()


@pytest.mark.parametrize("k", [0.0, 2.0])
def test_slopes_equal_central_differences(slopes, k):
    config, jacobian, outputs = slopes
    config = set_paths(config, {"schedule.max_steps_off_policy": k, "cluster.engine.sequences": 100.0})
    leaves = np.array(jax.tree.leaves(config))
    with x64():
        exact, value = np.asarray(jacobian(leaves)), np.asarray(outputs(leaves))
        for place, x in enumerate(leaves):
            if x in (0, k):
                continue
            step = 1e-6 * abs(x) * (np.arange(len(leaves)) == place)
            numeric = (np.asarray(outputs(leaves + step)) - np.asarray(outputs(leaves - step))) / (2e-6 * abs(x))
            np.testing.assert_allclose(exact[:, place], numeric, rtol=1e-5, atol=1e-9 * value.max() / abs(x))


def test_arrays_broadcast_through_the_revised_edition():
    config = recipe(overrides={"workload.completion_tokens": 300})
    axes = {
        "workload.rollouts_per_prompt": [4, 16],
        "cluster.gpus": [8, 16],
        "workload.completion_tokens": [200, 300],
        "schedule.max_steps_off_policy": [0, 1],
    }
    batch = tn.sweep(config, axes)
    for at in np.ndindex(2, 2, 2, 2):
        point = {path: float(axis[i]) for (path, axis), i in zip(batch.axes.items(), at)}
        single = tn.estimate(tn.replace(config, point))
        assert batch["self_hosted.total"][at] == pytest.approx(single.self_hosted.total, rel=1e-9)
        assert batch["tinker.total"][at] == pytest.approx(single.tinker.total, rel=1e-12)


def test_a_sweep_over_models_with_and_without_windows():
    config = recipe(prices="2026-01-05", gpus=16)
    names = ["Qwen/Qwen3-8B", "openai/gpt-oss-20b"]
    batch = tn.sweep(config, {"model": names})
    for index, name in enumerate(names):
        single = tn.estimate(recipe(prices="2026-01-05", gpus=16, model=name))
        assert batch["self_hosted.total"][index] == pytest.approx(single.self_hosted.total, rel=1e-9)


def test_the_cached_share_of_a_25_turn_agent():
    """Section 2's check: with P = 2000, O = 350, Obs = 750 the cache leaves 0.31 of the sampling bill."""
    agent = {
        "workload.turns": 25,
        "workload.completion_tokens": 350,
        "workload.prompt_tokens": 2000,
        "workload.length_growth": 1,
        "workload.observation_tokens": 750,
        "prices.prefill": 0.13,
        "prices.cached_prefill": 0.026,
        "prices.sample": 0.40,
        "workload.max_completion_tokens": 8192,
    }
    plain = tn.estimate(recipe(overrides=agent, assumptions="published")).tinker
    found = tn.estimate(recipe(overrides=agent)).tinker
    assert (found.prefill + found.rollout) / (plain.prefill + plain.rollout) == pytest.approx(0.31, abs=0.002)
    assert found.cached_prefill == pytest.approx(
        tn.estimate(recipe(overrides=agent)).tokens.cached * 0.026e-6, rel=1e-12
    )


def test_an_unknown_rho_is_a_range_and_not_in_the_total():
    config = recipe(overrides={"schedule.max_steps_off_policy": 2})
    open_end = tn.estimate(config)
    assert 0 <= open_end.staleness.discarded_low < open_end.staleness.discarded_high < 1
    assert open_end.staleness.discarded == 0
    known = tn.estimate(tn.replace(config, {"schedule.rho": 2.0, "schedule.variation": 1.5}))
    assert known.staleness.discarded == pytest.approx(open_end.staleness.discarded_high, rel=1e-12)
    assert known.tinker.total > open_end.tinker.total
    kept, thrown = known.tokens.rollout, known.tokens.discarded
    assert thrown / (kept + thrown) == pytest.approx(known.staleness.discarded, rel=1e-12)


def test_the_estimate_is_one_trace_for_any_numbers(monkeypatch):
    calls = []
    whole = cost_model.evaluate
    monkeypatch.setattr(cost_model, "evaluate", lambda *a, **k: calls.append(1) or whole(*a, **k))
    cost_model._flat_model.cache_clear()
    for steps in (5, 50, 500):
        tn.estimate(recipe(overrides={"workload.steps": steps}))
    assert 1 <= len(calls) <= 2
    cost_model._flat_model.cache_clear()


def test_what_an_edition_does_not_read_changes_nothing():
    """Every parameter that the registry says an edition leaves alone, set to something else."""
    for edition in ("published", "revised"):
        config = recipe(
            assumptions=edition, overrides={"workload.max_completion_tokens": 600, "workload.completion_tokens": 300}
        )
        leaves, structure = jax.tree.flatten(config)

        def totals(vector, structure=structure):
            estimate = cost_model.evaluate(jax.tree.unflatten(structure, list(vector)))
            return jnp.stack([jnp.asarray(estimate[name]) for name in TOTALS])

        program = one_shot(jax.vmap(totals))
        paths = [path for path in registry() if get(config, path) is not None]
        unread = [place for place, path in enumerate(paths) if not registry()[path].read_by(config.assumptions)]
        rows = np.repeat(np.array(leaves)[None], len(unread) + 1, axis=0)
        rows[range(1, len(unread) + 1), unread] = rows[0, unread] * 1.5 + 1
        assert len(unread) > 1
        with x64():
            found = np.asarray(program(rows))
        assert (found == found[0]).all(), edition


@pytest.mark.parametrize("first", ["driver", "user"])
def test_drivers_and_users_of_evaluate_do_not_disturb_each_other(first):
    """A constant that JAX saw in one precision must not come back in the other."""
    code = (
        "import math, jax, tinker_nomics as tn\n"
        "config = tn.Config.from_recipe('math_rl', model='Qwen/Qwen3-8B', assumptions='revised')\n"
        "total = lambda c: tn.cost_model.evaluate(c).self_hosted.total\n"
        "def driver(): return tn.estimate(config).self_hosted.total\n"
        "def user():\n"
        "    slope = jax.grad(total)(config).workload.completion_tokens\n"
        "    assert math.isfinite(float(slope)) and abs(float(jax.jit(total)(config)) / float(total(config)) - 1) < 1e-4\n"
        f"first, second = (driver, user) if {first!r} == 'driver' else (user, driver)\n"
        "first(); second(); print(driver())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    expected = tn.estimate(tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", assumptions="revised"))
    assert float(ran.stdout) == pytest.approx(expected.self_hosted.total, rel=1e-12)


def test_no_array_of_an_estimate_is_long_enough_to_start_threads():
    """XLA's CPU runtime spreads a program over threads, at four times its cost, once an array holds more than 512 bytes."""

    def sizes(jaxpr):
        for equation in jaxpr.eqns:
            yield from (variable.aval.size for variable in (*equation.invars, *equation.outvars))
            for inner in jaxprs_in_params(equation.params):
                yield from sizes(inner)

    for k in (0, 2):
        config = cost_model.known_schedule(recipe(overrides={"schedule.max_steps_off_policy": k}))
        leaves, structure = jax.tree.flatten(config)
        flat, _, pieces = cost_model._flat_model(structure)
        with x64():
            traced = jax.make_jaxpr(flat)([np.array([leaves[place] for place in places]) for places in pieces])
        assert 36 <= max(sizes(traced.jaxpr)) <= 64
