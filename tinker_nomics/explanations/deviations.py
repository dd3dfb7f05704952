"""The sixteen named deviations of the revised edition from the published one, each with its evidence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    """One assumption.

    Args:
        number: its place in the list of deviations.
        switch: its name in `Assumptions`.
        title: what it is about, in a few words.
        published, revised: what either edition takes.
        evidence: why, in a sentence.
        source: where that can be read.
    """

    number: int
    switch: str
    title: str
    published: str
    revised: str
    evidence: str
    source: str


_FIT = "analysis/accuracy_rl.py on NeMo RL 0.4-0.6 performance tables"
DEVIATIONS = (
    Deviation(
        1,
        "dated_prices",
        "price list",
        "the page's one table",
        "the list in force on the run's date",
        "Prices rose on 2026-07-17 on standard contexts: prefill and sample by half, train by a tenth.",
        "dated lists of the catalog, tinker-docs.thinkingmachines.ai/tinker/models",
    ),
    Deviation(
        2,
        "cached_prefill",
        "cached prefill",
        "every prompt token at the full price",
        "tokens found in the cache at the list's cached rate",
        "The SDK reports prompt_cache_hit_tokens, and lists since May 2026 bill them at a fifth of prefill.",
        "tinker SDK 0.23 and the price lists of the catalog",
    ),
    Deviation(
        3,
        "whole_sequences",
        "trained tokens",
        "completions, once per epoch",
        "whole sequences, once per epoch",
        "The cookbook makes one datum of prompt, observations and completions; num_substeps multiplies nothing.",
        "tinker-cookbook 0.6.1, trajectory_to_data and train_step; no official text says so",
    ),
    Deviation(
        4,
        "staleness_queue",
        "staleness on Tinker",
        "free",
        "stale groups are sampled, billed and thrown away",
        "The asynchronous loop discards a group that is more than k steps old only after it was sampled.",
        "tinker-cookbook, AsyncConfig; analysis/tinker_queue.py simulates its rules",
    ),
    Deviation(
        5,
        "stream_minibatch",
        "stream_minibatch",
        "the longer of both phases",
        "training hides behind the rollouts' tail",
        "StreamMinibatch stays on-policy: the last minibatch cannot start before its groups are done.",
        "tinker-cookbook, StreamMinibatchConfig",
    ),
    Deviation(
        6,
        "pool_split",
        "overlap on own GPUs",
        "both phases on all GPUs at once",
        "a split pool, at its best share",
        "At equal numbers of GPUs an asynchronous step is 0.73 to 1.73 times as fast as a synchronous one.",
        "NeMo RL 0.4-0.6 performance tables",
    ),
    Deviation(
        7,
        "kv_bytes",
        "cache bytes",
        "a heuristic of the parameters",
        "the architecture's own",
        "The heuristic is 1.8 times too low for Qwen3-30B-A3B and 25 times too high for hybrid models.",
        "arithmetic on released configurations",
    ),
    Deviation(
        8,
        "experts_hit",
        "weights per decode step",
        "all of them",
        "dense ones and the experts that a batch hits",
        "A batch of b tokens hits 1 - (1 - k/E)^b of a layer's experts, and reads no others.",
        "arithmetic; agrees with the decode pricer on released checkpoints",
    ),
    Deviation(
        9,
        "batch_roof",
        "decode roof",
        "a scalar efficiency of the roofline",
        "attention's arithmetic, time per block and token, and what is left as a fitted efficiency",
        "With its cache an 8B model saturates at 244 FLOP per byte at 456 tokens of context, below every ridge.",
        f"arithmetic; {_FIT}",
    ),
    Deviation(
        10,
        "itemised_memory",
        "memory",
        "weights times 1.8, nothing limits the batch",
        "weights, cache, activations, adapter and optimizer; what fits limits what runs at a time",
        "The page's batch of an 8B model needs 77 GB of cache, more than lies beside its weights on one GPU.",
        "arithmetic",
    ),
    Deviation(
        11,
        "mfu_surface",
        "MFU of training",
        "0.10",
        "by dense or mixture, and tokens per GPU and step",
        "Whole steps reach 17 % of the FLOP rate for Qwen3-32B and 0.4 % for DeepSeek-V3.",
        _FIT,
    ),
    Deviation(
        12,
        "train_flop",
        "FLOP per trained token",
        "4 N",
        "recomputation, old-policy pass, attention and adapter too",
        "A checkpointed backward pass repeats the forward, and so does the pass for the old log-probabilities.",
        "arithmetic",
    ),
    Deviation(
        13,
        "long_tail",
        "long tail",
        "in the scalar efficiency",
        "from the distribution of lengths",
        "A synchronous step waits for its longest rollout: at p99/p50 = 10 the mean is 0.07 of the longest of 1,024.",
        "arithmetic; p99/p50 = 10 is the page's claim, not a measurement",
    ),
    Deviation(
        14,
        "step_remainder",
        "rest of a step",
        "none",
        "weight sync, fixed seconds, sandboxes, evaluation, other models",
        "106.6 s of a 388.5 s step on MI300X are none of rollouts, training and weight update.",
        f"Miles on ROCm; {_FIT}",
    ),
    Deviation(
        15,
        "lora_parameters",
        "LoRA parameters",
        "dense grouped-query attention only",
        "every adapted matrix",
        "Closed formulas reproduce every published adapter size whose architecture is known.",
        "the table of tinker-cookbook 0.6.1, hyperparam_utils",
    ),
    Deviation(
        16,
        "abort_everything",
        "thrown-away rollouts",
        "their sampled tokens",
        "their prefill and sandboxes too",
        "A rollout that is thrown away has read its prompt and held its sandbox.",
        "consistency",
    ),
)
BY_SWITCH = {deviation.switch: deviation for deviation in DEVIATIONS}
