"""The sensitivity report as text: one screen a person can read from top to bottom."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..cli.text_table import table
from ..errors import listed
from ..notes import warnings_of
from ..outputs import UNITS
from ..parameters import registry
from ..quantities import grouped, show
from ..totals_text import headline
from .branch_words import side_in_words

if TYPE_CHECKING:
    from .local_model import Switch
    from .report import ParameterSensitivity, SensitivityReport

WIDTH = 118
_COSTS = {"tinker.total": "Tinker", "self_hosted.total": "own GPUs"}


def report_text(report: SensitivityReport, output: str | None = None) -> str:
    """Outputs, uncertainties, levers, facts, the two lines about L and G, choices, branches, what has no range.

    Args:
        output: the output to rank by and to show; both costs when None.
    """
    shown = _COSTS if output is None else {output: output}
    parts = [_headline(report)]
    for role, title in (
        ("uncertainty", "uncertainties: swing from P10 to P90"),
        ("lever", "levers: swing over one step"),
    ):
        swings = {
            row.path: max((row.swing or {}).get(name, 0.0) for name in shown) for row in report.parameters.values()
        }
        rows = [row for row in report.parameters.values() if row.role == role and swings[row.path] > 0]
        rows.sort(key=lambda row: swings[row.path], reverse=True)
        if rows:
            parts.append(title + "\n" + _rows(rows, shown))
    parts.append(_facts(report, shown))
    parts.append(_break_even(report))
    parts.append(_length_against_group(report))
    if report.choices:
        parts.append(_choices(report))
    parts.append("branches of the model\n" + "\n".join(_wrapped(_branch(row)) for row in report.branches))
    if report.undeclared:
        parts.append(
            _wrapped(
                f"no source declares a range of {listed(report.undeclared)}: not ranked; "
                'range="10%" (--range 10%) moves them by 10 % as a question of its own'
            )
        )
    notes = []
    if any(row.turns_back for row in report.parameters.values()):
        notes.append("* the output does not move one way over the range; the swing is the widest difference in it")
    if any(_kinked(row) for row in report.parameters.values()):
        notes.append("| slopes from the left and from the right differ here: a kink (to_dict() has both)")
    if any(_outside(row) for row in report.parameters.values()):
        notes.append("^ the value lies outside P10 to P90 of its declared range (to_dict() has the range's source)")
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def _headline(report: SensitivityReport) -> str:
    out, choices = report.outputs, report.config.provenance.choices
    name = choices.get("recipe") or "a run of your own"
    bills, stand = headline(report.config, out, report.low, report.high, len(report.varied), report.held).split("\n")
    first = f"What moves the cost of {name} on {choices.get('model') or 'a model of your own'}: {bills}"
    cheaper = "own GPUs are cheaper" if out["difference.total"] < 0 else "Tinker is cheaper"
    verdict = (
        f"{cheaper} by {show(abs(out['difference.total']), 'USD')}" if out["difference.total"] else "both cost the same"
    )
    lines = [first, stand, verdict, *warnings_of(report.config)]
    return "\n".join(map(_wrapped, lines))


def _kinked(row: ParameterSensitivity) -> bool:
    pairs = ((row.left[name], row.right[name]) for name in row.left)
    return any(a is not None and b is not None and abs(a - b) > 1e-6 * max(abs(a), abs(b)) for a, b in pairs)


def _outside(row: ParameterSensitivity) -> bool:
    """Whether an uncertain parameter's value is none of its declared range, so that the swing is not around it."""
    return (
        row.role == "uncertainty"
        and row.low is not None
        and row.high is not None
        and not row.low <= row.value <= row.high
    )


def _rows(rows: list[ParameterSensitivity], shown: Mapping[str, str]) -> str:
    """A row per parameter: value, range, and for each output its swing and elasticity; the ends too of one alone."""
    alone = next(iter(shown)) if len(shown) == 1 else None
    header = ["", "value", "range"]
    for title in shown.values():
        header += [title, "elasticity"]
    header += ["at low", "at high"] if alone else []
    lines = [_line(row, shown, alone) for row in rows]
    return table(lines, [*header, "flips at"], "lrl" + "r" * (len(header) - 2), indent=2)


def _line(row: ParameterSensitivity, shown: Mapping[str, str], alone: str | None) -> list[str]:
    swing = row.swing or {}
    span = f"{_end(row.low, row)} .. {_end(row.high, row)}" + (" ^" if _outside(row) else "")
    cells = [row.path + (" |" if _kinked(row) else ""), show(row.value, _unit(row)), span]
    for name in shown:
        star = "*" if name in row.turns_back else ""
        cells += [star + _four(swing[name], UNITS[name]) if swing[name] else "-", _share(row.elasticity[name])]
    if alone:
        cells += [_four(ends[alone], UNITS[alone]) if ends else "-" for ends in (row.at_low, row.at_high)]
    return [*cells, "-" if row.flips_at is None else _short(row.flips_at)]


