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
_MOST_MET = 2**22
"""Numbers of what they take in."""


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


class Meeting(TorchFunctionMode):
    """Copies what has met no parameter yet, as it goes into operations with parameters, or with what came of some.

    data: that, in its order. Parameters are known by their gradients, which all are to have.
    """

    def __init__(self) -> None:
        super().__init__()
        self.data: list[torch.Tensor] = []
        self._left = _MOST_MET

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = tensors_in((*args, *(kwargs or {}).values()))
        plain = [each for each in given if not each.requires_grad]
        self._left -= sum(each.numel() for each in plain) if len(plain) < len(given) else 0
        if len(plain) < len(given) and self._left >= 0 and classify(func)[0] is Kind.OPERATION:
            self.data += (each.clone() for each in plain)
        return func(*args, **(kwargs or {}))
