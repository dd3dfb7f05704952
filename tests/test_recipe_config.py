"""From names to numbers and to TOML and back; what is missing or wrong is said at once."""

from __future__ import annotations

import jax
import pytest

import tinker_nomics as tn
from tinker_nomics.declared_ranges import declared_distributions
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.totals_text import prices_of


def worked(**more):
    return tn.Config.from_recipe(
        "math_rl",
        model="Qwen/Qwen3-8B",
        gpus=8,
        **{"chip": "h100-sxm", "prices": "2026-01-05", "assumptions": "published", **more},
    )


def test_the_readme_run_without_growth_costs_80_dollars():
    estimate = tn.estimate(tn.replace(worked(), {"workload.length_growth": 1.0}))
    assert estimate.tinker.rollout == pytest.approx(37.75, abs=0.005)
    assert estimate.tinker.train == pytest.approx(37.75, abs=0.005)
    assert estimate.tinker.prefill == pytest.approx(4.79, abs=0.005)
    assert estimate.tinker.total == pytest.approx(80.29, abs=0.005)


def test_names_are_forgiven_case_and_the_part_before_the_slash():
    config = tn.Config.from_recipe(
        "MATH_RL", model="qwen3-8b", chip="H100-SXM", prices="2026-01-05", assumptions="published"
    )
    assert config.provenance.choices["model"] == "Qwen/Qwen3-8B"
    assert config.to_dict() == worked().to_dict()


def test_toml_gives_an_equal_configuration_back(tmp_path):
    config = tn.replace(worked(), {"workload.rollouts_per_prompt": 32, "cluster.mfu": 0.2, "schedule.kind": "async"})
    path = tmp_path / "run.toml"
    path.write_text(config.to_toml())
    for source in (config.to_toml(), path, str(path)):
        again = tn.Config.from_toml(source)
        assert again.to_dict() == config.to_dict()
        assert jax.tree.structure(again) == jax.tree.structure(config)
        assert set(again.provenance.overridden) == {"workload.rollouts_per_prompt", "cluster.mfu"}
        assert again.to_toml() == config.to_toml()


@pytest.mark.parametrize("provider", [None, "Nebius"])
def test_the_median_rent_and_a_providers_come_back(provider):
    config = tn.Config.from_recipe("math_rl", prices="2026-10-07", provider=provider)
    again = tn.Config.from_toml(config.to_toml())
    assert again.to_dict() == config.to_dict() and again.provenance.overridden == ()


def test_wrong_toml_is_placed():
    with pytest.raises(TinkerNomicsError, match=r"line 2, column"):
        tn.Config.from_toml('[choices]\nrecipe = "math_rl')
    with pytest.raises(TinkerNomicsError, match="there is no file"):
        tn.Config.from_toml("nowhere.toml")
    with pytest.raises(tn.ConfigError) as caught:
        tn.Config.from_toml('[choices]\nrecipy = "math_rl"\n[workload]\nstepz = 3\n[clustr]\ngpus = 1\n')
    assert {problem.path for problem in caught.value.problems} == {"choices.recipy", "workload.stepz", "clustr"}
    assert "workload.steps" in str(caught.value)


def test_what_a_recipe_does_not_state_is_asked_for_at_once():
    with pytest.raises(tn.ConfigError) as caught:
        tn.Config.from_recipe("harbor_rl")
    assert {problem.path for problem in caught.value.problems} == {
        "workload.prompt_tokens",
        "workload.steps",
        "sandbox.seconds",
        "cluster.gpus",  # whatever is given for them, the weights do not fit on eight
    }
    overrides = {"workload.prompt_tokens": 2000, "workload.steps": 50, "sandbox.seconds": 60}
    estimate = tn.estimate(tn.Config.from_recipe("harbor_rl", overrides=overrides, assumptions="published"))
    assert estimate.tinker.sandbox > 0 and estimate.tinker.sandbox == estimate.self_hosted.sandbox


def test_unknown_names_are_reported_together_with_the_nearest():
    with pytest.raises(tn.ConfigError) as caught:
        tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-9B", chip="h1000", sandbox="modall")
    message = str(caught.value)
    assert {problem.path for problem in caught.value.problems} == {"model", "chip", "sandbox"}
    assert "Qwen/Qwen3-8B" in message and "h100" in message and "modal" in message


def test_a_retired_model_is_refused_with_its_last_date():
    with pytest.raises(tn.ConfigError, match="2026-"):
        tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-32B", prices="2026-10-07")


def test_a_chip_without_a_figure_is_named():
    with pytest.raises(tn.ConfigError, match=r"cluster\.chip\.matrix_rate"):
        tn.Config.from_recipe("math_rl", chip="m3-max", overrides={"cluster.price_per_gpu_hour": 1})


def test_overrides_are_parsed_and_told():
    config = worked(overrides={"cluster.chip.bandwidth": "4.8 TB/s", "prices.sample": "$0.5"})
    assert (config.cluster.chip.bandwidth, config.prices.sample) == (4.8e12, 0.5)
    assert any("cluster.chip.bandwidth, prices.sample" in note for note in tn.estimate(config).notes)


