"""Parameters that a run gives and does not read: the registry says which, and the model's outputs agree."""

from __future__ import annotations

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tinker_nomics as tn
from tinker_nomics.assumptions import SWITCHES
from tinker_nomics.boundary import x64
from tinker_nomics.cli.main import main
from tinker_nomics.config import get
from tinker_nomics.cost_model import evaluate
from tinker_nomics.one_shot import one_shot
from tinker_nomics.parameters import registry
from tinker_nomics.unread import unread_overrides, used, why_unread

DENSE, MOE = "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B"
# a run in which everything that an edition reads makes a difference
RICH = {
    "workload.completion_tokens": 300,
    "workload.max_completion_tokens": 2000,
    "workload.turns": 3,
    "workload.observation_tokens": 100,
    "workload.failure_rate": 0.1,
    "workload.cache_hit_group": 0.5,
    "cluster.prefix_cache_hit_rate": 0.1,
    "cluster.engine.tensor_parallel": 8,
    "cluster.engine.memory_fraction": 0.6,
    "cluster.engine.sequences": 5,
    "cluster.trainer.reference_parameters": 1e9,
    "cluster.trainer.reward_parameters": 1e9,
    "cluster.trainer.tokens_in_flight": 8000,
    "cluster.trainer.buffer_bytes": 60e9,
    "sandbox.seconds": 5,
    "sandbox.cores": 1,
    "sandbox.gib": 1,
    "sandbox.price_per_core_second": 1e-5,
    "sandbox.price_per_gib_second": 1e-6,
    "evaluation.sequences": 100,
    "schedule.rollout_share": 0.5,
    "schedule.rho": 0.8,
    "schedule.variation": 0.5,
    "schedule.minibatches": 4,
    "prices.cached_prefill": 0.05,
    "prices.prefill": 0.2,
    "prices.sample": 0.6,
    "prices.train": 0.6,
}


def _run(model: str, assumptions, kind: str, training: str = "lora") -> tn.Config:
    k = {"schedule.max_steps_off_policy": 2} if kind == "async" else {}
    return tn.Config.from_recipe(
        "math_rl",
        model=model,
        gpus=64,
        prices="2026-01-05",
        assumptions=assumptions,
        schedule=kind,
        training=training,
        overrides={**RICH, **k},
    )


def _moving(config: tn.Config) -> dict[str, bool]:
    """{path: whether any output, a margin included, moves with it}."""
    leaves, structure = jax.tree.flatten(config)
    paths = [path for path in registry() if get(config, path) is not None]

    def outputs(vector):
        found = jax.tree.leaves(evaluate(jax.tree.unflatten(structure, list(vector))))
        return jnp.stack([jnp.asarray(value, dtype=vector.dtype) for value in found])

    base = np.array(leaves, dtype=np.float64)
    here = np.eye(len(base), dtype=bool)
    other = [np.where(here, scale * base + more, base) for scale, more in ((1.3, 0.01), (0.7, 0.0))]
    with x64():
        found = np.asarray(one_shot(jax.vmap(outputs))(np.concatenate([base[None], *other])))
    moved = ~np.isclose(found[1:], found[0], rtol=1e-9, atol=1e-12, equal_nan=True)
    return dict(zip(paths, moved.reshape(2, len(paths), -1).any(axis=(0, 2)).tolist(), strict=True))


EVERY = [
    *itertools.product((DENSE, MOE), ("published", "revised"), ("sync", "async"), ("lora", "full")),
    *itertools.product((DENSE,), ("published", "revised"), ("partial", "stream_minibatch"), ("lora",)),
]


def test_what_the_registry_calls_unread_moves_nothing_and_all_else_moves_something():
    moved: set[str] = set()
    for edition_of_run in EVERY:
        config = _run(*edition_of_run)
        moving = _moving(config)
        silent = {path for path in moving if not used(config, path)}
        assert not [path for path in silent if moving[path]], edition_of_run
        # a figure of the model may be zero for a model, or cancel; across these runs each figure counts somewhere
        moved |= {path for path, moves in moving.items() if moves}
        idle = {path for path, moves in moving.items() if not moves} - silent
        idle -= {path for path in idle if path.startswith(("model.", "cluster.chip.", "cluster.engine."))}
        assert idle <= {"schedule.max_steps_off_policy"}, edition_of_run  # an on-policy schedule takes k = 0 alone
    windows = {"model.window_kv_bytes_per_token", "model.window", "model.window_attention_flops"}
    recurrent = {"model.state_bytes_per_sequence"}
    absent = {
        *windows,
        *recurrent,
        "cluster.engine.memory_fraction",
        *(p for p in registry() if p.startswith("published_")),
    }
    assert set(registry()) - moved <= absent


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_single_switch_reads_what_the_registry_says(switch):
    for assumptions, kind in ((f"published,{switch}", "async"), (f"revised,-{switch}", "stream_minibatch")):
        config = _run(DENSE, assumptions, kind)
        moving = _moving(config)
        assert not [path for path, moves in moving.items() if moves and not used(config, path)], assumptions


