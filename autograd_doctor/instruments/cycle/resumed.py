"""Runs that go on from a file: whether the schedule of the learning rate goes on as well."""

from __future__ import annotations

from collections import Counter
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
_FUNCTIONS = "lr_lambdas"
"""The attribute of schedulers that go by functions of the program, which are not saved."""
_COUNTS = frozenset({
    *("T_cur", "T_i", "base_lrs", "best", "cooldown_counter", "last_epoch", "num_bad_epochs", "optimizer", "verbose"),
})  # fmt: skip
"""Attributes of torch's schedulers that tell how far they have come, or of which optimizer."""
_PLAIN = frozenset({bool, float, int, str, Counter})


class _Schedule(NamedTuple):
    """The state of a scheduler in a file. name: the entry that holds it. steps: how many it had taken."""

    name: str
    steps: int
    settings: dict[str, Any]


class _Restored(NamedTuple):
    """An optimizer that has taken a state. schedules: all in the file. first_rates: those with which its schedule had
    begun, by the file; rates: those that it had come to. last: those that a new schedule had set before."""

    schedules: list[_Schedule]
    place: Place | None
    first_rates: list[Any]
    rates: list[float | None]
    last: Any = None


@dataclass(eq=False, slots=True)
class _File:
    """parts: the identities of what it holds, which the program keeps alive until it has loaded them."""

    parts: set[int]
    schedules: list[_Schedule]


