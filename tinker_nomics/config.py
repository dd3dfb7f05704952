"""Config: everything that one run is priced from, as a pytree whose every leaf is a number with a dotted path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .assumptions import Assumptions
from .errors import ConfigError, Problem, TinkerNomicsError
from .parameters import canonical_path, registry, unknown_path

Number = Any  # a Python float in a Config that was made by hand; an array or a tracer inside jit, vmap and grad


class Workload(eqx.Module):
    """What the run samples and trains: see the registry for each field's unit and bounds."""

    prompts_per_step: Number
    rollouts_per_prompt: Number
    completion_tokens: Number
    prompt_tokens: Number
    steps: Number
    epochs: Number
    length_growth: Number
    turns: Number
    turns_growth: Number
    observation_tokens: Number
    failure_rate: Number
    failure_extra_turns: Number
    recipe_multiplier: Number
    max_completion_tokens: Number = None
    length_p99_over_p50: Number = None
    cache_hit_turns: Number = None
    cache_hit_group: Number = None
    strips_thinking: Number = None


class Model(eqx.Module):
    """The few numbers that the formulas need of a model's architecture."""

    parameters: Number
    active_parameters: Number
    weight_bytes: Number
    kv_bytes_per_token: Number
    lora_parameters_per_rank: Number
    lora_parameters_per_rank_published: Number
    matrix_parameters: Number = None
    lookup_bytes: Number = None
    expert_bytes: Number = None
    experts: Number = None
    experts_per_token: Number = None
    blocks: Number = None
    hidden: Number = None
    kv_heads: Number = None
    window_kv_bytes_per_token: Number = None
    window: Number = None
    state_bytes_per_sequence: Number = None
    attention_flops: Number = None
    window_attention_flops: Number = None
    decode_attention_flops: Number = None
    lora_used_per_rank: Number = None


class Prices(eqx.Module):
    """One model's row of a dated price list: USD per million tokens, storage in USD per GB-month."""

    prefill: Number
    cached_prefill: Number
    sample: Number
    train: Number
    storage: Number


class ChipFigures(eqx.Module):
    """What the cost model needs of a chip: bandwidth [B/s], memory [B], dense matrix rate [FLOP/s]."""

    bandwidth: Number
    memory_bytes: Number
    matrix_rate: Number


class Engine(eqx.Module):
    """The rollout engine of the revised edition: its width, its share of the memory, how near its roof it comes."""

    tensor_parallel: Number = None
    memory_fraction: Number = None
    sequences: Number = None
    decode_efficiency: Number = None
    block_seconds: Number = None
    token_seconds: Number = None
    prefill_efficiency: Number = None


class Trainer(eqx.Module):
    """The trainer of the revised edition: its MFU surface, its own seconds, what it computes besides, what it holds."""

    mfu_dense: Number = None
    mfu_moe: Number = None
    mfu_power: Number = None
    fixed_seconds: Number = None
    sync_rate: Number = None
    recompute: Number = None
    logprob_passes: Number = None
    reference_parameters: Number = None
    reward_parameters: Number = None
    tokens_in_flight: Number = None
    buffer_bytes: Number = None


class Cluster(eqx.Module):
    """GPUs of one's own: how many, what they cost, what share of their roofline is reached."""

    gpus: Number
    price_per_gpu_hour: Number
    rollout_efficiency: Number
    mfu: Number
    prefix_cache_hit_rate: Number
    chip: ChipFigures
    engine: Engine = Engine()
    trainer: Trainer = Trainer()


class Schedule(eqx.Module):
    """How rollouts and training overlap: the staleness bound k, and the kind of pipeline."""

    max_steps_off_policy: Number
    rollout_share: Number = None
    minibatches: Number = None
    rho: Number = None
    variation: Number = None
    kind: str = eqx.field(static=True, default="auto")


class Lora(eqx.Module):
    """The adapter: its rank, and whether there is one ("lora") or every weight trains ("full")."""

    rank: Number
    training: str = eqx.field(static=True, default="lora")


class Sandbox(eqx.Module):
    """Where rollouts run their code: seconds, cores and GiB per rollout, with the provider's rates."""

    seconds: Number
    cores: Number
    gib: Number
    price_per_core_second: Number
    price_per_gib_second: Number


class PublishedPrices(eqx.Module):
    """One model's row of the published page's one table [USD per million tokens]; None where it does not list it."""

    prefill: Number = None
    sample: Number = None
    train: Number = None


class Evaluation(eqx.Module):
    """Evaluations during the run: rollouts of one, and the steps between two."""

    sequences: Number = None
    every: Number = None


