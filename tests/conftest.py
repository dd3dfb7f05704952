"""What every test shares: strict JAX, and a deterministic hypothesis profile."""

from __future__ import annotations

import jax
from hypothesis import HealthCheck, settings

jax.config.update("jax_numpy_dtype_promotion", "standard")
jax.config.update("jax_numpy_rank_promotion", "raise")
settings.register_profile(
    "project", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("project")
