"""Batches in which a collate function has put the fields of samples into different orders."""

from __future__ import annotations

from collections import Counter
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, ClassVar

from torch.utils.data import default_collate

from autograd_doctor.events.data import SamplesMisordered
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.collated import misordered
from autograd_doctor.reading.places import is_own, lines_of
from autograd_doctor.reading.without_running import attribute, unwrapped
from autograd_doctor.signals import Signals
from autograd_doctor.signals.fetches import Fetch

_BATCHES = 4
"""Of a collate function, the first ones: what sorts does so from the start."""


class Collations(Instrument):
    """Looks at the first batches of each collate function that is not torch's own, in the process of the program."""

    emits: ClassVar[tuple[type[Event], ...]] = (SamplesMisordered,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._looked: Counter[CodeType] = Counter()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.fetches.began, self._began)
        self.listen(signals.fetches.ended, self._ended)

    def _began(self, fetch: Fetch) -> None:
        code = _code(fetch) if fetch.collate is not default_collate else None
        if code is not None and self._looked[code] < _BATCHES:
            self._looked[code] += 1
            fetch.keeps = True

    def _ended(self, fetch: Fetch) -> None:
        code = _code(fetch) if fetch.keeps and fetch.collate is not default_collate else None
        if code is None or fetch.samples is None or fetch.raised:
            return
        found = misordered(fetch.samples, fetch.batch)
        if found is not None:
            self.emit(
                SamplesMisordered(
                    step=self._course.steps,
                    location=lines_of(code, code.co_firstlineno),
                    moved=found.moved,
                    left=found.left,
                    rows=len(fetch.samples),
                    apart=found.apart,
                )
            )


def _code(fetch: Fetch) -> CodeType | None:
    """Of a function of the program's own, a method, or an object that is called like one."""
    function: Any = fetch.collate
    while type(function) is partial:
        function = function.func
    function = unwrapped(function.__func__ if type(function) is MethodType else function)
    if type(function) is not FunctionType:
        function = attribute(type(function), "__call__")
    code = function.__code__ if type(function) is FunctionType else None
    return code if code is not None and is_own(code.co_filename) else None
