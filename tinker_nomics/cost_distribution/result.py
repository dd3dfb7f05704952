"""CostDistribution: what a Monte Carlo run of the cost model says, with units, provenance and its own files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import TinkerNomicsError, listed
from ..outputs import UNITS
from ..streaming.state_files import StateFile, StateFileError, read_states, write_states
from ..totals_text import DISCARDED, edition_and_prices, run_in_words, span
from ..uncertainty.sample_states import sample_reducers, sampled, state_shapes
from ..uncertainty.simulation import MonteCarlo


@dataclass(frozen=True)
class CostDistribution(MonteCarlo):
    """The distribution of a run's costs: a `MonteCarlo` with units, provenance and files.

    `result.mean["tinker.total"]`, `.std[...]`, `.quantile("tinker.total", 0.95)`, `.quantile_error(...)`,
    `.probability("tinker.total > 200")`, `.probability("difference.total < 0")` (own GPUs cheaper).

    Attributes:
        about: what decides the numbers: configuration, distributions, seed, version, and a hash of all that.
        chunks: (first, stop) of the chunks that went into it.
        states: the reducers' states, from which everything else is read.
        asked: USD, of `with_budget`.
        resumed: those of the samples that a run found done, which took none of its time.
    """

    about: Mapping[str, Any]
    chunks: tuple[int, int]
    states: Mapping[str, Any]
    asked: float | None = None
    resumed: int = 0

    @property
    def units(self) -> dict[str, str]:
        """{output: unit}."""
        return {name: UNITS[name] for name in self.parts}

    @property
    def budget(self) -> float | None:
        """USD, where a budget was given."""
        return self.about["budget"] if self.asked is None else self.asked

    @property
    def total_chunks(self) -> int:
        """Chunks of the whole run, of which `chunks` may be a part."""
        return self.about["replicates"] << (self.about["log2_points"] - self.about["log2_chunk"])

    @property
    def which_part(self) -> str | None:
        """Which part of the run this is, in words; None of a whole one."""
        first, stop = self.chunks
        if not self.complete:
            return f"part: stopped early after {stop - first:,} chunks; the whole run has {self.total_chunks:,}"
        return None if stop - first == self.total_chunks else f"part: chunks {first}:{stop} of 0:{self.total_chunks}"

    def _part_after(self, mark: str) -> str:
        return mark + self.which_part if self.which_part else ""

    def with_budget(self, budget: float) -> CostDistribution:
        """This distribution with the chances that the bills exceed `budget` USD, from the histogram where the run did not
        count them.

        Raises:
            TinkerNomicsError: `budget` is no finite number.
        """
        if not math.isfinite(budget):
            raise TinkerNomicsError(f"budget = {budget!r}: a number of USD is allowed")
        names = budget_events(self.parts, budget)
        chances = {name: (self.probability(name), self.probability_error(name)) for name in names}
        return replace(self, events={**chances, **self.events}, asked=budget)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: outputs, events, units, inputs, provenance."""
        return {
            **super().to_dict(),
            "units": self.units,
            "chunks": list(self.chunks),
            "total_chunks": self.total_chunks,
            "part": self.which_part,
            "about": dict(self.about),
        }

    def run_line(self) -> str:
        """ "math_rl on Qwen/Qwen3-8B, 8 x h100-sxm": which run it is of."""
        run = self.about["provenance"]
        varies = "cluster.gpus" in self.about["uncertain"]
        return run_in_words(run["choices"], None if varies else run["parameters"]["cluster.gpus"])

    def inputs_line(self) -> str:
        """How many inputs are uncertain, and which of the run's own values are held where a range is declared."""
        count, held = len(self.about["uncertain"]), self.about.get("held") or ()
        text = f"{count} uncertain input{'' if count == 1 else 's'}"
        return text + (f"; {listed(held)} as given" if held else "")

    def title(self, output: str) -> str:
        """What a picture of one output says above it: the run, its edition and prices, and P10-P90."""
        ends = span(self.quantile(output, 0.1), self.quantile(output, 0.9), UNITS[output])
        of = self._part_after("; ")
        part = f" {DISCARDED}" if output == "tinker.total" and self.about.get("without_discarded") else ""
        return f"{self.run_line()}: {output} under uncertainty{of}\n{self.standing()}; P10-P90{part} {ends}"

    def standing(self) -> str:
        """The edition and the price date of the run, in words."""
        run = self.about["provenance"]
        return edition_and_prices(run["assumptions"], run["choices"].get("price_list"), run["overridden"])

    def table(self) -> str:
        """The run and what its totals stand for, then mean, deviation and quantiles of every output, then the events."""
        apart = f"; Tinker {DISCARDED}" if self.about.get("without_discarded") else ""
        text = f"{self.run_line()}\n{self.standing()}; {self.inputs_line()}{apart}\n\n{super().table()}"
        return text + self._part_after("\n")

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"CostDistribution({self.samples:,} samples of {listed(self.parts)}; {self.standing()})"

    def _label(self, output: str) -> str:
        return f"{output} [{UNITS[output]}]"

    def to_npz(self, path: str | Path, force: bool = False) -> Path:
        """Write everything to one file that `from_npz` and `merge_parts` read.

        Raises:
            OutputExistsError: the file exists and `force` is not set.
        """
        ends = (self.chunks[0], self.chunks[1], self.chunks[1])
        return write_states(path, dict(self.states), self.about, ends, self.seconds, force)

    @classmethod
    def from_npz(cls, path: str | Path) -> CostDistribution:
        """The distribution in a file that `to_npz` or a run with `out` wrote; what an unfinished one has done so far.

        Raises:
            StateFileError: no such file, or it is damaged or of another kind.
        """
        return from_file(read_states(path))

    def to_csv(self, path: str | Path, force: bool = False) -> Path:
        """Write the table of outputs and events with units and provenance; see `cost_distribution_csv`."""
        from .csv_rows import write_csv

        return write_csv(self, path, force)


