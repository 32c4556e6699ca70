"""Tapes for the trace: what lies behind the losses of a backward, once for each structure that there is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from msgspec.structs import replace

from autograd_doctor.events.event import Event
from autograd_doctor.events.tapes import TapeSealed, TapeSeenAgain
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.reading.live_values import extremes_of
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, nearest_behind
from autograd_doctor.taping import Span, ordered, seal

_MOST_TAPES = 16
_MOST_OPS = 20_000
"""Behind one backward; of those on data alone the nearest."""
_MOST_IN_ALL = 40_000
"""Operations of all tapes: a trace holds some 100 bytes for each."""


@dataclass
class _Seen:
    """The steps in which a structure was there, and how far its values went, by their place on the tape."""

    number: int
    steps: set[int] = field(default_factory=set)
    first: dict[int, Span] = field(default_factory=dict)
    spans: dict[int, Span] = field(default_factory=dict)

    def widen(self, spans: dict[int, Span]) -> None:
        for place, (low, high) in spans.items():
            lowest, highest = self.spans.get(place, (low, high))
            self.spans[place] = (min(low, lowest), max(high, highest))


class Tapes(LossQuery):
    """Two backwards have one structure where the same lines made the same operations of one another."""

    emits: ClassVar[tuple[type[Event], ...]] = (TapeSealed, TapeSeenAgain)

    def __init__(self, site: Site, course: Course, tape: Tape, late_values: LateValues) -> None:
        super().__init__(site, course, tape)
        self._late_values = late_values
        self._seen: dict[int, _Seen] = {}
        self._kept = 0

    def finish(self) -> None:
        for seen in self._seen.values():
            wider = {place: span for place, span in seen.spans.items() if span != seen.first.get(place)}
            self.emit(TapeSeenAgain(step=self._course.steps, tape=seen.number, steps=sorted(seen.steps), spans=wider))

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        ops = nearest_behind(roots, _MOST_OPS)
        if not ops:
            return
        if len(ops) > _MOST_OPS:
            self.limited(f"a tape of more than {_MOST_OPS:,} operations is not recorded")
            return
        structure = hash(_structure(ops, roots))
        seen = self._seen.get(structure)
        if seen is None and (len(self._seen) == _MOST_TAPES or self._kept + len(ops) > _MOST_IN_ALL):
            self.limited(f"the tapes of only the first {len(self._seen)} structures were recorded")
            return
        sealed = None
        if seen is None:
            seen = self._seen[structure] = _Seen(len(self._seen))
            self._kept += len(ops)
            sealed = seal(seen.number, roots, ops, spans={}, step=self._course.steps)
        seen.steps.add(self._course.steps)
        self._follow(seen, sealed, extremes_of(ordered(ops, roots)))

    def _follow(self, seen: _Seen, sealed: TapeSealed | None, extremes: dict[int, torch.Tensor]) -> None:
        """extremes: of values, by their place on the tape."""
        devices = {each.device for each in extremes.values()}
        parts = [torch.stack([*extremes.values()])] if len(devices) == 1 else [*extremes.values()]

        def known(found: Sequence[torch.Tensor]) -> None:
            pairs = [(low, high) for part in found for low, high in part.reshape(-1, 2).tolist()]
            spans: dict[int, Span] = dict(zip(extremes, pairs, strict=True))
            if sealed is not None:
                seen.first = spans
                values = [replace(value, span=spans.get(place)) for place, value in enumerate(sealed.values)]
                self.emit(replace(sealed, values=values))
            seen.widen(spans)

        self._late_values.ask(self, parts, known, in_place=True)


def _structure(ops: Sequence[Op], roots: Sequence[Value]) -> Hashable:
    """What is told apart: names, lines and which operation gave each operand; not sizes, numbers or parameters.

    Each place has one location, kept for good, so that its identity will do.
    """
    given: dict[Value, tuple[int, int]] = {}
    parts: list[Hashable] = []
    for number, op in enumerate(ops):
        parts.append((op.name, id(op.location), *(given.get(value, (-1, value.learns)) for value in op.values)))
        given |= {output: (number, place) for place, output in enumerate(op.outputs)}
    return (*parts, *(given.get(root) for root in roots))
