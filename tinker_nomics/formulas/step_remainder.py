"""What a step spends on neither rollouts nor training. Seconds.

Source: measured. On a Miles step of 388.5 s, 106.6 s are none of rollout, training and weight update.
"""

from __future__ import annotations

from ..config import Number, Workload


def weight_sync_seconds(weight_bytes: Number, rate: Number) -> Number:
    """bytes / rate: seconds until the rollout engines hold the new weights.

    Args:
        weight_bytes: bytes that change: all weights of full fine-tuning, the adapter of LoRA.
        rate: B/s at which the whole cluster is refitted; the link's bandwidth is an upper bound, measured rates are a
            tenth of it.
    """
    return weight_bytes / rate


def forward_seconds(
    tokens: Number, parameters: Number, gpus: Number, matrix_rate: Number, utilisation: Number
) -> Number:
    """tokens 2 N / (GPUs rate MFU): a forward pass over a batch, by a reference model or a reward model.

    Args:
        parameters: N, matrix parameters of that model that a token uses; 0 for none.
    """
    return tokens * 2 * parameters / (gpus * matrix_rate * utilisation)


def evaluation_seconds(sequences: Number, every: Number, sequence_seconds: Number) -> Number:
    """sequences x seconds per sequence / every: evaluation spread over the steps.

    Args:
        sequences: rollouts of one evaluation; 0 for none.
        every: steps between evaluations, >= 1.
        sequence_seconds: seconds of rollout per sequence at the step's own speed.
    """
    return sequences * sequence_seconds / every


def evaluated_share(sequences: Number, every: Number, workload: Workload) -> Number:
    """sequences / (every B G): rollouts of evaluations per rollout of training.

    Args:
        sequences, every: as in `evaluation_seconds`.
    """
    return evaluation_seconds(sequences, every, 1 / (workload.prompts_per_step * workload.rollouts_per_prompt))


def sandbox_wait(sandbox_seconds: Number | None, waits: bool) -> Number:
    """Seconds that a step waits for its sandboxes: those of one rollout where the step is synchronous, else none.

    Rollouts run side by side, so their sandboxes do too; the last one ends the step. An engine that is refilled works
    meanwhile.

    Args:
        sandbox_seconds: time that one rollout spends in its sandbox; None where it has none.
        waits: whether the step waits for its longest rollout.
    """
    return sandbox_seconds if waits and sandbox_seconds is not None else 0.0
