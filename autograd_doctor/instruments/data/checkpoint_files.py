"""Checkpoints that are the last in their folder by name as text, and not the newest."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from autograd_doctor.events.data import CheckpointsReadInTurn, OlderCheckpointUsed
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
    folder: str
    name: str
    location: Location | None
    passed: PassedOver


@dataclass
class _Listing:
    """The latest list of a folder. step: in which it was made; read: the names of files that were read since then."""

    step: int
    read: set[str] = field(default_factory=set)


class _Memory(NamedTuple):
    """What is to be told of once more, as a chapter in which it was found is over, what training may go on from, and
    the lists of folders."""

    told: dict[str, OlderCheckpointUsed]
    loaded: _Chosen | None
    listings: dict[str, _Listing]


class CheckpointFiles(Instrument):
    """Looks at the folder of a file that `torch.load` reads, where the program has just listed it. It tells of one that
    gave a module its state once another step has been taken; and of others that are read of the same list."""

    emits: ClassVar[tuple[type[Event], ...]] = (CheckpointsReadInTurn, OlderCheckpointUsed)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._listings: dict[str, _Listing] = {}
        self._chosen: _Chosen | None = None
        self._loaded: _Chosen | None = None
        self._told: dict[str, OlderCheckpointUsed] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.listings.listed, self._folder_listed)
        self.listen(signals.loads.opened, self._opened)
        self.listen(signals.states.loaded, self._state_loaded)
        self.listen(self._course.step_taken, self._step_taken, bare=True)

    def memory(self) -> _Memory:
        return _Memory(self._told, self._loaded, self._listings)

    def remember(self, memory: _Memory) -> None:
        self._told, self._loaded, self._listings = memory
        for event in self._told.values():
            self.emit(event)

    def _folder_listed(self, path: Any) -> None:
        """The latest folders are kept in mind: a data set may have thousands."""
        folder = _absolute("." if path is None else path)
        self._listings.pop(folder, None)
        self._listings[folder] = _Listing(self._course.steps)
        if len(self._listings) > _MOST_FOLDERS:
            del self._listings[next(iter(self._listings))]

    def _opened(self, file: Any) -> None:
        folder, name = os.path.split(_absolute(file))
        listing = self._listings.get(folder)
        if listing is None or name in listing.read:
            return
        listing.read.add(name)
        if len(listing.read) > 1:
            self._go_through(folder)
        elif listing.step == self._course.steps:
            self._choose(folder, name)

    def _choose(self, folder: str, name: str) -> None:
        try:
            passed = passed_over(os.path.join(folder, name))
        except OSError:  # it has gone since
            return
        self._chosen = passed and _Chosen(self._course.steps, folder, name, locate(place()), passed)

    def _go_through(self, folder: str) -> None:
        """Others of the list are read as well: none of them was chosen."""
        self._chosen = self._loaded = None
        event = self._told.pop(folder, None)
        if event is not None:
            self.emit(CheckpointsReadInTurn(step=self._course.steps, location=event.location))

    def _state_loaded(self, load: StateLoad) -> None:
        if self._chosen is not None and self._chosen.step == self._course.steps:
            self._loaded, self._chosen = self._chosen, None

    def _step_taken(self, course: Course) -> None:
        chosen, self._loaded = self._loaded, None
        if chosen is None or len(self._told) >= _MOST_TOLD:
            return
        event = self._told[chosen.folder] = OlderCheckpointUsed(
            step=chosen.step,
            location=chosen.location,
            name=chosen.name,
            newest=chosen.passed.newest,
            files=chosen.passed.files,
        )
        self.emit(event)


def _absolute(path: Any) -> str:
    """Of a path that is text, "" of what else may be given."""
    return os.path.abspath(path) if isinstance(path, (str, os.PathLike)) else ""
