"""However an operation is spelt, it has one name, and its operands are those of the function of that name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_doctor.reading.operation_kinds import classify
from autograd_doctor.reading.spelling import _SAME, in_order, spelt, with_options

X, Y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[2.0, 3.0], [2.0, 5.0]])
Spelt = Callable[[torch.Tensor, torch.Tensor], Any]


class _Heard(TorchFunctionMode):
    """The last call of torch."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.call = classify(func)[1], args, kwargs or {}
        return func(*args, **(kwargs or {}))


class _Dispatched(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("name", "compute"),
    [
        ("add", lambda x, y: 1 + x),
        ("add", lambda x, y: torch.add(input=x, other=y)),
        ("sub", lambda x, y: x - y),
        ("sub", lambda x, y: 2 - x),
        ("sub", lambda x, y: torch.rsub(x, y)),
        ("sub", lambda x, y: torch.subtract(x, other=y)),
        ("mul", lambda x, y: 2 * x),
        ("mul", lambda x, y: y.__rmul__(x)),
        ("mul", lambda x, y: torch.multiply(x, y)),
        ("div", lambda x, y: 1 / x),
        ("div", lambda x, y: x / y),
        ("div", lambda x, y: torch.true_divide(x, y)),
        ("pow", lambda x, y: 2**x),
        ("pow", lambda x, y: x**2),
        ("pow", lambda x, y: torch.pow(x, exponent=2)),
        ("floor_divide", lambda x, y: x // 2),
        ("remainder", lambda x, y: x % 2),
        ("matmul", lambda x, y: x @ y),
        ("matmul", lambda x, y: y.__rmatmul__(x)),
        ("neg", lambda x, y: -x),
        ("abs", lambda x, y: abs(x)),
        ("clamp", lambda x, y: torch.clip(x, 1, 2)),
        ("sigmoid", lambda x, y: torch.special.expit(x)),
        ("eq", lambda x, y: x == y),
        ("bitwise_not", lambda x, y: ~(x > 2)),
        ("mul", lambda x, y: x.clone().mul_(y)),
        ("sub", lambda x, y: _in_place(x, y)),
    ],
)
def test_the_function_of_that_name_computes_the_same_of_these_operands(name: str, compute: Spelt) -> None:
    with _Heard() as heard:
        result = compute(X, Y)
    called, args, kwargs = heard.call
    assert spelt(called).name == name
    if not spelt(called).in_place:
        assert torch.equal(getattr(torch, name)(*in_order(called, args, kwargs)), result)


@pytest.mark.parametrize(
    "clamp",
    [
        lambda x, y: torch.clamp(x, 1, 2),
        lambda x, y: torch.clamp(x, None, 4),
        lambda x, y: x.clip(max=2),
        lambda x, y: torch.clamp(min=1.5, input=x),
        lambda x, y: x.clamp(y),
        lambda x, y: x.clamp(max=y, min=y / 2),
        lambda x, y: x.clamp(None, y),
    ],
)
def test_bounds_of_a_clamp_keep_their_side(clamp: Spelt) -> None:
    with _Heard() as heard:
        result = clamp(X, Y)
    (first, *tensors), options = with_options(*heard.call)
    assert first is X
    assert all(isinstance(each, torch.Tensor) for each in tensors)
    assert set(options) <= {"min", "max"}
    if not tensors:
        assert torch.equal(torch.clamp(X, **options), result)


def _in_place(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    changed = x.clone()
    changed -= y
    return changed


@pytest.mark.parametrize(("name", "same"), [(name, same) for name, same in _SAME.items() if hasattr(torch, name)])
def test_torch_itself_runs_the_same_for_both_names(name: str, same: str) -> None:
    assert _runs(name) == _runs(same)


def _runs(name: str) -> list[str]:
    """The operations that a function comes down to, by the arguments that it takes."""
    function: Any = getattr(torch, name)
    for given in ((X / 10,), (X / 10, Y), ([X, Y],), (X, 0, 1), (X, 0.0)):
        with _Dispatched() as dispatched:
            try:
                function(*given)
            except (TypeError, RuntimeError, IndexError):
                continue
        return dispatched.names
    raise AssertionError(name)


@pytest.mark.parametrize(
    ("name", "reverses", "in_place"),
    [("__rsub__", True, False), ("mul_", False, True), ("__imul__", False, True), ("relu_", False, True)],
)
def test_how_it_is_written_is_told(name: str, reverses: bool, in_place: bool) -> None:
    spelling = spelt(name)
    assert (spelling.reversed, spelling.in_place) == (reverses, in_place)


def test_what_is_no_arithmetic_keeps_its_name() -> None:
    assert [spelt(name).name for name in ("__getitem__", "__setitem__", "softmax", "T")] == [
        "__getitem__", "__setitem__", "softmax", "T",
    ]  # fmt: skip
