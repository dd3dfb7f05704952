"""Figures of the uncertainty analyses: what a reader must find in them, and that they are written whole."""

from __future__ import annotations

from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from tinker_nomics.plots.distribution_curves import exceedance_figure, histogram_figure
from tinker_nomics.plots.fan import fan_figure
from tinker_nomics.plots.label_places import spaced
from tinker_nomics.plots.sobol_bars import sobol_figure
from tinker_nomics.plots.spider import spider_figure
from tinker_nomics.plots.style import HIGH, LOW, save
from tinker_nomics.plots.tornado import tornado_figure
from tinker_nomics.uncertainty import (
    LogNormal,
    Normal,
    Uniform,
    levers,
    monte_carlo,
    sobol_indices,
    spider,
    tornado,
)

LONG = "schedule.a_parameter_with_quite_a_long_name"
INPUTS = {LONG: LogNormal.from_quantiles(1.1, 1.5, 3.0), "price": Uniform(1.0, 6.0), "bend": Normal(0.3, 1.0)}


def _cost(x):
    total = 100.0 * x[LONG] + 10.0 * x["price"] + (x["bend"] - 0.3) ** 2
    return {"total": total, "gap": total - 230.0, "margin": x[LONG] - 2.0}


def _texts(figure) -> list[str]:
    FigureCanvasAgg(figure).draw()
    return [text.get_text() for text in figure.findobj(match=lambda artist: hasattr(artist, "get_text"))]


def _within_the_figure(figure) -> None:
    FigureCanvasAgg(figure).draw()
    # numbers of ticks beyond the limits are made and not drawn
    numbers = {label for axis in figure.axes for label in axis.get_xticklabels() + axis.get_yticklabels()}
    numbers -= {label for label in numbers if any(letter.isalpha() for letter in label.get_text())}
    for text in set(figure.findobj(match=lambda artist: hasattr(artist, "get_text"))) - numbers:
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            assert box.x0 >= -1 and box.x1 <= figure.bbox.width + 1, text.get_text()


@pytest.fixture(scope="module")
def drawn():
    bars = tornado(
        _cost,
        INPUTS,
        decision="gap",
        branches=["margin"],
        undeclared=["rate"],
        units={"price": "USD/h"},
    )
    steps = levers(_cost, {"price": (2.0, 8.0, "2 (/2)", "8 (x2)")}, at={LONG: 1.5, "price": 4.0, "bend": 0.3})
    return tornado_figure(bars, steps, output="total", title="what moves it", unit="USD")


def test_tornado_shows_what_the_convention_lists(drawn, tmp_path):
    texts = _texts(drawn)
    for expected in (
        LONG,
        "bend *",
        "base $185.00",
        "1.1",
        "3",
        "5.5 USD/h",
        "no declared range: rate",
        "Uncertainties: P10 to P90",
        "Levers: natural steps",
        "8 (x2)",
        "total [USD]",
        "decision flips",
        "a branch of the model switches",
        "input low",
        "input high",
    ):
        assert expected in texts, expected
    top, bottom = drawn.axes
    assert top.get_yticklabels()[0].get_text() == LONG
    colours = {to_hex(patch.get_facecolor()).upper() for patch in top.patches}
    assert colours == {LOW, HIGH}
    assert len(bottom.patches) == 2
    _within_the_figure(drawn)
    path = save(drawn, tmp_path / "tornado.png")
    assert path.read_bytes()[:4] == b"\x89PNG" and drawn.get_size_inches()[0] * drawn.dpi == 1200
    assert save(drawn, tmp_path / "tornado.svg").read_text().count(LONG) == 1


def test_bars_reach_from_the_base_to_the_ends(drawn):
    widths = sorted((patch.get_x() + patch.get_width(), patch.get_x()) for patch in drawn.axes[0].patches)
    ends = {round(end, 6) for end, _ in widths} | {round(start, 6) for _, start in widths}
    assert {145.0, 335.0, 185.0, 165.0, 205.0} <= ends


def test_spider_names_each_line():
    figure = spider_figure(spider(_cost, INPUTS), output="total", title="lines", unit="USD")
    assert {LONG, "price", "bend", "base"} <= set(_texts(figure))
    assert len(figure.axes[0].lines) == 4
    _within_the_figure(figure)


def test_sobol_bars_carry_their_intervals():
    found = sobol_indices(_cost, INPUTS, samples=2**10)
    figure = sobol_figure(found, output="total")
    texts = _texts(figure)
    assert any(text.startswith(f"{found.st['total'][LONG]:.3f} ± ") for text in texts)
    assert figure.axes[0].get_xlim()[0] == 0.0 and len(figure.axes[0].patches) == 6
    _within_the_figure(figure)


