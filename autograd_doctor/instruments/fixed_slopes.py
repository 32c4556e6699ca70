"""Derivatives with respect to data that `autograd.grad` gave without a graph, added to what has one.

Such a sum, as the residual of a differential equation, learns through its other summands only. Followed is the
derivative itself, scaled by data, moved, or added to data; a `detach()` says that it is to be fixed, and data that it
is added to after it was taken with respect to them are being moved themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import torch

from autograd_doctor.events import Event, FixedSlopeAdded
from autograd_doctor.instruments.backward_runs import BackwardRuns
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.ledger import Ledger
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.optimizers import Optimizers
from autograd_doctor.instruments.tensors import Tensors
from autograd_doctor.reading.linear import JOINS, PRODUCTS, REARRANGEMENTS, SUMS
from autograd_doctor.reading.made import Made, address, has_graph, numbers_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import traits
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_MOST_TOLD = 2
"""Steps, for each line: what is so in two steps is so in all."""


class _Slope(NamedTuple):
    """Where a derivative was taken, the parameters, as bits, that it depends on, and the address of the data."""

    place: Place | None
    parameters: int
    by: int


class _Sum(NamedTuple):
    """A derivative without a graph was added to what has one to `parameters`."""

    slope: _Slope
    operation: str
    place: Place | None
    parameters: int


class FixedSlopes(Instrument):
    """Tells, when a backward begins, of the sums behind it. The lineage of a derivative comes from `backward_runs`."""

    emits: ClassVar[tuple[type[Event], ...]] = (FixedSlopeAdded,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        optimizers: Optimizers,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
        backward_runs: BackwardRuns,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._optimizers = optimizers
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._slopes: IdentityTable[_Slope] = IdentityTable()
        self._sums: WeakKeyDictionary[Made, _Sum] = WeakKeyDictionary()
        self._told: dict[Place | None, set[int]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended, names=SUMS | PRODUCTS | REARRANGEMENTS)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._turned)

    # --------------------------------------------------------------------------------------------------- derivatives

    def _backward_ended(self, call: BackwardCall) -> None:
        if call.kind != "grad" or call.create_graph:
            return
        for given, slope in zip(call.inputs, call.result, strict=False):
            if isinstance(slope, torch.Tensor) and self._is_data(given):
                made = self._tensors.get(slope)
                if made is not None and made.values:
                    self._slopes.put(slope, _Slope(place(), made.values & ~made.guessed, address(given)))

    def _is_data(self, given: Any) -> bool:
        """Whether it is a leaf that is not to learn, into which no parameter flows."""
        if not isinstance(given, torch.Tensor) or isinstance(given, torch.nn.Parameter) or has_graph(given):
            return False
        made = self._tensors.get(given)
        return made is None or not made.values & ~made.guessed

    # ---------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        if not self._slopes or traits(operation.name).changes_input:
            return
        operands = tensors_in(operation.args)
        slopes = [slope for tensor in operands if (slope := self._slopes.get(tensor)) is not None]
        if not slopes:
            return
        live = [tensor for tensor in operands if has_graph(tensor)]
        if live:
            if operation.name in SUMS - JOINS and isinstance(operation.result, torch.Tensor):
                self._added(operation, operation.result, slopes[0], live)
        elif not (operation.name in SUMS and any(address(tensor) == slopes[0].by for tensor in operands)):
            for output in tensors_in([operation.result]):
                self._slopes.put(output, slopes[0])

    def _added(self, operation: Operation, result: torch.Tensor, slope: _Slope, live: Sequence[torch.Tensor]) -> None:
        made, connected = self._tensors.get(result), 0
        for other in map(self._tensors.get, live):
            connected |= other.connected if other is not None else 0
        shared = slope.parameters & connected & self._optimizers.held
        if made is not None and shared:
            self._sums[made] = _Sum(slope, operation.name, operation.place, shared)

    # ------------------------------------------------------------------------------------------------------- telling

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if not self._sums or walk is None or call.kind != "backward":
            return
        for made in walk.lineages:
            found = self._sums.get(made)
            if found is not None:
                self._tell(found, walk.backward)

    def _tell(self, found: _Sum, backward: int) -> None:
        steps = self._told.setdefault(found.place, set())
        if self._course.steps in steps or len(steps) >= _MOST_TOLD:
            return
        steps.add(self._course.steps)
        self.emit(
            FixedSlopeAdded(
                step=self._course.steps,
                backward=backward,
                taken_at=locate(found.slope.place),
                added_at=locate(found.place),
                operation=found.operation,
                parameters=numbers_in(found.parameters),
            )
        )

    def _step_taken(self, course: Course) -> None:
        self._begin_anew()

    def _turned(self, detail: Detail) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        if self._slopes or self._sums:
            self._slopes, self._sums = IdentityTable(), WeakKeyDictionary()
