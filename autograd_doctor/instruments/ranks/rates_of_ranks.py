"""The learning rates with which replicas are stepped, whenever they are others than before."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.replicas import RatesSet
from autograd_doctor.instruments.cycle.schedulers import optimizer_of
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.ranks.replicas import Replicas
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.optimizer_groups import rates_at_hand
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.process_groups import is_one_of_several
from autograd_doctor.signals import Signals
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.schedulers import ScheduleCall

_MOST = 64
"""Changes of one optimizer: a schedule that sets a rate for each step shows in these whether ranks follow the same."""


class RatesOfRanks(Instrument):
    """Nothing is read of an accelerator."""

    emits: ClassVar[tuple[type[Event], ...]] = (RatesSet,)

    def __init__(self, site: Site, course: Course, replicas: Replicas) -> None:
        super().__init__(site)
        self._course = course
        self._replicas = replicas
        self._known: IdentityTable[tuple[int, list[float | None]]] = IdentityTable()
        self._scheduled_at: IdentityTable[Place | None] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.schedulers.ended, self._scheduled)
        self.listen(signals.steps.began, self._step_began, bare=True)

    def detach(self) -> None:
        self._known.clear()
        self._scheduled_at.clear()
        super().detach()

    def _scheduled(self, call: ScheduleCall) -> None:
        optimizer = optimizer_of(call.scheduler)
        if optimizer is not None and is_one_of_several():
            self._scheduled_at.put(optimizer, place())

    def _step_began(self, call: StepCall) -> None:
        if not is_one_of_several():
            return
        rates = rates_at_hand(call.optimizer)
        times, before = self._known.get(call.optimizer) or (0, [])
        if rates != before and times < _MOST:
            self._known.put(call.optimizer, (times + 1, rates))
            self._tell(call)

    def _tell(self, call: StepCall) -> None:
        where = self._scheduled_at.get(call.optimizer) or place()
        for part in self._replicas.of(call.optimizer):
            taken = part.taken if call.closure else part.taken - 1
            rates = rates_at_hand(call.optimizer, part.held.__contains__)
            self.emit(
                RatesSet(
                    step=self._course.steps, replicas=part.number, taken=taken, rates=rates, location=locate(where)
                )
            )
