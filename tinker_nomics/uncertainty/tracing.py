"""What can go wrong in the user's function while it is traced, said in words."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

from .errors import UncertaintyError, unknown_name

_NOT_TRACEABLE = (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError)


def refuse_wrong_arguments(f: Callable[..., Any]) -> None:
    """Refuse a function that cannot be called with one argument."""
    try:
        signature = inspect.signature(f)
    except ValueError:  # some built-in functions have none
        return
    try:
        signature.bind(None)
    except TypeError:
        raise UncertaintyError(
            f"f{signature} is called with one argument, the dict {{input: value}} (or the base): give lambda x: f(**x)"
        ) from None


@contextmanager
def explained(f: Callable[..., Any], known: Iterable[str]) -> Iterator[None]:
    """Turn what a user's function raises while it is traced into an error that says what to write instead.

    Args:
        f: the function.
        known: the names that its argument holds.
    """
    known = list(known)
    try:
        yield
    except _NOT_TRACEABLE as error:
        raise UncertaintyError(
            f"f cannot be traced{_place(f, error)}: it asks an input for its number, and inputs are JAX values that stand for "
            "many numbers at once. Write jax.numpy for numpy and math, jnp.where(c, a, b) for `a if c else b`, "
            "x.astype(float) for float(x)"
        ) from error
    except KeyError as error:
        if not _place(f, error) or error.args[0] in known:
            raise
        raise UncertaintyError(
            f"{unknown_name('input', str(error.args[0]), known)}; f reads it{_place(f, error)}, so it needs a distribution or a "
            "value too"
        ) from error
    except AttributeError as error:
        if not isinstance(error.obj, dict) or error.name not in known:
            raise
        raise UncertaintyError(
            f"f gets a dict{_place(f, error)}: write x[{error.name!r}], not x.{error.name}"
        ) from error


def _place(f: Callable[..., Any], error: BaseException) -> str:
    """ " at line 3 of study.py", the innermost line of the file of `f` that the error went through; "" if none."""
    code = getattr(f, "__code__", None) or getattr(type(f).__call__, "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if code is not None and frame.filename == code.co_filename]
    return f" at line {lines[-1]} of {Path(code.co_filename).name}" if lines and code is not None else ""
