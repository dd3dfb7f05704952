"""What an estimate says where a wider engine than the narrowest possible one is cheaper."""

from __future__ import annotations

import json

import pytest

import tinker_nomics as tn
from tinker_nomics.cli.main import main
from tinker_nomics.cost_sensitivity.engine_widths import WIDTH, width_notes

LONG = {"workload.completion_tokens": 4096, "workload.max_completion_tokens": 16384}


def recipe(model: str = "Qwen/Qwen3-32B", **more) -> tn.Config:
    chosen = {"prices": "2026-05-01", "overrides": LONG, **more}
    return tn.Config.from_recipe("math_rl", model=model, **chosen)


@pytest.mark.parametrize("model", ["Qwen/Qwen3-32B", "Qwen/Qwen3-8B"])
def test_the_note_names_the_cheapest_width_and_what_it_costs(model):
    config = recipe(model)
    priced = tn.estimate(config)
    costs = {priced.memory.engine_gpus: priced.self_hosted.total}
    for width in (2.0, 4.0, 8.0):
        if width not in costs:
            costs[width] = tn.estimate(tn.replace(config, {WIDTH: width})).self_hosted.total
    best = min(costs, key=costs.__getitem__)
    notes = width_notes(config, priced)
    if costs[best] > 0.95 * priced.self_hosted.total:
        assert notes == []
    else:
        (note,) = notes
        assert f"engines of {best:g} GPUs instead of {priced.memory.engine_gpus:g}" in note
        assert f"${costs[best]:,.2f}" in note and f"--cluster.engine.tensor-parallel {best:g}" in note


def test_it_is_on_the_screen_and_in_the_json(capsys):
    config = recipe()
    assert "engines of 4 GPUs instead of 2" in " ".join(str(tn.estimate(config)).split())
    flags = ["--model", "Qwen/Qwen3-32B", "--prices", "2026-05-01"]
    flags += [part for path, value in LONG.items() for part in ("--" + path.replace("_", "-"), str(value))]
    assert main(["estimate", "math_rl", *flags, "--json"]) == 0
    assert any("engines of 4 GPUs instead of 2" in note for note in json.loads(capsys.readouterr().out)["notes"])


def test_nothing_is_said_of_a_width_that_is_given_or_that_no_other_can_replace():
    given = tn.replace(recipe(), {WIDTH: 2})
    assert width_notes(given, tn.estimate(given)) == []
    published = recipe(assumptions="published")
    assert width_notes(published, tn.estimate(published)) == []
    alone = recipe("Qwen/Qwen3-8B", gpus=1)
    assert width_notes(alone, tn.estimate(alone)) == []
    free = tn.replace(recipe(), {"cluster.price_per_gpu_hour": 0})
    assert width_notes(free, tn.estimate(free)) == []
