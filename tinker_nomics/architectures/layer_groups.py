"""Groups of equal layers that a language model is made of, and what one group contributes to each total.

Every group answers the same questions for a hidden width ``d``: matrix parameters (held and used per token), LoRA
parameters per rank, cache elements per token, recurrent state, and FLOP per context token. Geometry is integers; the
answers are exact products of them. Norms, biases, convolution kernels and per-head vectors are never counted here.

LoRA closed forms: one factor pair of rank r on a matrix ``a x b`` has ``r (a + b)`` parameters; the experts of one
layer share the factor on the hidden side. They reproduce the per-component table of ``tinker-cookbook`` 0.6.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

GATES = ("none", "fused", "separate")


class LayerGroup(ABC):
    """``layers`` equal layers; the concrete groups say what they contribute, the rest is zero."""

    kind: ClassVar[str] = ""
    component: ClassVar[str] = "attn"
    layers: int

    @abstractmethod
    def parameters(self, d: int) -> int:
        """Matrix parameters of the whole group."""

    def active_parameters(self, d: int) -> int:
        """Matrix parameters that one token multiplies with."""
        return self.parameters(d)

    @abstractmethod
    def lora_parameters(self, d: int) -> int:
        """LoRA parameters per unit of rank, exactly."""

    def published_lora_parameters(self, d: int) -> int | None:
        """The calculator page's own count per unit of rank; None where the page has no formula for the kind."""
        return None

    @property
    def cache_elements(self) -> int:
        """Cache elements per token that the group stores."""
        return 0

    @property
    def read_elements(self) -> int:
        """Cache elements per context token that the group reads (more than it stores where a cache is shared)."""
        return self.cache_elements

    @property
    def state_elements(self) -> int:
        """Elements of the fixed recurrent state per sequence."""
        return 0

    @property
    def attention_flops(self) -> int:
        """FLOP per generated token and token of context, scores and weighted sum, 2 per multiply-add."""
        return 0

    @property
    def span(self) -> int | None:
        """Sliding window in tokens; None where a token attends to the whole context."""
        return None

    def impossible(self) -> str | None:
        """What no layer of this kind can be, in words; None where nothing stands against it."""
        return None


def _none_of(names: str, *numbers: int) -> str | None:
    """Words for a layer of which one of several whole numbers is zero."""
    return f"{names} must be above zero" if min(numbers) < 1 else None


@dataclass(frozen=True)
class Attention(LayerGroup):
    """Softmax attention with grouped key/value heads, global or in a sliding window.

    ``gate``: "fused" doubles the query matrix (Qwen3.5), "separate" is a matrix of its own. ``relative_dim`` is the
    width per head of a relative-position projection. ``stores_cache`` is False for layers that read another layer's
    cache. ``value_projection`` is False where the value is the key.
    """

    kind: ClassVar[str] = "attention"
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int | None = None
    window: int | None = None
    gate: str = "none"
    relative_dim: int = 0
    stores_cache: bool = True
    value_projection: bool = True

    @property
    def _widths(self) -> tuple[int, int, int, int]:
        value = self.head_dim if self.value_dim is None else self.value_dim
        return self.heads * self.head_dim, self.kv_heads * self.head_dim, self.kv_heads * value, self.heads * value

    def _matrices(self, d: int) -> list[tuple[int, int]]:
        q, k, v, o = self._widths
        matrices = [(d, 2 * q if self.gate == "fused" else q), (o, d)]
        if self.stores_cache:
            matrices += [(d, k)] + ([(d, v)] if self.value_projection else [])
        if self.gate == "separate":
            matrices.append((d, o))
        if self.relative_dim:
            matrices.append((d, self.heads * self.relative_dim))
        return matrices

    def impossible(self) -> str | None:
        if wrong := _none_of("heads, kv_heads and head_dim", self.heads, self.kv_heads, self.head_dim):
            return wrong
        if self.heads % self.kv_heads:
            return f"{self.kv_heads} key/value heads (num_key_value_heads) do not divide {self.heads} heads evenly"
        return None if self.window is None else _none_of("the window", self.window)

    def parameters(self, d: int) -> int:
        return self.layers * sum(a * b for a, b in self._matrices(d))

    def lora_parameters(self, d: int) -> int:
        return self.layers * sum(a + b for a, b in self._matrices(d))

    def published_lora_parameters(self, d: int) -> int | None:
        if self.gate != "none" or self.relative_dim or not self.stores_cache or not self.value_projection:
            return None
        return self.layers * (2 * d + 2 * (self.kv_heads * self.head_dim + d) + 2 * d)

    @property
    def cache_elements(self) -> int:
        return self.read_elements if self.stores_cache else 0

    @property
    def read_elements(self) -> int:
        _, k, v, _ = self._widths
        return self.layers * (k + v)

    @property
    def attention_flops(self) -> int:
        q, _, _, o = self._widths
        return self.layers * 2 * (q + o)

    @property
    def span(self) -> int | None:
        return self.window


