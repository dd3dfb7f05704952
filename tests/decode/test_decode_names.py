"""The public names of the decode package: each loads from its home, when it is asked for."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import tinker_nomics.decode as decode

VOCABULARY = {
    *("GgufHeader", "HeaderSource", "GgmlType", "GGML_TYPES_SOURCE", "TensorRow", "GgufError", "read_header"),
    *("Deployment", "WeightBytes", "Held", "HeldClass", "Stage", "StageKind", "Split", "DecodeStep", "decode_step"),
    *("StageCost", "Bind", "DecodeCost", "DecodeRefusal", "price", "price_arrays", "price_grid"),
    "usd_per_million_tokens",
}


def test_every_name_loads_and_is_called_as_it_says():
    assert VOCABULARY <= set(decode.__all__) <= set(dir(decode))
    for name in decode.__all__:
        found = getattr(decode, name)
        assert getattr(found, "__name__", name) == name


def test_no_submodule_hides_a_public_name():
    submodules = {module.name for module in pkgutil.iter_modules(decode.__path__)}
    assert not submodules & set(decode.__all__)


def test_a_wrong_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'prize'"):
        decode.prize  # noqa: B018


def test_importing_the_package_starts_nothing():
    code = "import sys, tinker_nomics.decode; print([m for m in ('jax', 'gguf', 'numpy', 'json') if m in sys.modules])"
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    assert result.stdout.strip() == "[]"
