"""Where NaN and Inf are born: each recorded output is checked, and an origin travels with the values that it spoils.

A birth is only reported when it reaches a loss: a mask of `-inf` that a softmax absorbs leaves no trace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import torch

from autograd_doctor.events import Event, NonFiniteInput, NonFiniteProduced
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.lineage import Lineage, Recorded
from autograd_doctor.instruments.parameters import Parameters
from autograd_doctor.instruments.tensors import Tensors
from autograd_doctor.reading.low_precision import from_range
from autograd_doctor.reading.made import Made
from autograd_doctor.reading.operation_kinds import STAYS_FINITE
from autograd_doctor.reading.origin import Origin
from autograd_doctor.reading.places import Place
from autograd_doctor.reading.tensor_facts import bad_rows, describe, is_spoiled, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall

_MOST_PER_PLACE = 3
"""Non-finite outputs to describe per line and operation: values that a mask discards, as in attention, come in every
step from the same lines, and their ranges tell nothing new."""
_MARKS = frozenset({"__setitem__", "fill_", "index_fill_", "index_put_", "masked_fill_"})
_MOST_REPORTED = 4
"""Births to report: a loss scale of 65536 (the default) that settles halves a few times, and each overflow is a birth
that does no harm."""


class NonFinite(Instrument):
    """Checks outputs until a few non-finite values that mattered have been reported."""

    emits: ClassVar[tuple[type[Event], ...]] = (NonFiniteProduced, NonFiniteInput)

    def __init__(
        self, site: Site, course: Course, detail: Detail, parameters: Parameters, tensors: Tensors, lineage: Lineage
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._parameters = parameters
        self._tensors = tensors
        self._lineage = lineage
        self._seen: dict[tuple[Place | None, str], int] = {}
        self._known: dict[tuple[Place | None, str], Origin] = {}
        self._spoiled_parameters: dict[int, Origin] = {}
        self._reported: set[tuple[str | None, Place | None]] = set()
        self._active = True

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.recorded, self._recorded)
        self.listen(self._lineage.parameter_written, self._parameter_written)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)

    def _recorded(self, recorded: Recorded) -> None:
        if not (self._active and self._detail.closely) or recorded.made.operation in STAYS_FINITE:
            return
        self._check(recorded)

    def _parameter_written(self, recorded: Recorded) -> None:
        """An update by hand, or a repair."""
        self._check(recorded)
        number, origin = self._parameters.number(recorded.output), recorded.made.origin
        if origin is not None:
            self._spoiled_parameters[number] = origin
        else:
            self._spoiled_parameters.pop(number, None)

    def _backward_began(self, call: BackwardCall) -> None:
        """If the loss is spoiled, report where that began."""
        made = self._tensors.get(call.roots[0])
        origin = made.origin if made is not None else None
        if not self._active or origin is None or (origin.operation, origin.place) in self._reported:
            return
        if not bool(torch.isfinite(call.roots[0]).all()):
            if origin.is_spoiled_leaf and self._course.steps:  # what spoiled it happened unseen
                self._detail.missed()
                return
            self.emit(origin.event(self._course.steps))
            self._reported.add((origin.operation, origin.place))
            self._active = len(self._reported) < _MOST_REPORTED

    def _check(self, recorded: Recorded) -> None:
        """Give a spoiled output its origin, and a finite one none.

        A sum is finite if every term is; where the sum itself overflows, the exact look tells.
        """
        output, made = recorded.output, recorded.made
        if not output.is_floating_point() or not readable(output) or output.numel() == 0:
            made.origin = None
            return
        if math.isfinite(output.sum(dtype=torch.float32 if output.dtype.itemsize < 4 else None).item()) or bool(
            torch.isfinite(output).all()
        ):
            made.origin = None
            return
        if made.origin is None:
            made.origin = self._spoiled_parameter(recorded.inputs)
        if made.origin is None or (made.origin.deliberate and bool(torch.isnan(output).any())):
            made.origin = None if self._is_written_down(recorded) else self._origin(recorded, made.origin)

    def _is_written_down(self, recorded: Recorded) -> bool:
        """Whether the program marks data as missing: they come in spoiled where they are used."""
        others = [tensor for tensor in recorded.inputs if tensor is not recorded.output]
        return recorded.made.operation in _MARKS and not recorded.made.values and not any(map(is_spoiled, others))

    def _spoiled_parameter(self, inputs: Sequence[torch.Tensor]) -> Origin | None:
        """What the program itself has written into a parameter."""
        numbers = map(self._parameters.get, inputs) if self._spoiled_parameters else ()
        origins = (self._spoiled_parameters.get(number) for number in numbers if number is not None)
        return next(filter(None, origins), None)

    def _origin(self, recorded: Recorded, mask: Origin | None) -> Origin:
        """mask: infinities that the program wrote down itself, and that have become NaN."""
        output, made, inputs = recorded.output, recorded.made, recorded.inputs
        key = (made.place, made.operation)
        self._seen[key] = self._seen.get(key, 0) + 1
        if self._seen[key] > _MOST_PER_PLACE:
            return self._known[key]
        before = [tensor for tensor in inputs if tensor is not output or not self._was_known(output, made)]
        spoiled = [tensor for tensor in before if is_spoiled(tensor) and self._origin_of(tensor) is None]
        if spoiled:
            origin = Origin(None, made.place, self._tensors.describe(spoiled[0]), (), tuple(bad_rows(spoiled[0])))
        else:
            operands = tuple(self._tensors.describe(tensor) for tensor in inputs[:4])
            by = recorded.operation
            low = from_range(by.function, by.name, by.args, by.kwargs, output) if by is not None else None
            rows, written = tuple(bad_rows(output)), mask.place if mask is not None else None
            origin = Origin(made.operation, made.place, describe(output), operands, rows, low, written)
        self._known[key] = origin
        return origin

    def _was_known(self, changed: torch.Tensor, made: Made) -> bool:
        """Whether what an operation has changed in place was seen before, and so was finite then.

        Gradients that a backward has spoiled are told of by others.
        """
        if len(made.changes) > 1 or made.created_by != made.operation:
            return True
        return any(parameter.grad is changed for _, parameter in self._parameters.living())

    def _origin_of(self, tensor: torch.Tensor) -> Origin | None:
        made = self._tensors.get(tensor)
        return made.origin if made is not None else None
