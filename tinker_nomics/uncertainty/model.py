"""The user's function as a function of the uncertain inputs alone: values in, {output: value} out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .errors import UncertaintyError, unknown_name
from .tracing import explained, refuse_wrong_arguments

SCALAR = ""  # the name of the output of a function that returns a bare number


def _step_in(tree: Any, path: str) -> tuple[str, str]:
    """The first key of a dotted path and the rest; a mapping may hold a key with dots in it."""
    if isinstance(tree, Mapping) and path in tree:
        return path, ""
    head, _, rest = path.partition(".")
    return head, rest


def _fields(tree: Any) -> list[str]:
    if isinstance(tree, Mapping):
        return [str(key) for key in tree]
    if dataclasses.is_dataclass(tree):
        return [entry.name for entry in dataclasses.fields(tree)]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return list(tree._fields)  # type: ignore[attr-defined]
    return []


def get_path(tree: Any, path: str, whole: str | None = None) -> Any:
    """The value at a dotted path of nested mappings, dataclasses and equinox Modules."""
    if not path:
        return tree
    whole = path if whole is None else whole
    head, rest = _step_in(tree, path)
    fields = _fields(tree)
    if head not in fields:
        prefix = whole[: len(whole) - len(path)]
        raise unknown_name("parameter", whole, [prefix + name for name in fields])
    return get_path(tree[head] if isinstance(tree, Mapping) else getattr(tree, head), rest, whole)


def replace_path(tree: Any, path: str, value: Any) -> Any:
    """`tree` with the value at a dotted path replaced, copied along the path only; nothing is validated again."""
    if not path:
        return value
    head, rest = _step_in(tree, path)
    if head not in _fields(tree):
        get_path(tree, path)
    if isinstance(tree, Mapping):
        copy: Any = dict(tree)
        copy[head] = replace_path(tree[head], rest, value)
        return copy
    new = replace_path(getattr(tree, head), rest, value)
    if isinstance(tree, tuple):
        return tree._replace(**{head: new})  # type: ignore[attr-defined]
    # past __init__ and its checks: the value may be a tracer
    copy = object.__new__(type(tree))
    for name in _fields(tree):
        object.__setattr__(copy, name, new if name == head else getattr(tree, name))
    return copy


def _output_name(path: tuple[Any, ...]) -> str:
    parts = []
    for key in path:
        part = getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))
        parts.append(str(part))
    return ".".join(parts)


def _traced(leaf: Any) -> bool:
    return isinstance(leaf, (float, np.number, np.ndarray, jax.Array))


def _held(leaf: Any) -> np.ndarray:
    """A traced leaf as NumPy: floats in float64, whole numbers and truth values as they are."""
    array = np.asarray(leaf)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


class Model(eqx.Module):
    """`f`, and the base on which it is evaluated, as a traced function of {input: scalar}.

    Args:
        f: a jittable function. Without a base it gets the dict {input: scalar}; with one it gets the base with those
            dotted paths replaced. It returns a scalar or a (nested) dict or Module of scalars and arrays.
        base: nested mappings, dataclasses or Modules; its floats and arrays are traced, all else is static.
        outputs: the outputs to keep, all when None.
    """

    leaves: tuple[np.ndarray, ...]
    f: Callable[[Any], Any] = eqx.field(static=True)
    rest: tuple[Any, ...] = eqx.field(static=True)
    tree: Any = eqx.field(static=True)
    outputs: tuple[str, ...] | None = eqx.field(static=True)

    def __init__(self, f: Callable[[Any], Any], base: Any = None, outputs: Iterable[str] | None = None):
        if not callable(f):
            raise UncertaintyError(f"f = {f!r} cannot be called; give a function of the inputs")
        refuse_wrong_arguments(f)
        try:
            hash(f)
        except TypeError:
            raise UncertaintyError(
                f"f = {f!r} holds arrays and cannot be told apart by name; give lambda x: f(x)"
            ) from None
        self.f = f
        leaves, self.tree = jax.tree_util.tree_flatten(base)
        self.leaves = tuple(_held(leaf) for leaf in leaves if _traced(leaf))
        self.rest = tuple(None if _traced(leaf) else leaf for leaf in leaves)
        if isinstance(outputs, str):
            outputs = (outputs,)
        self.outputs = None if outputs is None else tuple(outputs)

    @property
    def has_base(self) -> bool:
        return self.tree.num_leaves > 0

    def base(self) -> Any:
        """The base with its traced leaves."""
        traced = iter(self.leaves)
        leaves = [next(traced) if static is None else static for static in self.rest]
        return jax.tree_util.tree_unflatten(self.tree, leaves)

    def check_paths(self, names: Iterable[str]) -> None:
        """Refuse a path that the base does not have."""
        if self.has_base:
            base = self.base()
            for name in names:
                value = get_path(base, name)
                if not isinstance(value, (int, float, np.ndarray, np.number)) or np.ndim(value) != 0:
                    raise UncertaintyError(f"{name}: holds {value!r}, not a number that can be varied")

    def value(self, name: str) -> float:
        """The base's own value of an input."""
        return float(get_path(self.base(), name))

    def __call__(self, inputs: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
        """{output: scalar} at {input: scalar} (traced)."""
        if self.has_base:
            argument = self.base()
            for name, value in inputs.items():
                argument = replace_path(argument, name, value)
        else:
            argument = dict(inputs)
        with explained(self.f, [str(key) for key in argument] if isinstance(argument, Mapping) else []):
            result = self.f(argument)
        found = named_outputs(result)
        if self.outputs is None:
            return found
        for name in self.outputs:
            if name not in found:
                raise unknown_name("output", name, found)
        return {name: found[name] for name in self.outputs}

    def over(self, inputs: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
        """{output: [n]} at {input: [n]}: the function mapped over the inputs."""
        return jax.vmap(self)(dict(inputs))


def named_outputs(result: Any) -> dict[str, jax.Array]:
    """A function's result as {dotted name: scalar}; arrays are taken apart as name[0], name[1], ..."""
    import jax.numpy as jnp

    found: dict[str, jax.Array] = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(result)[0]:
        kind = leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
        if not (jnp.issubdtype(kind, jnp.floating) or jnp.issubdtype(kind, jnp.integer)):
            continue  # booleans and labels are no quantities
        name, value = _output_name(path), jnp.asarray(leaf).astype(float)
        if value.ndim == 0:
            found[name] = value
        else:
            for index in np.ndindex(value.shape):
                found[f"{name}[{','.join(map(str, index))}]"] = value[index]
    if not found:
        raise UncertaintyError(
            "the function returns no number; return a scalar or a dict of scalars (for a condition c, jnp.where(c, 1.0, 0.0))"
        )
    return found
