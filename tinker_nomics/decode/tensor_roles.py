"""Roles of tensors by name: which stage reads a tensor, how much of it per token, and how its work divides."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from importlib import resources

from .stages import HeldClass, Split, StageKind


class Read(Enum):
    """How much of a tensor one token reads."""

    all = "all"
    row = "row"
    used = "used"
    none = "none"


class Suffix(Enum):
    """What a tensor's name ends in, which tells a matrix from its bias and its scales."""

    weight = "weight"
    bias = "bias"
    scale = "scale"
    input_scale = "input_scale"


_SUFFIXES = {"weight": Suffix.weight, "bias": Suffix.bias, "scale": Suffix.scale, "scales": Suffix.scale}
_SUFFIXES["input_scale"] = Suffix.input_scale
RETYPED = (HeldClass.matrix_weights, HeldClass.routed_experts, HeldClass.head)
"""The classes whose weights `WeightBytes` re-types."""


@dataclass(frozen=True)
class Slot:
    """A place in the chain of a step. Slots are ordered; `kind` is the kind of the stage that stands there."""

    name: str
    kind: StageKind
    order: int


@dataclass(frozen=True)
class Role:
    """What tensors of some names are for.

    Args:
        name: the role in words.
        slot: the stage that reads it.
        held_class: the class of resident bytes that it belongs to.
        split: what its work is cut by across chips.
        read: how much of it one token reads.
        product: whether it multiplies an activation, at 2 FLOP per element read.
        passes: how often one step multiplies by it.
        beside, without: patterns of a tensor that must be there, or must not be, for this row to apply.
        except_block: a block whose tensors of this role are not read.
    """

    name: str
    slot: Slot
    held_class: HeldClass
    split: Split
    read: Read
    product: bool = False
    passes: int = 1
    beside: str | None = None
    without: str | None = None
    except_block: int | None = None


@dataclass(frozen=True)
class TensorRole:
    """The role of one tensor.

    Args:
        role: the row of the table.
        pattern: the name with its numbers replaced, such as "blk.{i}.attn_q".
        suffix: what the name ends in.
        block: the number of its block; None outside the blocks.
    """

    role: Role
    pattern: str
    suffix: Suffix
    block: int | None

    @property
    def held_class(self) -> HeldClass:
        """A matrix's class for its weights; biases and scales are small, save those of experts, which go with them."""
        if self.suffix is Suffix.weight or self.role.held_class is HeldClass.routed_experts:
            return self.role.held_class
        return HeldClass.small_weights

    @property
    def retyped(self) -> bool:
        """Whether a re-typing of the weights re-types it: a matrix, not its bias or scale."""
        return self.suffix is Suffix.weight and self.role.read is not Read.row and self.role.held_class in RETYPED

    @property
    def read(self) -> Read:
        """How much of it one token reads."""
        if self.suffix is Suffix.input_scale or (self.block is not None and self.block == self.role.except_block):
            return Read.none
        if self.suffix is Suffix.scale and self.role.read is Read.used:
            return Read.all
        return self.role.read

    @property
    def product(self) -> bool:
        """Whether it multiplies an activation."""
        return self.role.product and self.suffix is Suffix.weight and self.read is not Read.none


@dataclass(frozen=True)
class RoleTable:
    """The table of roles: `rows` by pattern, in the order in which they are tried, and the rows of whole prefixes."""

    slots: tuple[Slot, ...]
    rows: dict[str, tuple[Role, ...]]
    prefixes: dict[str, Role]

    def role_of(self, name: str, names: frozenset[str]) -> TensorRole | None:
        """The role of the tensor `name` in a checkpoint whose tensors are `names`; None where no row names it.

        Args:
            name: the tensor's name.
            names: the names of all tensors of the checkpoint without their suffixes, from `stems`.
        """
        pattern, suffix, block = parsed(name)
        for role in self.rows.get(pattern, ()):
            if _applies(role.beside, True, block, names) and _applies(role.without, False, block, names):
                return TensorRole(role, pattern, suffix, block)
        role = self.prefixes.get(pattern.split(".", 1)[0])
        return TensorRole(role, pattern, suffix, None) if role is not None and "." in pattern else None


def parsed(name: str) -> tuple[str, Suffix, int | None]:
    """A tensor's name as pattern, suffix and block: "blk.3.ffn_up.7.weight" is "blk.{i}.ffn_up.{e}", weight, 3."""
    words = name.split(".")
    suffix = _SUFFIXES.get(words[-1]) if len(words) > 1 else None
    if suffix is not None:
        words = words[:-1]
    places = [place for place, word in enumerate(words) if word.isascii() and word.isdigit()]
    block = int(words[places[0]]) if places and "blk" in words else None
    for place, mark in zip(places[:2], ("{i}", "{e}"), strict=False):
        words[place] = mark
    return ".".join(words), suffix or Suffix.weight, block


def stems(names: list[str]) -> frozenset[str]:
    """The names without their suffixes, which is what conditions on neighbours are looked up in."""
    return frozenset(_stem(name) for name in names)


def _stem(name: str) -> str:
    head, _, tail = name.rpartition(".")
    return head if head and tail in _SUFFIXES else name


def _applies(pattern: str | None, wanted: bool, block: int | None, names: frozenset[str]) -> bool:
    return pattern is None or (pattern.replace("{i}", str(block)) in names) is wanted


@lru_cache(maxsize=1)
def role_table() -> RoleTable:
    """The table that the package ships, `tensor_roles.toml`."""
    text = resources.files("tinker_nomics.decode").joinpath("tensor_roles.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    slots = {row["name"]: Slot(row["name"], StageKind(row["kind"]), order) for order, row in enumerate(data["slots"])}
    rows: dict[str, tuple[Role, ...]] = {}
    prefixes: dict[str, Role] = {}
    for row in data["role"]:
        role = Role(
            name=row["name"],
            slot=slots[row["slot"]],
            held_class=HeldClass(row["class"]),
            split=Split(row.get("split", "whole")),
            read=Read(row["read"]),
            product=row.get("product", False),
            passes=row.get("passes", 1),
            beside=row.get("beside"),
            without=row.get("without"),
            except_block=row.get("except_block"),
        )
        for pattern in row["names"]:
            if pattern.endswith(".*"):
                prefixes[pattern.removesuffix(".*")] = role
            else:
                rows[pattern] = (*rows.get(pattern, ()), role)
    return RoleTable(tuple(slots.values()), rows, prefixes)
