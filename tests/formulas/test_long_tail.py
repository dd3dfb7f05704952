"""Lengths and the long tail: against sampled batches, exact cases, and finite differences."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from figures_by_hand import cluster, figures, slopes_error
from random_configs import random_values
from scipy import special

from tinker_nomics.boundary import x64
from tinker_nomics.formulas import lengths, long_tail
from tinker_nomics.formulas.decode_step import step_seconds
from tinker_nomics.formulas.itemised_memory import at_most

INF = float("inf")
MODEL = figures("Qwen3-8B")


def test_mean_over_longest_of_the_published_spread() -> None:
    """The quoted 0.17, 0.13, 0.07 are means of the ratio; the ratio of the means lies a little lower."""
    with x64():
        sigma = float(lengths.log_sigma(10.0))
        for count, quoted in ((64, 0.17), (128, 0.13), (1024, 0.07)):
            draws = np.exp(sigma * np.random.default_rng(0).normal(size=(4000, count)))
            assert (draws.mean(1) / draws.max(1)).mean() == pytest.approx(quoted, abs=0.005)
            longest = float(long_tail.expected_longest(float(count), 1.0, sigma, INF))
            assert longest == pytest.approx(draws.max(1).mean(), rel=0.02)


@pytest.mark.parametrize("cap", [INF, 6000.0, 1500.0])
@pytest.mark.parametrize("sigma", [0.05, 0.4, 1.0])
def test_the_median_gives_the_mean_back(cap: float, sigma: float) -> None:
    with x64():
        median = float(lengths.median_from_mean(1000.0, sigma, cap))
        assert float(lengths.capped_mean(median, sigma, cap)) == pytest.approx(1000.0, rel=1e-9)
    assert slopes_error(lambda mean, s: lengths.median_from_mean(mean, s, cap), 1000.0, sigma) < 1e-5


def test_a_capped_mean_is_that_of_samples() -> None:
    draws = np.minimum(700 * np.exp(0.9 * np.random.default_rng(1).normal(size=400_000)), 2000.0)
    with x64():
        assert float(lengths.capped_mean(700.0, 0.9, 2000.0)) == pytest.approx(draws.mean(), rel=0.005)


def simulate(draws: np.ndarray, prompt: float, model, machine) -> float:
    """Mean seconds of batches that start together, token by token."""
    at = np.arange(1.0, draws.max() + 1)
    running = (draws[:, :, None] >= at).sum(1).astype(float)
    with x64():
        seconds, _ = step_seconds(running, np.broadcast_to(prompt + at, running.shape), model, machine)
    return float((np.asarray(seconds) * (running > 0)).sum(1).mean())


@pytest.mark.parametrize("cap", [INF, 900.0])
def test_a_synchronous_batch_against_token_by_token(cap: float) -> None:
    machine = cluster(block_seconds=5e-5, token_seconds=1e-5)
    sigma, median, count = 0.7, 300.0, 32
    rng = np.random.default_rng(2)
    draws = np.ceil(np.minimum(median * np.exp(sigma * rng.normal(size=(60, count))), cap))
    with x64():
        seconds = float(long_tail.synchronous_seconds(float(count), median, sigma, cap, 100.0, 0.0, MODEL, machine))
    assert seconds == pytest.approx(simulate(draws, 100.0, MODEL, machine), rel=0.03)


def test_equal_lengths_need_no_refill() -> None:
    machine = cluster(block_seconds=5e-5)
    with x64():
        synchronous = float(long_tail.synchronous_seconds(64.0, 500.0, 0.01, INF, 0.0, 0.0, MODEL, machine))
        refilled = float(long_tail.refilled_seconds(64.0, 64.0, 500.0, 0.0, 0.0, MODEL, machine))
    assert synchronous == pytest.approx(refilled, rel=0.03)


def test_the_tail_costs_and_refill_recovers_it() -> None:
    machine = cluster()
    with x64():
        sigma = float(lengths.log_sigma(10.0))
        median = float(lengths.median_from_mean(500.0, sigma, INF))
        waits = float(long_tail.synchronous_seconds(128.0, median, sigma, INF, 200.0, 0.0, MODEL, machine))
        refilled = float(long_tail.refilled_seconds(128.0, 128.0, 500.0, 200.0, 0.0, MODEL, machine))
        longest = float(long_tail.expected_longest(128.0, median, sigma, INF))
        full, _ = step_seconds(128.0, 450.0, MODEL, machine)
    assert refilled < waits < longest * float(full)


def test_what_does_not_fit_takes_turns() -> None:
    """With little room beside the weights the same tokens take longer, and all are sampled all the same."""
    with x64():
        sigma, median = 0.3, 400.0
        roomy = float(long_tail.synchronous_seconds(512.0, median, sigma, INF, 4000.0, 0.0, MODEL, cluster()))
        tight = cluster(engine_memory_fraction=0.25)
        slow = float(long_tail.synchronous_seconds(512.0, median, sigma, INF, 4000.0, 0.0, MODEL, tight))
    assert slow > 1.2 * roomy


@pytest.mark.parametrize("model", ["Qwen3-8B", "Qwen3-30B-A3B", "gpt-oss-20b"])
@pytest.mark.parametrize("cap", [INF, 1500.0])
def test_slopes(model: str, cap: float) -> None:
    about = figures(model)
    machine = cluster(block_seconds=5e-5, token_seconds=1e-5)

    def seconds(sequences, median, sigma, prompt, observed, bandwidth):
        where = replace(machine, chip=replace(machine.chip, bandwidth=bandwidth))
        return long_tail.synchronous_seconds(sequences, median, sigma, cap, prompt, observed, about, where)

    assert slopes_error(seconds, 60.0, 500.0, 0.8, 300.0, 0.5, 3.35e12) < 1e-5


def test_arrays_broadcast() -> None:
    with x64():
        many = long_tail.synchronous_seconds(np.array([8.0, 64.0]), 500.0, 0.8, INF, 0.0, 0.0, MODEL, cluster())
        assert np.asarray(many).shape == (2,)
        assert float(many[1]) == pytest.approx(
            float(long_tail.synchronous_seconds(64.0, 500.0, 0.8, INF, 0.0, 0.0, MODEL, cluster())), rel=1e-12
        )


def integral(f, top: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Integral of f(u) du from 0 to top [m]: 12,000 nodes, evenly up to `first` and in ln u from there."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    parts = np.arange(3000)[:, None]
    t = ((parts + (nodes + 1) / 2) / 3000).reshape(-1, 1)
    w = np.tile(weights / 6000, 3000)
    u = first * (top / first) ** t
    return w @ f(first * t) * first + (w @ (f(u) * u)) * np.log(top / first)


def random_runs(count: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Random numbers by parameter; sequences, mean, sigma and cap of a replica's batch, one in three without a cap."""
    v = random_values(count, seed=7)
    mean = v["workload.completion_tokens"]
    cap = np.maximum(v["workload.max_completion_tokens"], mean)
    work = {
        "sequences": np.maximum(v["workload.prompts_per_step"] * v["workload.rollouts_per_prompt"] / 8, 1.0),
        "mean": mean,
        "sigma": np.log(v["workload.length_p99_over_p50"]) / lengths.NORMAL_P99,
        "cap": np.where(np.arange(count) % 3 == 0, INF, cap),
    }
    return v, work


