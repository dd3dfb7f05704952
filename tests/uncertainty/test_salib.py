"""Our indices on the cost model against SALib's on its NumPy twin, and the identities that hold on any model."""

from __future__ import annotations

import numpy as np
import pytest
from hand_config import hand_config
from uncertain_run import INPUTS, OUTPUTS, salib_indices, totals

from tinker_nomics.cost_model import estimate
from tinker_nomics.report_outputs import report_outputs
from tinker_nomics.uncertainty import sobol_indices

HELD = ("tinker.total", "difference.total")


@pytest.fixture(scope="module")
def ours():
    return sobol_indices(report_outputs, INPUTS, 2**14, base=hand_config(), outputs=HELD)


@pytest.fixture(scope="module")
def theirs():
    return salib_indices(2**11, outputs=HELD)


def test_the_twin_of_the_totals_is_the_model():
    found, expected = totals({}), estimate(hand_config())
    for name in OUTPUTS:
        assert found[name] == pytest.approx(expected[name], rel=1e-12), name


@pytest.mark.parametrize("output", HELD)
def test_indices_agree_within_both_errors(ours, theirs, output):
    peer, compared = theirs.indices[output], 0
    for label, values, errors in (("S1", ours.s1, ours.s1_error), ("ST", ours.st, ours.st_error)):
        for place, name in enumerate(INPUTS):
            other, other_error = peer[label][place], peer[f"{label}_conf"][place] / 1.96
            both = np.hypot(errors[output][name], other_error)
            assert abs(values[output][name] - other) <= 4.0 * both + 1e-12, (label, name)
            # both errors are small enough that the comparison means something
            assert both < 0.05
            compared += values[output][name] > 10 * both
    assert compared >= 8


def test_identities_on_the_cost_model(ours):
    assert not ours.nonfinite["tinker.total"]
    for output in HELD:
        s1, st = ours.s1[output], ours.st[output]
        assert (
            sum(s1.values()) <= 1.0 + 4 * np.hypot.reduce(list(ours.s1_error[output].values()))
            and sum(st.values()) >= 1.0
        )
        for name in INPUTS:
            assert s1[name] <= st[name] + 4 * np.hypot(ours.s1_error[output][name], ours.st_error[output][name])
    # what happens on own GPUs does not touch Tinker's bill
    for name in INPUTS:
        used = name.startswith("workload.")
        assert (ours.st["tinker.total"][name] > 0.0) == (ours.s1["tinker.total"][name] != 0.0) == used, name
