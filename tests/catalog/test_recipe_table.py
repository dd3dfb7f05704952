"""Recipes, sandboxes and reference runs: what they state, and where it comes from."""

from __future__ import annotations

import pytest

from tinker_nomics import catalog
from tinker_nomics.parameters import registry

B, G, L = "workload.prompts_per_step", "workload.rollouts_per_prompt", "workload.completion_tokens"
P, S, N, OBS = "workload.prompt_tokens", "workload.steps", "workload.turns", "workload.observation_tokens"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("math_rl", {B: 64, G: 16, L: 512, P: 200, S: 180, N: 1, "lora.rank": 32, "workload.epochs": 1}),
        ("code_rl", {B: 128, G: 8, L: 24576, S: 190, N: 2, OBS: 750}),
        ("harbor_rl", {B: 8, G: 4, L: 8192, N: 10, OBS: 750}),
        ("search_tool", {B: 512, G: 8, L: 1024, N: 5, OBS: 750}),
        ("rl_basic", {B: 128, G: 16, L: 256, N: 1}),
        ("on_policy_distillation", {B: 1024, G: 4, L: 4096, "lora.rank": 128}),
        ("math_rl_defaults", {B: 100, G: 4, L: 5, S: 100}),
        ("code_rl_defaults", {B: 100, G: 4, L: 4096}),
        ("preference_rlhf", {B: 256, G: 4, L: 1024, "lora.rank": 64}),
        ("sdft", {B: 32, G: 1, L: 2048, "lora.rank": 128}),
    ],
)
def test_the_values_of_the_cookbook(name: str, values: dict[str, float]) -> None:
    recipe = catalog.recipe(name)
    assert {path: recipe.values[path] for path in values} == values


@pytest.mark.parametrize(
    ("name", "absent"),
    [("harbor_rl", {P, S}), ("search_tool", {P, S}), ("rl_basic", {P, S}), ("code_rl", {P}), ("guess_number", {N})],
)
def test_what_a_recipe_does_not_state_is_absent(name: str, absent: set[str]) -> None:
    assert not absent & set(catalog.recipe(name).values)


def test_every_value_has_a_label_and_a_path_of_the_registry() -> None:
    for recipe in catalog.recipes():
        assert set(recipe.values) == set(recipe.labels)
        assert set(recipe.values) | set(recipe.examples) <= set(registry())
        assert "a cap" in recipe.labels[L]
        assert recipe.status == "V" and recipe.source.startswith("tinker-cookbook 0.6.1 tinker_cookbook/recipes/")
        catalog.model(recipe.model)


def test_the_pages_examples_are_labelled_so() -> None:
    assert "calculator" in catalog.recipe("math_rl").labels[P]
    assert "calculator" in catalog.recipe("harbor_rl").labels[OBS]
    value, label = catalog.recipe("harbor_rl").examples[L]
    assert value == 350 and "calculator" in label


def test_the_recipes_of_agents_name_their_sandbox() -> None:
    assert catalog.recipe("harbor_rl").sandbox == "modal"
    assert catalog.recipe("code-rl").sandbox == "sandboxfusion"
    assert catalog.recipe("Math RL").sandbox is None


def test_a_missing_recipe_names_three() -> None:
    with pytest.raises(catalog.CatalogError, match="nearest are math_rl, "):
        catalog.recipe("maths_rl")


def test_sandboxes() -> None:
    modal = catalog.sandbox("Modal")
    assert (modal.core_second, modal.gib_second, modal.cores, modal.gib, modal.fee) == (
        3.942e-5,
        6.67e-6,
        0.125,
        0.125,
        True,
    )
    free = catalog.sandbox("SandboxFusion")
    assert not free.fee and set(free.values.values()) == {0.0}
    assert len(catalog.sandboxes()) == 2
    assert set(modal.values) <= set(registry())


def test_reference_runs() -> None:
    runs = {run.name: run for run in catalog.reference_runs()}
    assert runs["OLMo 3.1 RL"].gpu_hours == 21 * 24 * 224 == 112_896
    assert runs["OLMo 3 DPO sweep"].gpu_hours == 18 * 64
    miles = runs["Miles on ROCm"]
    assert miles.phases is not None and sum(miles.phases.values()) == pytest.approx(388.5)
    for run in runs.values():
        assert run.status in "VSD" and run.source and run.date
        if run.hours and run.gpus and run.gpu_hours and "sweep" not in run.name:
            assert run.gpu_hours == pytest.approx(run.hours * run.gpus, rel=0.01), run.name
