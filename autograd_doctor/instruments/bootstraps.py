"""Bootstrapped targets beside which there is a mark, such as the end of an episode, that nothing makes use of.

A bootstrapped target is data plus a discounted prediction, without a graph: a reward, and what is expected after it.
Where an episode ended there is nothing after it, and a batch of transitions says so by zeros and ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from autograd_doctor.events import BootstrappedBesideMark, Event
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.tensors import Tensors
from autograd_doctor.reading.linear import DIFFERENCES, JOINS, PRODUCTS, SUMS
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.losses import REGRESSION
from autograd_doctor.reading.made import has_graph
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import FROM_DATA
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.shaping import MOVES
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_COMPARES = REGRESSION | DIFFERENCES
_GIVES = FROM_DATA | JOINS | {"__getitem__", "index_select"}
"""Operations by which fields of a batch come out of lists, arrays and larger tensors."""
_COUNTS = PRODUCTS | SUMS | {
    "__getitem__", "__invert__", "__setitem__", "bitwise_not", "logical_not", "masked_fill", "masked_fill_", "where",
}  # fmt: skip
_LEAST, _MOST = 8, 2**14
"""Values of a mark."""
_MOST_TOLD = 16


@dataclass(eq=False)
class _Mark:
    """A tensor of zeros and ones, also under other shapes and dtypes. used: by anything but what gives it these.

    counts: it is multiplied, inverted or chosen by, as what is to leave a prediction out is.
    """

    place: Place | None
    values: int
    ones: int
    used: bool = False
    counts: bool = False


class Bootstraps(Instrument):
    """Looks, in steps that are looked at closely, for marks that are used for nothing when a target is compared."""

    emits: ClassVar[tuple[type[Event], ...]] = (BootstrappedBesideMark,)

    def __init__(self, site: Site, course: Course, detail: Detail, tensors: Tensors, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._tensors = tensors
        self._lineage = lineage
        self._told = 0
        self._forget()

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._turned)

    def _forget(self) -> None:
        self._marks: IdentityTable[_Mark] = IdentityTable()
        self._discounted: IdentityTable[None] = IdentityTable()
        self._targets: IdentityTable[Place | None] = IdentityTable()
        self._known: list[_Mark] = []

    def _turned(self, detail: Detail) -> None:
        """What operations of other steps made is not known."""
        self._forget()

    def _step_taken(self, course: Course) -> None:
        self._forget()

    # ---------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        name, result = operation.name, operation.result
        if not isinstance(result, torch.Tensor) or self._course.running is not None:
            return
        inputs = tensors_in((*operation.args, *operation.kwargs.values()))
        marks = [mark for tensor in inputs if (mark := self._marks.get(tensor)) is not None] if self._known else []
        if marks and name in MOVES and len(inputs) == 1:
            self._marks.put(result, marks[0])
            return
        is_reward = any(tensor in self._discounted for tensor in inputs) and name in SUMS
        for mark in marks:
            mark.used = True
            mark.counts |= name in _COUNTS and not is_reward
        if name in _COMPARES and has_graph(result):
            self._compared(operation)
        elif not has_graph(result):
            self._computed(operation, result, inputs)

    def _computed(self, operation: Operation, result: torch.Tensor, inputs: list[torch.Tensor]) -> None:
        name = operation.name
        predicted = [tensor for tensor in inputs if self._is_predicted(tensor)]
        if name in PRODUCTS and len(predicted) == 1:
            plain = [each for each in operation.args if isinstance(each, float)]
            if predicted[0] in self._discounted or any(0 < number < 1 for number in plain):
                self._discounted.put(result, None)
        elif name in SUMS - JOINS and len(predicted) == 1 and len(inputs) == 2 and predicted[0] in self._discounted:
            self._targets.put(result, operation.place)
        elif name in MOVES and inputs and inputs[0] in self._targets:
            self._targets.put(result, self._targets.get(inputs[0]))
        elif name in MOVES and inputs and inputs[0] in self._discounted:
            self._discounted.put(result, None)
        elif name in _GIVES and not predicted:
            self._given(operation, result)

    def _is_predicted(self, tensor: torch.Tensor) -> bool:
        made = self._tensors.get(tensor)
        return made is not None and made.values != 0

    def _given(self, operation: Operation, result: torch.Tensor) -> None:
        if not _LEAST <= result.numel() <= _MOST or result.device.type != "cpu" or not readable(result):
            return
        ones = result == 1
        if result.dtype is torch.bool or bool((ones | (result == 0)).all()):
            mark = _Mark(operation.place, result.numel(), int(ones.sum()))
            self._marks.put(result, mark)
            self._known.append(mark)

    def _compared(self, operation: Operation) -> None:
        operands = operands_of(operation.args, operation.kwargs)
        target = next((each for each in operands or () if each in self._targets), None)
        if target is None or self._told >= _MOST_TOLD:
            return
        marks = [mark for mark in self._known if mark.values == target.numel()]
        unused = [mark for mark in marks if not mark.used]
        if unused and not any(mark.counts for mark in marks):
            self._told += 1
            self.emit(
                BootstrappedBesideMark(
                    step=self._course.steps,
                    location=locate(self._targets.get(target)),
                    compared_at=locate(operation.place),
                    name=variable_name(target),
                    mark_at=locate(unused[-1].place),
                    values=unused[-1].values,
                    ones=unused[-1].ones,
                )
            )
