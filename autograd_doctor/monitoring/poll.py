"""What a run that is being recorded has come to, asked for again and again: only what is new is read."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.events.run import CellRan, CloseLookEnded, LightStepsCounted, RecordingStarted
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.findings import Location
from autograd_doctor.judging.presentation import Presenter
from autograd_doctor.mistakes import Mistake
from autograd_doctor.monitoring.folder import About, Found, Numbers, RankFolder, rank_folders
from autograd_doctor.monitoring.latest import Follower
from autograd_doctor.monitoring.summing_up import is_gone
from autograd_doctor.recording import TraceError, TraceReader

_MOST_POINTS = 512
"""Of a curve: every other one is left out where there are more, so that a long run costs no more than a short one."""
_PACE_SECONDS = 30.0


class Curve(NamedTuple):
    """The losses of one line of the program: steps, and the last value that was recorded up to each."""

    line: str
    steps: list[int]
    values: list[float]


class Seen(NamedTuple):
    """What is known of one process of a run.

    lasted: seconds since it began; of one on another machine, until it last recorded something. pace: steps a second,
    0 where that is not known. close: it is looked at closely at present. curves: those with most points first. found:
    what was told to the program.
    """

    about: About
    numbers: Numbers
    phase: str
    lasted: float
    pace: float
    chapter: int
    close: bool
    curves: list[Curve]
    found: list[Found]
    gone: bool

    @property
    def is_over(self) -> bool:
        return self.gone or bool(self.about.ended)


class Poll:
    """The run in a folder. Raises `Mistake` where there is none."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._processes: dict[Path, _Process] = {}
        if not rank_folders(path):
            raise Mistake(f"{path}: no run is recorded here")

    def look(self) -> list[Seen]:
        """What is known by now, of each rank. Raises `Mistake` for a trace of another version."""
        for folder in rank_folders(self._path):
            about = folder.about()
            known = self._processes.get(folder.path)
            if about is not None and (known is None or known.about.began != about.began):
                self._processes[folder.path] = _Process(folder, about)
        try:
            return [process.look(self._clock()) for process in self._processes.values()]
        except TraceError as error:
            raise Mistake(str(error)) from None


class _Process:
    """One process, chapter after chapter."""

    def __init__(self, folder: RankFolder, about: About) -> None:
        self.about = about
        self._folder = folder
        self._numbers = Follower()
        self._chapter = 0
        self._reader: TraceReader | None = None
        self._began = about.began
        self._latest = about.began
        self._close = True
        self._phase = "before the first step"
        self._paces: deque[tuple[float, int]] = deque()
        self._cells: dict[str, int] = {}
        self._losses: dict[tuple[str, int], tuple[list[int], list[float]]] = {}

    def look(self, now: float) -> Seen:
        """Read on. `now` is in seconds since 1970."""
        self.about = self._folder.about() or self.about
        self._read()
        gone = is_gone(self.about)
        here = self.about.host == socket.gethostname() and not gone
        until = self.about.ended or (now if here else self._latest)
        numbers = self._numbers.latest()
        return Seen(
            about=self.about,
            numbers=numbers,
            phase=self._phase,
            lasted=max(0.0, until - self.about.began),
            pace=self._pace(),
            chapter=self._chapter,
            close=self._close,
            curves=self._curves(),
            found=[each for each in self._folder.found() if each.told],
            gone=gone,
        )

    def _read(self) -> None:
        for number, path in self._folder.chapters().items():
            if number > self._chapter:
                self._chapter, self._reader, self._close = number, TraceReader(path), True
            if number == self._chapter and self._reader is not None:
                for event in self._reader.new_events():
                    self._add(event)

    def _add(self, event: Event) -> None:
        self._numbers.add(event)
        self._latest = max(self._latest, self._began + event.time)
        if isinstance(event, RecordingStarted):
            self._began = event.began
        elif isinstance(event, CloseLookEnded):
            self._close = False
        elif isinstance(event, CellRan):
            self._cells[event.file] = event.number
        elif isinstance(event, ForwardRan):
            self._phase = "training" if event.grad_enabled else "evaluation"
        elif isinstance(event, BackwardRan):
            self._trains(event)
            self._note(event.location, event.step + 1, event.loss)
        elif isinstance(event, LossesFollowed):
            self._trains(event)
            self._note(event.location, event.step, event.last)
        elif isinstance(event, OptimizerStepped | LightStepsCounted):
            self._trains(event)

    def _trains(self, event: Event) -> None:
        self._phase = "training"
        at = self._began + event.time
        if not self._paces or event.step > self._paces[-1][1]:
            self._paces.append((at, event.step))
        while len(self._paces) > 2 and at - self._paces[0][0] > _PACE_SECONDS:
            self._paces.popleft()

    def _pace(self) -> float:
        if len(self._paces) < 2:
            return 0.0
        (began, first), (ended, last) = self._paces[0], self._paces[-1]
        return (last - first) / (ended - began) if ended > began else 0.0

    def _note(self, location: Location | None, step: int, loss: float | None) -> None:
        if location is None or loss is None:
            return
        steps, values = self._losses.setdefault((location.path, location.line), ([], []))
        steps.append(step)
        values.append(loss)
        if len(steps) > _MOST_POINTS:
            del steps[1::2], values[1::2]

    def _curves(self) -> list[Curve]:
        presenter = Presenter(self.about.cwd, self._cells)
        most_first = sorted(self._losses.items(), key=lambda each: -len(each[1][0]))
        return [Curve(presenter.line(*line), steps, values) for line, (steps, values) in most_first]
