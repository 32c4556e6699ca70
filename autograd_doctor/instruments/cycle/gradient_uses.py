"""Gradients that the program computes something from, beside what it does to them in place."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.cycle import GradientsTakenIn
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import writes
from autograd_doctor.reading.subclasses import gradient_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.clipping import ClipCall
from autograd_doctor.signals.operations import Operation

_NO_USE = frozenset({"detach", "detach_"})
"""What comes before a gradient is set to zero, in an old spelling of clearing."""
_MOST = 64
"""Backwards to tell of: enough for several steps of many each."""


class GradientUses(Instrument):
    """Listens to operations on gradients, in steps that are looked at closely. What torch's functions for clipping do
    is no use, nor is what the operation itself changes.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (GradientsTakenIn,)

    def __init__(self, site: Site, course: Course, parameters: Parameters, ledger: Ledger) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._ledger = ledger
        self._gradients: IdentityTable[int] = IdentityTable()
        self._told: set[int] = set()
        self._by_torch = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.CLOSE)
        self.listen(signals.operations.ended, self._operated, attention=Attention.CLOSE)
        self.listen(signals.clipping.began, self._clipping_began)
        self.listen(signals.clipping.ended, self._clipping_ended)

    def _backward_ended(self, call: BackwardCall) -> None:
        """A gradient that several backwards wrote is that of the newest."""
        walk = self._ledger.walk
        living = dict(self._parameters.living())
        for number in self._ledger.wrote if walk is not None and call.kind == "backward" else ():
            gradient = gradient_of(living[number]) if number in living else None
            if gradient is not None and walk is not None:
                self._gradients.put(gradient, walk.backward)

    def _clipping_began(self, call: ClipCall) -> None:
        self._by_torch += 1

    def _clipping_ended(self, call: ClipCall) -> None:
        self._by_torch -= 1

    def _operated(self, operation: Operation) -> None:
        if not self._gradients or self._by_torch or operation.name in _NO_USE or len(self._told) >= _MOST:
            return
        changed = tensors_in(operation.args[:1]) if writes(operation.name) else ()
        for tensor in operation.inputs:
            backward = self._gradients.get(tensor)
            is_changed = any(tensor is each for each in changed)
            if backward is not None and not is_changed and backward not in self._told:
                self._told.add(backward)
                self.emit(GradientsTakenIn(step=self._course.steps, backward=backward))
