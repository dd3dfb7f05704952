"""From names to numbers: a recipe, a model, a chip, a price date and a sandbox become one Config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import catalog
from .assumptions import Assumptions
from .catalog.rent_table import rent_of
from .config import (
    ChipFigures,
    Cluster,
    Config,
    Engine,
    Evaluation,
    Lora,
    Model,
    Prices,
    Provenance,
    PublishedPrices,
    Sandbox,
    Schedule,
    Trainer,
    Workload,
    canonical,
    copy_with,
    problems_of,
)
from .editions import DEFAULT_EDITION
from .errors import ConfigError, Problem, TinkerNomicsError, listed
from .hardware.chip import Chip
from .parameters import registry

DEFAULT_CHIP = "h100-sxm"
DEFAULT_GPUS = 8.0
STALE_DAYS = 92
_STATIC = ("schedule.kind", "lora.training")
_TEMPLATES = {"chip": "chips h100-sxm", "model": "models Qwen3-8B", "prices": "prices Qwen3-8B"}


class _Gathering:
    """Values by path with their labels, and what could not be looked up, as they come in."""

    def __init__(self, overrides: Mapping[str, Any]):
        self.values: dict[str, float | None] = {}
        self.labels: dict[str, str] = {}
        self.choices: dict[str, str | None] = {}
        self.notes: list[str] = []
        self.problems: list[Problem] = []
        self.absent: dict[str, Problem] = {}  # better words for a figure that a row lacks, where nobody gives it
        self.overrides: dict[str, float | None] = {}
        for path, given in overrides.items():
            try:
                self.overrides[path] = registry()[path].parse(given)
            except TinkerNomicsError as error:
                self.problems.append(Problem(path, given, str(error)))

    def look_up(self, what: str, name: Any, paths: tuple[str, ...], find: Callable[[], Any]) -> Any:
        """`find()`, or None with a problem, unless the caller gives every figure that it would have brought."""
        try:
            return find()
        except TinkerNomicsError as error:
            required = [path for path in paths if not registry()[path].optional and self.values.get(path) is None]
            if required and all(path in self.overrides for path in required):
                self.notes.append(f"{what} {name}: not in the catalog, all its figures are the caller's")
            else:
                flags = listed(registry()[path].flag for path in required)
                own = what == "prices" and " is no date" not in str(error)
                hint = f"Or give a price row of your own, --prices FILE, or {flags}." if own else ""
                if is_file(name) and what in _TEMPLATES:
                    hint = f"tinker-nomics catalog {_TEMPLATES[what]} --toml prints one to start from."
                self.problems.append(Problem(what, name, str(error), hint))
                self.excuse(paths)
        return None

    def excuse(self, paths: tuple[str, ...]) -> None:
        """Fill figures whose lookup failed: each would be reported as missing, and the lookup's message is the better."""
        self.values.update({path: 1.0 for path in paths if self.values.get(path) is None})

    def add(self, values: Mapping[str, float | None], label: str) -> None:
        """Take values whose source is `label`."""
        for path, value in values.items():
            self.values[path] = value
            self.labels[path] = label


def from_recipe(
    recipe: str | None,
    *,
    model: str | None = None,
    chip: str | None = None,
    gpus: float | None = None,
    prices: str | None = None,
    assumptions: str | Mapping[str, Any] | Assumptions = DEFAULT_EDITION,
    provider: str | None = None,
    sandbox: str | None = None,
    schedule: str = "auto",
    training: str = "lora",
    overrides: Mapping[str, Any] | None = None,
) -> Config:
    """The configuration of a catalog recipe on a catalog model, chip and price list.

    Args:
        recipe: a recipe of `catalog.recipes()`; None takes the whole workload from `overrides`.
        model: a model of `catalog.models()`, or the path of a TOML row, a config.json, a GGUF file or a ledger of one's
            own; default: the recipe's.
        chip: a chip of `catalog.chips()` or the path of a TOML file; default: "h100-sxm".
        gpus: how many of them; default: 8.
        prices: the date of the run, which picks the newest price list on or before it and the rent, or the path of a
            TOML file with a price row; default: the date of the newest list.
        assumptions: the edition of the model, "published" or "revised", or switches; see `Assumptions.parse`.
        provider: who rents the GPUs out; default: the median of on-demand rows.
        sandbox: a provider of `catalog.sandboxes()`, or "none"; default: the recipe's.
        schedule: "auto" (sync at k = 0, async above), "sync", "stream_minibatch", "async", or "partial" (synchronous,
            unfinished rollouts carried over).
        training: "lora" or "full".
        overrides: {parameter path: number or text with a unit}, in place of anything above.

    Raises:
        ConfigError: everything that is missing, unknown or out of bounds, at once.
    """
    if overrides is not None and not isinstance(overrides, Mapping):
        raise TinkerNomicsError(f"overrides = {overrides!r}: a mapping is expected, {{parameter path: value}}")
    overrides = dict(overrides or {})
    static = {path: overrides.pop(path) for path in list(overrides) if path in _STATIC}
    gathering = _Gathering(canonical(overrides))
    gathering.values.update({path: row.default for path, row in registry().items()})
    row = _recipe(gathering, recipe)
    if recipe is not None and row is None and model is None:
        model_id = None  # the recipe would have named it, and it is the recipe that is wrong
        gathering.excuse(tuple(path for path in registry() if path.startswith("model.")))
    else:
        model_id = _model(gathering, row.model if row is not None and model is None else model)
    date = _prices(gathering, model_id, prices)
    _chip(gathering, DEFAULT_CHIP if chip is None else chip, gpus, date, provider)
    _sandbox(gathering, ((row.sandbox if row else None) or "none") if sandbox is None else sandbox)
    gathering.choices |= {"recipe": row.name if row else None}
    restated = tuple(path for path, value in gathering.overrides.items() if value == gathering.values.get(path))
    gathering.values.update(gathering.overrides)
    return _assemble(
        gathering,
        Assumptions.parse(assumptions),
        static.get("schedule.kind", schedule),
        static.get("lora.training", training),
        restated,
    )


