"""Steps of learning-rate schedulers, how long their schedules are, and where a rate has fallen below zero.

And schedulers that were built and never stepped.
"""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from autograd_doctor.events.cycle import SchedulerIdle, SchedulerStepped
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.optimizers import Optimizers, learning_rate
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.optimizer_groups import rates_at_hand
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.prepared import left_unprepared
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.schedulers import ScheduleCall


class _Built(NamedTuple):
    """A scheduler that has not stepped yet. ahead: how far its count is beyond its steps, since it was built."""

    kind: str
    optimizer: int
    place: Place | None
    scheduler: weakref.ref[LRScheduler]
    ahead: int = 0

    @property
    def is_counted_on(self) -> bool:
        """Whether somebody moves its count by hand, as Ignite does to ask it for rates."""
        scheduler = self.scheduler()
        return scheduler is not None and _ahead(scheduler) != self.ahead


class _Latest(NamedTuple):
    """A call of a scheduler in a light step, which may be gone at the end."""

    step: int
    place: Place | None
    taken: int
    learning_rates: list[float | None]


class Schedulers(Instrument):
    """A scheduler that steps others (`SequentialLR`, `ChainedScheduler`) counts once: the outermost call."""

    emits: ClassVar[tuple[type[Event], ...]] = (SchedulerIdle, SchedulerStepped)

    def __init__(self, site: Site, course: Course, detail: Detail, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._optimizers = optimizers
        self._numbers = Numbers()
        self._names: dict[int, str] = {}
        self._running: list[ScheduleCall] = []
        self._idle: dict[int, _Built] = {}
        self._told: dict[int, SchedulerStepped] = {}
        self._latest: dict[int, list[_Latest]] = {}
        self._highest: dict[int, float] = {}
        """Of each, the highest rate that it has set."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.schedulers.began, self._began)
        self.listen(signals.schedulers.ended, self._ended)
        self.listen(signals.steps.began, self._step_began, attention=Attention.LIGHT)

    def finish(self) -> None:
        """Of the calls in light steps, the last ones of each scheduler tell how far it has come, and how evenly."""
        for number, calls in self._latest.items():
            for call in calls:
                self.emit(
                    replace(
                        self._told[number],
                        step=call.step,
                        location=locate(call.place),
                        count=call.taken,
                        learning_rates=call.learning_rates,
                        first=False,
                        highest=self._highest.get(number),
                    )
                )
        for built in self._idle.values():
            if built.is_counted_on:
                continue
            self.emit(
                SchedulerIdle(
                    step=self._course.steps, kind=built.kind, optimizer=built.optimizer, location=locate(built.place)
                )
            )

    def _began(self, call: ScheduleCall) -> None:
        constructing = any(outer.constructing for outer in self._running)
        self._running.append(call)
        if call.constructing:
            self._built(call.scheduler)
        elif self._idle and not constructing:
            for scheduler in (call.scheduler, *_parts(call.scheduler)):
                self._idle.pop(self._numbers.number(scheduler), None)

    def _built(self, scheduler: LRScheduler) -> None:
        """Only steps of torch's own are seen."""
        optimizer = optimizer_of(scheduler)
        stepping = next((kind for kind in type(scheduler).__mro__ if "step" in vars(kind)), type(scheduler))
        if optimizer is not None and stepping.__module__.startswith("torch."):
            kind, number = type(scheduler).__name__, self._optimizers.number(optimizer)
            built = _Built(kind, number, place(), weakref.ref(scheduler))
            self._idle[self._numbers.number(scheduler)] = built

    def _ended(self, call: ScheduleCall) -> None:
        self._running.remove(call)
        stepping = any(not outer.constructing for outer in self._running)
        if call.constructing and (built := self._idle.get(self._numbers.number(call.scheduler))) is not None:
            self._idle[self._numbers.number(call.scheduler)] = built._replace(ahead=_ahead(call.scheduler))
        if call.constructing or call.raised or stepping:
            return
        number, step, where = self._numbers.number(call.scheduler), self._course.steps, place()
        optimizer = optimizer_of(call.scheduler)
        rates = [] if optimizer is None else rates_at_hand(optimizer)
        for rate in rates:
            if rate is not None:
                self._highest[number] = max(rate, self._highest.get(number, rate))
        if not self._detail.full and number in self._told:
            self._keep(number, _Latest(step, where, _count(call.scheduler), rates))
            return
        self._latest.pop(number, None)
        if not self._names.get(number):
            self._names[number] = "" if self._running else variable_name(call.scheduler)
        self._told[number] = self._event(number, call.scheduler, step, where, first=bool(self._running))
        self.emit(self._told[number])

    def _keep(self, number: int, call: _Latest) -> None:
        """The newest call, and before it those after which the count had doubled, which are few."""
        calls = self._latest.setdefault(number, [])
        if calls and calls[-1].taken.bit_count() != 1:
            calls.pop()
        calls.append(call)

    def _step_began(self, call: StepCall) -> None:
        """One rate below zero is enough to look closely; those that are tensors are not waited for."""
        for group in call.optimizer.param_groups:
            rate = group.get("lr")
            if type(rate) is float and rate < 0:
                self._detail.met(("negative rate", self._optimizers.known(call.optimizer)))

    def _event(
        self, number: int, scheduler: LRScheduler, step: int, where: Place | None, *, first: bool = False
    ) -> SchedulerStepped:
        optimizer = optimizer_of(scheduler)
        return SchedulerStepped(
            step=step,
            scheduler=number,
            name=self._names.get(number, ""),
            kind=type(scheduler).__name__,
            optimizer=self._optimizers.number(optimizer) if optimizer is not None else None,
            location=locate(where),
            learning_rates=[learning_rate(group) for group in optimizer.param_groups] if optimizer is not None else [],
            length=_length(scheduler),
            first=first,
            follows_metric=is_a(scheduler, ReduceLROnPlateau),
            count=_count(scheduler),
            unprepared=left_unprepared(optimizer, scheduler),
            base_rate=_base_rate(optimizer),
            highest=self._highest.get(number),
        )


def _base_rate(optimizer: Optimizer | None) -> float | None:
    """As schedules keep it in the groups, on this side of an accelerator."""
    rates = [group.get("initial_lr") for group in optimizer.param_groups] if optimizer is not None else []
    return max((rate for rate in rates if type(rate) is float), default=None)


def _count(scheduler: LRScheduler) -> int:
    """How often it was stepped, by its own count."""
    count: Any = attributes(scheduler).get("last_epoch")
    return max(0, int(count)) if type(count) is int else 0


def _ahead(scheduler: LRScheduler) -> int:
    """Its count less its steps, which a state that is loaded brings both."""
    steps: Any = attributes(scheduler).get("_step_count")
    return _count(scheduler) - (steps if type(steps) is int else 0)


def optimizer_of(scheduler: LRScheduler) -> Optimizer | None:
    optimizer: Any = attributes(scheduler).get("optimizer")
    optimizer = attributes(optimizer).get("optimizer", optimizer)  # a framework may have wrapped it
    return optimizer if is_a(optimizer, Optimizer) else None


def _parts(scheduler: LRScheduler) -> list[LRScheduler]:
    """Those that a scheduler steps."""
    parts: Any = attributes(scheduler).get("_schedulers")
    return list(parts) if type(parts) in (list, tuple) else []


def _length(scheduler: LRScheduler) -> int | None:
    """The number of its steps after which a schedule has run through; None for those that go on for ever."""
    kept = attributes(scheduler)
    for name in ("T_max", "total_steps", "total_iters"):
        if type(kept.get(name)) is int:
            return int(kept[name])
    parts, turns = _parts(scheduler), kept.get("_milestones")
    if parts and type(turns) is list and turns and type(turns[-1]) is int:  # one after the other
        last = _length(parts[-1])
        return None if last is None else turns[-1] + last
    milestones: Any = kept.get("milestones")
    steps = (step for step in milestones if _is_number(step)) if type(milestones) in (list, tuple, Counter) else ()
    return max(map(int, steps), default=None)


def _is_number(value: object) -> bool:
    """Whether it is a number of Python's or NumPy's, not one of the program's making."""
    return is_a(value, (int, float)) or type(value).__module__ == "numpy"
