"""What the functions of torch do to tensors, as far as their names tell: looked up once per function."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple

_QUIET = frozenset({
    "__len__", "__hash__", "__contains__", "__dir__", "__reduce_ex__", "__deepcopy__",
    "_is_view", "_set_grad_enabled", "backward", "can_cast", "data_ptr", "dim", "element_size", "finfo", "get_device",
    "get_default_dtype", "grad_fn", "iinfo", "is_complex", "is_contiguous", "is_floating_point", "is_nonzero",
    "is_pinned", "is_same_size", "is_shared", "is_storage", "is_tensor", "ndimension", "nelement", "numel",
    "pin_memory", "register_post_accumulate_grad_hook", "result_type", "retain_grad",
    "set_default_dtype", "share_memory_", "size", "storage", "storage_offset", "stride", "untyped_storage",
})  # fmt: skip
_VALUE_PROPERTIES = frozenset({"data", "T", "mT", "H", "mH", "real", "imag"})
_SHOWS = frozenset({"__repr__", "__format__"})
_ESCAPES = frozenset({"item", "tolist", "__float__", "__int__", "__index__", "numpy", "__array__"})
_IN_PLACE_OPERATORS = frozenset({
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__",
    "__ixor__", "__ilshift__", "__irshift__",
})  # fmt: skip

_CHANGES_NO_VALUES = frozenset({"requires_grad_", "detach_", "share_memory_"})

FROM_DATA = frozenset({"tensor", "as_tensor", "from_numpy", "frombuffer", "asarray", "scalar_tensor", "new_tensor"})
"""Operations that make tensors of Python numbers and NumPy arrays."""

SHAPE_ONLY = frozenset({
    "empty_like", "full_like", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros", "ones_like",
    "rand_like", "randint_like", "randn_like", "zeros_like",
})  # fmt: skip
"""Operations that take the shape of a tensor and none of its values."""

LIKE_ANOTHER = frozenset({"expand_as", "reshape_as", "to", "type_as", "view_as"})
"""Operations that take of a second tensor its shape, its dtype or its device, and none of its values."""

DRAWN_WITH_A_GRAPH = frozenset({"normal"})
"""Operations that draw as their arguments tell, and whose backward node passes zeros on to these."""

ONE_BY_ONE = frozenset({"atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "meshgrid"})
"""Operations each output of which is one of the inputs, in another shape."""

STAYS_FINITE = frozenset({
    "T", "__getitem__", "arange", "cat", "chunk", "clone", "contiguous", "cpu", "cuda", "data", "detach", "detach_",
    "dropout", "expand", "expand_as", "flatten", "flip", "float", "mT", "max_pool2d", "movedim", "narrow", "ones",
    "ones_like", "permute", "rand", "randint", "randn", "randperm", "relu", "repeat", "requires_grad_", "reshape",
    "roll", "select", "split", "squeeze", "stack", "swapaxes", "t", "transpose", "unbind", "unflatten", "unsqueeze",
    "view", "view_as", "zeros", "zeros_like",
})  # fmt: skip
"""Operations that cannot make a non-finite value out of finite ones."""

OVERWRITES = frozenset({
    "__setitem__", "bernoulli_", "copy_", "exponential_", "fill_", "normal_", "random_", "set_", "uniform_", "zero_",
})  # fmt: skip
"""Operations in place that do not ask what was there before."""

MASKS = frozenset({
    "masked_fill", "masked_fill_", "full", "full_like", "where", "fill_", "tensor", "__setitem__", "triu", "tril",
    "new_full", "constant_pad_nd", "pad",
})  # fmt: skip
"""Operations by which programs write infinities down on purpose."""


class Kind(Enum):
    """Whether a function says something about a tensor only, makes or changes tensors, takes values out of torch, or
    puts them into words."""

    QUIET = auto()
    OPERATION = auto()
    ESCAPE = auto()
    SHOW = auto()


def classify(func: Callable[..., Any]) -> tuple[Kind, str]:
    """The kind and name of a function as a `TorchFunctionMode` meets it; setters of properties are `name.__set__`, and
    what `torch.special` has goes by its plain name."""
    name = getattr(func, "__name__", type(func).__name__).removeprefix("special_")
    if name in ("__get__", "__set__"):
        property_name = getattr(getattr(func, "__self__", None), "__name__", "")
        if name == "__set__" and property_name == "requires_grad":
            return Kind.OPERATION, "requires_grad_"  # another way to write it
        if name == "__set__":
            return (Kind.OPERATION if property_name in ("grad", "data") else Kind.QUIET), f"{property_name}.__set__"
        return (Kind.OPERATION if property_name in _VALUE_PROPERTIES else Kind.QUIET), property_name
    if name in _ESCAPES:
        return Kind.ESCAPE, name
    if name in _SHOWS:
        return Kind.SHOW, name
    return (Kind.QUIET if name in _QUIET else Kind.OPERATION), name


def changes_input(name: str) -> bool:
    """Whether an operation writes to its first argument."""
    return (name.endswith("_") and not name.endswith("__")) or name in _IN_PLACE_OPERATORS


class Traits(NamedTuple):
    """What the name of an operation tells of what flows into its outputs."""

    changes_input: bool
    shape_only: bool
    like_another: bool
    one_by_one: bool
    is_alias: bool


@cache
def traits(name: str) -> Traits:
    """All in one look-up, which is made for each operation of the program."""
    return Traits(
        changes_input(name),
        name in SHAPE_ONLY,
        name in LIKE_ANOTHER,
        name in ONE_BY_ONE,
        name in ("data", "detach"),
    )


def writes(name: str) -> bool:
    """Whether an operation of this name changes the values of its first argument."""
    return name in ("data.__set__", "__setitem__") or (changes_input(name) and name not in _CHANGES_NO_VALUES)
