"""From the axes of a sweep to the numbers of a Config that vary, each an array that broadcasts to the batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import catalog
from ..config import Config, get, problems_of, set_paths
from ..errors import ConfigError, Problem, TinkerNomicsError
from ..parameters import registry
from ..recipe_config import from_recipe
from ..unread import why_unread
from .axes import CHOICES, KINDS, Axes, parse_axes

# which figures the choices decide, and by which choices together each does
_DECIDED: Mapping[str, tuple[str, ...]] = {
    "model.": ("model",),
    "prices.": ("model", "prices"),
    "published_prices.": ("model",),
    "cluster.chip.": ("chip",),
    "cluster.price_per_gpu_hour": ("chip", "prices", "provider"),
    "sandbox.": ("sandbox",),
}


def varied_leaves(config: Config, axes: Axes) -> dict[str, np.ndarray]:
    """Every varied parameter as an array with the batch's number of dimensions, of length 1 where it does not vary.

    A choice is looked up once for each combination of the choices that decide a figure together (a price hangs on
    model and date, a rent on chip, date and provider), and its figures are stacked along those axes. A parameter with
    an axis of its own follows that axis; one that `config` overrides stays as it is. A rent is the asked provider's,
    else the median, of the chip and date at hand. A figure that a row lacks, and
    that no formula refuses to go without, is NaN.

    Raises:
        ConfigError: every axis that no formula of the run reads, and every combination of choices that the catalog
            refuses, at once.
    """
    leaves = {path: axes.spread(path) for path in axes.values if path in registry()}
    kept = {*leaves, *config.provenance.overridden}
    problems = _unread(config, axes)
    for prefix, choices in _DECIDED.items():
        names = [name for name in choices if name in axes.values]
        paths = [path for path in registry() if path.startswith(prefix) and path not in kept]
        if names and paths:
            leaves |= _looked_up(config, axes, names, paths, problems)
    if problems:
        raise ConfigError(problems.values(), "this sweep")
    return leaves


def _unread(config: Config, axes: Axes) -> dict[str, Problem]:
    """A problem for every axis along which nothing would change; the columns of a zip are a table, and may be idle."""
    if axes.zipped:
        return {}
    why = {path: why_unread(config, path, axes.values) for path in axes.values if path in registry()}
    return {
        path: Problem(path, "this axis", f"nothing changes along it: {reason}")
        for path, reason in why.items()
        if reason is not None
    }


def with_choices(error: ConfigError, config: Config, given: Mapping[str, Any], mode: str) -> ConfigError:
    """`error` of a sweep's axes, with what is wrong with its choices too: nobody mends one to meet the other."""
    choices = {path: axis for path, axis in given.items() if path in CHOICES} if isinstance(given, Mapping) else {}
    try:
        varied_leaves(config, parse_axes(choices, mode))
    except ConfigError as other:
        known = {problem.path for problem in error.problems}
        more = [problem for problem in other.problems if choices and problem.path not in known]
        return ConfigError([*error.problems, *more], "this sweep")
    return error


def _looked_up(
    config: Config, axes: Axes, names: list[str], paths: list[str], problems: dict[str, Problem]
) -> dict[str, np.ndarray]:
    spread = np.broadcast_arrays(*(axes.spread(name) for name in names))
    together = np.stack([words.ravel() for words in spread], axis=1)
    combinations, where = np.unique(together, axis=0, return_inverse=True)
    figures = np.full((len(combinations), len(paths)), np.nan)
    for row, words in zip(figures, combinations):
        try:
            chosen = choose(config, dict(zip(names, map(str, words))), paths)
        except ConfigError as error:
            problems.update((str(problem), problem) for problem in error.problems)
        else:
            row[:] = [np.nan if get(chosen, path) is None else get(chosen, path) for path in paths]
    columns = {path: column[where.ravel()].reshape(spread[0].shape) for path, column in zip(paths, figures.T)}
    absent = {path for path, column in columns.items() if np.isnan(column).all() and get(config, path) is None}
    return {path: column for path, column in columns.items() if path not in absent}