@dataclass(frozen=True)
class LatentAttention(LayerGroup):
    """Multi-head latent attention: one compressed row per token, ``kv_rank + rope_dim`` elements, is cached.

    ``indexer_layers`` of the layers carry a sparse-attention indexer with ``indexer_heads`` heads of ``indexer_dim``,
    which caches ``indexer_dim`` elements more; LoRA leaves it alone.
    """

    kind: ClassVar[str] = "latent_attention"
    layers: int
    heads: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int
    q_rank: int | None = None
    indexer_layers: int = 0
    indexer_heads: int = 0
    indexer_dim: int = 0
    indexer_top_k: int = 0

    def impossible(self) -> str | None:
        return _none_of("heads, kv_rank and value_dim", self.heads, self.kv_rank, self.value_dim)

    def parameters(self, d: int) -> int:
        query = self.heads * (self.nope_dim + self.rope_dim)
        q = d * query if self.q_rank is None else d * self.q_rank + self.q_rank * query
        kv = d * (self.kv_rank + self.rope_dim) + self.kv_rank * self.heads * (self.nope_dim + self.value_dim)
        indexer_in = d if self.q_rank is None else self.q_rank
        indexer = indexer_in * self.indexer_heads * self.indexer_dim + d * (self.indexer_dim + self.indexer_heads)
        return self.layers * (q + kv + self.heads * self.value_dim * d) + self.indexer_layers * indexer

    def lora_parameters(self, d: int) -> int:
        q = d + (self.heads * (self.nope_dim + self.rope_dim) if self.q_rank is None else self.q_rank)
        return self.layers * (q + d + self.kv_rank + self.rope_dim + self.heads * self.value_dim + d)

    def published_lora_parameters(self, d: int) -> int | None:
        return self.lora_parameters(d)

    @property
    def cache_elements(self) -> int:
        return self.layers * (self.kv_rank + self.rope_dim) + self.indexer_layers * self.indexer_dim

    @property
    def attention_flops(self) -> int:
        expanded = self.layers * 2 * self.heads * (self.nope_dim + self.rope_dim + self.value_dim)
        return expanded + self._indexer_flops

    @property
    def absorbed_attention_flops(self) -> int:
        """As :attr:`attention_flops` for a decode step that attends in the compressed space."""
        return self.layers * 2 * self.heads * (2 * self.kv_rank + self.rope_dim) + self._indexer_flops

    @property
    def _indexer_flops(self) -> int:
        return self.indexer_layers * 2 * self.indexer_heads * self.indexer_dim


@dataclass(frozen=True)
class DeltaNet(LayerGroup):
    """Gated DeltaNet: linear attention with a state of ``value_heads x key_dim x value_dim`` elements."""

    kind: ClassVar[str] = "delta_net"
    layers: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv_kernel: int

    @property
    def _widths(self) -> tuple[int, int]:
        return self.key_heads * self.key_dim, self.value_heads * self.value_dim

    def impossible(self) -> str | None:
        names = "key_heads, value_heads, key_dim, value_dim and conv_kernel"
        return _none_of(names, self.key_heads, self.value_heads, self.key_dim, self.value_dim, self.conv_kernel)

    def parameters(self, d: int) -> int:
        k, v = self._widths
        return self.layers * d * (2 * k + 3 * v + 2 * self.value_heads)

    def lora_parameters(self, d: int) -> int:
        k, v = self._widths
        return self.layers * (2 * (d + k) + 3 * (d + v))

    @property
    def state_elements(self) -> int:
        k, v = self._widths
        return self.layers * ((self.conv_kernel - 1) * (2 * k + v) + self.key_dim * v)


@dataclass(frozen=True)
class KimiDelta(LayerGroup):
    """Kimi Delta Attention: per-channel decay through low-rank pairs of width ``head_dim``."""

    kind: ClassVar[str] = "kimi_delta"
    layers: int
    heads: int
    head_dim: int
    conv_kernel: int

    def impossible(self) -> str | None:
        return _none_of("heads, head_dim and conv_kernel", self.heads, self.head_dim, self.conv_kernel)

    def parameters(self, d: int) -> int:
        p = self.heads * self.head_dim
        return self.layers * (4 * d * p + 2 * (d * self.head_dim + self.head_dim * p) + d * self.heads)

    def lora_parameters(self, d: int) -> int:
        return self.layers * 4 * (d + self.heads * self.head_dim)

    @property
    def state_elements(self) -> int:
        return self.layers * self.heads * self.head_dim * (3 * (self.conv_kernel - 1) + self.head_dim)


