"""What instruments have in common that ask, as a backward begins, what its loss was computed from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.compiled import UNSEEN
from autograd_doctor.tape import Value

_MOST_TOLD = 2
"""Steps, for each line: what is so in two steps is so in all."""


class LossQuery(Instrument, ABC):
    """Asks the tape in steps that are looked at closely."""

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site)
        self._course = course
        self._tape = tape
        self._news: dict[Location | None, set[int]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(signals.compiled.began, self._compiled_began)

    def _compiled_began(self, function: object) -> None:
        self.limited(UNSEEN)

    def _backward_began(self, call: BackwardCall) -> None:
        if call.kind == "backward":
            self._ask(self._tape.values(call.roots), call)

    def _is_news(self, line: Location | None) -> bool:
        """Whether something at a line is to be told of in this step, which it then has been."""
        steps = self._news.setdefault(line, set())
        if self._course.steps in steps or len(steps) >= _MOST_TOLD:
            return False
        steps.add(self._course.steps)
        return True

    @abstractmethod
    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        """A backward from these losses begins."""