def choose(config: Config, choices: Mapping[str, str], paths: list[str]) -> Config:
    """`config` with the figures at `paths` taken from other rows of the catalog, and all else as it is."""
    named = {**config.provenance.choices, **choices}
    fixed = {path: get(config, path) for path in registry() if path not in paths}
    return from_recipe(
        None,
        model=named.get("model"),
        chip=named.get("chip"),
        prices=named.get("prices"),
        provider=choices.get("provider") or _asked_provider(config),
        sandbox=named.get("sandbox"),
        assumptions=config.assumptions,
        schedule=config.schedule.kind,
        training=config.lora.training,
        overrides={path: value for path, value in fixed.items() if value is not None},
    )


def _asked_provider(config: Config) -> str | None:
    """The provider that the caller of `from_recipe` asked for, or None where the rent is the catalog's default.

    A Config records whose rent it holds, asked for or not; what the default would not give was asked for.
    """
    recorded = config.provenance.choices
    try:
        default = catalog.rent(str(recorded.get("chip")), str(recorded.get("prices"))).provider
    except TinkerNomicsError:
        return recorded.get("provider")
    return None if default == recorded.get("provider") else recorded.get("provider")


class Part(NamedTuple):
    """A piece of the batch that one traced model serves.

    Args:
        config: the configuration with the piece's kinds, and 1.0 where a parameter varies.
        leaves: {path: values}, as `varied_leaves` gives them, of this piece only.
        place: where the piece lies in the batch: an index per dimension, each a slice or an array of rows.
        shape: the batch's shape, of this piece.
    """

    config: Config
    leaves: dict[str, np.ndarray]
    place: tuple[Any, ...]
    shape: tuple[int, ...]


def parts(config: Config, axes: Axes, leaves: Mapping[str, np.ndarray]) -> list[Part]:
    """The batch cut by the choices that shape the formulas (schedule.kind, lora.training), which need a trace each.

    Raises:
        ConfigError: values that are allowed one by one and not together.
    """
    kinds = [path for path in KINDS if path in axes.values]
    cutter = _rows_by_kind if axes.zipped else _slices_by_kind
    cut = list(cutter(config, axes, leaves, kinds))
    problems = {str(problem): problem for part in cut for problem in _together(part)}
    if problems:
        raise ConfigError(problems.values(), "this sweep")
    # a varied leaf is there in the structure even where the configuration itself has none
    return [part._replace(config=set_paths(part.config, dict.fromkeys(part.leaves, 1.0))) for part in cut]


def _rows_by_kind(config: Config, axes: Axes, leaves: Mapping[str, np.ndarray], kinds: list[str]) -> Iterator[Part]:
    if not kinds:
        yield Part(config, dict(leaves), (slice(None),), axes.shape)
        return
    columns = [axes.values[kind] for kind in kinds]
    for words in sorted(set(zip(*(column.tolist() for column in columns)))):
        rows = np.flatnonzero(np.all([column == word for column, word in zip(columns, words)], axis=0))
        part = set_paths(config, dict(zip(kinds, words)))
        yield Part(part, {path: values[rows] for path, values in leaves.items()}, (rows,), (len(rows),))


def _slices_by_kind(config: Config, axes: Axes, leaves: Mapping[str, np.ndarray], kinds: list[str]) -> Iterator[Part]:
    for at in np.ndindex(*(len(axes.values[kind]) for kind in kinds)):
        place, shape = [slice(None)] * len(axes.shape), list(axes.shape)
        for kind, index in zip(kinds, at):
            place[axes.dimension[kind]] = slice(index, index + 1)
            shape[axes.dimension[kind]] = 1
        part = set_paths(config, {kind: str(axes.values[kind][index]) for kind, index in zip(kinds, at)})
        yield Part(part, dict(leaves), tuple(place), tuple(shape))


def _together(part: Part) -> list[Problem]:
    """What is wrong with a part as a whole, where the largest value of each parameter stands for all of them.

    Each value is within its own bounds already; rules between parameters (a staleness bound of an on-policy schedule,
    a fee without the seconds that it is for) are broken by the largest value if by any.
    """
    present = {path: values for path, values in part.leaves.items() if not np.isnan(values).all()}
    largest = dict.fromkeys(part.leaves) | {path: float(np.nanmax(values)) for path, values in present.items()}
    return problems_of(set_paths(part.config, largest))
