from __future__ import annotations

import pytest

from tinker_nomics.decode import Deployment, WeightBytes
from tinker_nomics.decode.ggml_types import ggml_type
from tinker_nomics.errors import ConfigError


def test_capacity_is_the_context_unless_given():
    assert Deployment(context=3000).reserved == 3000.0
    assert Deployment(context=3000, capacity=8192).reserved == 8192.0


def test_weights_by_type_name_or_weight_bytes():
    wanted = ggml_type("Q8_0")
    for weights in ("q8_0", wanted, WeightBytes("Q8_0"), WeightBytes(wanted)):
        assert Deployment(weights=weights).weight_type == wanted
    assert Deployment().weight_type is None
    assert Deployment(weights=WeightBytes()).weight_type is None


def test_all_problems_are_listed_at_once():
    with pytest.raises(ConfigError) as caught:
        Deployment(context=0, capacity=-1, k_type="q6_k", v_type="f8", weights="Q9", sequences=0.5, ubatch=True)
    assert {problem.path for problem in caught.value.problems} == {
        "context", "capacity", "k_type", "v_type", "weights", "sequences", "ubatch",
    }  # fmt: skip
    assert "q8_0" in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"context": float("nan")},
        {"context": "4096"},
        {"context": 4096, "capacity": 1024},
        {"sequences": float("inf")},
        {"kv_unified": 1},
        {"rs_seq": -1},
        {"rs_seq": 1.5},
        {"rs_seq": float("inf")},
        {"rs_seq": "2"},
        {"rs_seq": True},
        {"weights": 8},
    ],
)
def test_one_wrong_value_is_named(wrong):
    with pytest.raises(ConfigError) as caught:
        Deployment(**wrong)
    assert [problem.path for problem in caught.value.problems] == [list(wrong)[-1]]
