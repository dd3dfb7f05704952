"""What one token of batch-1 decode costs, read off a checkpoint's header and priced on a machine.

The names load when first used: reading a header imports neither JAX nor the gguf package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .accounting import decode_step as decode_step
    from .chain_price import precision_index as precision_index
    from .chain_price import price_arrays as price_arrays
    from .deployment import Deployment as Deployment
    from .deployment import WeightBytes as WeightBytes
    from .dollars import usd_per_million_tokens as usd_per_million_tokens
    from .ggml_types import GGML_TYPES_SOURCE as GGML_TYPES_SOURCE
    from .ggml_types import GgmlType as GgmlType
    from .gguf_error import GgufError as GgufError
    from .gguf_header import GgufHeader as GgufHeader
    from .gguf_source import read_header as read_header
    from .grid import price_grid as price_grid
    from .ledger import HeaderSource as HeaderSource
    from .price_table import PriceTable as PriceTable
    from .pricing import Bind as Bind
    from .pricing import DecodeCost as DecodeCost
    from .pricing import StageCost as StageCost
    from .pricing import price as price
    from .refusal import DecodeRefusal as DecodeRefusal
    from .stages import Held as Held
    from .stages import HeldClass as HeldClass
    from .stages import Split as Split
    from .stages import Stage as Stage
    from .stages import StageKind as StageKind
    from .step import DecodeStep as DecodeStep
    from .tensor_table import TensorRow as TensorRow

_HOME = {
    "read_header": "gguf_source",
    "GgufHeader": "gguf_header",
    "HeaderSource": "ledger",
    "GgufError": "gguf_error",
    "GgmlType": "ggml_types",
    "GGML_TYPES_SOURCE": "ggml_types",
    "TensorRow": "tensor_table",
    "Deployment": "deployment",
    "WeightBytes": "deployment",
    "DecodeStep": "step",
    "Held": "stages",
    "HeldClass": "stages",
    "Stage": "stages",
    "StageKind": "stages",
    "Split": "stages",
    "decode_step": "accounting",
    "DecodeRefusal": "refusal",
    "price": "pricing",
    "price_arrays": "chain_price",
    "precision_index": "chain_price",
    "DecodeCost": "pricing",
    "StageCost": "pricing",
    "Bind": "pricing",
    "price_grid": "grid",
    "PriceTable": "price_table",
    "usd_per_million_tokens": "dollars",
}

__all__ = list(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOME))
