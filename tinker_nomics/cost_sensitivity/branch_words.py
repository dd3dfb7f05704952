"""What the sign of each branch margin of the cost model means, in words."""

from __future__ import annotations

# branch -> (words where the margin is >= 0, words where it is < 0)
_WORDS = {
    "decode_roof": ("arithmetic limits decode", "memory traffic limits decode"),
    "overlap_threshold": ("rollouts and training overlap", "rollouts and training take turns"),
    "longer_phase": ("rollouts take longer than training", "training takes longer than rollouts"),
    "abort_threshold": ("rollouts that lag too far are thrown away", "no rollout is thrown away as too stale"),
    "min_gpus_ceil": ("the GPUs that the weights need, rounded up", "the GPUs that the weights need, rounded up"),
    "min_gpus_two": ("the weights ask for two GPUs or more", "the minimum of two GPUs holds"),
    "weights_fit": ("the cluster has the GPUs that the weights need", "the cluster has too few GPUs for the weights"),
    "async_threshold": ("Tinker's queue is asynchronous", "Tinker's run is synchronous"),
    "longer_side": ("rollouts take as long as training or longer", "training takes longer than rollouts"),
    "hidden": ("training hides behind the whole tail of the rollouts", "all of training but a minibatch is hidden"),
    "step_roof": ("memory traffic limits decode", "arithmetic limits decode"),
    "concurrency": ("all sequences of a replica fit at a time", "sequences of a replica take turns"),
    "window": ("a rollout ends within the sliding window", "rollouts outgrow the sliding window"),
    "cap": ("completions end below their cap in the mean", "every completion runs to its cap"),
    "mfu_cap": ("MFU grows with the tokens per GPU", "MFU is at its cap of 1"),
    "discarded_zero": ("groups are thrown away as too stale", "no group is thrown away"),
    "replica_gpus_ceil": (
        "the GPUs of a replica, rounded up to a power of two: more memory makes it narrower, with less room for cache",
        "one GPU holds a replica",
    ),
    "trainer_gpus_ceil": ("the GPUs of the trainer, rounded up", "the GPUs of the trainer, rounded up"),
    "kv_fits": ("the cache fits", "the cache does not fit"),
}


def side_in_words(branch: str, margin: float) -> str:
    """The side on which `branch` is, for people."""
    above, below = _WORDS.get(branch, (f"margin {margin:.4g} >= 0", f"margin {margin:.4g} < 0"))
    return above if margin >= 0 else below
