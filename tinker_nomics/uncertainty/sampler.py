"""Uniform points into values of the uncertain inputs, inside the compiled program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from .correlation import Correlations, correlation_matrix
from .distribution_base import Distribution, quantile_of
from .errors import UncertaintyError
from .normal_quantile import normal_quantile


def _arrays(leaves: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.asarray(leaf, dtype=np.float64) for leaf in leaves)


class Sampler(eqx.Module):
    """The joint distribution of named inputs: independent, or joined by a Gaussian copula.

    Inputs are held in the order of their names, so the order in which they were given changes no result. The
    parameters of the distributions are traced: other numbers compile nothing anew.
    """

    leaves: tuple[tuple[np.ndarray, ...], ...]
    factor: np.ndarray | None  # lower Cholesky factor [d, d] of the normal correlations
    names: tuple[str, ...] = eqx.field(static=True)
    structures: tuple[tuple, ...] = eqx.field(static=True)

    def __init__(self, distributions: Mapping[str, Distribution], correlations: Correlations | None = None):
        if not distributions:
            raise UncertaintyError("no uncertain input: give {name: distribution}, e.g. {'x': Uniform(0, 1)}")
        for name, distribution in distributions.items():
            if not isinstance(distribution, Distribution):
                raise UncertaintyError(
                    f"{name}: {distribution!r} is no distribution; give e.g. Uniform(low, high) or Normal(mean, sd)"
                )
        self.names = tuple(sorted(distributions))
        self.structures = tuple(distributions[name].structure for name in self.names)
        self.leaves = tuple(_arrays(distributions[name].leaves()) for name in self.names)
        self.factor = None
        if correlations is not None and (not isinstance(correlations, Mapping) or len(correlations) > 0):
            self.factor = np.linalg.cholesky(correlation_matrix(self.names, correlations))

    def __call__(self, u: jax.Array) -> dict[str, jax.Array]:
        """Values {name: [...]} at the uniform points u [d, ...]."""
        if self.factor is None:
            return self._values(u, None)
        return self.from_normal(jnp.tensordot(jnp.asarray(self.factor), normal_quantile(u, jnp), axes=1))

    def from_normal(self, z: jax.Array) -> dict[str, jax.Array]:
        """Values {name: [...]} at the standard normal values z [d, ...]."""
        return self._values(None, z)

    def _values(self, u: jax.Array | None, z: jax.Array | None) -> dict[str, jax.Array]:
        values = {}
        for index, (name, structure, leaves) in enumerate(zip(self.names, self.structures, self.leaves)):
            uniform = u[index] if u is not None else None
            normal = z[index] if z is not None else None
            if normal is not None and not structure[0].from_normal:
                # never 0 or 1, like the points themselves
                uniform = jnp.clip(ndtr(normal), 2.0**-54, 1.0 - 2.0**-53)
            values[name] = quantile_of(structure, leaves, uniform, normal, jnp)
        return values
