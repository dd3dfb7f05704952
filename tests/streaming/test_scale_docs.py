"""The examples of docs/scale.md, run as they stand: what each prints is in the comment behind it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
EXAMPLES = [block for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if "class " in block]


def test_both_are_found():
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_prints_what_it_says(example, capsys):
    exec(compile(example, "docs/scale.md", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert capsys.readouterr().out.split() == re.findall(r"^print\(.*\)  # (.*)$", example, re.MULTILINE)


def test_the_names_that_it_gives_exist():
    import tinker_nomics as tn
    from tinker_nomics.cost_distribution.parts import merge_parts
    from tinker_nomics.cost_distribution.result import CostDistribution
    from tinker_nomics.sweeps.grid_result import merge_grid_parts

    for function in (merge_parts, CostDistribution.from_npz, merge_grid_parts, tn.GridReduction.from_npz):
        assert callable(function) and function.__qualname__ in TEXT
    everything: dict[str, object] = {}
    exec("from tinker_nomics.streaming import *", everything)
    assert everything["run"] is tn.streaming.run and set(tn.streaming.__all__) <= everything.keys()
