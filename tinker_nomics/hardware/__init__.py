"""Chips, their memory tiers and links, and machines of them: one chip type for the whole package; host only."""

from .checks import PRECISIONS
from .chip import USER, AllReduceTime, Chip, Link, Machine, Source, Tier, TierKind, Topology

__all__ = [
    "PRECISIONS",
    "USER",
    "AllReduceTime",
    "Chip",
    "Link",
    "Machine",
    "Source",
    "Tier",
    "TierKind",
    "Topology",
]
