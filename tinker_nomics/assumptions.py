"""Which edition of the model is computed: one switch per named deviation of the revised model from the published one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from .errors import TinkerNomicsError, listed
from .parameters import nearest

T = TypeVar("T")


@dataclass(frozen=True)
class Assumptions:
    """A switch per deviation: False computes the published side, True the revised one.

    A switch may be a traced boolean inside jit or vmap: then both sides are computed and selected. Held statically by
    a Config, so that every leaf of a Config is a number and `jax.grad` takes it as it is.
    """

    kv_bytes: Any = False
    lora_parameters: Any = False
    abort_everything: Any = False

    @property
    def edition(self) -> str:
        """"published", "revised", or the switches that are on."""
        on = [field.name for field in fields(self) if getattr(self, field.name)]
        if not on:
            return "published"
        return "revised" if len(on) == len(fields(self)) else "published with " + listed(on)

    @classmethod
    def parse(cls, given: str | Mapping[str, bool] | Assumptions) -> Assumptions:
        """`given` as Assumptions: "published", or a mapping of switches that are on.

        Raises:
            TinkerNomicsError: an edition or a switch that does not exist; it names those that do.
        """
        if isinstance(given, Assumptions):
            return given
        names = [field.name for field in fields(cls)]
        if isinstance(given, str):
            if given == "published":
                return cls()
            raise TinkerNomicsError(f"assumptions = {given!r}: the edition is \"published\"; switches are {listed(names)}")
        unknown = [name for name in given if name not in names]
        if unknown:
            raise TinkerNomicsError(f"{unknown[0]!r} is no assumption; the nearest are {listed(nearest(unknown[0], names))}")
        return cls(**{name: bool(value) for name, value in given.items()})


def either(switch: Any, published: Callable[[], T], revised: Callable[[], T]) -> T:
    """`revised()` where `switch` is on, else `published()`.

    A concrete switch evaluates one of the two; a traced one evaluates both and selects, leaf by leaf.
    """
    if isinstance(switch, jax.core.Tracer | jax.Array):
        return jax.tree.map(lambda p, r: jnp.where(switch, r, p), published(), revised())
    return revised() if switch else published()