def budget_events(outputs: Iterable[str], budget: float) -> list[str]:
    """The events "the bill exceeds the budget" of those bills that are among `outputs`."""
    limit = repr(float(budget)).removesuffix(".0")
    return [f"{name} > {limit}" for name in ("tinker.total", "self_hosted.total") if name in outputs]


def distribution_from(
    about: Mapping[str, Any],
    states: Mapping[str, Any],
    samples: int,
    complete: bool,
    seconds: float,
    chunks: tuple[int, int],
) -> CostDistribution:
    """The distribution that a run's states describe."""
    parts = sampled(about["outputs"], reducers_of(about), dict(states))
    described = {name: entry["described"] for name, entry in about["uncertain"].items()}
    return CostDistribution(
        samples, about["replicates"], about["seed"], complete, seconds, *parts, described, about, chunks, states
    )


def reducers_of(about: Mapping[str, Any]) -> dict[str, Any]:
    """The reducers of the run that a file describes."""
    return sample_reducers(about["events"], about["rows"], about["replicates"], tuple(about["octaves"]))


def states_of(file: StateFile) -> dict[str, Any]:
    """The states in a file of a Monte Carlo run of the cost model.

    Raises:
        StateFileError: the file is of another kind.
    """
    about = file.about
    if about.get("kind") != "monte-carlo":
        raise StateFileError(f"{file.path} holds {about.get('kind')!r}, not a Monte Carlo run")
    chunk_size = 1 << about["log2_chunk"]
    try:
        like = state_shapes(
            reducers_of(about), about["outputs"], sorted(about["uncertain"]), chunk_size, about["replicates"]
        )
    except (KeyError, TypeError, TinkerNomicsError) as error:
        raise StateFileError(f"{file.path} was written by another version of the program ({error})") from None
    return file.states(like)


def from_file(file: StateFile) -> CostDistribution:
    """The distribution in a file of states."""
    states, size = states_of(file), 1 << file.about["log2_chunk"]
    done = (file.next - file.first) * size
    return distribution_from(file.about, states, done, file.complete, file.seconds, (file.first, file.next))
