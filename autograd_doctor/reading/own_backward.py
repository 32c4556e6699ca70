"""What a custom function does in its `backward`: the first operation there that makes NaN or Inf of finite values."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.reading.mode_stack import modes_on_stack, restack
from autograd_doctor.reading.operation_kinds import Kind, classify
from autograd_doctor.reading.places import Place, place
from autograd_doctor.reading.tensor_facts import describe, extent, is_checkable, is_remote, is_spoiled, read_together
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name

_MOST_OPERANDS = 4


class Spoiling(NamedTuple):
    """An operation, where it is called, and what it was given."""

    operation: str
    place: Place | None
    operands: list[TensorFacts]


class _Waiting(NamedTuple):
    """An operation that may be the one, and the extents of its results and operands, on the accelerator."""

    spoiling: Spoiling
    results: list[torch.Tensor]
    operands: list[torch.Tensor]


class OwnBackward(TorchFunctionMode):
    """On the stack of the thread in which one node runs, between its pre-hook and its hook."""

    def __init__(self, looking: Callable[[], AbstractContextManager[None]]) -> None:
        super().__init__()
        self._looking = looking
        self._found: Spoiling | None = None
        self._waiting: list[_Waiting] = []

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
        if self._found is None and kind is Kind.OPERATION:
            with self._looking():
                self._look(name, [*args, *(kwargs or {}).values()], result)
        return result

    def _look(self, name: str, args: list[Any], result: Any) -> None:
        results, operands = tensors_in([result]), tensors_in(args)
        is_late = any(map(is_remote, results))
        if not is_late and (not any(map(is_spoiled, results)) or any(map(is_spoiled, operands))):
            return
        told = [describe(each, name=variable_name(each), ranges=not is_late) for each in operands[:_MOST_OPERANDS]]
        spoiling = Spoiling(name, place(), told)
        if is_late:
            extents = [list(map(extent, filter(is_checkable, each))) for each in (results, operands)]
            self._waiting.append(_Waiting(spoiling, *extents))
        else:
            self._found = spoiling

    def found(self) -> Spoiling | None:
        """The first operation whose result was not finite, of operands that were; accelerators are waited for."""
        waiting, self._waiting = self._waiting, []
        numbers = iter(read_together([each for late in waiting for each in (*late.results, *late.operands)]))
        for late in waiting:
            results, operands = ([next(numbers) for _ in each] for each in (late.results, late.operands))
            if self._found is None and not all(map(math.isfinite, results)) and all(map(math.isfinite, operands)):
                self._found = late.spoiling
        return self._found


def is_own(node: Any) -> bool:
    """Whether a node runs a `backward` of the program's, or of a library other than torch."""
    if not isinstance(node, BackwardCFunction):
        return False
    function = getattr(type(node), "_forward_cls", None)
    return function is not None and not str(getattr(function, "__module__", "")).startswith("torch.")
