"""Data sets whose length is that of one thing, while the index of a sample is that of another one, which is longer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType, FunctionType
from typing import Any, ClassVar

from torch.utils.data import Dataset

from autograd_doctor.events.data import LengthOfAnother
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.frame_locals import local_variables
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.places import lines_of, own_frames
from autograd_doctor.reading.stored_rows import fields_of
from autograd_doctor.reading.without_running import attribute, attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.fetches import Fetch
from autograd_doctor.signals.operations import Operation

_LEAST_SAMPLES = 16
"""That were seen to be read: of so many, none fits by chance."""
_SEQUENCES = (list, tuple)


@dataclass
class _Known:
    """What was seen of a data set. lengths: of the sequences it holds. indices: of samples that were read. read: the
    sequences of which the reading frame held the entry at the index, each time. last: the highest that was asked for.
    """

    rows: int
    where: Location | None
    lengths: dict[str, int]
    indices: set[int] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    last: int = 0


class SetLengths(Instrument):
    """Looks into `__getitem__` of data sets while operations run there, in steps that are looked at closely.

    An entry was read if a variable is it, or if variables have all that it consists of.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (LengthOfAnother,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._sets = Numbers()
        self._known: dict[int, _Known] = {}
        self._fetched: dict[tuple[int, int], set[str]] | None = None
        """While samples are read: by data set and index, the sequences that were found to be read."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.fetches.began, self._fetch_began)
        self.listen(signals.fetches.ended, self._fetch_ended)
        self.listen(signals.operations.ended, self._operation_ended, attention=Attention.CLOSE)

    def finish(self) -> None:
        for known in self._known.values():
            if len(known.indices) < _LEAST_SAMPLES or not known.read or known.last >= known.rows:
                continue
            counted = [
                name for name, length in known.lengths.items() if length == known.rows and name not in known.read
            ]
            shortest = min(known.read, key=known.lengths.__getitem__)
            if counted and known.rows < known.lengths[shortest]:
                self.emit(
                    LengthOfAnother(
                        step=self._course.steps,
                        location=known.where,
                        rows=known.rows,
                        counted=counted[0],
                        read=shortest,
                        entries=known.lengths[shortest],
                    )
                )

    def _fetch_began(self, fetch: Fetch) -> None:
        self._fetched = {}
        known = self._known.get(self._sets.number(fetch.dataset)) if type(fetch.dataset).__weakrefoffset__ else None
        indices = fetch.index if isinstance(fetch.index, list | tuple) else [fetch.index]
        if known is not None:
            known.last = max((known.last, *(each for each in indices if type(each) is int)))

    def _fetch_ended(self, fetch: Fetch) -> None:
        for (number, index), found in (self._fetched or {}).items():
            known = self._known[number]
            known.read = known.read & found if known.indices else found
            known.indices.add(index)
        self._fetched = None

    def _operation_ended(self, operation: Operation) -> None:
        for frame in own_frames() if self._fetched is not None else ():
            if frame.f_code.co_name == "__getitem__" and frame.f_code.co_argcount > 1:
                self._look(frame)
                return

    def _look(self, frame: FrameType) -> None:
        local = local_variables(frame)
        dataset, index = (local.get(name) for name in frame.f_code.co_varnames[:2])
        if self._fetched is None or not is_a(dataset, Dataset) or type(index) is not int:
            return
        number = self._sets.number(dataset)
        known = self._known.get(number) or self._known.setdefault(number, _known(dataset))
        known.last = max(known.last, index)
        if known.rows in known.lengths.values():
            held = [value for value in local.values() if value is not dataset]
            found = {name for name, rows in _sequences(dataset) if 0 <= index < len(rows) and _holds(held, rows[index])}
            self._fetched.setdefault((number, index), set()).update(found & known.lengths.keys())


def _known(dataset: Any) -> _Known:
    function = attribute(type(dataset), "__len__")
    code = function.__code__ if type(function) is FunctionType else None
    where = lines_of(code, max(line for *_, line in code.co_lines() if line)) if code is not None else None
    lengths = {name: len(rows) for name, rows in _sequences(dataset)}
    try:
        rows = len(dataset)
    except Exception:  # a data set of the user's may have no length, and say so in any way
        rows = 0
    columns = [each.rows for each, _ in fields_of(dataset, [0]) if type(each.rows) is not list]
    is_of_columns = any(len(each) == rows for each in columns)  # nobody hears of which rows are read
    return _Known(rows if not is_of_columns else 0, where, lengths)


def _sequences(dataset: Any) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in attributes(dataset).items() if type(value) in _SEQUENCES)


def _holds(held: list[Any], entry: Any) -> bool:
    """Nothing of the program's own is compared with `==`."""
    if type(entry) in _SEQUENCES:
        return bool(entry) and all(_holds(held, part) for part in entry)
    is_plain = type(entry) in (int, float, str, bytes)
    return any(each is entry or (is_plain and type(each) is type(entry) and each == entry) for each in held)
