"""The inputs of `doctor gradcheck` as words: `3,4`, `3,4:int64:0..9`, `8:no_grad`, `scalar`, `factor=0.5`."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from autograd_doctor.config_file import describe
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.plan import DTYPES, FunctionPlan, InputPlan

_SCALAR = "scalar"
_NO_GRAD = "no_grad"
_MOST_ELEMENTS = 10_000_000
_LARGEST_WHOLE = 2**53


def plan(words: Sequence[str], where: str, *, double: bool) -> FunctionPlan:
    """What a function is called with. `where` is how messages name the place of the words. Raises `Mistake`."""
    values = dict(_value(word, where) for word in words if "=" in word)
    return FunctionPlan(
        inputs=[_tensor(word, where) for word in words if "=" not in word], values=values, double=double
    )


# ------------------------------------------------------------------------------------------------------- plain values


def _value(word: str, where: str) -> tuple[str, Any]:
    """`NAME=VALUE`; what is no Python literal is text."""
    name, _, text = (part.strip() for part in word.partition("="))
    if not name.isidentifier():
        raise Mistake(f"{where}: expected a parameter name before `=`, found {describe(word)}")
    value = _literal(text)
    if not _is_plain(value):
        raise Mistake(f"{where}: `{name}` can be a number, text, None, or a tuple of these, not {describe(text)}")
    return name, value


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, int | float):
        return abs(value) <= _LARGEST_WHOLE if isinstance(value, int) else math.isfinite(value)
    return value is None or isinstance(value, str)


# ------------------------------------------------------------------------------------------------------------ tensors


def _tensor(word: str, where: str) -> InputPlan:
    shape, *details = (part.strip() for part in word.split(":"))
    sizes = _shape(shape, where)
    dtype, bounds, requires_grad = "float64", None, True
    for part in details:
        if part in DTYPES:
            dtype = part
        elif part == _NO_GRAD:
            requires_grad = False
        elif ".." in part:
            bounds = _range(part, where)
        else:
            close = nearest(part, [*DTYPES, _NO_GRAD])
            raise Mistake(f"{where}: expected a dtype, a range or `{_NO_GRAD}`, found {describe(part)}{close}")
    if bounds and not dtype.startswith(("float", "bfloat")):
        _check_whole(bounds, where)
    return InputPlan(shape=sizes, dtype=dtype, range=bounds, requires_grad=requires_grad)


def _shape(text: str, where: str) -> list[int]:
    if text == _SCALAR:
        return []
    try:
        sizes = [int(size) for size in text.split(",")]
    except ValueError:
        expected = f"expected a shape such as `3,4`, or `{_SCALAR}`, or a value such as `factor=0.5`"
        raise Mistake(f"{where}: {expected}, found {describe(text)}") from None
    if min(sizes) < 1:
        raise Mistake(f"{where}: expected sizes >= 1, found {describe(text)}")
    if math.prod(sizes) > _MOST_ELEMENTS:
        raise Mistake(f"{where}: expected at most {_MOST_ELEMENTS:,} elements, found {describe(text)}")
    return sizes


def _range(text: str, where: str) -> tuple[float, float]:
    low, _, high = text.partition("..")
    try:
        bounds = float(low), float(high)
    except ValueError:
        bounds = math.nan, math.nan
    if not (all(map(math.isfinite, bounds)) and bounds[0] <= bounds[1]):
        raise Mistake(f"{where}: expected a range such as `0..9`, the smaller first, found {describe(text)}")
    return bounds


def _check_whole(bounds: tuple[float, float], where: str) -> None:
    bad = next((bound for bound in bounds if not bound.is_integer() or abs(bound) > _LARGEST_WHOLE), None)
    if bad is not None:
        raise Mistake(f"{where}: expected a range of whole numbers for this dtype, found `{bad:g}`")
