"""What instruments have in common that ask, as a backward begins, what its loss was computed from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Value


class LossQuery(Instrument, ABC):
    """Asks the tape in steps that are looked at closely."""

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site)
        self._course = course
        self._tape = tape

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)

    def _backward_began(self, call: BackwardCall) -> None:
        if call.kind == "backward":
            self._ask(self._tape.values(call.roots), call)

    @abstractmethod
    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        """A backward from these losses begins."""
