"""Which edition of the model is computed: one switch per named deviation of the revised model from the published one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from .editions import EDITIONS
from .errors import TinkerNomicsError, listed
from .parameters import nearest

T = TypeVar("T")


@dataclass(frozen=True)
class Assumptions:
    """A switch per deviation: False computes the published side, True the revised one; `deviations.py` says what each is.

    A switch may be a traced boolean inside jit or vmap: then both sides are computed and selected. Held statically by
    a Config, so that every leaf of a Config is a number and `jax.grad` takes it as it is.

    `dated_prices` is on in the published edition too: a run is priced at the list of its date, or at prices of one's
    own. Off means the one table that the published page prints.
    """

    dated_prices: Any = True
    cached_prefill: Any = False
    whole_sequences: Any = False
    staleness_queue: Any = False
    stream_minibatch: Any = False
    pool_split: Any = False
    kv_bytes: Any = False
    experts_hit: Any = False
    batch_roof: Any = False
    itemised_memory: Any = False
    mfu_surface: Any = False
    train_flop: Any = False
    long_tail: Any = False
    step_remainder: Any = False
    lora_parameters: Any = False
    abort_everything: Any = False

    @property
    def edition(self) -> str:
        """ "published", "revised", or the nearer edition and what differs from it, in words."""
        for name in EDITIONS:
            if self == _EDITIONS[name]:
                return name
        plain = _EDITIONS["published"]
        on = [switch for switch in SWITCHES if getattr(self, switch)]
        if len(on) > len(SWITCHES) / 2:
            return "revised without " + listed([switch for switch in SWITCHES if switch not in on])
        more = [switch for switch in on if not getattr(plain, switch)]
        less = [switch for switch in SWITCHES if getattr(plain, switch) and switch not in on]
        return "published" + (" with " + listed(more) if more else "") + (" without " + listed(less) if less else "")

    @classmethod
    def parse(cls, given: str | Mapping[str, Any] | Assumptions) -> Assumptions:
        """`given` as Assumptions.

        Args:
            given: an edition, "published" or "revised"; text that lists switches, one with a minus sign is off, after
                an edition or alone ("kv_bytes, experts_hit", "revised, -cached_prefill"); or a mapping {switch: bool},
                which may hold {"edition": name} too.

        Switches alone change the published edition, unless all of them are off: then they are taken from the revised.

        Raises:
            TinkerNomicsError: an edition or a switch that does not exist; it names those that do.
        """
        if isinstance(given, Assumptions):
            return given
        if not isinstance(given, str | Mapping):
            raise TinkerNomicsError(
                f"assumptions = {given!r}: an edition, a list of switches in text, or {{switch: true or false}}"
            )
        named = _words(given) if isinstance(given, str) else dict(given)
        edition = named.pop("edition", None)
        if edition is None:
            edition = "revised" if named and not any(named.values()) else "published"
        if edition not in EDITIONS:
            raise TinkerNomicsError(
                f"assumptions = {edition!r}: the editions are {listed(EDITIONS)}; the switches are {listed(SWITCHES)}"
            )
        unknown = [name for name in named if name not in SWITCHES]
        if unknown:
            raise TinkerNomicsError(
                f"{unknown[0]!r} is no assumption; the editions are {listed(EDITIONS)}, the nearest switches "
                f"{listed(nearest(unknown[0], SWITCHES))}"
            )
        wrong = [name for name, value in named.items() if value not in (True, False)]
        if wrong:
            raise TinkerNomicsError(f"assumptions.{wrong[0]} = {named[wrong[0]]!r}: true or false is allowed")
        return cls(**{**vars(_EDITIONS[edition]), **{name: bool(value) for name, value in named.items()}})


def _words(text: str) -> dict[str, Any]:
    """{"edition": name, switch: bool} of a list in text."""
    named: dict[str, Any] = {}
    for word in re.split(r"[,\s]+", text.strip()):
        if word in EDITIONS:
            named["edition"] = word
        else:
            name = word.lstrip("+-").replace("-", "_")
            named[name] = not word.startswith("-")
    return named


SWITCHES = tuple(field.name for field in fields(Assumptions))
_EDITIONS = {"published": Assumptions(), "revised": Assumptions(**dict.fromkeys(SWITCHES, True))}


def is_traced(switch: Any) -> bool:
    """Whether a switch is a traced boolean, of which both sides are computed."""
    return isinstance(switch, jax.Array)  # tracers are arrays too


def may_be_on(switch: Any) -> bool:
    """Whether a switch is on, or traced."""
    return is_traced(switch) or bool(switch)


def either(switch: Any, published: Callable[[], T], revised: Callable[[], T]) -> T:
    """`revised()` where `switch` is on, else `published()`.

    A concrete switch evaluates one of the two; a traced one evaluates both and selects, leaf by leaf.
    """
    if is_traced(switch):
        return jax.tree.map(lambda p, r: jnp.where(switch, r, p), published(), revised())
    return revised() if switch else published()
