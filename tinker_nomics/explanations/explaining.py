"""`explain(config)`: from the published total to the revised one, deviation by deviation, in no order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..assumptions import SWITCHES, Assumptions
from ..boundary import x64
from ..config import Config, copy_with, problems_of
from ..cost_model import evaluate
from ..cost_parts.known_schedule import known_schedule
from ..cost_sensitivity.estimate_range import Ranged, estimate_with_range
from ..errors import ConfigError
from ..notes import notes_of
from ..one_shot import one_shot
from ..plain_config import checked
from ..totals_text import SIDES as SIDES_IN_WORDS
from ..totals_text import ends, prices_of, sides_of, spans
from .deviations import BY_SWITCH, Deviation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDES = ("tinker.total", "self_hosted.total")
_BLOCK = 1024  # combinations at a time: what a processor's cache holds


@dataclass(frozen=True)
class Line:
    """What one deviation adds to each total [USD], averaged over all orders in which the deviations can be made."""

    deviation: Deviation
    tinker: float
    own: float


@dataclass(frozen=True)
class Explanation:
    """Both totals of both editions, and the lines between them.

    Args:
        config: the run.
        start: {side: USD} with no deviation: the published formulas at the page's own price table.
        published: {side: USD} of the published edition: the same at the prices of the run's date.
        end: {side: USD} with every deviation that can be made.
        lines: one per deviation that can be made, in their order; on each side they sum to end - start exactly.
        left_out: {switch: why} of deviations that lack a figure here.
        ranges: {"start", "published" or "end": the totals' range over the uncertainties that its edition declares}.
    """

    config: Config
    start: Mapping[str, float]
    published: Mapping[str, float]
    end: Mapping[str, float]
    lines: tuple[Line, ...]
    left_out: Mapping[str, str]
    ranges: Mapping[str, Ranged]

    def __repr__(self) -> str:
        sides = ", ".join(f"{side} ${self.start[side]:,.2f} to ${self.end[side]:,.2f}" for side in SIDES)
        return f"Explanation({sides}; {len(self.lines)} deviations, published to revised, {prices_of(self.config)})"

    def __str__(self) -> str:
        return self.table()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text."""
        return {
            "start": dict(self.start),
            "published": dict(self.published),
            "end": dict(self.end),
            "lines": [
                {**asdict(line.deviation), "tinker.total": line.tinker, "self_hosted.total": line.own}
                for line in self.lines
            ],
            "left_out": dict(self.left_out),
            "range": {
                name: {side: both for side, both in ends(ranged.low, ranged.high).items() if side in SIDES}
                for name, ranged in self.ranges.items()
            },
            "choices": dict(self.config.provenance.choices),
            "notes": list(notes_of(self.config)),
        }

    def table(self) -> str:
        """The waterfall as text for a terminal."""
        from .explanation_text import explanation_text

        return explanation_text(self)

    def plot(self) -> Figure:
        """The waterfall of both sides as a figure."""
        from ..plots.waterfall import waterfall_figure
        from .explanation_text import amounts_of

        titles = [f"{line.deviation.number} {line.deviation.title}" for line in self.lines]
        # rounded as the table is, so that both say the same
        tinker, own = ([amount / 100 for amount in amounts] for amounts in amounts_of(self))
        rows = list(zip(titles, tinker, own, strict=True))
        choices = self.config.provenance.choices
        run = f"{choices.get('recipe') or 'a run of your own'} on {choices.get('model') or 'a model of your own'}"
        ranges = "; ".join(
            f"{name}: {_range(self.ranges[end])}" for name, end in (("published", "start"), ("revised", "end"))
        )
        own = "" if "dated_prices" in self.left_out else " at the page's own prices"
        title = (
            f"{run}: from the published edition{own} to the revised one at {prices_of(self.config)}\nP10-P90, {ranges}"
        )
        first, last = ([at[side] for side in SIDES] for at in (self.start, self.end))
        return waterfall_figure(rows, first, last, title=title)


def explain(config: Config) -> Explanation:
    """What each deviation of the revised edition does to a run's two totals.

    The totals of all 2^16 combinations of deviations are computed in one trace, vmapped over the switches; a deviation's
    line is its Shapley value: its mean effect over every order in which the deviations can be made. So the lines do not
    hang on an order, and they sum to the whole difference.

    Args:
        config: a run with plain numbers; its own assumptions do not matter.

    Raises:
        TinkerNomicsError: no Config.
        ConfigError: what the run needs in the revised edition and lacks, beyond single deviations that can be left out.
    """
    left_out = _impossible(checked(config, "explain"))
    free = tuple(switch for switch in SWITCHES if switch not in left_out)
    totals = _totals(config, free)
    published = _corner(totals, free, ("dated_prices",))
    shares = shapley(totals)
    lines = tuple(
        Line(BY_SWITCH[switch], float(tinker), float(own)) for switch, (tinker, own) in zip(free, shares, strict=True)
    )
    lines = tuple(sorted(lines, key=lambda line: line.deviation.number))
    ends = {side: (float(totals[0, i]), float(totals[-1, i])) for i, side in enumerate(SIDES)}
    return Explanation(
        config,
        {side: pair[0] for side, pair in ends.items()},
        dict(zip(SIDES, published, strict=True)),
        {side: pair[1] for side, pair in ends.items()},
        lines,
        left_out,
        _ranges(config, free),
    )


def _ranges(config: Config, free: tuple[str, ...]) -> dict[str, Ranged]:
    """The range of both totals at the start, in the published edition, and with every deviation of `free`."""
    page = {"dated_prices": "dated_prices" not in free}
    editions = {
        "start": Assumptions(**page),
        "published": Assumptions(),
        "end": Assumptions(**{**dict.fromkeys(free, True), "dated_prices": True}),
    }
    return {name: estimate_with_range(copy_with(config, {"assumptions": on})) for name, on in editions.items()}


def _range(ranged: Ranged) -> str:
    run = ranged.estimate.run
    return (
        spans(ranged.low, ranged.high, SIDES_IN_WORDS if run is None else sides_of(run.config))
        or "no range is declared"
    )


def _impossible(config: Config) -> dict[str, str]:
    """{switch: why} of deviations that the configuration has no figures for; others raise."""
    names = {
        "prices.cached_prefill": "cached_prefill",
        "model.window": "kv_bytes",
        "schedule.minibatches": "stream_minibatch",
    }
    revised = copy_with(config, {"assumptions": Assumptions.parse("revised")})
    left_out: dict[str, str] = {}
    hard = []
    for problem in problems_of(revised):
        switch = names.get(problem.path)
        if switch is None:
            hard.append(problem)
        else:
            left_out[switch] = problem.allowed
    if hard:
        raise ConfigError(hard, "an explanation of this run")
    if config.published_prices.sample is None:
        left_out["dated_prices"] = "the published page's one table does not list the model"
    return left_out


def _totals(config: Config, free: tuple[str, ...]) -> np.ndarray:
    """Totals [2^n, 2] of every combination; bit i of a row's number is switch i of `free`."""
    count = len(free)
    numbers = np.arange(2**count)
    on = (numbers[:, None] >> np.arange(count)) & 1 > 0
    everything = copy_with(config, {"assumptions": Assumptions.parse("revised")})
    leaves, structure = jax.tree.flatten(known_schedule(everything))
    program = _program(structure, free)
    with x64():
        return np.asarray(program(np.array(leaves, dtype=np.float64), on))


@cache
def _program(structure: Any, free: tuple[str, ...]) -> Any:
    def totals(vector: jax.Array, on: jax.Array) -> jax.Array:
        config = jax.tree.unflatten(structure, list(vector))

        def one(row: jax.Array) -> jax.Array:
            off = {name: name == "dated_prices" for name in SWITCHES}
            switches = Assumptions(**{**off, **dict(zip(free, row))})
            estimate = evaluate(config, switches)
            return jnp.stack([estimate[side] for side in SIDES])

        return jax.lax.map(one, on, batch_size=_BLOCK)

    return one_shot(totals)


def _corner(totals: np.ndarray, free: tuple[str, ...], on: tuple[str, ...]) -> tuple[float, float]:
    number = sum(1 << place for place, switch in enumerate(free) if switch in on)
    return float(totals[number, 0]), float(totals[number, 1])


def shapley(totals: np.ndarray) -> np.ndarray:
    """Shapley values [n, m] of n players from the values [2^n, m] of every coalition; they sum exactly.

    phi_i = sum over coalitions S without i of |S|! (n - |S| - 1)!/n! (v(S + i) - v(S)).
    """
    count = int(totals.shape[0]).bit_length() - 1
    numbers = np.arange(2**count)
    size = np.array([int(number).bit_count() for number in numbers])
    weight = np.array([1 / (count * math.comb(count - 1, s)) if s < count else 0.0 for s in range(count + 1)])
    shares = np.empty((count, totals.shape[1]))
    for player in range(count):
        without = numbers[(numbers >> player) & 1 == 0]
        gain = totals[without | (1 << player)] - totals[without]
        shares[player] = (weight[size[without], None] * gain).sum(axis=0)
    # rounding of the sums goes to the largest line
    for column in range(totals.shape[1]):
        for _ in range(4):
            rest = (totals[-1, column] - totals[0, column]) - math.fsum(shares[:, column])
            shares[np.argmax(np.abs(shares[:, column])), column] += rest
    return shares