@dataclass(frozen=True, eq=False)
class Provenance:
    """Where the numbers come from, for people. It equals every other, so that it never causes a new trace."""

    choices: Mapping[str, str | None] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    overridden: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    restated: tuple[str, ...] = ()  # of the overridden ones, those given as the rows give them anyway

    @property
    def changed(self) -> tuple[str, ...]:
        """The overridden parameters whose values differ from what the rows give."""
        return tuple(path for path in self.overridden if path not in self.restated)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Provenance)

    def __hash__(self) -> int:
        return 0


SCHEDULE_KINDS = ("auto", "sync", "stream_minibatch", "async", "partial")
TRAINING_KINDS = ("lora", "full")


class Config(eqx.Module):
    """One run, on Tinker and on a cluster of one's own.

    Every leaf is a float (None where optional and absent) under its dotted path, e.g. `workload.rollouts_per_prompt`.
    Made by `Config.from_recipe`, `Config.from_toml` or `replace`, each of which checks all bounds at once.
    """

    workload: Workload
    model: Model
    prices: Prices
    cluster: Cluster
    schedule: Schedule
    lora: Lora
    sandbox: Sandbox
    assumptions: Assumptions = eqx.field(static=True)
    provenance: Provenance = eqx.field(static=True)
    published_prices: PublishedPrices = PublishedPrices()
    evaluation: Evaluation = Evaluation()

    @classmethod
    def from_recipe(cls, recipe: str, **choices: Any) -> Config:
        """The configuration of a catalog recipe; see `tinker_nomics.recipe_config.from_recipe` for the arguments."""
        from .recipe_config import from_recipe

        return from_recipe(recipe, **choices)

    @classmethod
    def from_toml(cls, source: Any) -> Config:
        """The configuration in a TOML file or text; see `tinker_nomics.config_toml`."""
        from .config_toml import from_toml

        return from_toml(source)

    def to_toml(self) -> str:
        """This configuration as TOML that `from_toml` reads back to an equal one."""
        from .config_toml import to_toml

        return to_toml(self)

    def to_dict(self) -> dict[str, float | None]:
        """Every parameter by its path, in the registry's order."""
        return {path: get(self, path) for path in registry()}

    @property
    def schedule_kind(self) -> str:
        """The pipeline's kind in words: as chosen, or what k implies (sync at 0, async above)."""
        if self.schedule.kind != "auto":
            return self.schedule.kind
        return "async" if self.schedule.max_steps_off_policy >= 1 else "sync"

    @property
    def splits_pool(self) -> bool:
        """Whether rollouts and training have GPUs of their own: an asynchronous run, from k = 1 on, whose pool is split."""
        split = self.assumptions.pool_split is True and self.schedule_kind == "async"
        return split and bool(self.schedule.max_steps_off_policy >= 1)


def get(tree: Any, path: str) -> Any:
    """The value at a dotted path of a pytree of Modules."""
    for name in path.split("."):
        tree = getattr(tree, name)
    return tree


def copy_with(module: Any, updates: Mapping[str, Any]) -> Any:
    """A copy of a Module with fields replaced; `__init__` and checks do not run (eqx.tree_at costs 50 times as much)."""
    fresh = object.__new__(type(module))
    for name, value in module.__dict__.items():
        object.__setattr__(fresh, name, updates.get(name, value))
    return fresh


def set_paths(tree: Any, values: Mapping[str, Any]) -> Any:
    """A copy of a Module with the values at dotted paths replaced; other subtrees are shared. Nothing is checked."""
    here: dict[str, Any] = {}
    below: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        name, _, rest = path.partition(".")
        if rest:
            below.setdefault(name, {})[rest] = value
        else:
            here[name] = value
    for name, inner in below.items():
        here[name] = set_paths(here.get(name, getattr(tree, name)), inner)
    return copy_with(tree, here)


