"""Scrambled Sobol' points by number: any point of any replicate from its number alone, on any layout of the work."""

from __future__ import annotations

from functools import cache
from importlib import resources

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..boundary import x64
from ..errors import TinkerNomicsError

BITS = 52
MAX_DIMENSIONS = 512
_TURN_BITS = 6  # the engine's turns are of 2^6 chunks where there are as many
_ONE = 0x3FF << 52  # the bits of 1.0
_GOLDEN = 0x9E3779B97F4A7C15


@cache
def joe_kuo_directions() -> np.ndarray:
    """Direction numbers w [512, 52] (uint64, 52-bit fractions) for natural point numbers.

    With the recurrence v_k = a_1 v_(k-1) ^ ... ^ v_(k-s) ^ (v_(k-s) >> s), the point of number n in Gray-code order,
    the standard order of the sequence, is the XOR of v_k over the bits of n ^ (n >> 1), which is the XOR of
    w_k = v_k ^ v_(k-1) over the bits of n.
    """
    text = resources.files("tinker_nomics.streaming").joinpath("joe_kuo.txt").read_text(encoding="utf-8")
    rows = [[int(word) for word in line.split()] for line in text.splitlines() if not line.startswith("#")]
    directions = np.zeros((len(rows), BITS), dtype=np.uint64)
    for dimension, (polynomial, *initial) in enumerate(rows):
        degree = polynomial.bit_length() - 1
        if degree == 0:  # the first dimension is the van der Corput sequence
            v = [1 << (BITS - 1 - k) for k in range(BITS)]
        else:
            v = [m << (BITS - 1 - k) for k, m in enumerate(initial)]
            for k in range(degree, BITS):
                value = v[k - degree] ^ (v[k - degree] >> degree)
                for j in range(1, degree):
                    if (polynomial >> (degree - j)) & 1:
                        value ^= v[k - j]
                v.append(value)
        directions[dimension] = [v[0], *(v[k] ^ v[k - 1] for k in range(1, BITS))]
    return directions


def _mix(x: jax.Array) -> jax.Array:
    """The finaliser of SplitMix64: a bijection of 64-bit words whose outputs pass for independent."""
    x = (x ^ (x >> 30)) * jnp.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> 27)) * jnp.uint64(0x94D049BB133111EB)
    return x ^ (x >> 31)


def _random_words(seed: jax.Array, replicates: int, dimensions: int) -> jax.Array:
    """Words [replicates, dimensions, 53] that depend on the seed and their own place only."""
    shape = (replicates, dimensions, BITS + 1)
    replicate, dimension, row = (jax.lax.broadcasted_iota(jnp.uint64, shape, axis) for axis in range(3))
    place = (replicate << 32) + (dimension << 8) + row + 1
    return _mix(_mix(seed + jnp.uint64(_GOLDEN)) + place * jnp.uint64(_GOLDEN))


