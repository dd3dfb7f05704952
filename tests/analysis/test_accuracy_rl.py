"""Both editions against measured steps: the targets hold on rows that the fit has not seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from analysis_scripts import script

from tinker_nomics.boundary import x64
from tinker_nomics.formulas.fitted import about, coefficients

accuracy = script("accuracy_rl")
prediction = script("rl_prediction")
runs = script("measured_runs")

ROWS = [row for row in runs.steps() if row.bracket is None]
MEASURED = runs.column(ROWS, "step_seconds")
USABLE = np.array([row.precision == "bf16" for row in ROWS])


@pytest.fixture(scope="module")
def model():
    with x64():
        yield prediction.RevisedSteps(ROWS)


def vector() -> np.ndarray:
    """The packaged coefficients, unbounded."""
    found = coefficients("rl_step")
    values = {name: np.log(found[name]) for name in prediction.NAMES}
    values["mfu_power"] = found["mfu_power"]
    values["decode_efficiency"] = np.log(found["decode_efficiency"] / (1 - found["decode_efficiency"]))
    return np.array([values[name] for name in prediction.NAMES])


def test_every_row_names_its_source_and_what_it_lacks() -> None:
    sources = runs.sources()
    assert all(row.source in sources for row in runs.steps())
    assert all(row.missing for row in runs.steps() if row.bracket is not None)
    assert all(row["missing"] and row["source"] for row in runs.others())
    identities = [row.id for row in runs.steps()] + [row["id"] for row in runs.others()]
    assert len(set(identities)) == len(identities)


def test_prompt_lengths_follow_from_the_throughput() -> None:
    derived: dict[str, list[float]] = {}
    for row in ROWS:
        if row.max_steps_off_policy == 0:
            whole = row.tokens_per_second_per_gpu * row.step_seconds * row.gpus / row.sequences
            derived.setdefault(row.model, []).append(whole - row.mean_response_tokens)
    for row in ROWS:
        assert row.prompt_tokens == pytest.approx(float(np.median(derived[row.model])), abs=1.0)


def test_the_packaged_fit_is_the_one_that_the_script_makes(model) -> None:
    """From the script's own start, and from far off: whoever prints the coefficients prints those that are shipped."""
    with x64():
        error = model.log_seconds(vector()) - np.log(MEASURED)
        for start in (accuracy.CENTRE, vector() + 0.1 * accuracy.WIDTH):
            found = accuracy.named(accuracy.fit(model, MEASURED, USABLE, start).vector)
            assert found == pytest.approx(dict(coefficients("rl_step")), rel=1e-3)
    assert np.std(error[USABLE]) < about("rl_step")["scatter"]


def test_rows_left_out_of_the_fit_meet_the_targets(model) -> None:
    """All left-out rows are in the script's own table; here the ten that the fit misses most, each left out."""
    with x64():
        error = np.abs(model.log_seconds(vector()) - np.log(MEASURED)) * USABLE
        hardest = np.argsort(error)[-10:]
        for i in hardest:
            keep = USABLE & (np.arange(len(ROWS)) != i)
            alone = model.log_seconds(accuracy.fit(model, MEASURED, keep, vector()).vector)[i]
            error[i] = abs(alone - np.log(MEASURED[i]))
    assert np.exp(error.max()) == pytest.approx(about("rl_step")["worst_factor_row_left_out"], rel=1e-3)
    assert about("rl_step")["median_error_row_left_out"] < 0.30
    assert about("rl_step")["worst_factor_row_left_out"] < 2.0


def test_what_is_said_of_models_left_out_is_what_the_script_finds(model) -> None:
    with x64():
        predicted = accuracy.left_out(model, MEASURED, USABLE, [row.family for row in ROWS], vector())
    ratio = (predicted / MEASURED)[USABLE]
    said = about("rl_step")
    assert np.median(np.abs(ratio - 1)) == pytest.approx(said["median_error_model_left_out"], rel=1e-3)
    assert np.exp(np.abs(np.log(ratio))).max() == pytest.approx(said["worst_factor_model_left_out"], rel=1e-3)


def test_the_documents_quote_the_packaged_figures() -> None:
    said = about("rl_step")
    root = Path(__file__).parents[2]
    readme, page = ((root / name).read_text(encoding="utf-8") for name in ("README.md", "docs/revised.md"))
    for group in ("row", "model"):
        median, worst = said[f"median_error_{group}_left_out"], said[f"worst_factor_{group}_left_out"]
        assert f"median error {median:.1%}, worst factor {worst:.2f}".replace("%", " %") in readme
        cells = (f"{median:.1%}".replace("%", " %"), f"{worst:.2f}")
        assert any(all(cell in line for cell in cells) for line in page.splitlines() if "left out" in line)


def test_revised_is_twice_as_good_as_published_and_worse_for_no_model(model) -> None:
    published = np.array([prediction.published_seconds(row) for row in ROWS])
    with x64():
        revised = np.exp(model.log_seconds(vector()))
    old, new = (np.abs(p / MEASURED - 1)[USABLE] for p in (published, revised))
    assert np.median(new) <= np.median(old) / 2
    families = np.array([row.family for row in ROWS])[USABLE]
    for family in set(families):
        assert np.median(new[families == family]) <= np.median(old[families == family])


def test_the_middle_of_the_bracketed_row_is_within_a_factor_of_two() -> None:
    rows = [row for row in runs.steps() if row.bracket is not None]
    with x64():
        ((row, times, published),) = accuracy.bracketed(rows, vector())
        revised = np.asarray(times.total)
    assert len(revised) == 64
    middle = np.exp(np.mean(np.log(revised)))
    assert 0.5 < middle / row.step_seconds < 2.0
    new, old = (np.median(np.abs(np.log(seconds / row.step_seconds))) for seconds in (revised, published))
    assert new < old