def replace(config: Config, values: Mapping[str, Any]) -> Config:
    """`config` with the parameters at these paths replaced; numbers may be text with a unit ("3.35 TB/s").

    Inside jit, vmap and grad values may be arrays: those are taken unchecked. `schedule.kind` and `lora.training`,
    the two choices that shape the formulas, are set the same way; other choices are made in `Config.from_recipe`.

    Raises:
        ConfigError: every unknown path, unknown unit and value out of bounds, at once.
    """
    if not isinstance(config, Config) or not isinstance(values, Mapping):
        raise TinkerNomicsError('replace takes a Config and {path: value}: replace(config, {"workload.steps": 100})')
    problems: list[Problem] = []
    parsed: dict[str, Any] = {}
    for path, given in values.items():
        spelled = str(path).replace("-", "_")
        if spelled in ("schedule.kind", "lora.training"):
            parsed[spelled] = given
        elif spelled not in registry():
            problems.append(Problem(path, given, unknown_path(path)))
        elif is_array(given):
            parsed[spelled] = given
        else:
            try:
                parsed[spelled] = registry()[spelled].parse(given)
            except TinkerNomicsError as error:
                problems.append(Problem(path, given, str(error)))
    changed = set_paths(config, parsed)
    problems += [problem for problem in problems_of(changed) if problem.path not in {p.path for p in problems}]
    if problems:
        raise ConfigError(problems)
    before = config.provenance
    given = [path for path in parsed if path in registry()]
    same = [path for path in given if path not in before.changed and _equal(parsed[path], get(config, path))]
    kept = [path for path in before.restated if path not in given]
    overridden = tuple(dict.fromkeys((*before.overridden, *given)))
    provenance = Provenance(before.choices, before.labels, overridden, before.notes, (*kept, *same))
    return copy_with(changed, {"provenance": provenance})


def _equal(new: Any, old: Any) -> bool:
    """Whether two plain values are the same; arrays never are."""
    return not is_array(new) and not is_array(old) and new == old


def is_array(value: Any) -> bool:
    """Whether `value` is a JAX array or tracer, or a NumPy array with axes: taken as it is, unchecked."""
    return isinstance(value, jax.Array) or (isinstance(value, np.ndarray) and value.ndim > 0)


def problems_of(config: Config, placement: bool = True) -> list[Problem]:
    """Everything that is wrong with a configuration of plain numbers; traced values are passed over.

    Args:
        placement: whether to ask if the run fits on its GPUs, where all else is sound.
    """
    problems = []
    for path, parameter in registry().items():
        value = get(config, path)
        if not is_array(value):
            found = parameter.problem(value)
            if found:
                problems.append(found)
    if config.schedule.kind not in SCHEDULE_KINDS:
        problems.append(
            Problem("schedule.kind", config.schedule.kind, f"one of {', '.join(SCHEDULE_KINDS)} is allowed")
        )
    if config.lora.training not in TRAINING_KINDS:
        problems.append(
            Problem("lora.training", config.lora.training, f"one of {', '.join(TRAINING_KINDS)} is allowed")
        )
    k = config.schedule.max_steps_off_policy
    if config.schedule.kind in ("sync", "stream_minibatch", "partial") and not is_array(k) and k and k > 0:
        problems.append(
            Problem(
                "schedule.kind",
                config.schedule.kind,
                f"it is on-policy, but schedule.max_steps_off_policy is {k:g}",
                'Take "async" (or "auto"), or k = 0.',
            )
        )
    from .explanations.switch_checks import switch_problems

    problems += _sandbox_problems(config) + _model_problems(config)
    if problems and all(problem.value is None for problem in problems):
        # what is missing may make a run larger and never smaller: what does not fit without it does not fit
        return problems + switch_problems(_least(config, problems), sound=placement)
    return problems + switch_problems(config, sound=placement and not problems)


def _least(config: Config, missing: list[Problem]) -> Config:
    """`config` with the smallest allowed whole number for each required parameter that is missing."""
    rows = ((problem.path, registry().get(problem.path)) for problem in missing)
    return set_paths(config, {path: max(1.0, row.low) for path, row in rows if row is not None and not row.optional})


def _sandbox_problems(config: Config) -> list[Problem]:
    sandbox = config.sandbox
    rates = (sandbox.price_per_core_second, sandbox.price_per_gib_second)
    fee = any(is_array(rate) or (rate is not None and rate > 0) for rate in rates)
    if sandbox.seconds is None and fee:
        provider = config.provenance.choices.get("sandbox")
        provider = "the sandbox" if provider in (None, "none") else provider
        return [
            Problem(
                "sandbox.seconds",
                None,
                f"{provider} bills by the second and no source gives the seconds of a rollout",
                "Give --sandbox.seconds, or a sandbox without a fee (--sandbox none).",
            )
        ]
    return []


def _model_problems(config: Config) -> list[Problem]:
    figures = (config.model.lora_parameters_per_rank_published, config.model.lora_parameters_per_rank)
    if config.lora.training == "lora" and all(figure is None for figure in figures):
        model = config.provenance.choices.get("model") or "the model"
        return [
            Problem(
                "model.lora_parameters_per_rank",
                None,
                f"the architecture of {model} is not known, and the size of a LoRA checkpoint needs it",
                'Give the figure itself, or take lora.training = "full".',
            )
        ]
    return []


def canonical(values: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping with each path spelled as the registry does; an unknown one raises, naming the nearest three."""
    return {canonical_path(path): value for path, value in values.items()}
