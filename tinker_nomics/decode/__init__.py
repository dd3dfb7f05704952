"""What one token of batch-1 decode costs, read off a checkpoint's header and priced on a machine.

The names load when first used: reading a header imports neither JAX nor the gguf package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .accounting import decode_step as decode_step
    from .deployment import Deployment as Deployment
    from .deployment import WeightBytes as WeightBytes
    from .ggml_types import GGML_TYPES_SOURCE as GGML_TYPES_SOURCE
    from .ggml_types import GgmlType as GgmlType
    from .gguf_error import GgufError as GgufError
    from .gguf_header import GgufHeader as GgufHeader
    from .gguf_source import read_header as read_header
    from .grid import price_grid as price_grid
    from .ledger import HeaderSource as HeaderSource
    from .pricing import Bind as Bind
    from .pricing import DecodeCost as DecodeCost
    from .pricing import StageCost as StageCost
    from .pricing import price as price
    from .pricing import price_arrays as price_arrays
    from .refusal import DecodeRefusal as DecodeRefusal
    from .step import DecodeStep as DecodeStep
    from .step import Held as Held
    from .step import HeldClass as HeldClass
    from .step import Split as Split
    from .step import Stage as Stage
    from .step import StageKind as StageKind
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
    "Held": "step",
    "HeldClass": "step",
    "Stage": "step",
    "StageKind": "step",
    "Split": "step",
    "decode_step": "accounting",
    "DecodeRefusal": "refusal",
    "price": "pricing",
    "price_arrays": "pricing",
    "DecodeCost": "pricing",
    "StageCost": "pricing",
    "Bind": "pricing",
    "price_grid": "grid",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOME))
