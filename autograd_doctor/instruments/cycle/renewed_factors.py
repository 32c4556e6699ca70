"""Numbers that the losses of an optimizer are made with, where a line builds one after the other.

A penalty or a multiplier that stays what it is as long as an optimizer lives, and is another one for the next, tells
that each of them has a problem of its own to solve.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from torch.optim import Optimizer

from autograd_doctor.events.cycle import FactorRenewed
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import SCALING
from autograd_doctor.reading.places import here
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, behind

_MOST_LINES = 8
"""That build optimizers."""
_MOST_NUMBERS = 64

_Spot = tuple[Location | None, int]
"""A line, and which of its products it is."""


@dataclass
class _Life:
    """Of an optimizer, the numbers that its losses were made with; None for those that were not always the same."""

    optimizer: int
    numbers: dict[_Spot, float | None] = field(default_factory=dict)

    def met(self, spot: _Spot, number: float) -> None:
        if len(self.numbers) < _MOST_NUMBERS or spot in self.numbers:
            known = self.numbers.setdefault(spot, number)
            self.numbers[spot] = number if known == number else None


class RenewedFactors(LossQuery):
    """Begins with the second optimizer of a line, so that a program that builds each once pays nothing."""

    emits: ClassVar[tuple[type[Event], ...]] = (FactorRenewed,)

    def __init__(self, site: Site, course: Course, tape: Tape, optimizers: Optimizers) -> None:
        super().__init__(site, course, tape)
        self._optimizers = optimizers
        self._built_at: set[Location] = set()
        self._lives: dict[Location, _Life] = {}
        self._earlier: dict[Location, _Life] = {}

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(signals.optimizers.built, self._built)

    def _built(self, optimizer: Optimizer) -> None:
        line = here()
        if line in self._built_at:
            self._tell(line)
            if line in self._lives:
                self._earlier[line] = self._lives[line]
            if line in self._lives or len(self._lives) < _MOST_LINES:
                self._lives[line] = _Life(self._optimizers.number(optimizer))
        elif line is not None and len(self._built_at) < _MOST_LINES:
            self._built_at.add(line)

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        if not self._lives:
            return
        count: Counter[Location | None] = Counter()
        for op in behind(roots):
            for number in _factors(op):
                spot = (op.location, count[op.location])
                count[op.location] += 1
                for life in self._lives.values():
                    life.met(spot, number)

    def finish(self) -> None:
        for line in self._lives:
            self._tell(line)

    def _tell(self, line: Location) -> None:
        life, earlier = self._lives.get(line), self._earlier.get(line)
        if life is None or earlier is None:
            return
        for (where, place), after in life.numbers.items():
            before = earlier.numbers.get((where, place))
            if before is not None and after is not None and before != after:
                self.emit(
                    FactorRenewed(
                        step=self._course.steps, optimizer=life.optimizer, location=where, before=before, after=after
                    )
                )
                return


def _factors(op: Op) -> Iterator[float]:
    """The numbers by which an operation multiplies or divides what learns."""
    if op.name in SCALING and op.live:
        yield from map(float, op.numbers)
        yield from (span[0] for each in op.plain if each.count == 1 and (span := each.span) and span[0] == span[1])