def _recipe(gathering: _Gathering, name: str | None) -> Any:
    if name is None:
        return None
    paths = tuple(path for path in registry() if path.startswith("workload."))
    row = gathering.look_up("recipe", name, paths, lambda: catalog.recipe(name))
    if row is not None:
        for path, value in row.values.items():
            gathering.add({path: value}, row.labels.get(path, row.source))
        _cap(gathering, row)
        gathering.notes += [f"{row.name}: {note}" for note in row.notes]
    return row


def _cap(gathering: _Gathering, row: Any) -> None:
    """A recipe's max_tokens stands where the mean would: it is the cap as well, where the caller gives a mean."""
    path = "workload.completion_tokens"
    if "a cap" in row.labels.get(path, "") and path in row.values:
        gathering.add({"workload.max_completion_tokens": row.values[path]}, row.labels[path])


def _model(gathering: _Gathering, name: str | None) -> str | None:
    paths = tuple(path for path in registry() if path.startswith("model."))
    if name is None:
        gathering.look_up("model", None, paths, lambda: _raise("no model is named; give --model"))
        return None
    row = gathering.look_up(
        "model", name, paths, lambda: catalog.model_from_file(Path(name)) if is_file(name) else catalog.model(name)
    )
    gathering.choices["model"] = row.id if row else name
    if row is None:
        return name
    gathering.add({path: getattr(row, path.split(".")[1]) for path in paths}, row.source)
    if row.note and is_file(name):
        gathering.notes.append(f"model {row.id}: {row.note}")
    if row.weights:
        gathering.notes.append(f"model {row.id}: {row.weights}")
    return row.id


def _prices(gathering: _Gathering, model_id: str | None, given: str | None) -> str:
    paths = tuple(path for path in registry() if path.startswith("prices."))
    own = given is not None and is_file(given)
    date = given if given is not None and not own else catalog.newest_price_date()
    gathering.choices["prices"] = given if own else date
    if not own and (model_id is None or any(problem.path == "model" for problem in gathering.problems)):
        gathering.excuse(paths)
        return date
    if not own:  # one price for every model
        gathering.add({"prices.storage": next(iter(catalog.prices().values())).storage}, "newest list")
    row = gathering.look_up(
        "prices",
        date if given is None else given,
        paths,
        lambda: catalog.PriceRow.from_toml(Path(str(given))) if own else catalog.price(str(model_id), date),
    )
    if row is not None:
        gathering.add({path: getattr(row, path.split(".")[1]) for path in paths}, row.source)
        if row.note:
            gathering.notes.append(f"prices: {row.note}")
        gathering.choices["price_list"] = None if own else row.list_date
        if own:
            _note_other_model(gathering, row.model, model_id)
        else:
            _note_age(gathering, row.list_date, date)
        if row.train is None:
            where = f"{given} has" if own else f"the price list of {row.list_date} has"
            gathering.absent["prices.train"] = _no_train_price(where, model_id, row.note)
    _published_prices(gathering, model_id)
    return date


def _no_train_price(where: str, model_id: str | None, note: str) -> Problem:
    """What to say of a row without a train price: whose row it is, and which other list has one."""
    listed_on = []
    for date in catalog.price_dates():
        try:
            listed_on += [date] if catalog.price(str(model_id), date).train is not None else []
        except TinkerNomicsError:
            continue  # that list does not serve the model
    other = f", or take a list that has one: --prices {listed_on[-1]}" if listed_on else "; no list has one"
    return Problem(
        "prices.train",
        None,
        f"{where} no train price of {model_id}" + (f" ({note})" if note else ""),
        f"Give --prices.train{other}.",
    )


def _note_other_model(gathering: _Gathering, priced: str, model_id: str | None) -> None:
    """Say so where a price row of the user's own names another model than the run's."""
    if (
        priced
        and model_id
        and priced.split(":peft:")[0].lower() not in (model_id.lower(), model_id.split("/")[-1].lower())
    ):
        gathering.notes.append(
            f"prices: the row in the file is of {priced}, and the run's model is {model_id}, priced by it all the same"
        )