@jax.jit
def _scrambled(seed: jax.Array, replicate: jax.Array, directions: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Linear matrix scramble of the directions [R, d, k] and the digital shifts [R, d], one pair per replicate."""
    words = _random_words(seed, replicate.shape[0], directions.shape[0])
    place = BITS - 1 - jnp.arange(BITS, dtype=jnp.uint64)  # row i yields bit 51 - i
    diagonal = jnp.uint64(1) << place
    above = jnp.uint64((1 << BITS) - 1) & ~(diagonal | (diagonal - 1))
    rows = (words[..., :BITS] & above[None, None]) | diagonal[None, None]
    parity = jax.lax.population_count(rows[:, :, None, :] & directions[None, :, :, None]) & jnp.uint64(1)
    scrambled = jnp.sum(parity << place[None, None, None], axis=-1, dtype=jnp.uint64)
    return scrambled, words[..., BITS] >> jnp.uint64(64 - BITS)


def _combine(directions: jax.Array, number: jax.Array) -> jax.Array:
    """XOR [d] of directions [d, k] over the bits k of `number`."""
    bits = (number >> jnp.arange(directions.shape[-1], dtype=jnp.uint64)) & jnp.uint64(1)
    return jax.lax.reduce(directions * bits[None, :], np.uint64(0), jax.lax.bitwise_xor, (1,))


def _table(directions: jax.Array) -> jax.Array:
    """Points [..., 2^k] of the k directions [..., k].

    Doubling a table by concatenation would take fewer operations, but the compiler does it again for every point.
    """
    count = directions.shape[-1]
    number = jnp.arange(1 << count, dtype=jnp.uint64).reshape((1,) * (directions.ndim - 1) + (-1,))
    table = jnp.zeros((*directions.shape[:-1], 1 << count), dtype=jnp.uint64)
    for k in range(count):
        table = table ^ (directions[..., k : k + 1] * ((number >> k) & jnp.uint64(1)))
    return table


class SobolPoints(eqx.Module):
    """`replicates` independent scrambles of the first 2^`log2_points` Sobol' points in `dimensions` dimensions.

    Each coordinate is (2 x + 1) 2^-53 with a 52-bit integer x: never 0, never 1. A chunk holds 2^`log2_chunk` points of
    one replicate; point c 2^m + r is the XOR of point c 2^m and point r, so a chunk costs two XORs per coordinate.

    Args:
        dimensions: 1 to 512.
        log2_points: points per replicate as a power of two, 0 to 52.
        replicates: independent scrambles (strata of the engine).
        seed: whole number >= 0; equal seeds give equal points anywhere.
        log2_chunk: points per chunk as a power of two, at most log2_points (the default: 16 at most).
        scrambled: False gives the standard sequence (plus 2^-53), the same in every replicate.

    Source: Sobol' (1967); directions Joe and Kuo (2008); linear matrix scramble Matousek (1998); digital shift.
    """

    directions: np.ndarray | jax.Array  # uint64 [R, d, log2_points]
    shifts: np.ndarray | jax.Array  # uint64 [R, d]
    dimensions: int = eqx.field(static=True)
    replicates: int = eqx.field(static=True)
    log2_points: int = eqx.field(static=True)
    log2_chunk: int = eqx.field(static=True)

    def __init__(
        self,
        dimensions: int,
        log2_points: int,
        replicates: int = 1,
        seed: int = 0,
        log2_chunk: int | None = None,
        scrambled: bool = True,
    ):
        for name, value, low, high in (
            ("dimensions", dimensions, 1, MAX_DIMENSIONS),
            ("log2_points", log2_points, 0, BITS),
            ("replicates", replicates, 1, 2**20),
            ("seed", seed, 0, None),
        ):
            if int(value) != value or value < low or (high is not None and value > high):
                allowed = f"a whole number >= {low}" if high is None else f"a whole number in [{low}, {high}]"
                raise TinkerNomicsError(f"{name} = {value!r} of the Sobol' points: must be {allowed}")
        self.dimensions, self.log2_points, self.replicates = int(dimensions), int(log2_points), int(replicates)
        self.log2_chunk = min(16, self.log2_points) if log2_chunk is None else min(int(log2_chunk), self.log2_points)
        base = joe_kuo_directions()[: self.dimensions, : self.log2_points]
        if scrambled:
            with x64():
                parts = _scrambled(np.uint64(int(seed) % 2**64), np.arange(self.replicates), base)
                self.directions, self.shifts = (np.asarray(part) for part in parts)
        else:
            self.directions = np.repeat(base[None], self.replicates, axis=0)
            self.shifts = np.zeros((self.replicates, self.dimensions), dtype=np.uint64)

    @property
    def strata(self) -> int:
        return self.replicates

    @property
    def chunk_size(self) -> int:
        return 1 << self.log2_chunk

    @property
    def stratum_chunks(self) -> int:
        return 1 << (self.log2_points - self.log2_chunk)

    @property
    def size(self) -> int:
        return self.replicates << self.log2_points

    def canonical(self) -> SobolPoints:
        """The same points as the beginning of the longest sequence, so that runs of any length share one program.

        A chunk's number says which point it starts with, and numbers are no higher than the run is long. Runs of few
        chunks take turns of another length and stay as they are.
        """
        if self.log2_points - self.log2_chunk < _TURN_BITS:
            return self
        longest = object.__new__(SobolPoints)
        missing = [(0, 0), (0, 0), (0, BITS - self.log2_points)]
        fields = {**self.__dict__, "log2_points": BITS, "directions": np.pad(np.asarray(self.directions), missing)}
        for name, value in fields.items():
            object.__setattr__(longest, name, value)
        return longest

    def integers(self, stratum: jax.Array, chunk: jax.Array) -> jax.Array:
        """The 52-bit integers [d, 2^log2_chunk] of one chunk of one replicate (traced)."""
        own = jnp.asarray(self.directions)[stratum]
        start = jnp.asarray(self.shifts)[stratum] ^ _combine(own[:, self.log2_chunk :], chunk.astype(jnp.uint64))
        half = self.log2_chunk // 2
        fine, coarse = _table(own[:, :half]), _table(own[:, half : self.log2_chunk]) ^ start[:, None]
        return (coarse[:, :, None] ^ fine[:, None, :]).reshape(self.dimensions, -1)

    def chunk(self, stratum: jax.Array, chunk: jax.Array) -> jax.Array:
        """The points [d, 2^log2_chunk] of one chunk of one replicate, float64 in (0, 1) (traced)."""
        return unit_interval(self.integers(stratum, chunk))


def unit_interval(integers: jax.Array) -> jax.Array:
    """(2 x + 1) 2^-53 of 52-bit integers x, by setting the bits of a double in [1, 2)."""
    bits = integers | jnp.uint64(_ONE)
    return jax.lax.bitcast_convert_type(bits, jnp.float64) - (1.0 - 2.0**-53)
