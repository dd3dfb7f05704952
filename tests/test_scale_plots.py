"""The pictures of fronts and winners: that they are drawn, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

from tinker_nomics.plots.group_winners import group_winners_figure
from tinker_nomics.plots.pareto_front import pareto_figure
from tinker_nomics.plots.style import save
from tinker_nomics.streaming.pareto import Front
from tinker_nomics.streaming.winners import WinnerTable


def _texts(figure) -> list[str]:
    return [text.get_text() for axis in figure.axes for text in axis.texts]


def test_a_front_tells_its_points_and_whether_it_is_whole(tmp_path):
    outputs = {"self_hosted.total": np.array([1.0, 2.0, 90.0]), "self_hosted.hours": np.array([9.0, 5.0, 1.0])}
    inputs = {"chip": np.array([0.0, 1.0, 1.0]), "cluster.gpus": np.array([2.0, 4.0, 8.0])}
    front = Front(np.array([5, 7, 9]), inputs, outputs, 0, True)
    figure = pareto_figure(
        front,
        "self_hosted.total",
        "self_hosted.hours",
        by="chip",
        texts={"chip": ["h100", "b200"]},
        describe=["cluster.gpus"],
        title="a run",
    )
    axis = figure.axes[0]
    assert axis.get_xlabel() == "self_hosted.total [USD]" and axis.get_ylabel() == "self_hosted.hours [h]"
    assert axis.get_title(loc="left") == "a run (3 points)" and axis.get_xscale() == "log"
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["h100", "b200"]
    assert _texts(figure)[-1].splitlines()[0].strip() == "gpus" and _texts(figure)[-1].splitlines()[1] == "1:    2"
    thinned = pareto_figure(front._replace(dropped=1200, exact=False), "self_hosted.total", "self_hosted.hours")
    assert "thinned: 1,200 points left out" in thinned.axes[0].get_title(loc="left")
    assert save(figure, tmp_path / "front.png").stat().st_size > 5000


def test_winners_by_one_and_two_axes(tmp_path):
    wins = {"tinker.total": np.array([[9, 0], [5, 0]]), "self_hosted.total": np.array([[1, 8], [5, 0]])}
    table = WinnerTable({"chip": ("h100", "b200"), "cluster.gpus": (1.0, 2.0)}, wins, np.array([[0, 2], [0, 0]]))
    figure = group_winners_figure(table)
    assert _texts(figure) == ["90 %", "80 %", "50 %", "none"]
    assert "share of 30 points" in figure.axes[0].get_title(loc="left")
    assert save(figure, tmp_path / "winners.svg").stat().st_size > 5000
    one = WinnerTable({"chip": ("h100", "b200")}, {n: w[:, 0] for n, w in wins.items()}, np.array([0, 0]))
    assert _texts(group_winners_figure(one)) == ["90 %", "50 %"]
    with pytest.raises(ValueError, match="one or two group axes"):
        group_winners_figure(WinnerTable({}, wins, np.array(0)))
