"""Both editions of the cost model on measured steps: seconds of one step."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from measured_runs import MeasuredStep, cluster_columns, column, model_columns

import tinker_nomics as tn
from tinker_nomics import catalog
from tinker_nomics.formulas.figures import ModelFigures
from tinker_nomics.formulas.lengths import NORMAL_P99
from tinker_nomics.formulas.own_step import StepTimes, StepWork, TrainerFigures, step_times
from tinker_nomics.formulas.train_flop import train_flop

SPREAD = 10.0  # p99/p50 of response lengths before the cut: the public calculator's page; no row gives its own
PREFILL_EFFICIENCY = 0.5  # the published edition's reading; prefill is below 1 % of these steps
NAMES = (
    "decode_efficiency", "block_seconds", "token_seconds",
    "mfu_dense", "mfu_moe", "mfu_power", "fixed_seconds", "sync_rate",
)
LINEAR = ("mfu_power",)
LOGIT = ("decode_efficiency",)


def coefficients_of(x: jax.Array) -> dict[str, jax.Array]:
    """The coefficients of an unbounded vector: logit of an efficiency, the power itself, logarithms of the rest."""
    return {
        name: value if name in LINEAR else jax.nn.sigmoid(value) if name in LOGIT else jnp.exp(value)
        for name, value in zip(NAMES, x, strict=True)
    }


class RevisedSteps:
    """The revised edition on a set of rows, as a function of its fitted coefficients."""

    def __init__(self, rows: Sequence[MeasuredStep]):
        self.rows = tuple(rows)
        kinds = np.array([row.kind for row in self.rows])
        self.parts = [(kind, np.flatnonzero(kinds == kind)) for kind in dict.fromkeys(kinds.tolist())]
        self.arguments = [_arguments([self.rows[i] for i in mine]) for _, mine in self.parts]
        self._logs = jax.jit(lambda x: jnp.log(self.times(x).total))
        self._slopes = jax.jit(jax.jacfwd(lambda x: jnp.log(self.times(x).total)))

    def times(self, x: jax.Array) -> StepTimes:
        """The parts of every row's step, in the order of the rows."""
        found = coefficients_of(x)
        parts = []
        for (kind, mine), (work, model) in zip(self.parts, self.arguments, strict=True):
            rows = [self.rows[i] for i in mine]
            engine = [found[name] for name in ("decode_efficiency", "block_seconds", "token_seconds")]
            cluster = cluster_columns(rows, *engine, PREFILL_EFFICIENCY)
            trainer = TrainerFigures(
                found["mfu_dense"], found["mfu_moe"], found["mfu_power"], found["fixed_seconds"],
                2.0 * model.parameters, found["sync_rate"],
            )
            share = column(rows, "rollout_gpus") / column(rows, "gpus") if kind == "async" else None
            times = step_times(work, model, cluster, trainer, kind, share)
            parts.append(StepTimes(*(jnp.broadcast_to(value, (len(rows),)) for value in (
                times.rollout, times.tail, times.train, times.sync, times.share, times.total)), {}))
        back = np.argsort(np.concatenate([mine for _, mine in self.parts]), kind="stable")
        return jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[back], *parts)

    def log_seconds(self, x: np.ndarray) -> np.ndarray:
        """Logarithm of every row's predicted step."""
        return np.asarray(self._logs(x))

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Their derivatives by the vector, [rows, coefficients]."""
        return np.asarray(self._slopes(x))


def _arguments(rows: Sequence[MeasuredStep]) -> tuple[StepWork, ModelFigures]:
    model = model_columns(rows)
    mean, prompt = column(rows, "mean_response_tokens"), column(rows, "prompt_tokens")
    sequences, whole = column(rows, "sequences"), mean + prompt
    work = StepWork(
        sequences=sequences,
        mean=mean,
        sigma=np.full(len(rows), np.log(SPREAD) / NORMAL_P99),
        cap=column(rows, "cap"),
        prompt=prompt,
        observed=np.zeros(len(rows)),
        prefill_tokens=sequences * prompt,
        trained_tokens=sequences * whole,
        train_flop=train_flop(whole, model, 0.0, column(rows, "recompute"), column(rows, "logprob_passes"), "full"),
        extra_train_seconds=0.0,
        bound=column(rows, "max_steps_off_policy"),
    )
    return work, model


def published_seconds(row: MeasuredStep) -> float:
    """The published edition's step: its defaults, and the row's workload, model and cluster."""
    config = tn.Config.from_recipe(
        None,
        model=row.model,
        chip=row.chip,
        gpus=row.gpus,
        training="full",
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
