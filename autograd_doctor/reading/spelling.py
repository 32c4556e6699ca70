"""One meaning of a call of torch, however it is spelt: `x.mul_(y)`, `2 * x`, `torch.multiply(input=x, other=y)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from autograd_doctor.reading.operation_kinds import changes_input

_SAME = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "concat": "cat", "concatenate": "cat", "divide": "div",
    "expit": "sigmoid", "fix": "trunc", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le",
    "log_sigmoid": "logsigmoid", "moveaxis": "movedim", "multiply": "mul", "negative": "neg", "not_equal": "ne",
    "row_stack": "vstack", "subtract": "sub", "swapaxes": "transpose", "swapdims": "transpose", "true_divide": "div",
}  # fmt: skip
"""Names that torch has for the same thing."""
_OPERATORS = {
    "abs": "abs", "add": "add", "div": "div", "eq": "eq", "floordiv": "floor_divide", "ge": "ge", "gt": "gt",
    "invert": "bitwise_not", "le": "le", "lt": "lt", "matmul": "matmul", "mod": "remainder", "mul": "mul", "ne": "ne",
    "neg": "neg", "pow": "pow", "sub": "sub", "truediv": "div",
}  # fmt: skip
"""What Python writes as `__name__`, `__rname__` and `__iname__`."""
_OPERANDS = (
    "input",
    "self",
    "other",
    "target",
    "mat1",
    "mat2",
    "vec",
    "exponent",
    "value",
    "tensors",
    "weight",
    "bias",
)
"""The names of keywords that are operands, in their order; others are options."""
_BOUNDS = ("min", "max")


class Spelling(NamedTuple):
    """What a name says: the operation, and how it is written."""

    name: str
    reversed: bool = False
    in_place: bool = False


@cache
def spelt(name: str) -> Spelling:
    """`__rsub__` is "sub", reversed; `mul_` is "mul", in place. Names of no arithmetic stay: `__getitem__`."""
    if name.startswith("__"):
        return _of_operator(name)
    in_place = changes_input(name)
    core = name[:-1] if in_place else name
    if core == "rsub":
        return Spelling("sub", reversed=True)
    return Spelling(_SAME.get(core, core), in_place=in_place)


def _of_operator(name: str) -> Spelling:
    core = name.strip("_")
    kind, rest = core[:1], core[1:]
    if core in _OPERATORS:
        return Spelling(_OPERATORS[core])
    if rest in _OPERATORS and kind in ("r", "i"):
        return Spelling(_OPERATORS[rest], reversed=kind == "r", in_place=kind == "i")
    return Spelling(name)


def in_order(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The operands of a call in mathematical order, keywords among them: those of `2 - x` are 2 and x."""
    given = (*args, *(kwargs[key] for key in _OPERANDS if key in kwargs)) if kwargs else tuple(args)
    return (*given[1::-1], *given[2:]) if spelt(name).reversed else given


def with_options(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The operands of a call in mathematical order, and its options.

    Bounds of a clamp that are numbers are options, `min` and `max`: `clamp(x, None, 4)` has one that is not the first.
    So is the `equation` of an `einsum`.
    """
    given, meant = in_order(name, args, kwargs), spelt(name).name
    if meant == "einsum" and args and isinstance(args[0], str):
        return given[1:], {**kwargs, "equation": args[0]}
    if meant != "clamp":
        return given, kwargs
    bounds = {**dict(zip(_BOUNDS, given[1:], strict=False)), **{key: kwargs[key] for key in _BOUNDS if key in kwargs}}
    tensors = [key for key, bound in bounds.items() if not (bound is None or isinstance(bound, int | float))]
    operands = (*given[:1], *(bounds[key] for key in tensors))
    return operands, {key: bound for key, bound in bounds.items() if key not in tensors}
