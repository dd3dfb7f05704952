"""The revised chapters by their check values, by hand and by finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from figures_by_hand import H100, close, cluster, figures, slopes_error
from scipy import special

from tinker_nomics.boundary import x64
from tinker_nomics.config import Workload
from tinker_nomics.formulas import (
    decode_step,
    itemised_memory,
    pool_split,
    prefix_cache,
    step_remainder,
    tokens,
    train_flop,
    trained_tokens,
    utilisation,
)
from tinker_nomics.formulas.normal import normal_tails


def agent(**changes: float) -> Workload:
    values = dict(
        prompts_per_step=1.0,
        rollouts_per_prompt=1.0,
        completion_tokens=350.0,
        prompt_tokens=2000.0,
        steps=1.0,
        epochs=1.0,
        length_growth=1.0,
        turns=25.0,
        turns_growth=1.0,
        observation_tokens=750.0,
        failure_rate=0.0,
        failure_extra_turns=0.5,
        recipe_multiplier=1.0,
    )
    return Workload(**(values | changes))


def test_a_cached_agent_pays_31_percent_of_the_sampling_bill() -> None:
    work = agent()
    prefill, sampled = tokens.prefill_tokens(work), tokens.rollout_tokens(work)
    cached = prefix_cache.cached_tokens(work, 1.0, 0.0)
    full = prefill * 0.13 + sampled * 0.40
    paid = prefix_cache.new_tokens(work, cached) * 0.13 + cached * 0.13 * 0.2 + sampled * 0.40
    assert prefill * 0.13 / full == pytest.approx(0.93, abs=0.005)
    assert paid / full == pytest.approx(0.31, abs=0.002)


def test_cached_tokens_turn_by_turn() -> None:
    work = agent(turns=5.0, rollouts_per_prompt=4.0)
    seen = sum(2000 + (turn - 1) * 1100 for turn in range(1, 5))
    assert prefix_cache.repeated_across_turns(work) == pytest.approx(4 * seen)
    assert prefix_cache.repeated_in_group(work) == pytest.approx(3 * 2000)
    assert prefix_cache.repeated_across_turns(agent(turns=1.0)) == 0.0


def test_whole_sequences_are_trained_once_per_epoch() -> None:
    work = agent(turns=3.0, rollouts_per_prompt=8.0, epochs=2.0)
    assert trained_tokens.whole_sequences(work) == pytest.approx(2 * 8 * (2000 + 3 * 350 + 2 * 750))
    each = [2000 + (turn - 1) * 1100 + 350 for turn in (1, 2, 3)]
    assert trained_tokens.sequences_by_turn(work) == pytest.approx(2 * 8 * sum(each))
    single = agent(turns=1.0)
    assert trained_tokens.whole_sequences(single) == trained_tokens.sequences_by_turn(single) == 2350.0


def test_datums_times_epochs_and_nothing_else() -> None:
    work = agent(prompts_per_step=2000.0, completion_tokens=256.0, prompt_tokens=256.0, turns=1.0, epochs=3.0)
    assert trained_tokens.whole_sequences(work) == 3_072_000


def test_experts_hit_against_drawn_routings() -> None:
    rng = np.random.default_rng(0)
    draws = [len(np.unique(rng.permuted(np.tile(np.arange(128), (16, 1)), axis=1)[:, :8])) / 128 for _ in range(300)]
    with x64():
        assert float(decode_step.experts_hit(16.0, 128.0, 8.0)) == pytest.approx(float(np.mean(draws)), abs=0.01)
        assert float(decode_step.experts_hit(1.0, 128.0, 8.0)) == pytest.approx(8 / 128)
        assert float(decode_step.experts_hit(5.0, 0.0, 0.0)) == 1.0
        assert float(decode_step.experts_hit(5.0, 4.0, 4.0)) == 1.0


def test_intensity_saturates_with_the_cache() -> None:
    model = figures("Qwen3-8B")
    with x64():
        for context, limit in ((456.0, 244.0), (4096.0, 27.0)):
            # the quoted limits count the embedding table among N
            exact = 2 * model.parameters / (context * model.kv_bytes_per_token)
            assert exact == pytest.approx(limit, rel=0.01)
            assert float(decode_step.intensity(1e9, context, model)) == pytest.approx(
                2 * model.matrix_parameters / (context * model.kv_bytes_per_token), rel=1e-3
            )


def test_one_step_is_the_published_one_at_batch_one() -> None:
    model = figures("Qwen3-8B")
    with x64():
        seconds, margin = decode_step.step_seconds(1.0, 0.0, model, cluster())
    # the published edition counts the embedding table among what is read
    assert 1 / float(seconds) == pytest.approx(3.35e12 / (model.weight_bytes - model.lookup_bytes))
    assert model.lookup_bytes == 2 * 151936 * 4096
    assert float(margin) > 0


def test_cache_is_copied_beyond_the_kv_heads() -> None:
    assert float(decode_step.cache_ways(16.0, figures("Qwen3-235B-A22B-Instruct-2507"))) == 4.0
    assert float(decode_step.cache_ways(8.0, figures("DeepSeek-V3.1"))) == 1.0
    assert float(decode_step.cache_ways(2.0, figures("Qwen3-8B"))) == 2.0


def test_memory_check_values() -> None:
    big, small = figures("Qwen3-32B"), figures("Qwen3-8B")
    batch = 64.0 * 8192
    assert close(itemised_memory.activation_bytes(batch, big, 0.0), 5.8e12, 0.01)
    assert close(batch * big.blocks * big.hidden * itemised_memory.BOUNDARY_BYTES, 344e9, 0.002)
    assert close(itemised_memory.cache_bytes(1024.0, 512.0, small), 77e9, 0.005)
    with x64():
        gpus, margin = itemised_memory.engine_gpus(512.0, small, cluster())
        assert float(gpus) == 1.0 and 0 < float(margin) < 1
        fits = float(itemised_memory.concurrency(512.0, small, cluster()))
    assert fits == pytest.approx((0.9 * 80e9 - small.weight_bytes) / (512 * small.kv_bytes_per_token))


def test_a_trainer_needs_what_its_items_add_up_to() -> None:
    model = figures("Qwen3-8B")
    adapter = 1e8
    lora = itemised_memory.trainer_bytes(8192.0, model, adapter, 1.0, 1e9, "lora")
    activations = 8192 * model.hidden * (36 * 2 + 34)
    assert lora == pytest.approx(2 * model.parameters + 16 * adapter + activations + 1e9)
    full = itemised_memory.trainer_bytes(8192.0, model, 0.0, 1.0, 1e9, "full")
    assert full == pytest.approx(16 * model.parameters + activations + 1e9)
    with x64():
        gpus, _ = itemised_memory.trainer_gpus(full, cluster())
    assert float(gpus) == math.ceil(full / 80e9)


def test_train_flop_adds_up() -> None:
    model = figures("Qwen3-8B")
    n, a, sequence = model.matrix_parameters, model.attention_flops, 1000.0
    with x64():
        bare = float(train_flop.train_flop(sequence, model, 0.0, 0.0, 0.0, "lora"))
        assert bare == pytest.approx(4 * n + 3 * a * 500)
        full = float(train_flop.train_flop(sequence, model, 1e9, 0.0, 0.0, "full"))
        assert full == pytest.approx(6 * n + 3 * a * 500)
        most = float(train_flop.train_flop(sequence, model, 1e6, 1.0, 1.0, "lora"))
    assert most == pytest.approx(8 * n + 5 * a * 500 + 6e6)
    assert a == 4 * 36 * 32 * 128


def test_utilisation_is_at_most_one() -> None:
    with x64():
        assert float(utilisation.utilisation(1e5, 0.0, 0.38, 0.1, 0.3)) == pytest.approx(0.38)
        assert float(utilisation.utilisation(1e5, 8.0, 0.38, 0.1, 0.3)) == pytest.approx(0.1)
        assert float(utilisation.utilisation(1e12, 0.0, 0.38, 0.1, 0.3)) == 1.0
    assert slopes_error(lambda t: utilisation.utilisation(t, 0.0, 0.38, 0.1, 0.3), 3e4) < 1e-6


def test_a_split_pool_gains_nothing_by_itself() -> None:
    with x64():
        share = float(pool_split.best_share(30.0, 60.0))
        seconds, margin = pool_split.split_seconds(30.0, 60.0, share)
        assert share == pytest.approx(1 / 3)
        assert float(seconds) == pytest.approx(90.0) and float(margin) == pytest.approx(0.0, abs=1e-9)
        gained, _ = pool_split.split_seconds(30.0, 60.0, pool_split.best_share(30.0, 60.0, 1.5), 1.5)
        assert float(gained) == pytest.approx(80.0)
        uneven, side = pool_split.split_seconds(30.0, 60.0, 0.5)
        assert float(uneven) == 120.0 and float(side) < 0


def test_the_balance_is_found_and_differentiated() -> None:
    def balance(rollout: float) -> float:
        return pool_split.balanced_share(lambda s: rollout / s**0.8, lambda s: 60.0 / s + 5.0, 0.0 * rollout)

    with x64():
        share = float(balance(np.float64(30.0)))
        assert 30.0 / share**0.8 == pytest.approx(60.0 / (1 - share) + 5.0, rel=1e-9)
        closed = float(pool_split.balanced_share(lambda s: 30.0 / s, lambda s: 60.0 / s, 0.0))
        assert closed == pytest.approx(float(pool_split.best_share(30.0, 60.0)), rel=1e-9)
    assert slopes_error(balance, 30.0) < 1e-6


def test_streaming_hides_no_more_than_the_tail() -> None:
    with x64():
        seconds, margin = pool_split.stream_minibatch_seconds(100.0, 60.0, 20.0, 4.0)
        assert float(seconds) == 140.0 and float(margin) == 25.0
        short, _ = pool_split.stream_minibatch_seconds(100.0, 8.0, 20.0, 4.0)
        assert float(short) == pytest.approx(102.0)
        alone, _ = pool_split.stream_minibatch_seconds(100.0, 60.0, 20.0, 1.0)
        assert float(alone) == 160.0


def test_the_remainder_item_by_item() -> None:
    assert step_remainder.weight_sync_seconds(16e9, 32e9) == 0.5
    assert step_remainder.evaluation_seconds(640.0, 20.0, 0.1) == pytest.approx(3.2)
    assert step_remainder.sandbox_wait(4.0, True) == 4.0
    assert step_remainder.sandbox_wait(4.0, False) == step_remainder.sandbox_wait(None, True) == 0.0
    forward = step_remainder.forward_seconds(1e6, 8e9, 8.0, H100.matrix_rate, 0.4)
    assert forward == pytest.approx(1.6e16 / (8 * 989e12 * 0.4))


def test_normal_tails_are_those_of_the_error_function() -> None:
    z = np.linspace(-9.0, 9.0, 4001)
    with x64():
        beyond, log_below = map(np.asarray, normal_tails(z))
        furthest = [float(part) for part in normal_tails(-700.0)]
    np.testing.assert_allclose(beyond, special.ndtr(-z), rtol=1e-9)
    np.testing.assert_allclose(log_below, special.log_ndtr(z), rtol=1e-9)
    assert furthest == [1.0, pytest.approx(special.log_ndtr(-9.0), rel=1e-9)]
    assert slopes_error(lambda x: normal_tails(x)[0], 1.3) < 1e-6
    assert slopes_error(lambda x: normal_tails(x)[1], -1.3) < 1e-6
