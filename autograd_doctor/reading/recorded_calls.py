"""What operations take and give while a copy of a module is called, to find out where that is something else another
time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from autograd_doctor.reading.operation_kinds import Kind, classify
from autograd_doctor.reading.places import Place, place
from autograd_doctor.reading.tensors_in import tensors_in

_MOST_RECORDED = 4000
"""Operations of one call."""


class Given(NamedTuple):
    """What an operation gave at a line of the module that is tried: one of torch's own has none. shapes: of what it was
    given."""

    name: str
    place: Place | None
    shapes: list[tuple[int, ...]]
    values: list[torch.Tensor]


class Recording(TorchFunctionMode):
    """Notes operations; where the module is tried is no line of its own. keep: copies of what is looked at of a
    result; None to note nothing."""

    def __init__(self, keep: Callable[[list[torch.Tensor]], list[torch.Tensor]] | None) -> None:
        super().__init__()
        self.operations: list[Given] = []
        self._keep = keep
        self._outside = place()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self._keep is None:
            return result
        kind, name = classify(func)
        if kind is Kind.OPERATION and len(self.operations) < _MOST_RECORDED:
            where = place()
            shapes = [tuple(each.shape) for each in args if isinstance(each, torch.Tensor)]
            values = self._keep(tensors_in([result]))
            self.operations.append(Given(name, where if where != self._outside else None, shapes, values))
        return result


class Listening(TorchFunctionMode):
    """Calls somebody with the name of each operation, its place, and its arguments before it changes them."""

    def __init__(self, began: Callable[[str, Place | None, tuple[Any, ...], dict[str, Any]], None]) -> None:
        super().__init__()
        self._began = began

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kind, name = classify(func)
        if kind is Kind.OPERATION:
            self._began(name, place(), args, kwargs or {})
        return func(*args, **(kwargs or {}))
