"""Tinker's bill: token streams times the price list. USD.

Source: the public calculator's documentation page; prices are per million tokens.
"""

from __future__ import annotations

from ..config import Number, Prices


def stream_cost(tokens: Number, price: Number) -> Number:
    """tokens price / 1e6.

    Args:
        tokens: billed tokens.
        price: USD per million tokens.

    Returns:
        USD.
    """
    return tokens * price / 1e6


def storage_per_month(checkpoint_bytes: Number, prices: Prices) -> Number:
    """checkpoint_bytes / 1e9 prices.storage: USD per month of keeping one checkpoint (GB = 1e9 B)."""
    return checkpoint_bytes / 1e9 * prices.storage
