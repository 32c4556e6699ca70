"""Work that runs as one piece: captured in a graph of an accelerator, or compiled."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import Noted
from autograd_doctor.instruments.instrument import Instrument, Site, requirements
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.signals import Signals
from autograd_doctor.signals.compiled import UNSEEN


class Captured(Instrument):
    """Has all that others wait for come home before a capture begins, and says that what is replayed is not seen, nor
    what is compiled."""

    emits: ClassVar[tuple[type[Event], ...]] = (Noted,)

    def __init__(self, site: Site, course: Course, late_values: LateValues) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._said: set[str] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.captures.began, self._began)
        self.listen(signals.compiled.began, self._compiled)

    def _began(self, graph: object) -> None:
        self._late_values.answer_all()
        self._say("the program captures work in a graph of the accelerator: what that replays is not seen")

    def _compiled(self, function: object) -> None:
        """Who tells of operations sees less than it promises, but for those whom others ask as well."""
        if not self._say("the program compiles its model: what is computed inside of that is not seen"):
            return
        operations = self._site.signals.operations
        asked = {each for kind in Instrument.__subclasses__() for each in requirements(kind).values()}
        for owner in operations.began.owners | operations.ended.owners:
            if isinstance(owner, Instrument) and type(owner) not in asked:
                owner.limited(UNSEEN)

    def _say(self, text: str) -> bool:
        """Whether it is the first time."""
        if text in self._said:
            return False
        self._said.add(text)
        self.emit(Noted(step=self._course.steps, text=text))
        return True
