"""Runs that go on from a file: whether the schedule of the learning rate goes on as well, if the file has its state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from autograd_doctor.events.cycle import ScheduleLeftBehind
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.cycle.schedulers import optimizer_of
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.optimizers import Optimizers, learning_rate
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loads import OptimizerLoad
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.schedulers import ScheduleCall

_NESTING = 3
"""Levels of a checkpoint: a list of the states of several schedulers in a dict of dicts."""
_MOST_ENTRIES = 64
_MOST_FILES = 8


class _Schedule(NamedTuple):
    """The state of a scheduler in a file. name: the entry that holds it. steps: how many it had taken."""

    name: str
    steps: int


class _Restored(NamedTuple):
    """An optimizer that has taken a state. first_rates: those with which its schedule had begun, by the file."""

    schedule: _Schedule
    place: Place | None
    first_rates: list[Any]


@dataclass(eq=False, slots=True)
class _File:
    """parts: the identities of what it holds, which the program keeps alive until it has loaded them."""

    parts: set[int]
    schedules: list[_Schedule]


class Resumed(Instrument):
    """Looks at the first step of an optimizer after it got its state from a file in which there is a schedule's, too.

    Whichever way the program sets its scheduler on: what counts is how many steps that has taken by then. Where the
    program has put other rates in the place of those that the schedule in the file began with, it begins a new one.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ScheduleLeftBehind,)

    def __init__(self, site: Site, course: Course, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._course = course
        self._optimizers = optimizers
        self._files: list[_File] = []
        self._schedulers: IdentityTable[Place | None] = IdentityTable()
        self._restored: IdentityTable[_Restored] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loads.read, self._read)
        self.listen(signals.loads.restored, self._optimizer_restored)
        self.listen(signals.schedulers.began, self._scheduler_began)

    def _read(self, result: Any) -> None:
        parts = list(_parts("", result, _NESTING))
        schedules = [_Schedule(name, int(state["last_epoch"])) for name, state in parts if _is_schedule(state)]
        if schedules:
            self._files = [*self._files, _File({id(part) for _, part in parts}, schedules)][-_MOST_FILES:]

    def _optimizer_restored(self, load: OptimizerLoad) -> None:
        file = next((file for file in reversed(self._files) if id(load.state) in file.parts), None)
        if file is not None:
            schedule = min(file.schedules, key=lambda each: each.steps)
            self._restored.put(load.optimizer, _Restored(schedule, place(), _first_rates(load.optimizer)))
            self.listen(self._site.signals.steps.began, self._step_began)

    def _scheduler_began(self, call: ScheduleCall) -> None:
        if call.constructing:
            self._schedulers.put(call.scheduler, place())

    def _step_began(self, call: StepCall) -> None:
        found = self._restored.get(call.optimizer)
        if found is None:
            return
        self._restored.discard(call.optimizer)
        if not self._restored:
            self.unlisten(self._site.signals.steps.began, self._step_began)
        self._files.clear()
        schedule, loaded_at, first_rates = found
        if _first_rates(call.optimizer) != first_rates:
            return
        mine = [(each, where) for each, where in self._schedulers.items() if optimizer_of(each) is call.optimizer]
        if mine and schedule.steps > 0 and all(_steps(scheduler) == 0 for scheduler, _ in mine):
            self._tell(call.optimizer, schedule, loaded_at, mine[-1][1])

    def _tell(self, optimizer: Optimizer, schedule: _Schedule, loaded_at: Place | None, made_at: Place | None) -> None:
        self.emit(
            ScheduleLeftBehind(
                step=self._course.steps,
                optimizer=self._optimizers.number(optimizer),
                entry=schedule.name,
                steps=schedule.steps,
                learning_rates=[learning_rate(group) for group in optimizer.param_groups],
                loaded_at=locate(loaded_at),
                made_at=locate(made_at),
            )
        )


def _parts(name: str, value: Any, nesting: int) -> Iterator[tuple[str, Any]]:
    """The dicts and lists of a checkpoint, with the names of the entries that hold them."""
    if type(value) not in (dict, list, tuple) or len(value) > _MOST_ENTRIES:
        return
    yield name, value
    entries = value.items() if type(value) is dict else enumerate(value)
    for key, inner in entries if nesting else ():
        yield from _parts(key if type(key) is str else name, inner, nesting - 1)


def _first_rates(optimizer: Optimizer) -> list[Any]:
    return [group.get("initial_lr") for group in optimizer.param_groups]


def _is_schedule(state: Any) -> bool:
    """Whether a scheduler of torch made it."""
    if type(state) is not dict or type(state.get("last_epoch")) is not int:
        return False
    return "_step_count" in state or "_last_lr" in state


def _steps(scheduler: LRScheduler) -> int:
    steps = attributes(scheduler).get("last_epoch")
    return steps if isinstance(steps, int) else -1
