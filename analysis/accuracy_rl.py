"""Hold both editions of the cost model to measured reinforcement-learning steps.

The revised edition has eight fitted coefficients. Three kinds of figures are printed beside the published edition's,
which has none: fitted on all rows, with the row itself left out of the fit, and with every row of its model left out.
fp8 rows and the bracketed row are never fitted.

    python analysis/accuracy_rl.py                       the tables
    python analysis/accuracy_rl.py --plot accuracy.png   and predicted against measured as a picture
    python analysis/accuracy_rl.py --write               and the coefficients into tinker_nomics/formulas/fitted.toml
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from fitted_table import write_table
from measured_runs import MeasuredStep, column, others, steps
from rl_prediction import LOGIT, NAMES, SPREAD, RevisedSteps, Seconds, coefficients_of, published_seconds
from scipy.optimize import least_squares, minimize

from tinker_nomics.boundary import x64
from tinker_nomics.cli.text_table import table

STARTS = 6
SCATTER = 0.25  # standard deviation of ln(predicted/measured) that a row is believed to have
# Weak beliefs, centre and standard deviation of the unbounded coefficient: a step's total alone does not tell decode
# from training. Efficiency 0.3-0.8, 60 us per block and 20 us per token within a factor of e, MFU 0.35 and 0.1, an MFU
# that grows slowly with the tokens per GPU, 5 s of a trainer's own, 100 GB/s.
BELIEFS = {
    "decode_efficiency": (0.4, 0.7),
    "block_seconds": (np.log(6e-5), 1.0),
    "token_seconds": (np.log(2e-5), 1.0),
    "mfu_dense": (np.log(0.35), 0.4),
    "mfu_moe": (np.log(0.10), 0.7),
    "mfu_power": (0.2, 0.2),
    "fixed_seconds": (np.log(5.0), 1.0),
    "sync_rate": (np.log(1e11), 1.0),
}
CENTRE = np.array([BELIEFS[name][0] for name in NAMES])
WIDTH = np.array([BELIEFS[name][1] for name in NAMES])


@dataclass(frozen=True)
class Fit:
    """Coefficients as an unbounded vector, and the covariance of that vector."""

    vector: np.ndarray
    covariance: np.ndarray


def fit(
    model: RevisedSteps, measured: np.ndarray, keep: np.ndarray, start: np.ndarray, fixed: int | None = None
) -> Fit:
    """The most likely coefficients given the rows to keep and the weak beliefs; one of them may be held at `start`."""
    free = np.array([i for i in range(len(NAMES)) if i != fixed])
    weight = keep / SCATTER

    def whole(z: np.ndarray) -> np.ndarray:
        x = np.array(start)
        x[free] = z
        return x

    def residuals(z: np.ndarray) -> np.ndarray:
        x = whole(z)
        return np.concatenate([(model.log_seconds(x) - np.log(measured)) * weight, (z - CENTRE[free]) / WIDTH[free]])

    def slopes(z: np.ndarray) -> np.ndarray:
        return np.concatenate([model.slopes(whole(z))[:, free] * weight[:, None], np.diag(1 / WIDTH[free])])

    # an asynchronous step takes the longer of two sides, so the cost has creases in which one descent gets stuck
    rng = np.random.default_rng(0)
    starts = [start, CENTRE, *(start + rng.normal(0, 0.3, (STARTS, len(NAMES))) * WIDTH)]
    tries = [least_squares(residuals, begin[free], jac=slopes) for begin in starts]  # type: ignore[arg-type]
    found = min(tries, key=lambda result: result.cost)
    z = _along_creases(lambda z: 0.5 * float(np.sum(residuals(z) ** 2)), found)
    at = slopes(z)
    return Fit(whole(z), np.linalg.inv(at.T @ at))


def _along_creases(cost: Callable[[np.ndarray], float], found: Any) -> np.ndarray:
    """The minimum that lies in a crease, where slopes lead no further: a simplex from `found`, in units of its spread.

    Every start then ends at the same coefficients to five digits, where descents alone differ by a percent.
    """
    spread = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    count = len(spread)
    options = {
        "initial_simplex": np.vstack([np.zeros(count), 0.3 * np.eye(count)]),
        "xatol": 1e-6,
        "fatol": 1e-10,
        "maxfev": 8000,
        "adaptive": True,
    }
    polished = minimize(lambda y: cost(found.x + y * spread), np.zeros(count), method="Nelder-Mead", options=options)
    return found.x + polished.x * spread


def summary(ratio: np.ndarray) -> str:
    """Median error and the worst factor of predicted over measured."""
    factor = np.exp(np.abs(np.log(ratio)))
    return f"median {np.median(np.abs(ratio - 1)):6.1%}   worst x{factor.max():.2f}"


def print_verdict(published: np.ndarray, revised: np.ndarray, families: Sequence[str]) -> None:
    """Whether the revised edition has earned to be the default: half the median error at most, and no model worse."""
    old, new = np.abs(published - 1), np.abs(revised - 1)
    groups = {family: np.array([other == family for other in families]) for family in dict.fromkeys(families)}
    worse = [family for family, mine in groups.items() if np.median(new[mine]) > np.median(old[mine])]
    half = np.median(new) <= np.median(old) / 2
    print(
        f"\nmedian error {np.median(new):.1%} against {np.median(old):.1%} of the published edition: "
        f"{'at most' if half else 'more than'} half; worse for {', '.join(worse) or 'no model'}"
    )
    print(f"so the default edition is {'revised' if half and not worse else 'published'}")


def named(vector: np.ndarray) -> dict[str, float]:
    """The coefficients by name, as plain floats."""
    with x64():
        return {name: float(value) for name, value in coefficients_of(vector).items()}


def left_out(
    model: RevisedSteps, measured: np.ndarray, usable: np.ndarray, groups: Sequence[str], start: np.ndarray
) -> np.ndarray:
    """Predictions of each row by a fit that has seen no row of its group."""
    predicted = np.empty(len(measured))
    for group in dict.fromkeys(groups):
        mine = np.array([other == group for other in groups])
        found = fit(model, measured, usable & ~mine, start)
        predicted[mine] = np.exp(model.log_seconds(found.vector))[mine]
    return predicted


def bracketed(rows: Sequence[MeasuredStep], vector: np.ndarray) -> list[tuple[MeasuredStep, Seconds, np.ndarray]]:
    """Every bracketed row with the step of each corner: the revised edition's parts, the published one's total."""
    found = []
    for row in rows:
        corners = list(row.corners())
        times = RevisedSteps(corners).times(vector)
        found.append((row, times, np.array([published_seconds(corner) for corner in corners])))
    return found


def print_bracket(row: MeasuredStep, times: Seconds, published: np.ndarray) -> None:
    """A bracketed row: ranges over its corners beside what is measured, phase by phase where that is known."""
    total = np.asarray(times.total)
    middle = float(np.exp(np.mean(np.log(total))))
    print(f"\n{row.id}: measured {row.step_seconds:.1f} s; missing {', '.join(row.missing)}")
    print(
        f"  revised {total.min():.0f}-{total.max():.0f} s over {len(total)} corners, middle {middle:.0f} "
        f"(x{middle / row.step_seconds:.2f}); published {published.min():.0f}-{published.max():.0f} s"
    )
    if row.phases:
        known = dict(row.phases)
        parts = {"rollout": times.rollout, "train + logprob": times.train, "update_weights": times.sync}
        known["train + logprob"] = known["train"] + known["logprob"]
        ranges = {name: f"{np.min(part):.0f}-{np.max(part):.0f}" for name, part in parts.items()}
        words = [f"{name} {span}, measured {known[name]:.0f}" for name, span in ranges.items()]
        print("  " + "; ".join(words))


def print_joint_range(model: RevisedSteps, measured: np.ndarray, usable: np.ndarray, found: Fit) -> None:
    """What decode efficiency and MFU can be together: each held at several values, with the best of the rest."""
    print("\nOnly totals are measured: one row cannot tell decode from training, and even all of them only narrow it")
    print("down. One coefficient held, the rest refitted; where the scatter hardly moves, the data do not choose:")
    grids = {"decode_efficiency": (0.3, 0.5, 0.7, 0.9), "mfu_dense": (0.2, 0.3, 0.45, 0.6), "mfu_moe": (0.05, 0.1, 0.2)}
    rows = []
    for name, values in grids.items():
        index = NAMES.index(name)
        for value in values:
            start = found.vector.copy()
            start[index] = np.log(value / (1 - value)) if name in LOGIT else np.log(value)
            other = fit(model, measured, usable, start, fixed=index)
            c = named(other.vector)
            error = model.log_seconds(other.vector)[usable] - np.log(measured[usable])
            rows.append(
                [
                    f"{name} = {value:g}",
                    f"{c['decode_efficiency']:.2f}",
                    f"{c['mfu_dense']:.2f}",
                    f"{c['mfu_moe']:.3f}",
                    f"{c['mfu_power']:+.2f}",
                    f"{c['block_seconds'] * 1e6:.0f}",
                    f"{c['token_seconds'] * 1e6:.0f}",
                    f"{np.sqrt(np.mean(error**2)):.3f}",
                ]
            )
    header = ["held", "efficiency", "MFU dense", "MFU MoE", "power", "us/block", "us/token", "rms of ln ratio"]
    print(table(rows, header, "lrrrrrrr"))


def draw(path: str, rows: Sequence[MeasuredStep], measured: np.ndarray, series: dict[str, np.ndarray]) -> None:
    """Predicted against measured, one panel per edition, a colour per model."""
    from tinker_nomics.plots.style import GRID, PALETTE, new_figure, save, tidy

    figure = new_figure(12, 6)
    families = list(dict.fromkeys(row.family for row in rows))
    for number, (title, predicted) in enumerate(series.items()):
        axes = figure.add_subplot(1, len(series), number + 1)
        for colour, family in zip(PALETTE, families, strict=False):
            mine = np.array([row.family == family for row in rows])
            axes.loglog(measured[mine], predicted[mine], "o", color=colour, label=family)
        ends = np.array([measured.min() * 0.7, measured.max() * 1.4])
        axes.plot(ends, ends, color="black", linewidth=1)
        axes.fill_between(ends, ends / 2, ends * 2, color=GRID, alpha=0.5, linewidth=0, label="within a factor of 2")
        axes.set(title=title, xlabel="measured step [s]", ylabel="predicted step [s]")
        tidy(axes, "both")
    figure.axes[0].legend(fontsize=8)
    save(figure, path, force=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plot", metavar="FILE", help="draw predicted against measured")
    parser.add_argument("--write", action="store_true", help="write the coefficients into the package")
    given = parser.parse_args()
    everything = steps()
    rows = [row for row in everything if row.bracket is None]
    open_rows = [row for row in everything if row.bracket is not None]
    measured = column(rows, "step_seconds")
    usable = np.array([row.precision == "bf16" for row in rows])
    families = [row.family for row in rows]
    published = np.array([published_seconds(row) for row in rows])
    with x64():
        model = RevisedSteps(rows)
        found = fit(model, measured, usable, CENTRE)
        fitted = np.exp(model.log_seconds(found.vector))
        by_row = left_out(model, measured, usable, [row.id for row in rows], found.vector)
        by_model = left_out(model, measured, usable, families, found.vector)
        brackets = bracketed(open_rows, found.vector)
        print(
            table(
                [
                    [
                        row.id,
                        f"{m:.1f}",
                        f"{p:.1f}",
                        f"{p / m:.2f}",
                        f"{a:.1f}",
                        f"{a / m:.2f}",
                        f"{b:.1f}",
                        f"{b / m:.2f}",
                    ]
                    for row, m, p, a, b in zip(rows, measured, published, by_row, by_model, strict=True)
                ],
                [
                    "step (seconds)",
                    "measured",
                    "published",
                    "ratio",
                    "row left out",
                    "ratio",
                    "model left out",
                    "ratio",
                ],
                "lrrrrrrr",
            )
        )
        print("\nbf16 rows, predicted over measured:")
        for title, predicted in (
            ("published", published),
            ("revised, fitted on all", fitted),
            ("revised, row left out", by_row),
            ("revised, model left out", by_model),
        ):
            print(f"  {title:26s} {summary(predicted[usable] / measured[usable])}")
        print("fp8 rows, never fitted:")
        for title, predicted in (("published", published), ("revised", fitted)):
            print(f"  {title:26s} {summary(predicted[~usable] / measured[~usable])}")
        print("\nby model, bf16, median error: published, revised with the row left out, with the model left out")
        for family in dict.fromkeys(families):
            mine = usable & np.array([other == family for other in families])
            errors = [np.median(np.abs(p[mine] / measured[mine] - 1)) for p in (published, by_row, by_model)]
            print(f"  {family:36s} {mine.sum():3d} rows " + "".join(f"{error:8.1%}" for error in errors))
        print_verdict(
            published[usable] / measured[usable],
            by_row[usable] / measured[usable],
            [family for family, use in zip(families, usable, strict=True) if use],
        )
        for bracket in brackets:
            print_bracket(*bracket)
        print_joint_range(model, measured, usable, found)
    print("\ncoefficients, P10-P90 of the joint fit")
    spread = np.sqrt(np.diag(found.covariance)) * 1.2816
    values, low, high = named(found.vector), named(found.vector - spread), named(found.vector + spread)
    for name in NAMES:
        print(f"  {name:18s} {values[name]:.4g}   ({low[name]:.3g} to {high[name]:.3g})")
    print("\nleft out, and what is missing:")
    for run in others():
        print(f"  {run['id']}: {', '.join(run['missing'])}")
    if given.plot:
        draw(given.plot, rows, measured, {"published": published, "revised, row left out of the fit": by_row})
    if given.write:
        ratio, other = (predicted[usable] / measured[usable] for predicted in (by_row, by_model))
        about = {
            "script": "analysis/accuracy_rl.py",
            "data": f"{int(usable.sum())} bf16 steps of analysis/measured_runs.toml; lengths with p99/p50 = {SPREAD:g}",
            "scatter": float(np.std(np.log(ratio))),
            "median_error_row_left_out": float(np.median(np.abs(ratio - 1))),
            "worst_factor_row_left_out": float(np.exp(np.abs(np.log(ratio))).max()),
            "median_error_model_left_out": float(np.median(np.abs(other - 1))),
            "worst_factor_model_left_out": float(np.exp(np.abs(np.log(other))).max()),
        }
        ranges = {f"{name}_p10": low[name] for name in NAMES} | {f"{name}_p90": high[name] for name in NAMES}
        write_table("rl_step", {**about, **ranges}, values)


if __name__ == "__main__":
    main()