@dataclass(frozen=True)
class Mamba2(LayerGroup):
    """Mamba-2 mixer of inner width ``heads x head_dim`` with ``groups`` shared maps to and from ``state`` elements."""

    kind: ClassVar[str] = "mamba2"
    layers: int
    heads: int
    head_dim: int
    state: int
    groups: int
    conv_kernel: int

    @property
    def inner(self) -> int:
        return self.heads * self.head_dim

    def impossible(self) -> str | None:
        names = "heads, head_dim, state, groups and conv_kernel"
        return _none_of(names, self.heads, self.head_dim, self.state, self.groups, self.conv_kernel)

    def parameters(self, d: int) -> int:
        return self.layers * d * (3 * self.inner + 2 * self.groups * self.state + self.heads)

    def lora_parameters(self, d: int) -> int:
        return self.layers * 3 * (d + self.inner)

    @property
    def state_elements(self) -> int:
        conv = (self.conv_kernel - 1) * (self.inner + 2 * self.groups * self.state)
        return self.layers * (conv + self.state * self.inner)


@dataclass(frozen=True)
class Mlp(LayerGroup):
    """Dense feed-forward layer: three matrices when gated, two when not; ``fused`` gate and up share one LoRA pair."""

    kind: ClassVar[str] = "mlp"
    component: ClassVar[str] = "mlp"
    layers: int
    width: int
    gated: bool = True
    fused: bool = False

    @property
    def _matrices(self) -> int:
        return 3 if self.gated else 2

    def impossible(self) -> str | None:
        return _none_of("the width of a feed-forward layer", self.width)

    def parameters(self, d: int) -> int:
        return self.layers * self._matrices * d * self.width

    def lora_parameters(self, d: int) -> int:
        shared = d if self.fused else 0
        return self.layers * (self._matrices * (d + self.width) - shared)

    def published_lora_parameters(self, d: int) -> int | None:
        return self.layers * 3 * (d + self.width) if self.gated else None


@dataclass(frozen=True)
class Moe(LayerGroup):
    """Mixture of experts: a router, ``experts`` routed experts of which a token uses ``used``, and shared experts.

    ``latent`` is the width that routed experts work in, between two projections (None: the hidden width).
    ``shared_width`` is the summed width of the experts that run for every token; ``shared_gate`` adds one row to the
    layer and ``router_rows`` rows of the router stand for shared experts.
    """

    kind: ClassVar[str] = "moe"
    component: ClassVar[str] = "mlp"
    layers: int
    experts: int
    used: int
    width: int
    shared_width: int = 0
    shared_gate: bool = False
    router_rows: int = 0
    gated: bool = True
    latent: int | None = None

    @property
    def _matrices(self) -> int:
        return 3 if self.gated else 2

    def _parameters(self, d: int, experts: int) -> int:
        inner = d if self.latent is None else self.latent
        routed = experts * self._matrices * inner * self.width
        shared = self._matrices * d * self.shared_width + (d if self.shared_gate else 0)
        latent = 0 if self.latent is None else 2 * d * self.latent
        return self.layers * (d * (self.experts + self.router_rows) + routed + shared + latent)

    def impossible(self) -> str | None:
        if not 0 < self.used <= self.experts:
            return (
                f"a token uses {self.used} of {self.experts} experts: at least 1 and at most all of them are possible"
            )
        return _none_of("the width of an expert", self.width)

    def parameters(self, d: int) -> int:
        return self._parameters(d, self.experts)

    def active_parameters(self, d: int) -> int:
        return self._parameters(d, self.used)

    def _shared_lora(self, d: int) -> int:
        return self._matrices * (d + self.shared_width) if self.shared_width else 0

    def lora_parameters(self, d: int) -> int:
        inner = d if self.latent is None else self.latent
        routed = self._matrices * (self.experts * self.width + inner)
        latent = 0 if self.latent is None else 2 * (d + self.latent)
        return self.layers * (routed + latent + self._shared_lora(d))

    def published_lora_parameters(self, d: int) -> int | None:
        return self.layers * self._shared_lora(d) if self.gated and self.latent is None else None


GROUPS: dict[str, type[LayerGroup]] = {
    group.kind: group for group in (Attention, LatentAttention, DeltaNet, KimiDelta, Mamba2, Mlp, Moe)
}