def _note_age(gathering: _Gathering, list_date: str, date: str) -> None:
    """Say so where the newest list is older than a run's date by so much that prices may have moved."""
    days = catalog.prices(date).age_days(date)
    if days > STALE_DAYS:
        gathering.notes.append(f"prices: the list of {list_date} is {days} days older than the run's date")


def _published_prices(gathering: _Gathering, model_id: str | None) -> None:
    """The model's row of the one table that the published page prints, where it lists the model."""
    try:
        row = catalog.price(str(model_id), catalog.price_dates()[0])
    except TinkerNomicsError:
        return
    label = f"the page's one table, {row.list_date}: {row.source}"
    gathering.add({f"published_prices.{name}": getattr(row, name) for name in ("prefill", "sample", "train")}, label)


def _chip(gathering: _Gathering, name: str, gpus: float | None, date: str, provider: str | None) -> None:
    paths = tuple(path for path in registry() if path.startswith("cluster.chip."))
    chip = gathering.look_up(
        "chip", name, paths, lambda: Chip.from_toml(Path(name)) if is_file(name) else catalog.chip(name)
    )
    gathering.choices["chip"] = chip.id if chip else name
    if chip is not None:
        figures = {path: getattr(chip, path.split(".")[-1]) for path in paths}
        gathering.add(figures, chip.name)
        for path, value in figures.items():
            if value is None and path not in gathering.overrides:
                gathering.values[path] = 1.0
                gathering.problems.append(
                    Problem(
                        path,
                        None,
                        f"no source gives this figure for {chip.name}",
                        f"Give {registry()[path].flag}, or take another chip.",
                    )
                )
    gathering.add({"cluster.gpus": DEFAULT_GPUS}, "as asked")
    if gpus is not None:
        try:
            gathering.add({"cluster.gpus": registry()["cluster.gpus"].parse(gpus)}, "as asked")
        except TinkerNomicsError as error:
            gathering.problems.append(Problem("gpus", gpus, str(error)))
    no_date = any(problem.path == "prices" and " is no date" in problem.allowed for problem in gathering.problems)
    if no_date or (chip is None and any(problem.path == "chip" for problem in gathering.problems)):
        gathering.excuse(("cluster.price_per_gpu_hour",))
        return
    chip_id = gathering.choices["chip"]
    rent = gathering.look_up(
        "provider",
        "median" if provider is None else provider,
        ("cluster.price_per_gpu_hour",),
        lambda: catalog.rent(chip_id, date, provider) if chip is None else rent_of(chip, date, provider),
    )
    if rent is not None:
        gathering.choices["provider"] = provider
        label = ", ".join(text for text in (rent.provider, rent.date, rent.note.split(";")[0]) if text)
        gathering.add({"cluster.price_per_gpu_hour": rent.usd_per_hour}, label)


def _sandbox(gathering: _Gathering, name: str) -> None:
    gathering.choices["sandbox"] = name
    if name == "none":
        return
    row = gathering.look_up("sandbox", name, (), lambda: catalog.sandbox(name))
    if row is not None:
        gathering.choices["sandbox"] = row.name
        gathering.add(row.values, row.source)


def _assemble(
    gathering: _Gathering, assumptions: Assumptions, schedule: str, training: str, restated: tuple[str, ...]
) -> Config:
    values = gathering.values

    def part(cls: type, prefix: str, **more: Any) -> Any:
        fields = {path.split(".")[-1]: value for path, value in values.items() if path.rpartition(".")[0] == prefix}
        return cls(**fields, **more)

    provenance = Provenance(
        gathering.choices,
        gathering.labels,
        tuple(gathering.overrides),
        tuple(dict.fromkeys(gathering.notes)),
        restated,
    )
    config = Config(
        workload=part(Workload, "workload"),
        model=part(Model, "model"),
        prices=part(Prices, "prices"),
        cluster=part(
            Cluster,
            "cluster",
            chip=part(ChipFigures, "cluster.chip"),
            engine=part(Engine, "cluster.engine"),
            trainer=part(Trainer, "cluster.trainer"),
        ),
        schedule=part(Schedule, "schedule", kind=schedule),
        lora=part(Lora, "lora", training=training),
        sandbox=part(Sandbox, "sandbox"),
        assumptions=assumptions,
        provenance=provenance,
        published_prices=part(PublishedPrices, "published_prices"),
        evaluation=part(Evaluation, "evaluation"),
    )
    named = {problem.path for problem in gathering.problems}
    # what could not be looked up has stand-ins, of which nothing but bounds can be asked
    asked = copy_with(config, {"assumptions": Assumptions()}) if named else config
    absent = gathering.absent
    problems = gathering.problems + [
        absent[problem.path] if problem.value is None and problem.path in absent else problem
        for problem in problems_of(asked)
        if problem.path not in named
    ]
    if problems:
        raise ConfigError(problems)
    return config


def is_file(name: str) -> bool:
    """Whether a choice names a file of the user's own and not a row of the catalog."""
    return str(name).lower().endswith((".toml", ".json", ".gguf"))


def _raise(message: str) -> Any:
    raise TinkerNomicsError(message)
