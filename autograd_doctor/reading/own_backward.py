"""What a custom function does in its `backward`: the first operation there that makes NaN or Inf of finite values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode

from autograd_doctor.events import TensorFacts
from autograd_doctor.reading.mode_stack import modes_on_stack, restack
from autograd_doctor.reading.operation_kinds import Kind, classify
from autograd_doctor.reading.places import Place, place
from autograd_doctor.reading.tensor_facts import describe, is_remote, is_spoiled
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name

_MOST_OPERANDS = 4


class Spoiling(NamedTuple):
    """An operation, where it is called, and what it was given."""

    operation: str
    place: Place | None
    operands: list[TensorFacts]


class OwnBackward(TorchFunctionMode):
    """On the stack while one node runs, between its pre-hook and its hook; on the CPU that is the calling thread.

    found: the first operation whose result was not finite, of operands that were.
    """

    def __init__(self, looking: Callable[[], AbstractContextManager[None]]) -> None:
        super().__init__()
        self._looking = looking
        self.found: Spoiling | None = None

    def put_on(self) -> None:
        restack([*modes_on_stack(), self])

    def take_off(self) -> None:
        """Also where the node raised, and something else is on top."""
        modes = modes_on_stack()
        if any(mode is self for mode in modes):
            restack([mode for mode in modes if mode is not self])

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        kind, name = classify(func)
        if self.found is None and kind is Kind.OPERATION:
            with self._looking():
                self._look(name, [*args, *(kwargs or {}).values()], result)
        return result

    def _look(self, name: str, args: list[Any], result: Any) -> None:
        results, operands = tensors_in([result]), tensors_in(args)
        if any(map(is_remote, results)) or not any(map(is_spoiled, results)) or any(map(is_spoiled, operands)):
            return
        told = [describe(operand, name=variable_name(operand)) for operand in operands[:_MOST_OPERANDS]]
        self.found = Spoiling(name, place(), told)


def is_own(node: Any) -> bool:
    """Whether a node runs a `backward` of the program's, or of a library other than torch."""
    if not isinstance(node, BackwardCFunction):
        return False
    function = getattr(type(node), "_forward_cls", None)
    return function is not None and not str(getattr(function, "__module__", "")).startswith("torch.")