def test_what_takes_its_place_is_named():
    revised, published = _run(DENSE, "revised", "sync"), _run(DENSE, "published", "sync")
    assert "cluster.trainer.mfu_dense takes its place" in str(why_unread(revised, "cluster.mfu"))
    assert "revised,-mfu_surface" in str(why_unread(revised, "cluster.mfu"))
    assert "cluster.mfu takes its place" in str(why_unread(published, "cluster.trainer.mfu_dense"))
    assert "published,mfu_surface" in str(why_unread(published, "cluster.trainer.mfu_dense"))
    assert "cluster.trainer.mfu_moe takes its place" in str(why_unread(_run(MOE, "revised", "sync"), "cluster.mfu"))
    assert "model.experts is 0 here" in str(why_unread(revised, "cluster.trainer.mfu_moe"))
    assert "only the schedule async reads it" in str(why_unread(revised, "schedule.rho"))
    full = _run(DENSE, "revised", "sync", "full")
    assert "lora.training is full" in str(why_unread(full, "lora.rank"))
    assert why_unread(revised, "workload.steps") is None
    for config in (revised, published, full):
        for path, _ in unread_overrides(config):
            assert all(used(config, other) or why_unread(config, other) for other in registry()[path].instead)


RUN = ["math_rl", "--model", "Qwen3-8B", "--prices", "2026-01-05"]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("TINKER_NOMICS_CACHE", "off")


@pytest.mark.parametrize(
    ("edition", "flag", "path"),
    [
        ("revised", "--cluster.mfu", "cluster.mfu"),
        ("published", "--cluster.trainer.mfu-dense", "cluster.trainer.mfu_dense"),
    ],
)
def test_it_is_said_on_standard_error_and_in_the_result(capsys, edition, flag, path):
    assert main(["estimate", *RUN, "--assumptions", edition, flag, "0.4", "--json"]) == 0
    captured = capsys.readouterr()
    assert f"note: {path} changes nothing: the edition is {edition}" in captured.err
    assert any(note.startswith(f"{path} changes nothing") for note in json.loads(captured.out)["notes"])
    assert main(["sensitivity", *RUN, "--assumptions", edition, flag, "0.4"]) == 0
    captured = capsys.readouterr()
    assert path in captured.err and f"{path} changes nothing" in captured.out


def test_nothing_is_said_where_all_is_read(capsys):
    assert main(["config", *RUN, "--cluster.trainer.mfu-dense", "0.4", "--gpus", "16"]) == 0
    assert capsys.readouterr().err == ""


def test_varying_it_is_refused_by_name(capsys):
    revised = tn.Config.from_recipe("math_rl", model=DENSE, prices="2026-01-05", assumptions="revised")
    given = {"cluster.mfu": tn.Uniform(0.1, 0.3)}
    for ask in (
        lambda: tn.monte_carlo(revised, given, samples=1024, progress=False),
        lambda: tn.sensitivity(revised, distributions=given),
        lambda: tn.sweep(revised, {"cluster.mfu": [0.1, 0.2]}),
    ):
        with pytest.raises(tn.ConfigError, match=r"cluster\.mfu = .*cluster\.trainer\.mfu_dense takes its place"):
            ask()
    assert main(["sobol", *RUN, "--uncertain", "cluster.mfu=uniform(0.1,0.3)", "--samples", "1024"]) == 2
    assert "mfu_dense" in capsys.readouterr().err


def test_a_condition_that_varies_too_is_no_reason():
    revised = tn.Config.from_recipe("math_rl", model=DENSE, prices="2026-01-05", assumptions="revised")
    axes = {"schedule.max_steps_off_policy": [0, 2], "schedule.rho": [0.5, 1.5], "schedule.variation": [0.5]}
    batch = tn.sweep(revised, axes)
    bills = batch["tinker.total"][..., 0]
    assert bills[0, 0] == bills[0, 1] and bills[1, 0] != bills[1, 1]
    with pytest.raises(tn.ConfigError, match="only the schedule async reads it"):
        tn.sweep(revised, {"schedule.rho": [0.5, 1.5], "schedule.variation": [0.5]})
    by_model = tn.sweep(revised, {"model": [DENSE, MOE], "cluster.trainer.mfu_moe": [0.1, 0.2]})
    hours = by_model["self_hosted.hours"]
    assert hours[0, 0] == hours[0, 1] and hours[1, 0] > hours[1, 1]


def test_what_is_given_as_the_rows_give_it_is_not_listed():
    config = tn.Config.from_recipe(
        "math_rl", model=DENSE, prices="2026-01-05", overrides={"cluster.gpus": 8, "lora.rank": 64}
    )
    assert config.provenance.overridden == ("cluster.gpus", "lora.rank")
    assert "overridden: lora.rank" in tn.estimate(config).notes
    back = tn.replace(config, {"workload.steps": 180, "cluster.gpus": 16})
    assert "overridden: cluster.gpus, lora.rank" in tn.estimate(back).notes
    assert "workload.steps" in back.provenance.restated
