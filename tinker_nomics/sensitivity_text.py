"""The sensitivity report as text: one screen a person can read from top to bottom."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from .branch_words import side_in_words
from .cli.text_table import table
from .errors import listed
from .quantities import show

if TYPE_CHECKING:
    from .local_sensitivity import Switch
    from .sensitivity_report import ParameterSensitivity, SensitivityReport

WIDTH = 118
_HEADER = ["", "value", "range", "Tinker", "elasticity", "own GPUs", "elasticity", "flips at"]
_ALIGN = "lrlrrrrr"


def report_text(report: SensitivityReport) -> str:
    """Outputs, uncertainties, levers, facts, the two lines about L and G, choices, branches, what has no range."""
    parts = [_headline(report)]
    for role, title in (("uncertainty", "uncertainties: swing from P10 to P90"), ("lever", "levers: swing over one step")):
        rows = sorted(
            (row for row in report.parameters.values() if row.role == role and _total_swing(row) > 0),
            key=_total_swing,
            reverse=True,
        )
        if rows:
            parts.append(title + "\n" + table([_line(row) for row in rows], _HEADER, _ALIGN, indent=2))
    parts.append(_facts(report))
    parts.append(_length_against_group(report))
    if report.choices:
        parts.append(_choices(report))
    parts.append("branches of the model\n" + "\n".join(_wrapped(_branch(row)) for row in report.branches))
    if report.undeclared:
        parts.append(_wrapped(f"no source declares a range of {listed(report.undeclared)}: not ranked; "
                              "range=\"10%\" (--range 10%) moves them by 10 % as a question of its own"))
    notes = []
    if any(row.turns_back for row in report.parameters.values()):
        notes.append("* the output does not move one way over the range; the swing is the widest difference in it")
    if any(_kinked(row) for row in report.parameters.values()):
        notes.append("| slopes from the left and from the right differ here: a kink (to_dict() has both)")
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def _headline(report: SensitivityReport) -> str:
    out, choices = report.outputs, report.config.provenance.choices
    name = choices.get("recipe") or "a run of your own"
    first = (
        f"What moves the cost of {name} on {choices.get('model')}: Tinker {show(out['tinker.total'], 'USD')}; "
        f"{report.config.cluster.gpus:g} x {choices.get('chip')} {show(out['self_hosted.total'], 'USD')} "
        f"in {out['self_hosted.hours']:.2f} h"
    )
    cheaper = "own GPUs are cheaper" if out["difference.total"] < 0 else "Tinker is cheaper"
    second = (
        f"{cheaper} by {show(abs(out['difference.total']), 'USD')}; edition {report.config.assumptions.edition}, "
        f"price list of {choices.get('price_list', 'your own')}"
    )
    return _wrapped(first) + "\n" + _wrapped(second)


def _total_swing(row: ParameterSensitivity) -> float:
    swing = row.swing or {}
    return max(swing.get("tinker.total", 0.0), swing.get("self_hosted.total", 0.0))


def _kinked(row: ParameterSensitivity) -> bool:
    pairs = ((row.left[name], row.right[name]) for name in row.left)
    return any(a is not None and b is not None and abs(a - b) > 1e-6 * max(abs(a), abs(b)) for a, b in pairs)


def _line(row: ParameterSensitivity) -> list[str]:
    swing = row.swing or {}
    cells = [row.path + (" |" if _kinked(row) else ""), show(row.value, _unit(row)), f"{_short(row.low)} .. {_short(row.high)}"]
    for name in ("tinker.total", "self_hosted.total"):
        star = "*" if name in row.turns_back else ""
        elasticity = row.elasticity[name]
        cells += [star + show(swing[name], "USD") if swing[name] else "-", "-" if not elasticity else f"{elasticity:+.2f}"]
    return [*cells, "-" if row.flips_at is None else _short(row.flips_at)]


def _unit(row: ParameterSensitivity) -> str:
    return row.unit if row.unit in ("B", "B/s", "FLOP/s", "USD/h", "s") else "1"


def _short(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1e4 or value == round(value) else f"{value:.3g}"


def _facts(report: SensitivityReport) -> str:
    rows = []
    for row in report.parameters.values():
        own, tinker = row.elasticity["self_hosted.total"], row.elasticity["tinker.total"]
        if row.role == "fact" and (own or tinker):
            rows.append([row.path, show(row.value, row.unit), f"{tinker or 0:+.2f}", f"{own or 0:+.2f}"])
    header = ["", "value", "Tinker elasticity", "own elasticity"]
    return "facts: relative change of the cost per relative change of the figure\n" + table(rows, header, "lrrr", indent=2)


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
        tinker, own = row.outputs["tinker.total"], row.outputs["self_hosted.total"]
        rows.append([f"{row.choice}: {row.name} for {chosen}", show(tinker, "USD"), show(own, "USD"),
                     f"{row.outputs['self_hosted.hours']:.2f} h"])
    return "choices: the next row of the catalog down and up\n" + table(rows, ["", "Tinker", "own GPUs", "time"], "lrrr", indent=2)


def _branch(row: Switch) -> str:
    text = f"  {row.branch}: {side_in_words(row.branch, row.margin)}"
    if row.path is None or row.value is None:
        return text + "; no single parameter switches it within a factor of 10"
    jumps = [f"{name} {_usd(change) if 'total' in name else f'{change:+.3g} h'}" for name, change in row.jump.items() if change]
    what = f"; jump there: {', '.join(jumps)}" if jumps else ""
    return text + f"; switches at {row.path} = {_short(row.value)}{what}"


def _wrapped(line: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
