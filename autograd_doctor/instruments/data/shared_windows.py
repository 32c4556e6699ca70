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
from autograd_doctor.reading.fingerprint import row_keys, uneven
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
_AT_ONCE = 4096
"""Runs to have numbers made of."""
_UNLIKE = 0.95
"""Share of windows that begin with values of their own, from which on a series is said not to repeat itself."""
_SEVERAL = -1
"""Instead of a position: the run was met at more than one."""


@dataclass
class _Windows:
    """Of what one loader gave. runs: where in their windows they began. first, last: those with which windows begin,
    and end. rows: the windows, each once.
    """

    runs: dict[int, int] = field(default_factory=dict)
    rows: set[int] = field(default_factory=set)
    first: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)
    ends_at: int = 0

    def add(self, series: torch.Tensor) -> None:
        """series: of shape (windows, moments, channels)."""
        numbers = row_keys(series) or []
        new = {number: row for row, number in enumerate(numbers) if number not in self.rows}
        if not new:
            return
        runs = series[list(new.values())].unfold(1, _RUN, 1)
        windows, positions = runs.shape[:2]
        flat = runs.reshape(windows * positions, -1)
        keys = [key for part in flat.split(_AT_ONCE) for key in row_keys(part) or []]
        self.rows.update(new)
        self.first.update(keys[::positions])
        self.ends_at = positions - 1
        for at, key in enumerate(keys):
            position = at % positions
            self.runs[key] = position if self.runs.get(key, position) == position else _SEVERAL
        ends = zip(keys[positions - 1 :: positions], _measured(runs[:, -1]).tolist(), strict=True)
        self.last.update(key for key, measured in ends if measured)

    @property
    def is_full(self) -> bool:
        return len(self.runs) >= _MOST_RUNS

    @property
    def repeats(self) -> bool:
        """Whether the series repeats itself, or has few values: two of its windows begin alike. Windows that merely
        overlap have the same run at different places."""
        return len(self.first) < _UNLIKE * len(self.rows)

    def ending_within(self, others: _Windows) -> int:
        """How many of these windows end with a run that others have elsewhere, unless that is in the nature of both."""
        if self.repeats or others.repeats or self.ends_at == 0:
            return 0
        return sum(others.runs.get(key, self.ends_at) != self.ends_at for key in self.last)


@dataclass
class _Evaluated:
    """A line that evaluates what a loader gives."""

    loader: int
    where: Place | None
    split_at: Place | None


class SharedWindows(Instrument):
    """Keeps what loaders give, outside of light steps: series, and what continues them as their target."""

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
        self._trained.setdefault(seen.module, set()).update(self._sources.loaders_of(seen.data))

    def _evaluates(self, seen: RowsSeen) -> None:
        line = seen.module, seen.group
        loader = next(iter(self._sources.loaders_of(seen.data)), None)
        if loader is not None and line not in self._evaluated:
            self._evaluated[line] = _Evaluated(loader, seen.where, self._sources.split_at(seen.data))

    def finish(self) -> None:
        """Tell of sets of which no sample was trained on: what was, others tell of."""
        for (module, group), evaluated in self._evaluated.items():
            held_out = self._windows.get(evaluated.loader)
            trained = self._trained.get(module, set())
            if held_out is None or evaluated.loader in trained:
                continue
            if not (self._rows.was_evaluation(module, group) and self._rows.holds_out(module, group)):
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
    series = given[:, :, None] if given.dim() == 2 else given if _is_along(given, 1) else given.transpose(1, 2)
    others = [each for each in tensors if each is not given and each.dim() and each.shape[0] == len(given)]
    for target in (each for each in others if each.is_floating_point()):
        ahead = _ahead(target, series)
        if ahead is None:
            return None
        series = torch.cat([series, ahead], dim=1)
    return series.detach()


def _ahead(target: torch.Tensor, series: torch.Tensor) -> torch.Tensor | None:
    """A target as moments of a series, whose channels it has; None where it cannot be that."""
    values, channels = target[0].numel(), series.shape[2]
    fits = 0 < values <= series.shape[1] * channels and values % channels == 0
    if not fits or target.dtype != series.dtype or is_remote(target) or not readable(target):
        return None
    turned = target.dim() == 3 and target.shape[1] == channels != target.shape[2]
    return (target.transpose(1, 2) if turned else target).reshape(len(target), -1, channels)


def _is_series(tensor: torch.Tensor) -> bool:
    if is_remote(tensor) or not tensor.is_floating_point() or tensor.dim() not in (2, 3) or not readable(tensor):
        return False
    moments = max(tensor.shape[1:])
    return _SHORTEST <= moments <= _LONGEST and tensor[0].numel() <= _MOST_CHANNELS * moments and len(tensor) > 1


def _is_along(tensor: torch.Tensor, dim: int) -> bool:
    """Whether time runs along this dimension of (windows, moments, channels) or (windows, channels, moments): there are
    more moments than channels."""
    return tensor.shape[dim] == max(tensor.shape[1:])


def _measured(runs: torch.Tensor) -> torch.Tensor:
    """Which of the runs, of shape (runs, channels, moments), hold measured values that differ, not fillings."""
    different = (runs.diff(dim=-1) != 0).any(1).all(1)
    return different & (uneven(runs.reshape(len(runs), -1)) >= _RUN - 1)
