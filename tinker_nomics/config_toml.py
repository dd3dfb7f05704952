"""A Config as TOML: choices by name, every number under its path with its unit and source beside it."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .assumptions import Assumptions
from .config import Config, get
from .errors import ConfigError, Problem, TinkerNomicsError, listed
from .parameters import nearest, registry, unknown_path
from .reading import read_text
from .recipe_config import from_recipe, is_file

CHOICES = ("recipe", "model", "chip", "provider", "prices", "sandbox", "schedule", "training", "assumptions")
# the figures that a choice brings: with another choice they are another's, unless the file says otherwise
_BRINGS = {
    "recipe": ("workload.", "lora."),
    "model": ("model.", "prices.", "published_prices."),
    "chip": ("cluster.chip.", "cluster.price_per_gpu_hour"),
    "prices": ("prices.", "cluster.price_per_gpu_hour"),
    "provider": ("cluster.price_per_gpu_hour",),
    "sandbox": ("sandbox.",),
}
_EDITING = (
    "# a name edited in this file keeps the figures below; --chip, --model, --prices ... bring those of another row"
)


def to_toml(config: Config) -> str:
    """The effective configuration: `from_toml` gives an equal one back."""
    provenance = config.provenance
    chosen: dict[str, Any] = {name: provenance.choices.get(name) for name in CHOICES}
    chosen |= {"schedule": config.schedule.kind, "training": config.lora.training}
    chosen["assumptions"] = _assumptions_value(config.assumptions)
    lines = ['# a tinker_nomics run; numbers may carry a unit, as in "3.35 TB/s" or "$2.50/h"', _EDITING, "[choices]"]
    lines += [f"{name} = {_value(value)}" for name, value in chosen.items() if value is not None]
    section = ""
    for path in sorted(registry(), key=_group_order()):
        parameter = registry()[path]
        group, _, name = path.rpartition(".")
        if group != section:
            lines += ["", f"[{group}]"]
            section = group
        value = get(config, path)
        origin = "overridden" if path in provenance.overridden else provenance.labels.get(path, "default")
        comment = "  # " + parameter.unit + "; " + origin.replace("\n", " ")
        lines.append(f"# {name} is absent{comment[3:]}" if value is None else f"{name} = {_value(value)}{comment}")
    return "\n".join(lines) + "\n"


def _group_order() -> Callable[[str], int]:
    """Paths of one table together, tables in the order of their first path."""
    groups = list(dict.fromkeys(path.rpartition(".")[0] for path in registry()))
    return lambda path: groups.index(path.rpartition(".")[0])


def _assumptions_value(assumptions: Assumptions) -> Any:
    edition = assumptions.edition
    return edition if edition in ("published", "revised") else dict(vars(assumptions))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_value(item)}" for name, item in value.items()) + " }"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    number = float(value)
    return str(int(number)) if number == int(number) and abs(number) < 2**53 else repr(number)


def read_table(source: str | Path, what: str) -> tuple[dict[str, Any], Path | None]:
    """The table in a TOML file or text, and the file's path where it was one.

    Text is what holds a newline or an equals sign; anything else is a path.

    Raises:
        TinkerNomicsError: no such file, not UTF-8, or not TOML; the last with line and column.
    """
    if not isinstance(source, str | Path) or not str(source).strip():
        raise TinkerNomicsError(f"{what} = {source!r}: the path of a TOML file, or its text, is expected")
    text, path = str(source), None
    if isinstance(source, Path) or ("\n" not in text and "=" not in text):
        path = Path(source)
        text = read_text(path, "the path of a TOML file", lambda words: TinkerNomicsError(f"{what}: {words}"))
    text = text.removeprefix("\ufeff")  # the mark that some editors put before UTF-8
    try:
        return tomllib.loads(text), path
    except tomllib.TOMLDecodeError as error:
        lines = text.split("\n")
        where = str(error).replace("at end of document", f"at line {len(lines)}, column {len(lines[-1]) + 1}, the end")
        raise TinkerNomicsError(f"{what}: {path or 'the text'} is not TOML: {where}") from None


def from_toml(
    source: str | Path, choices: Mapping[str, Any] | None = None, overrides: Mapping[str, Any] | None = None
) -> Config:
    """The configuration in a TOML file or text; `choices` and `overrides` of the caller win over those in it.

    `[choices]` names catalog rows as `Config.from_recipe` takes them; every number in the other tables replaces what
    those rows give. A file of the user's own (`model = "mine.toml"`) is sought beside the configuration.

    Raises:
        ConfigError: every unknown table, choice and path, and everything missing or out of bounds, at once.
    """
    table, path = read_table(source, "configuration")
    named = table.pop("choices", {})
    problems = []
    if not isinstance(named, dict):
        raise ConfigError([Problem("choices", named, "a table is expected: write [choices] on a line of its own")])
    for name in named:
        if name not in CHOICES:
            hint = f"The nearest is {nearest(name, CHOICES, 1)[0]}."
            problems.append(
                Problem(f"choices.{name}", named[name], f"no such choice; there are {listed(CHOICES)}", hint)
            )
        elif not isinstance(named[name], str | Mapping if name == "assumptions" else str | datetime.date):
            problems.append(Problem(f"choices.{name}", named[name], "text is expected"))
    numbers = _flat(table, problems)
    if problems:
        raise ConfigError(problems, str(path or "this configuration"))
    if path is not None:
        for name in ("model", "chip", "prices"):
            given = named.get(name)
            if isinstance(given, str) and is_file(given):
                named[name] = str(path.parent / given)
    chosen = {name: str(value) if isinstance(value, datetime.date) else value for name, value in named.items()}
    others = {name: value for name, value in (choices or {}).items() if value is not None and value != chosen.get(name)}
    numbers = _without_figures_of(others, chosen, numbers) | dict(overrides or {})
    chosen |= others
    recipe = chosen.pop("recipe", None)
    return _without_equal_overrides(recipe, chosen, numbers)


def _without_figures_of(
    others: Mapping[str, Any], chosen: Mapping[str, Any], numbers: Mapping[str, Any]
) -> dict[str, Any]:
    """The file's numbers without those that a choice which the caller makes otherwise had brought.

    A number that the file's own row does not give is the user's and stays. Where the file's row is not to be found
    (a model of one's own by its name alone), all figures of its kind were that row's.
    """
    prefixes = tuple(prefix for name in others for prefix in _BRINGS.get(name, ()))
    brought = {path: value for path, value in numbers.items() if path.startswith(prefixes)} if prefixes else {}
    rest = {path: value for path, value in numbers.items() if path not in brought}
    if not brought:
        return rest
    named = dict(chosen)
    plain, needed = _rows_alone(named.pop("recipe", None), named, brought, rest)
    if plain is None:
        return rest
    return rest | {
        path: value for path, value in brought.items() if path in needed or not _is(value, path, get(plain, path))
    }


def _rows_alone(
    recipe: str | None, choices: Mapping[str, Any], numbers: Mapping[str, Any], fixed: Mapping[str, Any]
) -> tuple[Config | None, set[str]]:
    """What the named rows give, with `fixed` and those of `numbers` that they cannot do without; None where they fail."""
    needed: dict[str, Any] = {}
    for _ in range(2):
        try:
            return from_recipe(recipe, **choices, overrides={**fixed, **needed}), set(needed)
        except ConfigError as error:
            needed = {problem.path: numbers[problem.path] for problem in error.problems if problem.path in numbers}
        except TinkerNomicsError:
            break
    return None, set()


def _is(given: Any, path: str, value: float | None) -> bool:
    try:
        return registry()[path].parse(given) == value
    except TinkerNomicsError:
        return False


def _flat(table: Mapping[str, Any], problems: list[Problem], prefix: str = "") -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    for name, value in table.items():
        where = prefix + name
        spelled = where.replace("-", "_")
        if spelled in registry():
            numbers[spelled] = value
        elif isinstance(value, dict) and any(path.startswith(spelled + ".") for path in registry()):
            numbers |= _flat(value, problems, where + ".")
        else:
            problems.append(Problem(where, value, unknown_path(where)))
    return numbers


def _without_equal_overrides(recipe: str | None, choices: dict[str, Any], numbers: dict[str, Any]) -> Config:
    """The configuration, where a number that the named rows give anyway does not count as overridden."""
    config = from_recipe(recipe, **choices, overrides=numbers)
    plain, needed = _rows_alone(recipe, choices, numbers, {})
    if plain is None:
        return config
    kept = {path: value for path, value in numbers.items() if path in needed or get(config, path) != get(plain, path)}
    return config if len(kept) == len(numbers) else from_recipe(recipe, **choices, overrides=kept)