def _unit(row: ParameterSensitivity) -> str:
    return row.unit if row.unit in ("B", "B/s", "FLOP/s", "USD/h", "s") else "1"


def _end(value: float | None, row: ParameterSensitivity) -> str:
    """An end of a range: with its unit where that has prefixes, since nobody reads 11 digits."""
    return show(value, row.unit) if value is not None and row.unit in ("B", "B/s", "FLOP/s", "s") else _short(value)


def _share(elasticity: float | None) -> str:
    return f"{elasticity:+.2f}" if elasticity else "-"


def _four(value: float, unit: str) -> str:
    """Dollars to the cent, anything else to four digits."""
    return show(value if unit.startswith("USD") else float(f"{value:.4g}"), unit)


def _short(value: float | None) -> str:
    if value is None:
        return "-"
    return grouped(value) if abs(value) >= 1e4 or value == round(value) else f"{value:.3g}"


def _facts(report: SensitivityReport, shown: Mapping[str, str]) -> str:
    rows = []
    for row in report.parameters.values():
        if row.role == "fact" and any(row.elasticity[name] for name in shown):
            rows.append([row.path, show(row.value, row.unit), *(_share(row.elasticity[name]) for name in shown)])
    header = ["", "value", *(f"{title} elasticity" for title in shown.values())]
    title = "facts: relative change of the output per relative change of the figure\n"
    return title + table(rows, header, "l" + "r" * len(header), indent=2)


def _break_even(report: SensitivityReport) -> str:
    rent, now = report.break_even_rent, show(report.config.cluster.price_per_gpu_hour, "USD/h")
    if rent is None:
        return "no rent makes own GPUs as cheap as Tinker"
    return f"own GPUs cost what Tinker does at a rent of {show(rent, 'USD/h')} a GPU (now {now})"


def _length_against_group(report: SensitivityReport) -> str:
    tokens, group = (report.parameters[f"workload.{name}"] for name in ("completion_tokens", "rollouts_per_prompt"))
    more = group.one_more or group.derivative
    line = (
        f"d$/dL against d$/dG: one more token per completion costs {_usd(tokens.derivative['tinker.total'])} on Tinker "
        f"({_usd(tokens.derivative['self_hosted.total'])} on own GPUs); one more rollout per prompt (G {group.value:g} -> "
        f"{group.value + 1:g}) {_usd(more['tinker.total'])} ({_usd(more['self_hosted.total'])})"
    )
    return _wrapped(line)


def _usd(value: float) -> str:
    return ("+" if value >= 0 else "-") + show(abs(value), "USD")


def _choices(report: SensitivityReport) -> str:
    rows = []
    for row in report.choices:
        chosen = report.config.provenance.choices.get(row.choice)
        more = {name: value - report.outputs[name] for name, value in row.outputs.items()}
        changes = [(_usd(more[name]) if more[name] else "-") if name in more else "refused" for name in _COSTS]
        hours = f"{more['self_hosted.hours']:+,.2f} h" if "self_hosted.hours" in more else ""
        rows.append([f"{row.choice}: {row.name} for {chosen}", *changes, hours])
    kept = [path for path in report.config.provenance.overridden if path.startswith(("model.", "prices.", "cluster."))]
    title = (
        "choices: what the next row of the catalog down and up would add"
        + ("; what this run overrides stays" if kept else "")
        + "\n"
    )
    refused = [_wrapped(f"  own GPUs refuse {row.name}: {row.refused}") for row in report.choices if row.refused]
    return "\n".join([title + table(rows, ["", "Tinker", "own GPUs", "time"], "lrrr", indent=2), *refused])


def _branch(row: Switch) -> str:
    text = f"  {row.branch}: {side_in_words(row.branch, row.margin)}"
    if row.path is None or row.value is None:
        return text + "; no single parameter switches it within a factor of 10"
    known = {name: change for name, change in row.jump.items() if change is not None}
    jumps = [
        f"{name} {_usd(change) if 'total' in name else f'{change:+.3g} h'}" for name, change in known.items() if change
    ]
    if len(known) < len(row.jump):
        jumps.append("on one side of it the run does not fit on the GPUs")
    where = (
        "jump there, going up"
        if row.step is None
        else f"the step from {_short(row.step[0])} to {_short(row.step[1])} changes"
    )
    what = f"; {where}: {', '.join(jumps)}" if jumps else ""
    parameter = registry()[row.path]
    value = _short(row.value) if parameter.kind == "integer" else show(row.value, parameter.unit)
    return text + f"; switches at {row.path} = {value}{what}"


def _wrapped(line: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
