"""Watches learning-rate schedulers step."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Self

from torch.optim import Optimizer, lr_scheduler
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from autograd_doctor.events import Event, SchedulerStepped
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.naming import Numbers, setting, variable_name
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import here
from autograd_doctor.watching.watch import Watch


class Schedulers:
    """A scheduler that steps others (`SequentialLR`, `ChainedScheduler`) counts once: the outermost call."""

    yields: ClassVar[tuple[type[Event], ...]] = (SchedulerStepped,)

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = Patches()
        self._numbers = Numbers()
        self._names: dict[int, str] = {}
        self._stepping = False
        self._constructing = 0

    def __enter__(self) -> Self:
        for kind in vars(lr_scheduler).values():
            if isinstance(kind, type) and issubclass(kind, LRScheduler) and "step" in vars(kind):
                self._patches.replace(kind, "step", self._stepped(vars(kind)["step"]))
        self._patches.replace(LRScheduler, "_initial_step", self._initialised(LRScheduler._initial_step))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def _stepped(self, original: Callable[..., None]) -> Callable[..., None]:
        @wraps(original)
        def step(scheduler: LRScheduler, *args: Any, **kwargs: Any) -> None:
            if self._stepping:
                return original(scheduler, *args, **kwargs)
            self._stepping = True
            try:
                original(scheduler, *args, **kwargs)
            finally:
                self._stepping = False
            return self._note(scheduler)

        return step

    def _initialised(self, original: Callable[..., None]) -> Callable[..., None]:
        @wraps(original)
        def _initial_step(scheduler: LRScheduler) -> None:
            self._constructing += 1
            try:
                original(scheduler)
            finally:
                self._constructing -= 1

        return _initial_step

    @careful
    def _note(self, scheduler: LRScheduler) -> None:
        number = self._numbers.get(scheduler)
        number = self._numbers.add(scheduler) if number is None else number
        if not self._names.get(number):
            self._names[number] = "" if self._constructing else variable_name(scheduler)
        optimizer = getattr(scheduler.optimizer, "optimizer", scheduler.optimizer)  # a framework may have wrapped it
        known = isinstance(optimizer, Optimizer)
        self._watch.emit(
            SchedulerStepped(
                step=self._watch.step,
                scheduler=number,
                name=self._names[number],
                kind=type(scheduler).__name__,
                optimizer=self._watch.optimizers.number(optimizer) if known else None,
                location=here(),
                learning_rates=[setting(group, "lr") for group in optimizer.param_groups] if known else [],
                length=_length(scheduler),
                first=self._constructing > 0,
                follows_metric=isinstance(scheduler, ReduceLROnPlateau),
            )
        )


def _length(scheduler: LRScheduler) -> int | None:
    """The number of its steps after which a schedule has run through; None for those that go on for ever."""
    for name in ("T_max", "total_steps", "total_iters"):
        if isinstance(vars(scheduler).get(name), int):
            return int(vars(scheduler)[name])
    milestones = vars(scheduler).get("milestones")
    return max(map(int, milestones), default=None) if milestones else None


PROBE = Schedulers