def test_own_rows_come_from_toml(tmp_path):
    (tmp_path / "prices.toml").write_text("prefill = 0.1\nsample = 0.2\ntrain = 0.3\nstorage = 0.1\n")
    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices=str(tmp_path / "prices.toml"))
    assert (config.prices.prefill, config.prices.sample, config.prices.train) == (0.1, 0.2, 0.3)
    chip = tn.catalog.chip("h100-sxm")
    (tmp_path / "chip.toml").write_text(chip.to_toml())
    own = tn.Config.from_recipe(
        "math_rl", model="Qwen/Qwen3-8B", prices="2026-01-05", chip=str(tmp_path / "chip.toml"), assumptions="published"
    )
    assert own.to_dict() == worked().to_dict()


def test_a_run_of_ones_own_needs_no_recipe():
    with pytest.raises(tn.ConfigError, match=r"workload\.prompts_per_step"):
        tn.Config.from_toml('[choices]\nmodel = "Qwen3-8B"\nprices = 2026-01-05\n')
    text = (
        '[choices]\nmodel = "Qwen3-8B"\nprices = 2026-01-05\n[workload]\nprompts_per_step = 64\n'
        "rollouts_per_prompt = 16\ncompletion_tokens = 512\nmax_completion_tokens = 512\nprompt_tokens = 200\nsteps = 180\n"
    )
    assert tn.Config.from_toml(text).to_dict() == worked().to_dict()


def test_a_chip_of_ones_own_is_rented_at_what_its_file_states(tmp_path):
    """Also where it bears the name of a chip of the catalog, whose offers then say nothing of it."""
    path = tmp_path / "mine.toml"
    figures = (
        'id = "h100-sxm"\ntiers = [{kind = "HBM", capacity = "96 GB", bandwidth = "3 TB/s"}]\n'
        'matrix_rates = {bf16 = "900 TFLOP/s"}\n'
    )
    path.write_text(figures + 'rent = "1.25 USD/h"\n')
    config = worked(chip=str(path))
    assert config.cluster.price_per_gpu_hour == 1.25
    assert config.provenance.labels["cluster.price_per_gpu_hour"] == "the chip's own, as given by the user"
    assert "cluster.price_per_gpu_hour" not in declared_distributions(config)
    assert "cluster.price_per_gpu_hour" in declared_distributions(worked(prices="2026-09-25"))
    path.write_text(figures)
    with pytest.raises(TinkerNomicsError, match="not the catalog's chip of that name, and states no rent"):
        worked(chip=str(path))
    with pytest.raises(TinkerNomicsError, match="not the catalog's chip of that name"):
        worked(chip=str(path), provider="nebius")


PRICE_ROW = """
model = "Qwen/Other"
date = "2026-10-07"
prefill = 0.1
cached_prefill = 0.02
sample = 0.2
"""


def test_a_missing_train_price_names_the_list_and_another_that_has_one(tmp_path):
    with pytest.raises(tn.ConfigError) as caught:
        tn.Config.from_recipe("math_rl", model="thinkingmachines/Inkling-Small", prices="2026-10-07", gpus=32)
    (problem,) = caught.value.problems
    assert problem.path == "prices.train" and "the price list of 2026-10-07 has no train price" in problem.allowed
    assert "it was 1.73 on 2026-07-30" in problem.allowed
    own = tmp_path / "mine.toml"
    own.write_text(PRICE_ROW)
    with pytest.raises(tn.ConfigError) as caught:
        tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices=str(own))
    assert "mine.toml has no train price" in str(caught.value)
    assert f"--prices {tn.catalog.newest_price_date()}" in str(caught.value)


@pytest.mark.parametrize(("priced", "noted"), [("Qwen/Other", True), ("Qwen/Qwen3-8B", False), ("qwen3-8b", False)])
def test_prices_of_ones_own_are_called_so_and_another_model_in_them_is_noted(tmp_path, priced, noted):
    own = tmp_path / "mine.toml"
    own.write_text(PRICE_ROW.replace("Qwen/Other", priced) + "train = 0.3\n")
    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", prices=str(own))
    assert prices_of(config) == "prices of your own"
    assert (
        any("is of Qwen/Other, and the run's model is Qwen/Qwen3-8B" in note for note in config.provenance.notes)
        == noted
    )


def test_a_cap_that_a_mean_exceeds_is_said_to_be_raised():
    for tokens, words in ((600, "= 600 is above its cap of 512"), (512, "is at its cap"), (500, "growing x1.5")):
        config = tn.Config.from_recipe(
            "math_rl", model="Qwen/Qwen3-8B", overrides={"workload.completion_tokens": tokens}
        )
        assert any(words in note for note in tn.estimate(config).notes), tokens


def test_a_share_out_of_bounds_is_one_problem():
    overrides = {"schedule.max_steps_off_policy": 1, "schedule.rollout_share": 0}
    with pytest.raises(tn.ConfigError) as caught:
        tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B", overrides=overrides)
    assert [problem.path for problem in caught.value.problems] == ["schedule.rollout_share"]
