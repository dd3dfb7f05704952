"""Correlated inputs: a Gaussian copula that has the rank correlations asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from .errors import CorrelationError, unknown_name

Correlations = Mapping[tuple[str, str], float]


def nearest_correlation(matrix: np.ndarray, least: float = 1e-6, iterations: int = 500) -> np.ndarray:
    """The correlation matrix nearest to a symmetric `matrix` [d, d] in the Frobenius norm, eigenvalues >= `least`.

    Alternating projections onto matrices without small eigenvalues and matrices with unit diagonal, with Dykstra's
    correction. Source: N. J. Higham, IMA J. Numer. Anal. 22 (2002) 329.
    """
    y = np.array(matrix, dtype=np.float64)
    y = (y + y.T) / 2
    correction = np.zeros_like(y)
    for _ in range(iterations):
        residual = y - correction
        values, vectors = np.linalg.eigh(residual)
        x = (vectors * np.maximum(values, 2 * least)) @ vectors.T
        correction = x - residual
        previous, y = y, x.copy()
        np.fill_diagonal(y, 1.0)
        if np.abs(y - previous).max() < 1e-12:
            break
    # the diagonal just set may cost a little of the smallest eigenvalue: shrink towards the identity by what is missing
    lowest = float(np.linalg.eigvalsh(y)[0])
    if lowest < least:
        share = (least - lowest) / (1.0 - lowest)
        y = (1 - share) * y + share * np.eye(len(y))
    return y


def rank_to_normal(rank: Any) -> Any:
    """Correlation of the normal pair whose rank (Spearman) correlation is `rank`: 2 sin(pi rank / 6)."""
    return 2.0 * np.sin(np.pi * np.asarray(rank, dtype=np.float64) / 6.0)


def normal_to_rank(correlation: Any) -> Any:
    """Rank (Spearman) correlation of a normal pair with this correlation: (6 / pi) asin(correlation / 2)."""
    return 6.0 / np.pi * np.arcsin(np.asarray(correlation, dtype=np.float64) / 2.0)


def correlation_matrix(names: Sequence[str], correlations: Correlations) -> np.ndarray:
    """The normal correlation matrix [d, d] of the inputs `names` with the given rank correlations, else independent.

    Args:
        names: the inputs, in the order of the matrix.
        correlations: {(name, name): rank correlation in (-1, 1)}.

    Raises:
        CorrelationError: a value outside (-1, 1), an input with itself, a pair given twice with different values, or
            correlations that no inputs can have together; the error then carries the nearest ones that they can have.
    """
    names = tuple(names)
    place = {name: index for index, name in enumerate(names)}
    matrix = np.eye(len(names))
    seen: dict[frozenset[str], float] = {}
    if not isinstance(correlations, Mapping):
        raise CorrelationError(f"correlations = {correlations!r}: give {{(input, input): rank correlation}}")
    for pair, rank in correlations.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise CorrelationError(f"correlations: the key {pair!r} must be a pair of input names")
        for name in pair:
            if name not in place:
                raise CorrelationError(str(unknown_name("uncertain input", name, names)), names)
        first, second = pair
        if first == second:
            raise CorrelationError(f"correlations: {first!r} is paired with itself")
        if not isinstance(rank, Real) or not -1.0 < rank < 1.0:
            raise CorrelationError(f"correlations: {first!r} with {second!r} = {rank!r} must lie between -1 and 1")
        if seen.setdefault(frozenset(pair), rank) != rank:
            raise CorrelationError(f"correlations: {first!r} with {second!r} is given twice, with different values")
        i, j = place[first], place[second]
        matrix[i, j] = matrix[j, i] = rank_to_normal(rank)
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if lowest <= 1e-10:
        near = nearest_correlation(matrix)
        ranks = normal_to_rank(near)
        nearest = {
            (names[i], names[j]): float(ranks[i, j])
            for i in range(len(names))
            for j in range(i + 1, len(names))
            if abs(ranks[i, j]) > 1e-9
        }
        shown = ", ".join(f"({a!r}, {b!r}): {value:.4f}" for (a, b), value in nearest.items())
        raise CorrelationError(
            f"correlations: not positive definite (least eigenvalue {lowest:.3g}), so no inputs have them together; "
            f"the nearest that can be had: {{{shown}}} (also in the error's .nearest)",
            names,
            nearest,
            near,
        )
    return matrix
