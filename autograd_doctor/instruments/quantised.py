"""Values that were looked up by a choice of the nearest entry, and what of a loss still teaches those who chose."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events import ChoiceWithoutGradient, Event
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.tensors import Tensors
from autograd_doctor.instruments.within_step import WithinStep
from autograd_doctor.reading.linear import DIFFERENCES, SUMS
from autograd_doctor.reading.losses import REGRESSION
from autograd_doctor.reading.made import Made, numbers_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.pairs import SCALING
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.shaping import MOVES
from autograd_doctor.reading.signs import NEGATIONS
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_CHOICES = frozenset({"argmax", "argmin", "argsort", "max", "min", "sort", "topk"})
_MARKS = frozenset({"one_hot", "scatter", "scatter_"})
"""Operations that write a choice down as zeros and ones."""
_LOOK_UPS = frozenset({"__getitem__", "embedding", "index_select"})
_PRODUCTS = frozenset({"__matmul__", "linear", "matmul", "mm"})
_SHRINKS = frozenset({"__pow__", "abs", "mean", "pow", "square", "sum"})
_MOST_TOLD = 8


@dataclass(eq=False, slots=True)
class _LookUp:
    """Where values were looked up; goes_on: something was computed of them, beside what they are compared with."""

    place: Place | None
    goes_on: bool = False


class _Loss(NamedTuple):
    """A number that is the sum of pulls towards what was looked up, and of other terms.

    pulled: the parameters, as bits, that the pulls teach. values, connected: those that flow into the other terms, and
    those that these teach. target: what the pulls are towards.
    """

    pulled: int = 0
    values: int = 0
    connected: int = 0
    target: _LookUp | None = None


class Quantised(WithinStep):
    """Follows choices to what they pick out, and that to where it is compared with what it was chosen for.

    Looks in steps that are looked at closely; which parameters flow into a term, and which it teaches, `tensors` knows.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ChoiceWithoutGradient,)

    def __init__(self, site: Site, course: Course, detail: Detail, tensors: Tensors, lineage: Lineage) -> None:
        super().__init__(site, course, detail)
        self._tensors = tensors
        self._lineage = lineage
        self._told: Counter[Place | None] = Counter()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._lineage.operated, self._operation_ended)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)

    def _forget(self) -> None:
        self._chosen: IdentityTable[None] = IdentityTable()
        self._looked_up: IdentityTable[_LookUp] = IdentityTable()
        self._losses: IdentityTable[_Loss] = IdentityTable()

    # ---------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        if operation.name in _CHOICES:
            for chosen in tensors_in([operation.result]):
                made = self._tensors.get(chosen)
                if not chosen.is_floating_point() and made is not None and made.values:
                    self._chosen.put(chosen, None)
        elif self._chosen and isinstance(operation.result, torch.Tensor):
            self._looks_up(operation, operation.result)
            if self._looked_up:
                self._compares(operation, operation.result)
            if self._losses:
                self._adds(operation, operation.result)

    def _looks_up(self, operation: Operation, result: torch.Tensor) -> None:
        given = tensors_in((*operation.args, *operation.kwargs.values()))
        chosen = [each for each in given if each in self._chosen]
        if operation.name in MOVES | _MARKS and chosen and (given[0] in self._chosen or operation.name in _MARKS):
            self._chosen.put(result, None)
        elif operation.name in _LOOK_UPS | _PRODUCTS and chosen and result.is_floating_point():
            self._looked_up.put(result, _LookUp(operation.place))
            return
        values = next((found for each in given if (found := self._looked_up.get(each)) is not None), None)
        if values is not None and operation.name in MOVES:
            self._looked_up.put(result, values)
        elif values is not None and operation.name not in REGRESSION | DIFFERENCES:
            values.goes_on = True

    def _compares(self, operation: Operation, result: torch.Tensor) -> None:
        """A pull: what was looked up beside something of its shape, from values of which it was chosen."""
        if operation.name not in REGRESSION | DIFFERENCES:
            return
        given = tensors_in(operation.args)[:2]
        looked_up = [each for each in given if each in self._looked_up]
        others = [made for each in given if each not in self._looked_up and (made := self._tensors.get(each))]
        made = self._tensors.get(result)
        if len(looked_up) == len(others) == 1 and given[0].shape == given[1].shape and made is not None:
            chooser = self._tensors.get(looked_up[0])
            if chooser is not None and chooser.values & ~chooser.connected & others[0].values:
                pulled = made.connected & others[0].connected
                self._losses.put(result, _Loss(pulled, target=self._looked_up.get(looked_up[0])))

    def _adds(self, operation: Operation, result: torch.Tensor) -> None:
        given = tensors_in(operation.args)
        known = [loss for each in given if (loss := self._losses.get(each)) is not None]
        if not known or result in self._losses:
            return
        if operation.name in SUMS and not result.dim():
            losses = [self._losses.get(each) or _other(self._tensors.get(each)) for each in given]
            self._losses.put(result, _sum_of(losses))
        elif len(given) == 1 and operation.name in _SHRINKS | MOVES | SCALING | NEGATIONS:
            self._losses.put(result, known[0])
        elif len(known) == len(given) and operation.name in SUMS:
            self._losses.put(result, _sum_of(known))

    # ------------------------------------------------------------------------------------------------------- telling

    def _backward_began(self, call: BackwardCall) -> None:
        loss = self._losses.get(call.roots[0]) if len(call.roots) == 1 and call.kind == "backward" else None
        target = loss.target if loss is not None else None
        if loss is None or target is None or not target.goes_on or self._told[target.place] >= _MOST_TOLD:
            return
        alone = loss.pulled & loss.values & ~loss.connected
        if alone and loss.connected:
            self._told[target.place] += 1
            self.emit(
                ChoiceWithoutGradient(
                    step=self._course.steps,
                    parameters=numbers_in(alone),
                    location=locate(target.place),
                )
            )


def _other(made: Made | None) -> _Loss:
    return _Loss() if made is None else _Loss(values=made.values, connected=made.connected)


def _sum_of(losses: list[_Loss]) -> _Loss:
    pulled = values = connected = 0
    for loss in losses:
        pulled, values, connected = pulled | loss.pulled, values | loss.values, connected | loss.connected
    return _Loss(pulled, values, connected, next((loss.target for loss in losses if loss.target), None))
