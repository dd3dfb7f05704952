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
    "kv_fits": ("the whole batch's cache fits", "the whole batch's cache does not fit"),
}


def side_in_words(branch: str, margin: float) -> str:
    """The side on which `branch` is, for people."""
    above, below = _WORDS.get(branch, (f"margin {margin:.4g} >= 0", f"margin {margin:.4g} < 0"))
    return above if margin >= 0 else below
