"""A run whose pipeline is known before it is traced: half of the program need not be compiled, nor computed."""

from __future__ import annotations

from collections.abc import Container

from ..config import Config, set_paths
from .own_run import has_steps

BOUND = "schedule.max_steps_off_policy"


def known_schedule(config: Config, varied: Container[str] = ()) -> Config:
    """`config` with the schedule "auto" replaced by what its k makes of it, where steps are priced one by one.

    Totals are the same; `branches` loses the margins of the pipeline that the run does not have.

    Args:
        config: plain numbers.
        varied: the parameters that will be varied; where k is one of them both pipelines are kept.
    """
    plain = isinstance(config.schedule.max_steps_off_policy, float | int)
    if config.schedule.kind != "auto" or BOUND in varied or not plain or not has_steps(config.assumptions):
        return config
    return set_paths(config, {"schedule.kind": config.schedule_kind})
