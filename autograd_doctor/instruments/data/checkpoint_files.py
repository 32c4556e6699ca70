"""Checkpoints that are the last in their folder by name as text, and not the newest."""

from __future__ import annotations

import os
from typing import Any, ClassVar, NamedTuple

from autograd_doctor.events.data import OlderCheckpointUsed
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.file_order import PassedOver, passed_over
from autograd_doctor.reading.places import locate, place
from autograd_doctor.signals import Signals
from autograd_doctor.signals.states import StateLoad

_MOST_FOLDERS = 100
_MOST_TOLD = 8


class _Chosen(NamedTuple):
    """A file that was read in a step, after its folder had been listed in the same one."""

    step: int
    name: str
    location: Location | None
    passed: PassedOver


class _Memory(NamedTuple):
    """What is to be told of once more, as a chapter in which it was found is over, and what training may go on from."""

    told: list[OlderCheckpointUsed]
    loaded: _Chosen | None


class CheckpointFiles(Instrument):
    """Looks at the folder of a file that `torch.load` reads, where the program has just listed it. It tells of one that
    gave a module its state once another step has been taken."""

    emits: ClassVar[tuple[type[Event], ...]] = (OlderCheckpointUsed,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._listed: dict[str, int] = {}
        self._read: _Chosen | None = None
        self._loaded: _Chosen | None = None
        self._told: list[OlderCheckpointUsed] = []

    def connect(self, signals: Signals) -> None:
        self.listen(signals.listings.listed, self._folder_listed)
        self.listen(signals.loads.opened, self._opened)
        self.listen(signals.states.loaded, self._state_loaded)
        self.listen(self._course.step_taken, self._step_taken, bare=True)

    def memory(self) -> _Memory:
        return _Memory(self._told, self._loaded)

    def remember(self, memory: _Memory) -> None:
        self._told, self._loaded = memory
        for event in self._told:
            self.emit(event)

    def _folder_listed(self, folder: Any) -> None:
        path = _absolute("." if folder is None else folder)
        if path and len(self._listed) < _MOST_FOLDERS:
            self._listed[path] = self._course.steps

    def _opened(self, file: Any) -> None:
        path, step = _absolute(file), self._course.steps
        if self._listed.get(os.path.dirname(path)) != step:
            return
        try:
            passed = passed_over(path)
        except OSError:  # it has gone since
            return
        self._read = None if passed is None else _Chosen(step, os.path.basename(path), locate(place()), passed)

    def _state_loaded(self, load: StateLoad) -> None:
        if self._read is not None and self._read.step == self._course.steps:
            self._loaded, self._read = self._read, None

    def _step_taken(self, course: Course) -> None:
        self._listed.clear()
        chosen, self._loaded = self._loaded, None
        if chosen is None or len(self._told) >= _MOST_TOLD:
            return
        event = OlderCheckpointUsed(
            step=chosen.step,
            location=chosen.location,
            name=chosen.name,
            newest=chosen.passed.newest,
            files=chosen.passed.files,
        )
        self._told.append(event)
        self.emit(event)


def _absolute(path: Any) -> str:
    """Of a path that is text, "" of what else may be given."""
    return os.path.abspath(path) if isinstance(path, (str, os.PathLike)) else ""
