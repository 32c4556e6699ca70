"""Steps that the program takes by hand while nobody hears of its operations."""

from __future__ import annotations

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import fingerprints
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall


class HandSteps(Instrument):
    """Counts a step at a backward if parameters that were updated by hand before have changed since the last one.

    Versions tell of changes. Updates through `.data` leave these as they are, which shows in recorded steps: then
    values are compared. Parameters that give way to new ones cannot be followed like that.

    counted: how many.
    """

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self.counted = 0
        self._steps = 0
        self._versions: list[int] = []
        self._values: list[int | None] | None = None
        self._has_silent = False

    def connect(self, signals: Signals) -> None:
        self.listen(self._course.began_by_hand, self._began)

    def _began(self, course: Course) -> None:
        self.listen(self._site.signals.backward.began, self._backward_began)
        self.listen(self._site.signals.backward.ended, self._backward_ended)

    @property
    def are_told(self) -> bool:
        """Whether the program updates by hand what backwards reach, in place, so that each step is counted here."""
        return bool(self._versions) and not self._course.rebinds

    def _backward_began(self, call: BackwardCall) -> None:
        updated = [parameter for parameter, _ in self._course.by_hand.items()]
        if len(updated) != len(self._versions):
            return
        is_silent = self._versions == [version_of(parameter) for parameter in updated]
        if self._course.steps != self._steps:
            self._has_silent |= is_silent and self._is_recorded
        elif not is_silent or (self._values is not None and self._values != fingerprints(updated)):
            self.counted += 1
            self._course.updated_by_hand(updated)

    def _backward_ended(self, call: BackwardCall) -> None:
        updated = [parameter for parameter, _ in self._course.by_hand.items()]
        self._steps = self._course.steps
        self._versions = [version_of(parameter) for parameter in updated]
        self._values = fingerprints(updated) if self._has_silent and not self._is_recorded else None

    @property
    def _is_recorded(self) -> bool:
        return self._guard.attention >= Attention.FULL
