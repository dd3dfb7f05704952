"""The vocabulary of a decode chain: kinds of stages, classes of resident bytes, ways a part divides across chips.

Plain enums and frozen dataclasses: importing this file does not import JAX.
"""

from dataclasses import dataclass
from enum import Enum

ALL_REDUCE_ELEMENT_BYTES = 2.0
"""Bytes per element of an all-reduced hidden vector (16-bit activations)."""

ARGMAX_BYTES_PER_SEQUENCE = 8.0
"""Bytes per sequence of the arg-max exchange across vocabulary shards: a value and an index."""


class HeldClass(Enum):
    """A class of resident bytes. The order of the members breaks ties when tiers are filled."""

    matrix_weights = "matrix_weights"
    routed_experts = "routed_experts"
    small_weights = "small_weights"
    head = "head"
    embedding_rows = "embedding_rows"
    kv_cache = "kv_cache"
    recurrent_state = "recurrent_state"

    @property
    def index(self) -> int:
        """Position among the members: the index into `DecodeStep.held_bytes`."""
        return HELD_CLASSES.index(self)


HELD_CLASSES: tuple[HeldClass, ...] = tuple(HeldClass)

WEIGHT_CLASSES: tuple[HeldClass, ...] = HELD_CLASSES[:5]
"""The classes that hold tensors of the checkpoint; the other two hold what the run accumulates."""


class StageKind(Enum):
    """What one dependent stage of the chain does. `side` is a matrix product outside attention and FFN."""

    embed = "embed"
    side = "side"
    mixer_norm = "mixer_norm"
    mixer_in = "mixer_in"
    latent_up = "latent_up"
    mixer = "mixer"
    mixer_out = "mixer_out"
    ffn_norm = "ffn_norm"
    router = "router"
    ffn_up = "ffn_up"
    ffn_down = "ffn_down"
    head_norm = "head_norm"
    head = "head"


class Split(Enum):
    """What the work of a part is cut by across chips.

    `whole` work is replicated (one unit); `heads` are query heads; `columns` are counted in quantization blocks.
    """

    whole = "whole"
    heads = "heads"
    kv_heads = "kv_heads"
    value_heads = "value_heads"
    columns = "columns"
    vocabulary = "vocabulary"


@dataclass(frozen=True)
class Stage:
    """One dependent stage of the decode chain.

    Args:
        kind: what it does.
        block: index of its transformer block; `None` before the first and after the last.
        collective: `"none"`, `"all_reduce"` or `"argmax"`: what follows it where it is spread over chips.
    """

    kind: StageKind
    block: int | None = None
    collective: str = "none"


@dataclass(frozen=True)
class Held:
    """A class of resident bytes, and how many of them one step moves.

    Args:
        held_class: which class.
        bytes: resident bytes [B], reserved cache cells included.
        moved: bytes that one step reads and writes of it [B].
    """

    held_class: HeldClass
    bytes: float
    moved: float
