"""Windows of one series that overlap, of which some are trained on and others evaluated.

No sample is in both sets, and yet their values are: the last moments of a window that is held out lie in the midst of
windows that were trained on. Told by the values, wherever a data set cuts its windows. Where the series itself was
split in time, what is evaluated may begin in what was trained on, but does not end there.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from autograd_doctor.events.data import WindowsShared
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.data.sample_overlap import RowsSeen, SampleOverlap
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.loaders import BatchAsked

_RUN = 4
"""Moments in a row that tell a place in a series: of so many measured values, two places hardly ever have the same."""
_SHORTEST, _LONGEST = 2 * _RUN, 2048
_MOST_CHANNELS = 256
_ROWS_OF_A_BATCH = 64
_MOST_RUNS = 200_000
_SEVERAL = -1
"""Instead of a position: the run was met at more than one."""


@dataclass
class _Windows:
    """Of what one loader gave. runs: where in their windows they began. last: the run with which each window ends.

    rows: how many windows there were, each counted once.
    """

    runs: dict[int, int] = field(default_factory=dict)
    rows: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)
    ends_at: int = 0

    def add(self, series: torch.Tensor) -> None:
        """series: of shape (windows, moments, channels)."""
        runs = series.unfold(1, _RUN, 1)
        windows, positions = runs.shape[:2]
        keys, rows = row_keys(runs.reshape(windows * positions, -1)), row_keys(series)
        if keys is None or rows is None or len(keys) != windows * positions:
            return
        self.rows.update(rows)
        self.ends_at = positions - 1
        for at, key in enumerate(keys):
            position = at % positions
            self.runs[key] = position if self.runs.get(key, position) == position else _SEVERAL
        tells = _tell(runs[:, -1]).tolist()
        self.last.update(key for key, told in zip(keys[positions - 1 :: positions], tells, strict=True) if told)

    @property
    def is_full(self) -> bool:
        return len(self.runs) >= _MOST_RUNS

    def ending_within(self, others: _Windows) -> int:
        """How many of these windows end with a run that others have elsewhere.

        A series that repeats itself has fewer runs than windows: what comes again there is no sign of anything.
        """
        if len(others.runs) < len(others.rows) or self.ends_at == 0:
            return 0
        return sum(others.runs.get(key, self.ends_at) != self.ends_at for key in self.last)


@dataclass
class _Evaluated:
    """What a line evaluated of a loader. samples: as numbers."""

    loader: int
    where: Place | None
    split_at: Place | None
    samples: set[int] = field(default_factory=set)


class SharedWindows(Instrument):
    """Follows what loaders give, in full steps and between them: series, and what continues them as their target."""

    emits: ClassVar[tuple[type[Event], ...]] = (WindowsShared,)

    def __init__(self, site: Site, course: Course, rows: SampleOverlap, sources: Sources) -> None:
        super().__init__(site)
        self._course = course
        self._rows = rows
        self._sources = sources
        self._windows: dict[int, _Windows] = {}
        self._trained: dict[int, set[int]] = {}
        """The loaders that each module was trained from."""
        self._evaluated: dict[tuple[int, Hashable], _Evaluated] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.drawn, self._drawn, attention=Attention.FULL)
        self.listen(self._rows.trained, self._trains)
        self.listen(self._rows.evaluated, self._evaluates)

    def _drawn(self, asked: BatchAsked) -> None:
        number = self._sources.loader_of(asked.iterator)
        if number is None:
            return
        windows = self._windows.setdefault(number, _Windows())
        series = None if windows.is_full else _series(asked.batch)
        if series is not None:
            windows.add(series[:_ROWS_OF_A_BATCH])

    def _trains(self, seen: RowsSeen) -> None:
        self._trained.setdefault(seen.module, set()).update(self._loaders_of(seen.data))

    def _evaluates(self, seen: RowsSeen) -> None:
        loader = next(iter(self._loaders_of(seen.data)), None)
        if loader is None:
            return
        line = seen.module, seen.group
        if line not in self._evaluated:
            self._evaluated[line] = _Evaluated(loader, seen.where, self._sources.split_at(seen.data))
        self._evaluated[line].samples.update(seen.keys)

    def _loaders_of(self, tensor: torch.Tensor) -> list[int]:
        return [source.number for source in self._sources.of(tensor) if source.kind == "drawn"]

    def finish(self) -> None:
        """Tell of sets of which no sample was trained on: what was, others tell of."""
        for (module, group), evaluated in self._evaluated.items():
            held_out = self._windows.get(evaluated.loader)
            trained = self._trained.get(module, set())
            if held_out is None or evaluated.loader in trained or not self._rows.was_evaluation(module, group):
                continue
            if not (self._rows.knows_all_of(module) and evaluated.samples.isdisjoint(self._rows.trained_on(module))):
                continue
            shared = {number: held_out.ending_within(self._windows[number]) for number in trained & set(self._windows)}
            most = max(shared, key=lambda number: shared[number], default=None)
            if most is not None and shared[most]:
                self._tell(module, evaluated, most, shared[most], len(held_out.last))

    def _tell(self, module: int, evaluated: _Evaluated, trained: int, shared: int, windows: int) -> None:
        self.emit(
            WindowsShared(
                step=self._course.steps,
                module=module,
                location=locate(evaluated.where),
                split_at=locate(evaluated.split_at),
                loader=self._sources.names.get(evaluated.loader, ""),
                trained=self._sources.names.get(trained, ""),
                windows=windows,
                shared=shared,
            )
        )


def _series(batch: Any) -> torch.Tensor | None:
    """Windows of shape (windows, moments, channels), each with the moments that it is to foretell.

    None where what is foretold is a number that may come of the moments that follow, and cannot be told to be theirs.
    """
    tensors = tensors_in([batch], EVERYTHING)
    given = next(filter(_is_series, tensors), None)
    if given is None:
        return None
    series = given if given.dim() == 3 else given[:, :, None]
    others = [each for each in tensors if each is not given and each.dim() and each.shape[0] == len(given)]
    for target in (each for each in others if each.is_floating_point()):
        ahead = target.reshape(len(target), -1, series.shape[2]) if _fits(target, series) else None
        if ahead is None or ahead.dtype != series.dtype or not readable(ahead):
            return None
        series = torch.cat([series, ahead], dim=1)
    return series.detach()


def _fits(target: torch.Tensor, series: torch.Tensor) -> bool:
    values = target[0].numel()
    return 0 < values <= series.shape[1] * series.shape[2] and values % series.shape[2] == 0


def _is_series(tensor: torch.Tensor) -> bool:
    if is_remote(tensor) or not tensor.is_floating_point() or tensor.dim() not in (2, 3) or not readable(tensor):
        return False
    return _SHORTEST <= tensor.shape[1] <= _LONGEST and tensor[0, 0].numel() <= _MOST_CHANNELS and len(tensor) > 1


def _tell(runs: torch.Tensor) -> torch.Tensor:
    """Which of the runs, of shape (runs, channels, moments), hold measured values that differ, not fillings."""
    flat = runs.reshape(len(runs), -1)
    uneven = (flat * 256 != (flat * 256).round()).sum(1) >= _RUN - 1
    different = (runs.diff(dim=-1) != 0).any(1).all(1)
    return uneven & different