class Resumed(Instrument):
    """Looks at the first step of an optimizer after it got its state from a file in which there is a schedule's, too.

    Whichever way the program sets its scheduler on: what counts is how many steps that has taken by then. Where the
    program has put other rates in the place of those that the schedule in the file began with, or in that of the newest
    before it makes its scheduler, it begins a new one. So it does with one of another kind, or with other settings.

    Of a file without a schedule, the rates of its groups tell that there was one: a scheduler that had set other rates,
    and goes on from these by its first step, knows nothing of it.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ScheduleLeftBehind,)

    def __init__(self, site: Site, course: Course, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._course = course
        self._optimizers = optimizers
        self._files: list[_File] = []
        self._schedulers: IdentityTable[Place | None] = IdentityTable()
        self._restored: IdentityTable[_Restored] = IdentityTable()
        self._new: IdentityTable[_Restored] = IdentityTable()
        """Schedulers that had set other rates than those of the file."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loads.read, self._read)
        self.listen(signals.loads.restored, self._optimizer_restored)
        self.listen(signals.schedulers.began, self._scheduler_began)
        self.listen(signals.schedulers.ended, self._scheduler_ended)

    def _read(self, result: Any) -> None:
        parts = list(_parts("", result, _NESTING))
        schedules = [
            _Schedule(name, int(state["last_epoch"]), _settings(state)) for name, state in parts if _is_schedule(state)
        ]
        if parts:
            self._files = [*self._files, _File({id(part) for _, part in parts}, schedules)][-_MOST_FILES:]

    def _optimizer_restored(self, load: OptimizerLoad) -> None:
        file = next((file for file in reversed(self._files) if id(load.state) in file.parts), None)
        if file is not None:
            optimizer = load.optimizer
            restored = _Restored(file.schedules, place(), _first_rates(optimizer), _rates(optimizer))
            self._restored.put(load.optimizer, restored)
            self.listen(self._site.signals.steps.began, self._step_began)

    def _scheduler_began(self, call: ScheduleCall) -> None:
        if call.constructing:
            self._schedulers.put(call.scheduler, place())
            optimizer = optimizer_of(call.scheduler)
            restored = self._restored.get(optimizer) if optimizer is not None else None
            if optimizer is not None and restored is not None and restored.rates != _rates(optimizer):
                self._done_with(optimizer)

    def _step_began(self, call: StepCall) -> None:
        found = self._restored.get(call.optimizer)
        if found is None:
            return
        self._done_with(call.optimizer)
        self._files.clear()
        if _first_rates(call.optimizer) != found.first_rates:
            return
        mine = [(each, where) for each, where in self._schedulers.items() if optimizer_of(each) is call.optimizer]
        if not mine or any(_steps(scheduler) != 0 for scheduler, _ in mine):
            return
        scheduler, made_at = mine[-1]
        left = [each for each in found.schedules if any(_is_alike(each, scheduler) for scheduler, _ in mine)]
        schedule = min(left, key=lambda each: each.steps, default=None)
        if schedule is not None and schedule.steps > 0:
            self._tell(call.optimizer, schedule, found.place, made_at, level=_is_level(scheduler, found.rates))
        elif not found.schedules and _knows_nothing_of(scheduler, found) and _rates(call.optimizer) == found.rates:
            self._new.put(scheduler, found._replace(last=attributes(scheduler).get("_last_lr")))

    def _scheduler_ended(self, call: ScheduleCall) -> None:
        """Its first step since: does the rate go on from where the file has it, or from where the scheduler began?"""
        found = self._new.get(call.scheduler) if self._new else None
        optimizer = optimizer_of(call.scheduler) if found is not None else None
        if found is None or optimizer is None or call.constructing:
            return
        self._new.discard(call.scheduler)
        if _is_nearer(_rates(optimizer), found.last, found.rates):
            self._tell(optimizer, None, found.place, self._schedulers.get(call.scheduler), rates=found.rates)

    def _done_with(self, optimizer: Optimizer) -> None:
        self._restored.discard(optimizer)
        if not self._restored:
            self.unlisten(self._site.signals.steps.began, self._step_began)

    def _tell(
        self,
        optimizer: Optimizer,
        schedule: _Schedule | None,
        loaded_at: Place | None,
        made_at: Place | None,
        *,
        level: bool = False,
        rates: list[float | None] | None = None,
    ) -> None:
        self.emit(
            ScheduleLeftBehind(
                step=self._course.steps,
                optimizer=self._optimizers.number(optimizer),
                entry=schedule.name if schedule is not None else "",
                steps=schedule.steps if schedule is not None else 0,
                learning_rates=rates or _rates(optimizer),
                loaded_at=locate(loaded_at),
                made_at=locate(made_at),
                level=level,
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


def _rates(optimizer: Optimizer) -> list[float | None]:
    return [learning_rate(group) for group in optimizer.param_groups]


def _knows_nothing_of(scheduler: LRScheduler, restored: _Restored) -> bool:
    """Whether the optimizer in the file had a schedule, and came to other rates than this one has set last."""
    were_scheduled = None not in restored.first_rates and restored.rates != restored.first_rates
    return were_scheduled and attributes(scheduler).get("_last_lr") != restored.rates


def _is_nearer(rates: list[float | None], one: Any, other: list[float | None]) -> bool:
    """Whether rates are nearer to one list than to another, wherever they are known."""
    if type(one) is not list or len(one) != len(rates):
        return False
    known = [
        (rate, here, there)
        for rate, here, there in zip(rates, one, other, strict=False)
        if rate is not None and there is not None and type(here) is float
    ]
    return bool(known) and all(abs(rate - here) < abs(rate - there) for rate, here, there in known)


def _is_level(scheduler: LRScheduler, rates: list[float | None]) -> bool:
    """Whether a scheduler that goes by functions has set these rates as its first."""
    state = attributes(scheduler)
    first = state.get("_last_lr")
    return (
        _FUNCTIONS in state
        and isinstance(first, list)
        and all(type(each) is float for each in first)
        and first == rates
    )


def _settings(state: dict[str, Any]) -> dict[str, Any]:
    """What makes a schedule the one that it is: entries that have public names and do not count its steps."""
    return {
        name: value for name, value in state.items() if type(name) is str and name[0] != "_" and name not in _COUNTS
    }


def _is_alike(schedule: _Schedule, scheduler: LRScheduler) -> bool:
    """Whether a scheduler has the settings of one in a file, as far as these are plain: a class of the program's own
    may count in any of them."""
    mine, theirs = _settings(attributes(scheduler)), schedule.settings
    if mine.keys() != theirs.keys():
        return False
    is_torch = type(scheduler).__module__ == LRScheduler.__module__
    return not is_torch or all(mine[name] == theirs[name] for name in mine if _is_plain(mine[name], theirs[name]))


def _is_plain(mine: Any, theirs: Any) -> bool:
    return type(mine) in _PLAIN and type(theirs) in _PLAIN


def _is_schedule(state: Any) -> bool:
    """Whether a scheduler of torch made it."""
    if type(state) is not dict or type(state.get("last_epoch")) is not int:
        return False
    return "_step_count" in state or "_last_lr" in state


def _steps(scheduler: LRScheduler) -> int:
    steps = attributes(scheduler).get("last_epoch")
    return steps if isinstance(steps, int) else -1
