"""Making a Config wrongly, or of one's own rows: one clear error, or the figures that were meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hand_config import hand_config

import tinker_nomics as tn
from tinker_nomics.config_toml import from_toml
from tinker_nomics.parameters import registry

MATH = {"model": "Qwen/Qwen3-8B", "prices": "2026-01-05", "assumptions": "published"}


@pytest.fixture(scope="module")
def run() -> str:
    return tn.Config.from_recipe("math_rl", **MATH).to_toml()


@pytest.mark.parametrize(
    "choices",
    [
        {"chip": "b200"},
        {"model": "Qwen/Qwen3-32B"},
        {"prices": "2026-10-07"},
        {"provider": "Lambda 8x"},
        {"recipe": "math_rl_gsm8k"},
        {"chip": "h200-sxm", "model": "Llama-3.1-8B", "prices": "2026-05-01"},
    ],
    ids=str,
)
def test_another_choice_than_the_files_brings_its_own_figures(run, choices):
    others = {key: value for key, value in choices.items() if key != "recipe"}
    overrides = {"workload.prompt_tokens": 200} if "recipe" in choices else {}
    asked = tn.Config.from_recipe(choices.get("recipe", "math_rl"), **MATH | others, overrides=overrides)
    read = from_toml(run, choices, overrides)
    assert read == asked and read.provenance.overridden == tuple(overrides)


def test_a_number_of_the_users_outlives_another_choice(run):
    edited = run.replace("bandwidth = 3350000000000 ", 'bandwidth = "3 TB/s" ')
    read = from_toml(edited, {"chip": "b200"})
    assert read.cluster.chip.bandwidth == 3e12 and read.cluster.chip.memory_bytes == 180e9
    assert read.provenance.overridden == ("cluster.chip.bandwidth",)


def test_a_model_of_ones_own_gives_way_to_one_of_the_catalog(run):
    own = run.replace('model = "Qwen/Qwen3-8B"', 'model = "mine"').replace("parameters = 8190", "parameters = 9190")
    assert from_toml(own).model.parameters > 9e9
    assert from_toml(own, {"model": "Qwen/Qwen3-8B"}) == from_toml(run)


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_marks_and_line_ends_of_other_systems(run, tmp_path, mark, end):
    text = mark + run.replace("\n", end)
    file = tmp_path / "run.toml"
    file.write_bytes(text.encode())
    assert tn.Config.from_toml(file) == tn.Config.from_toml(text) == tn.Config.from_toml(run)


@pytest.mark.parametrize(
    ("source", "words"),
    [(None, "expected"), ({}, "expected"), (b"a = 1", "expected"), ("", "expected"), (Path("/"), "is a folder"),
     ("a\0b", "cannot be read"), ("nowhere.toml", "no file")],
)  # fmt: skip
def test_what_is_no_toml_file(source, words):
    with pytest.raises(tn.TinkerNomicsError, match=words):
        tn.Config.from_toml(source)


def test_a_model_that_no_list_prices_takes_prices_of_ones_own(tmp_path):
    model = tmp_path / "mine.toml"
    model.write_text('id = "mine"\nparameters = "8B"\n')
    with pytest.raises(tn.ConfigError, match=r"--prices\.prefill, --prices\.sample and --prices\.train"):
        tn.Config.from_recipe("math_rl", model=str(model), training="full", assumptions="published")
    rates = {"prices.prefill": 0.1, "prices.sample": 0.4, "prices.train": 0.5}
    config = tn.Config.from_recipe(
        "math_rl", model=str(model), training="full", assumptions="published", overrides=rates
    )
    assert config.prices.sample == 0.4 and config.prices.storage == 0.1


@pytest.mark.parametrize(
    ("arguments", "words", "count"),
    [
        ({"recipe": "math"}, "no recipe 'math'", 1),
        ({"model": ""}, "'' names no model", 1),
        ({"chip": ""}, "names no chip|no chip ''", 1),
        ({"prices": ""}, "'' is no date", 1),
        ({"prices": "2026-02-30"}, "2026-02-30", 1),
        ({"provider": "nobody"}, "provider = 'nobody'", 1),
        ({"gpus": True}, "gpus = True", 1),
        ({"gpus": "eight"}, "gpus = 'eight'", 1),
    ],
)
def test_one_mistake_is_one_problem(arguments, words, count):
    recipe = arguments.pop("recipe", "math_rl")
    with pytest.raises(tn.ConfigError, match=words) as caught:
        tn.Config.from_recipe(recipe, assumptions="published", **arguments)
    assert len(caught.value.problems) == count


def test_overrides_and_replacements_are_mappings_of_paths():
    with pytest.raises(tn.TinkerNomicsError, match="mapping"):
        tn.Config.from_recipe("math_rl", overrides=[("workload.steps", 3)])  # type: ignore[arg-type]
    for values in (None, [("workload.steps", 3)]):
        with pytest.raises(tn.TinkerNomicsError, match="replace takes"):
            tn.replace(hand_config(), values)  # type: ignore[arg-type]
    with pytest.raises(tn.ConfigError, match=r"3'? is no parameter"):
        tn.replace(hand_config(), {3: 4})  # type: ignore[dict-item]
    assert tn.replace(hand_config(), {"cluster.gpus": "8 GPUs"}).cluster.gpus == 8.0


@pytest.mark.parametrize(
    "driver", [tn.estimate, tn.sensitivity, lambda config: tn.sweep(config, {"workload.steps": [1]})]
)
@pytest.mark.parametrize("config", ["math_rl", None, {}])
def test_every_driver_says_how_to_make_a_config(driver, config):
    with pytest.raises(tn.TinkerNomicsError, match=r"takes a Config.*from_recipe\('math_rl'\)"):
        driver(config)


def test_arrays_and_tracers_are_sent_to_evaluate():
    import jax

    with pytest.raises(tn.TinkerNomicsError, match=r"workload\.steps has shape \(1,\).*sweep"):
        tn.estimate(tn.replace(hand_config(), {"workload.steps": np.array([3.0])}))
    with pytest.raises(tn.TinkerNomicsError, match=r"workload\.steps is traced.*evaluate"):
        jax.jit(lambda steps: tn.estimate(tn.replace(hand_config(), {"workload.steps": steps})).tinker.total)(3.0)


def test_a_cost_that_is_no_number_is_refused():
    with pytest.raises(tn.TinkerNomicsError, match=r"too large.*cluster\.price_per_gpu_hour = 1e\+308"):
        tn.estimate(tn.replace(hand_config(), {"cluster.price_per_gpu_hour": 1e308}))


@pytest.mark.parametrize("path", [path for path, row in registry().items() if row.kind == "integer"])
def test_every_count_has_an_upper_bound_that_is_named(path):
    with pytest.raises(tn.ConfigError) as caught:
        tn.replace(hand_config(), {path: 1e300})
    assert path in str(caught.value) and f"{registry()[path].high:g}] is allowed" in str(caught.value)


@pytest.mark.parametrize("driver", [tn.estimate, tn.explain, tn.sensitivity])
def test_what_is_no_configuration_is_refused_alike(driver):
    with pytest.raises(tn.TinkerNomicsError, match="takes a Config, not None"):
        driver(None)


@pytest.mark.parametrize("assumptions", [None, 3, ["kv_bytes"]])
def test_assumptions_are_text_or_a_mapping(assumptions):
    with pytest.raises(tn.TinkerNomicsError, match=r"assumptions = .*an edition"):
        tn.Config.from_recipe("math_rl", assumptions=assumptions)


def test_monte_carlo_takes_a_config_and_distributions():
    with pytest.raises(tn.TinkerNomicsError, match="monte_carlo takes a Config"):
        tn.monte_carlo("math_rl")  # type: ignore[arg-type]
    with pytest.raises(tn.TinkerNomicsError, match="is no distribution"):
        tn.monte_carlo(hand_config(), {"cluster.mfu": 0.1})  # type: ignore[dict-item]
