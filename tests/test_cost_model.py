"""The whole of `evaluate`: against the oracle, under jit, vmap and grad, at every switch value, with one trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from hand_config import hand_config
from random_configs import random_values, row

import tinker_nomics as tn
from tinker_nomics import cost_model
from tinker_nomics.assumptions import Assumptions
from tinker_nomics.boundary import x64
from tinker_nomics.config import Config, copy_with, replace, set_paths
from tinker_nomics.outputs import PUBLISHED_OUTPUTS, by_path
from tinker_nomics.parameters import registry

COUNT = 2000
TOTALS = ("tinker.total", "self_hosted.total", "self_hosted.hours", "difference.total", "self_hosted.overlap_speedup")


def _with(config: Config, values: dict, choices: oracle.Choices) -> Config:
    switches = Assumptions(**dict.fromkeys(choices.switches, True))
    shaped = set_paths(config, {**values, "schedule.kind": choices.schedule, "lora.training": choices.training})
    return copy_with(shaped, {"assumptions": switches})


CHOICES = {
    "published": oracle.PUBLISHED,
    "full": oracle.Choices(training="full"),
    "stream_minibatch": oracle.Choices(schedule="stream_minibatch"),
    "architecture": oracle.Choices(switches=frozenset({"kv_bytes", "lora_parameters"})),
}


@pytest.mark.parametrize("name", CHOICES)
def test_evaluate_equals_the_oracle(name):
    choices, values = CHOICES[name], random_values(COUNT, seed=7)
    traced = jax.jit(lambda v: by_path(cost_model.evaluate(_with(hand_config(), v, choices))))
    with x64():
        got = {name: np.broadcast_to(np.asarray(value), COUNT) for name, value in traced(values).items()}
    rows = [row(values, index) for index in range(COUNT)]
    want = [oracle.evaluate(each, choices) for each in rows]
    scales = [oracle.difference_scales(each, choices) for each in rows]
    assert set(got) == set(want[0])
    for output, array in got.items():
        expected = np.array([each[output] for each in want])
        atol = 1e-12 * np.array([each[output] for each in scales]) if output in scales[0] else 0.0
        assert np.all(np.abs(array - expected) <= 1e-12 * np.abs(expected) + atol), output


def test_the_vectorised_oracle_is_the_plain_one():
    values = random_values(200, seed=3)
    at_once = oracle.evaluate(values, ops=oracle.NUMPY)
    for index in range(0, 200, 10):
        for name, value in oracle.evaluate(row(values, index)).items():
            assert np.broadcast_to(at_once[name], 200)[index] == pytest.approx(value, rel=1e-13, abs=1e-9)


def test_estimate_equals_the_oracle_and_names_every_output():
    config = hand_config()
    values = {**config.to_dict(), "prices.cached_prefill": 0.0}
    got = by_path(tn.estimate(config))
    assert set(got) == set(PUBLISHED_OUTPUTS)
    for name, value in oracle.evaluate(values).items():
        assert got[name] == pytest.approx(value, rel=1e-12, abs=1e-9)
        assert type(got[name]) is float


# ---- gradients -------------------------------------------------------------------------------------------------------


def _far_from_kinks(values: dict[str, np.ndarray]) -> np.ndarray:
    out, scales = oracle.evaluate(values, ops=oracle.NUMPY), oracle.difference_scales(values, ops=oracle.NUMPY)
    far = np.ones(len(values["lora.rank"]), bool)
    for margin in ("branches.decode_roof", "branches.longer_phase"):
        far &= np.abs(out[margin]) > 1e-3 * scales[margin]
    return far


def test_gradients_equal_central_differences():
    values = random_values(400, seed=11)
    # k and the counts are differentiated as the continuous numbers that the formulas take them for, away from jumps
    values["schedule.max_steps_off_policy"] += 0.3
    values = {path: column[_far_from_kinks(values)] for path, column in values.items()}
    count = len(values["lora.rank"])
    assert count > 300

    def totals(v):
        named = by_path(cost_model.evaluate(set_paths(hand_config(), v)))
        return jnp.stack([named[output] for output in TOTALS])

    with x64():
        jacobian = jax.jit(jax.vmap(jax.jacrev(totals)))(values)
    middle = oracle.evaluate(values, ops=oracle.NUMPY)
    sizes = {output: np.abs(middle[output]) for output in TOTALS} | oracle.difference_scales(values, ops=oracle.NUMPY)
    for path in registry():
        step = 1e-5 * np.where(values[path] == 0, 1.0, values[path])
        up, down = ({**values, path: values[path] + sign * step} for sign in (1, -1))
        higher, lower = (oracle.evaluate(v, ops=oracle.NUMPY) for v in (up, down))
        for place, output in enumerate(TOTALS):
            difference = np.broadcast_to((higher[output] - lower[output]) / (2 * step), count)
            error = np.abs(np.asarray(jacobian[path])[:, place] - difference)
            atol = 2e-15 * sizes[output] / step  # what rounding makes of a difference quotient
            assert np.all(error <= 1e-6 * np.abs(difference) + atol), (output, path)


def _at_the_roof() -> dict[str, float]:
    """A batch at which the two sides of the decode roof are equal."""
    v = {**hand_config().to_dict(), "prices.cached_prefill": 0.0}
    kv, compute = oracle.kv_bytes_heuristic(v), oracle.compute_side(v)
    context = 200.0
    # without growth or turns the context is P + L/2, so L is what makes it so
    batch = compute * v["model.weight_bytes"] / (v["cluster.chip.bandwidth"] - compute * kv * context)
    return {
        "workload.length_growth": 1.0,
        "workload.prompt_tokens": context - 50,
        "workload.completion_tokens": 100.0,
        "workload.rollouts_per_prompt": batch * v["cluster.gpus"] / v["workload.prompts_per_step"],
    }


SWITCH_VALUES = {
    "k = 0": {"schedule.max_steps_off_policy": 0.0},
    "k = 1": {"schedule.max_steps_off_policy": 1.0},
    "k = 2": {"schedule.max_steps_off_policy": 2.0},
    "N = 1": {"workload.turns": 1.0, "workload.observation_tokens": 0.0},
    "decode roof": _at_the_roof(),
    "GPU count at its ceil": {"model.parameters": 80e9 * 3 / 7.2, "cluster.gpus": 3.0},
    "two GPUs": {"model.parameters": 80e9 * 2 / 7.2, "cluster.gpus": 2.0},
    "nothing fails, nothing cached": {"workload.failure_rate": 0.0, "cluster.prefix_cache_hit_rate": 0.0},
    "all cached": {"cluster.prefix_cache_hit_rate": 1.0},
}


@cache
def _slopes(derivative):
    """The compiled Jacobian of every output to every leaf, as a function of the vector of leaves."""
    structure = jax.tree.structure(hand_config())

    def outputs(vector):
        named = by_path(cost_model.evaluate(jax.tree.unflatten(structure, list(vector))))
        return jnp.stack([jnp.asarray(value) for value in named.values()])

    return jax.jit(derivative(outputs))


@pytest.mark.parametrize("name", SWITCH_VALUES)
@pytest.mark.parametrize("derivative", [jax.jacrev, jax.jacfwd])
def test_slopes_are_finite_at_every_switch_value(name, derivative):
    leaves = np.array(jax.tree.leaves(set_paths(hand_config(), SWITCH_VALUES[name])))
    with x64():
        slopes = np.asarray(_slopes(derivative)(leaves))
    assert slopes.shape == (len(PUBLISHED_OUTPUTS), len(leaves))
    assert np.isfinite(slopes).all()


def test_the_roof_is_where_it_is_said_to_be():
    at = by_path(tn.estimate(set_paths(hand_config(), SWITCH_VALUES["decode roof"])))
    speed = oracle.compute_side(hand_config().to_dict())
    assert abs(at["branches.decode_roof"]) < 1e-9 * speed
    whole = by_path(tn.estimate(set_paths(hand_config(), SWITCH_VALUES["GPU count at its ceil"])))
    assert whole["memory.min_gpus"] in (3, 4)
    assert min(abs(whole["branches.min_gpus_ceil"] - end) for end in (0, 1)) < 1e-12


# ---- transformations -------------------------------------------------------------------------------------------------


def test_users_can_jit_vmap_and_grad_evaluate():
    config = hand_config()
    with x64():
        plain = float(cost_model.evaluate(config).tinker.total)
        assert float(jax.jit(cost_model.evaluate)(config).tinker.total) == pytest.approx(plain, rel=1e-14)
        slope = jax.jit(jax.grad(lambda c: cost_model.evaluate(c).tinker.total))(config)
        assert float(slope.prices.sample) == pytest.approx(64 * 16 * 180 * 640 / 1e6, rel=1e-12)
        steps = np.array([10.0, 100.0, 1000.0])
        by_steps = jax.vmap(lambda s: cost_model.evaluate(tn.replace(config, {"workload.steps": s})).tinker.total)
        np.testing.assert_allclose(jax.jit(by_steps)(steps), plain * steps / 180, rtol=1e-13)


def test_a_traced_switch_selects_between_the_editions():
    config = hand_config()
    with x64():
        cache_bytes = jax.vmap(lambda on: cost_model.evaluate(config, Assumptions(kv_bytes=on)).memory.kv_cache_bytes)
        both = jax.jit(cache_bytes)(np.array([False, True]))
    each = [tn.estimate(copy_with(config, {"assumptions": Assumptions(kv_bytes=on)})) for on in (False, True)]
    np.testing.assert_allclose(both, [e.memory.kv_cache_bytes for e in each], rtol=1e-14)
    assert each[0].memory.kv_cache_bytes != each[1].memory.kv_cache_bytes


def test_estimates_of_one_structure_share_one_trace(monkeypatch):
    calls = []
    whole = cost_model.evaluate
    monkeypatch.setattr(cost_model, "evaluate", lambda *a, **k: calls.append(1) or whole(*a, **k))
    cost_model._flat_model.cache_clear()
    tn.estimate(hand_config())
    traced = len(calls)
    for steps in (5, 50, 500):
        tn.estimate(replace(hand_config(), {"workload.steps": steps, "lora.rank": steps}))
    assert 1 <= traced <= 2 and len(calls) == traced  # the shape of the result, and the compiled function


_CHILD = """
import json, sys
import jax
jax.config.update("jax_enable_x64", bool(int(sys.argv[1])))
sys.path.insert(0, sys.argv[2])
from hand_config import hand_config
import tinker_nomics as tn
before = jax.config.jax_enable_x64
result = tn.estimate(hand_config()).to_dict()
batch = tn.sweep(hand_config(), {"workload.steps": [10, 20.5e0 * 2, 3000], "cluster.mfu": [0.1, 0.3]})
result["batch"] = batch["difference.total"].tolist()
assert jax.config.jax_enable_x64 == before == bool(int(sys.argv[1]))
assert jax.numpy.ones(1).dtype == ("float64" if before else "float32")
print(json.dumps(result))
"""


def test_the_users_precision_flag_changes_no_digit():
    here = os.path.dirname(__file__)
    answers = []
    for flag in "01":
        done = subprocess.run([sys.executable, "-c", _CHILD, flag, here], capture_output=True, text=True, check=True)
        answers.append(json.loads(done.stdout))
    assert answers[0] == answers[1]
    mine = tn.estimate(hand_config()).to_dict()
    assert {group: answers[0][group] for group in mine} == mine
