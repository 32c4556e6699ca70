"""Data sets that change what they store while a sample is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import StoredDataChanged
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.changing_line import ChangingLine
from autograd_doctor.reading.module_tree import has_parameters
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import lines_of
from autograd_doctor.reading.stored_rows import Field, Stored, fields_of, stored
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.fetches import Fetch
from autograd_doctor.signals.modules import ModuleCall

_MOST_FETCHES = 400
"""Of one data set: enough for a second epoch of a small one, in which its samples are read again."""
_FIRST_FETCHES, _RARELY = 16, 8
"""As long as no reading has changed anything: these, and one in so many."""
_MOST_ROWS = 256
"""Of one fetch, the first."""
_MOST_TRACES = 3
"""Fetches of one data set to look at line by line."""


_MOST_ORDERS = 8
"""Changes of one fetch to look at for whether they change nothing but an order."""


class _Look(NamedTuple):
    """whole: whether all values of its rows are wanted."""

    field: Field
    indices: Sequence[int]
    whole: bool
    rows: Stored


@dataclass
class _Change:
    """What reading did to one field: how often it changed each sample, and one of them, at first and now.

    orders: those that parts of samples were put in; reordered: whether it did nothing else, where all values were seen.
    in_series: whether a reading gave out a series of what is stored, of which that is then the latest state.
    """

    times: dict[int, int] = field(default_factory=dict)
    index: int = 0
    size_before: float = 0.0
    size: float = 0.0
    orders: set[tuple[int, ...]] = field(default_factory=set)
    reordered: bool = True
    in_series: bool = False


@dataclass
class _Dataset:
    fetches: int = 0
    traces: int = 0
    line: Location | None = None
    assigned: set[str] = field(default_factory=set)
    asked: bool = False
    changes: dict[str, _Change] = field(default_factory=dict)
    told: int = 0

    @property
    def is_due(self) -> bool:
        is_rare = self.fetches > _FIRST_FETCHES and not self.changes
        return self.fetches <= _MOST_FETCHES and not (is_rare and self.fetches % _RARELY)


class Readings(Instrument):
    """Compares the rows of a data set that a fetch reads, before and after, by numbers made of their bits.

    Once some have changed, a later fetch is traced to find the line that changes them.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (StoredDataChanged,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._datasets: IdentityTable[_Dataset] = IdentityTable()
        self._running: tuple[Fetch, list[_Look]] | None = None
        self._line: ChangingLine | None = None

    def connect(self, signals: Signals) -> None:
        self.listen(signals.fetches.began, self._began)
        self.listen(signals.fetches.ended, self._ended)
        self.listen(signals.modules.began, self._module_began)

    def finish(self) -> None:
        for dataset, known in self._datasets.items():
            self._tell(dataset, known)

    def _began(self, fetch: Fetch) -> None:
        if not type(fetch.dataset).__weakrefoffset__:  # a list, say, which runs no code when it is read
            return
        known = self._datasets.get(fetch.dataset)
        if known is None:
            known = _Dataset()
            self._datasets.put(fetch.dataset, known)
        known.fetches += 1
        if not known.is_due or self._running is not None:
            return
        indices = _indices(fetch.index)
        fields = fields_of(fetch.dataset, indices) if indices else []
        looks = [_look(field, rows, whole=field.name in known.changes) for field, rows in fields]
        if not looks:
            return
        self._running = fetch, looks
        if known.changes and known.line is None and known.traces < _MOST_TRACES:
            known.traces += 1
            changing = [look for look in looks if look.field.name in known.changes]
            self._line = ChangingLine(lambda: self._state(changing))
            if not self._line.begin():
                self._line = None

    def _state(self, looks: list[_Look]) -> object:
        with self._guard.looking():
            return [stored(look.field, look.indices).keys for look in looks]

    def _module_began(self, call: ModuleCall) -> None:
        """Transforms are modules, too: one that is asked has parameters."""
        known = self._datasets.get(self._running[0].dataset) if self._running is not None else None
        if known is not None and not known.asked:
            known.asked = has_parameters(call.module)

    def _ended(self, fetch: Fetch) -> None:
        if self._running is None or self._running[0] is not fetch:
            return
        looks, self._running = self._running[1], None
        known = self._datasets.get(fetch.dataset)
        if known is None:
            return
        if self._line is not None:
            self._line.end()
            known.line = self._line.found
            known.assigned = {look.field.name for look in looks if self._line.assigns_to(look.field.name)}
            self._line = None
        if not fetch.raised:
            for look in looks:
                self._compare(known, look, fetch.batch)
            self._tell_if_more(fetch.dataset, known)

    def _compare(self, known: _Dataset, before: _Look, batch: Any) -> None:
        old, new = before.rows, stored(before.field, before.indices, whole=before.whole)
        if old.keys == new.keys:
            return
        looked_at = 0
        for position, index in enumerate(before.indices):
            if old.keys[position] == new.keys[position] or None in (old.keys[position], new.keys[position]):
                continue
            value = new.only_value(position)
            if value is not None and not _holds(batch, position, value):
                continue  # a count of its own, beside the sample
            change = known.changes.setdefault(before.field.name, _Change())
            if not change.times:
                change.index, change.size_before = index, old.size(position)
            change.times[index] = change.times.get(index, 0) + 1
            if index == change.index:
                change.size = new.size(position)
            change.in_series = change.in_series or _is_series(batch, new.shapes[position])
            if new.shapes[position] is not None and looked_at < _MOST_ORDERS:
                looked_at += 1
                order = new.order_since(old, position)
                change.reordered &= order is not None
                change.orders |= {order} if order is not None else set()

    def _tell_if_more(self, dataset: Any, known: _Dataset) -> None:
        again = sum(times > 1 for change in known.changes.values() for times in change.times.values())
        if again >= max(1, 2 * known.told) and (known.line is not None or known.traces == _MOST_TRACES):
            known.told = again
            self._tell(dataset, known)

    def _tell(self, dataset: Any, known: _Dataset) -> None:
        for name, change in known.changes.items():
            self.emit(
                StoredDataChanged(
                    step=self._course.steps,
                    dataset=type(dataset).__name__,
                    field=name,
                    location=known.line or _reading_line(dataset),
                    seen=known.line is not None,
                    samples=len(change.times),
                    again=sum(times > 1 for times in change.times.values()),
                    index=change.index,
                    times=change.times[change.index],
                    size_before=change.size_before,
                    size=change.size,
                    assigned=name in known.assigned,
                    asked=known.asked,
                    shuffled=change.reordered and len(change.orders) > 1,
                    in_series=change.in_series,
                )
            )


def _indices(index: Any) -> list[int]:
    """Those of a batch that are whole numbers, and not counted from the end."""
    several = list(index) if type(index) in (list, tuple) else [index]
    return [each for each in several[:_MOST_ROWS] if type(each) is int and each >= 0]


def _look(field: Field, indices: Sequence[int], *, whole: bool) -> _Look:
    return _Look(field, indices, whole, stored(field, indices, whole=whole))


def _is_series(batch: Any, row: tuple[int, ...] | None) -> bool:
    """Whether samples of a batch are several values of this shape, one after the other."""
    shapes = (tuple(tensor.shape) for tensor in tensors_in([batch], 2))
    return bool(row) and any(len(shape) > 2 and shape[1] > 1 and shape[2:] == row for shape in shapes)


def _holds(batch: Any, position: int, value: float) -> bool:
    """Whether a sample of a batch is, or has, this very number."""
    for tensor in tensors_in([batch], 2):
        if tensor.dim() == 1 and position < tensor.shape[0] and float(tensor[position]) == value:
            return True
        if tensor.dim() > 1 and tensor.numel() == tensor.shape[0] and float(tensor[position].sum()) == value:
            return True
    return not isinstance(batch, torch.Tensor | list | tuple | dict)


def _reading_line(dataset: Any) -> Location | None:
    code = getattr(getattr(type(dataset), "__getitem__", None), "__code__", None)
    return lines_of(code, code.co_firstlineno) if code is not None else None