def test_the_quadrature_over_wide_ranges() -> None:
    """Against 12,000 nodes: 1e-5 without kinks; with those of memory, roof and window inside, 1.5 % at worst."""
    v, work = random_runs(300)
    model = replace(
        MODEL,
        weight_bytes=v["model.weight_bytes"],
        expert_bytes=0.9 * v["model.weight_bytes"],
        experts=np.where(v["model.experts"] > 60, v["model.experts"], 0.0),
        experts_per_token=v["model.experts_per_token"],
        kv_bytes_per_token=v["model.kv_bytes_per_token"],
        window_kv_bytes_per_token=v["model.window_kv_bytes_per_token"],
        window=np.where(v["model.window"] > 4096, INF, v["model.window"]),
    )
    machine = cluster(tensor_parallel=v["cluster.engine.tensor_parallel"], sequences=v["cluster.engine.sequences"])
    prompt = v["workload.prompt_tokens"]
    n, sigma, cap = work["sequences"], work["sigma"], work["cap"]
    with x64():
        median = np.asarray(lengths.median_from_mean(work["mean"], sigma, cap))
        found = np.asarray(long_tail.synchronous_seconds(n, median, sigma, cap, prompt, 0.0, model, machine))
        longest = np.asarray(long_tail.expected_longest(n, median, sigma, cap))

        def alive(u):
            below = special.log_ndtr(np.log(u / median) / sigma)
            some = -np.expm1(n * below)
            return n * -np.expm1(below) / np.where(some > 0, some, INF), some

        def advance(u):
            running, some = alive(u)
            fits = np.asarray(jax.vmap(lambda context: at_most(context, model, machine))(prompt + u))
            step = jax.vmap(lambda batch, context: step_seconds(batch, context, model, machine)[0])
            seconds = np.asarray(step(np.minimum(running, fits), prompt + u))
            return some * seconds * np.maximum(1.0, running / fits)

        top = np.minimum(cap, median * np.exp(sigma * (9 + sigma)))
        first = np.minimum(median * np.exp(-7 * sigma), 0.5 * top)
        error = np.abs(found / integral(advance, top, first) - 1)
        error_longest = np.abs(longest / integral(lambda u: alive(u)[1], top, first) - 1)
    assert error_longest.max() < 1e-5
    assert np.median(error) < 1e-6 and np.quantile(error, 0.9) < 1e-3 and error.max() < 0.015


@pytest.mark.parametrize("spread", [1.01, 2.0, 10.0, 1000.0])
def test_medians_over_wide_ranges(spread: float) -> None:
    """The cut mean comes back whether nearly all or hardly any completions are cut."""
    share = 1 / (1 + np.exp(-np.linspace(-10, 14, 97)))
    with x64():
        sigma = float(lengths.log_sigma(spread))
        median = np.asarray(lengths.median_from_mean(1000 * share, sigma, 1000.0))
        np.testing.assert_allclose(np.asarray(lengths.capped_mean(median, sigma, 1000.0)), 1000 * share, rtol=1e-9)
    assert (np.diff(median) > 0).all()