def test_distribution_curves():
    result = monte_carlo(_cost, INPUTS, samples=2**12)
    figure = exceedance_figure(result, outputs=["total", "gap"], budget=230.0, unit="USD")
    chance = 100 * result.probability("total > 230")
    assert any(text.startswith(f"P(total > 230) = {chance:.2f} % ± ") for text in _texts(figure))
    y = figure.axes[0].lines[0].get_ydata()
    assert y[0] == 1.0 and y[-1] == 0.0 and np.all(np.diff(y) <= 0)
    figure = exceedance_figure(result, outputs=["total", "gap"], budget=float(result.minimum["gap"].value))
    (upper,), (lower,) = _boxes(figure, "P(total >"), _boxes(figure, "P(gap >")
    assert not upper.overlaps(lower) and max(upper.y1, lower.y1) < figure.axes[0].bbox.y1
    figure = histogram_figure(result, output="total", marks={"far": 1e9, "less": 90.0})
    assert "outside the picture: far 1.000e+09" in _texts(figure) and figure.axes[0].get_xlim()[0] < 90.0
    figure = histogram_figure(result, output="total", marks={"budget": 230.0})
    shares = [patch.get_height() for patch in figure.axes[0].patches]
    assert sum(shares) == pytest.approx(0.9945, abs=2e-3)
    assert {"budget 230", f"P10 {result.quantile('total', 0.1):.4g}"} <= set(_texts(figure))
    _within_the_figure(figure)


def test_fan_needs_pairs_of_quantiles():
    steps = np.arange(5.0)
    figure = fan_figure(steps, {p: steps * (1 + p) for p in (0.1, 0.5, 0.9)}, ylabel="cost [USD]", budget=3.0)
    assert {"P10", "P50", "P90", "median", "P10 to P90", "budget"} <= set(_texts(figure))
    _within_the_figure(figure)
    assert figure.axes[0].get_legend()._loc == 2
    falling = fan_figure(steps, {p: -steps * (1 + p) for p in (0.1, 0.5, 0.9)}, budget=-3.0)
    assert falling.axes[0].get_legend()._loc == 3
    with pytest.raises(ValueError, match="pairs"):
        fan_figure(steps, {0.1: steps, 0.5: steps})


def test_labels_are_kept_apart():
    places = spaced(np.array([3.0, 1.0, 1.01, 1.02]), 0.5, 3.0)
    assert np.all(np.diff(np.sort(places)) >= 0.5 - 1e-12) and places.max() <= 3.0
    assert np.argsort(places, kind="stable").tolist() == [1, 2, 3, 0]
    # moved as little as can be: a crowd spreads to both sides of its middle
    assert spaced(np.array([1.0, 1.0, 1.0]), 0.1, 9.0) == pytest.approx([0.9, 1.0, 1.1])
    assert spaced(np.array([1.0, 2.0]), 0.1, 9.0).tolist() == [1.0, 2.0] and len(spaced(np.array([]), 0.1, 1.0)) == 0


def _boxes(figure, start: str) -> list:
    FigureCanvasAgg(figure).draw()
    texts = figure.findobj(match=lambda artist: hasattr(artist, "get_text"))
    return [text.get_window_extent() for text in texts if text.get_text().startswith(start)]


def test_many_inputs_with_long_names_do_not_overlap():
    names = [f"some.quite_long_path_of_a_model.parameter_number_{k:02d}_of_many" for k in range(20)]
    many = {name: Uniform(0.0, 1.0 + k / 5) for k, name in enumerate(names)}
    f = lambda x: sum((k + 1) * x[name] for k, name in enumerate(names))  # noqa: E731
    units = dict.fromkeys(names, "USD/h")
    bars = tornado(f, many, units=units, undeclared=[f"{name}_rate" for name in names])
    figure = tornado_figure(bars, title="many", unit="USD")
    _within_the_figure(figure)
    (note,), (label,) = _boxes(figure, "8 more with smaller swings; no declared range"), _boxes(figure, "output [USD]")
    assert note.y1 < label.y0 and figure.axes[0].bbox.height > 0.6 * figure.bbox.height
    (end,) = _boxes(figure, bars.of()[0].end(False))
    assert end.x0 >= figure.axes[0].bbox.x0
    figure = spider_figure(spider(f, many))
    _within_the_figure(figure)
    boxes = sorted(_boxes(figure, "some.quite_long"), key=lambda box: box.y0)
    assert len(boxes) == 7 and all(below.y1 <= above.y0 + 1 for below, above in pairwise(boxes))


def test_holes_are_named_in_the_picture():
    inputs = {"a": Uniform(0.0, 1.0), "b": Uniform(1.0, 2.0)}
    holed = lambda x: jnp.where(x["a"] > 0.5, jnp.nan, x["a"] * x["b"])  # noqa: E731
    figure = tornado_figure(tornado(holed, inputs))
    assert "a is not finite at 16 of 33 points" in _texts(figure)
    assert figure.axes[0].get_xlim()[0] < 0.15  # the end of a's bar that exists is seen
    assert "a (not finite at 9 of 19 points)" in _texts(spider_figure(spider(holed, inputs)))
