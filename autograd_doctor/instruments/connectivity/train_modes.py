"""Remembers which line put which module into training or evaluation mode."""

from __future__ import annotations

import threading
from types import FrameType
from typing import ClassVar, NamedTuple

from torch import nn
from torch.optim import Optimizer

from autograd_doctor.events.connectivity import ModeSet
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.reading.frame_locals import local_variables
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, own_frames
from autograd_doctor.signals import Signals
from autograd_doctor.signals.modules import TrainCall


class _Setting(threading.local):
    where: Place | None = None
    depth = 0


class _Switch(NamedTuple):
    """The line that set a mode, and how many optimizers there were by then."""

    where: Place | None = None
    optimizers: int = 0


class TrainModes(Instrument):
    """`changes` counts the calls. A module that is not a root yet is announced when it becomes one.

    In light steps, only what a new line does is stated.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ModeSet,)

    def __init__(self, site: Site, course: Course, detail: Detail) -> None:
        super().__init__(site)
        self.changes = 0
        self._course = course
        self._detail = detail
        self._setting = _Setting()
        self._optimizers = 0
        self._switches: IdentityTable[_Switch] = IdentityTable()
        self._announced: IdentityTable[int] = IdentityTable()
        self._told: set[tuple[int, Place | None, bool]] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.train_modes.began, self._began)
        self.listen(signals.train_modes.ended, self._ended)
        self.listen(signals.optimizers.built, self._optimizer_built)

    def set_at(self, module: nn.Module) -> Location | None:
        """The line that last set the mode of a module, None if no line did."""
        return locate((self._switches.get(module) or _Switch()).where)

    def was_set(self, module: nn.Module) -> bool:
        """Whether a call of `train()` or `eval()` ever came to a module, by itself or through one that holds it."""
        return module in self._switches

    def became_root(self, module: nn.Module, number: int) -> None:
        if module not in self._announced:
            self._announced.put(module, number)
            if module in self._switches:
                self._announce(module, number, module.training)

    def _optimizer_built(self, _: Optimizer) -> None:
        self._optimizers += 1

    def _began(self, call: TrainCall) -> None:
        """The call is the program's own line, not the one in an override of `train` that calls `super()`."""
        self._setting.depth += 1
        if self._setting.depth > 1:
            return
        frames = (frame for frame in own_frames() if not _overrides(frame, call.module))
        frame = next(frames, None)
        self._setting.where = None if frame is None else (frame.f_code, frame.f_lasti)
        self.changes += 1

    def _ended(self, call: TrainCall) -> None:
        self._setting.depth -= 1
        if call.raised:
            return
        self._switches.put(call.module, _Switch(self._setting.where, self._optimizers))
        number = self._announced.get(call.module)
        if number is not None:
            is_news = (number, self._setting.where, call.training) not in self._told
            if self._detail.full or is_news:
                self._announce(call.module, number, call.training)

    def _announce(self, module: nn.Module, number: int, training: bool) -> None:
        switch = self._switches.get(module) or _Switch()
        self._told.add((number, switch.where, training))
        self.emit(
            ModeSet(
                step=self._course.steps,
                module=number,
                training=training,
                location=locate(switch.where),
                optimizers=switch.optimizers,
            )
        )


def _overrides(frame: FrameType, module: nn.Module) -> bool:
    return frame.f_code.co_name in ("train", "eval") and local_variables(frame).get("self") is module
