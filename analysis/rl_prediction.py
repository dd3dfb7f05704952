"""Both editions of the cost model on measured steps: seconds of one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from measured_runs import MeasuredStep, chip_columns, column, model_columns

import tinker_nomics as tn
from tinker_nomics import catalog
from tinker_nomics.assumptions import Assumptions
from tinker_nomics.config import (
    Cluster,
    Config,
    Engine,
    Evaluation,
    Lora,
    Model,
    Prices,
    Provenance,
    Sandbox,
    Schedule,
    Trainer,
    Workload,
    set_paths,
)

SPREAD = 10.0  # p99/p50 of response lengths before the cut: the public calculator's page; no row gives its own
PREFILL_EFFICIENCY = 0.5  # the published edition's reading; prefill is below 1 % of these steps
PATHS = {
    "decode_efficiency": "cluster.engine.decode_efficiency",
    "block_seconds": "cluster.engine.block_seconds",
    "token_seconds": "cluster.engine.token_seconds",
    "mfu_dense": "cluster.trainer.mfu_dense",
    "mfu_moe": "cluster.trainer.mfu_moe",
    "mfu_power": "cluster.trainer.mfu_power",
    "fixed_seconds": "cluster.trainer.fixed_seconds",
    "sync_rate": "cluster.trainer.sync_rate",
}
NAMES = tuple(PATHS)
LINEAR = ("mfu_power",)
LOGIT = ("decode_efficiency",)


def coefficients_of(x: Any) -> dict[str, jax.Array]:
    """The coefficients of an unbounded vector: logit of an efficiency, the power itself, logarithms of the rest."""
    return {
        name: value if name in LINEAR else jax.nn.sigmoid(value) if name in LOGIT else jnp.exp(value)
        for name, value in zip(NAMES, x, strict=True)
    }


class Seconds(NamedTuple):
    """A step and its parts; `train` holds the passes before training and the trainer's own seconds."""

    rollout: jax.Array
    train: jax.Array
    sync: jax.Array
    total: jax.Array


class RevisedSteps:
    """The revised edition on a set of rows, as a function of its fitted coefficients."""

    def __init__(self, rows: Sequence[MeasuredStep]):
        self.rows = tuple(rows)
        kinds = np.array([row.kind for row in self.rows])
        self.parts = [(kind, np.flatnonzero(kinds == kind)) for kind in dict.fromkeys(kinds.tolist())]
        self.configs = [revised_config([self.rows[i] for i in mine], kind) for kind, mine in self.parts]
        self._logs = jax.jit(lambda x: jnp.log(self.times(x).total))
        self._slopes = jax.jit(jax.jacfwd(lambda x: jnp.log(self.times(x).total)))

    def times(self, x: Any) -> Seconds:
        """The parts of every row's step, in the order of the rows."""
        found = {PATHS[name]: value for name, value in coefficients_of(x).items()}
        parts = []
        for config in self.configs:
            own = tn.cost_model.evaluate(set_paths(config, found)).self_hosted
            hours = (own.rollout_hours, own.train_hours + own.fixed_hours, own.sync_hours, own.hours)
            count = len(np.atleast_1d(config.workload.prompts_per_step))
            parts.append(Seconds(*(jnp.broadcast_to(3600.0 * value, (count,)) for value in hours)))
        back = np.argsort(np.concatenate([mine for _, mine in self.parts]), kind="stable")
        return jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[back], *parts)

    def log_seconds(self, x: np.ndarray) -> np.ndarray:
        """Logarithm of every row's predicted step."""
        return np.asarray(self._logs(x))

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Their derivatives by the vector, [rows, coefficients]."""
        return np.asarray(self._slopes(x))


def revised_config(rows: Sequence[MeasuredStep], kind: str) -> Config:
    """One step of each row, as a configuration whose leaves are columns; all coefficients are still to be set."""
    model = model_columns(rows)
    zero = np.zeros(len(rows))
    figures = {name: value for name, value in vars(model).items() if name in Model.__dataclass_fields__}
    return Config(
        workload=Workload(
            column(rows, "prompts_per_step"),
            column(rows, "rollouts_per_prompt"),
            column(rows, "mean_response_tokens"),
            column(rows, "prompt_tokens"),
            steps=1.0,
            epochs=1.0,
            length_growth=1.0,
            turns=1.0,
            turns_growth=1.0,
            observation_tokens=0.0,
            failure_rate=0.0,
            failure_extra_turns=0.0,
            recipe_multiplier=1.0,
            max_completion_tokens=column(rows, "cap"),
            length_p99_over_p50=SPREAD,
            cache_hit_turns=0.0,
            cache_hit_group=0.0,
            strips_thinking=0.0,
        ),
        model=Model(
            active_parameters=model.matrix_parameters,
            lora_parameters_per_rank=None,
            lora_parameters_per_rank_published=None,
            **figures,
        ),
        prices=Prices(0.0, None, 0.0, 0.0, 0.0),
        cluster=Cluster(
            column(rows, "gpus"),
            price_per_gpu_hour=0.0,
            rollout_efficiency=1.0,
            mfu=1.0,
            prefix_cache_hit_rate=0.0,
            chip=chip_columns(rows),
            engine=Engine(
                column(rows, "tensor_parallel"),
                column(rows, "engine_memory_fraction"),
                prefill_efficiency=PREFILL_EFFICIENCY,
            ),
            trainer=Trainer(
                recompute=column(rows, "recompute"),
                logprob_passes=column(rows, "logprob_passes"),
                reference_parameters=0.0,
                reward_parameters=0.0,
            ),
        ),
        schedule=Schedule(
            column(rows, "max_steps_off_policy"),
            rollout_share=column(rows, "rollout_gpus") / column(rows, "gpus") if kind == "async" else None,
            kind=kind,
        ),
        lora=Lora(1.0, training="full"),
        sandbox=Sandbox(None, zero, zero, 0.0, 0.0),
        assumptions=Assumptions.parse("revised"),
        provenance=Provenance(),
        evaluation=Evaluation(0.0, 1.0),
    )


def published_seconds(row: MeasuredStep) -> float:
    """The published edition's step: its defaults, and the row's workload, model and cluster."""
    config = tn.Config.from_recipe(
        None,
        model=row.model,
        chip=row.chip,
        gpus=row.gpus,
        training="full",
        assumptions="published",
        prices=catalog.newest_price_date(),
        overrides={
            "workload.prompts_per_step": row.prompts_per_step,
            "workload.rollouts_per_prompt": row.rollouts_per_prompt,
            "workload.completion_tokens": row.mean_response_tokens,
            "workload.prompt_tokens": row.prompt_tokens,
            "workload.steps": 1.0,
            "workload.length_growth": 1.0,
            "schedule.max_steps_off_policy": row.max_steps_off_policy,
            "cluster.price_per_gpu_hour": 0.0,
            "prices.prefill": 0.0,
            "prices.sample": 0.0,
            "prices.train": 0.0,
            "prices.storage": 0.0,
        },
    )
    return float(tn.estimate(config).self_hosted.hours) * 3600
