"""Terms of a loss that are never below zero, and the weights that numbers give them from step to step.

A weight that fades away and goes on falling below zero turns its term round: what was to be small is driven up. What a
number is taken off before it is weighed, as a constraint, may be weighed by a multiplier of any sign. A weight that
grows, as that of a penalty, lets a loss rise that is minimised as it should be: the term itself, a single number that
is read as it is weighed, becomes no larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import ClassVar, NamedTuple

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import TermWeightGrew, TermWeightTurned
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import NEVER_NEGATIVE, NORMS, SCALING
from autograd_doctor.reading.divergences import sign_of_divergence
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.places import here
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.summands import summands
from autograd_doctor.tape import Op, Value

_SIZES = NORMS | {"abs"}
_MOST_TERMS = 64
"""Of one loss, and of all: people write down a few."""
_MOST_LOOKS = 256
_LEAST_LOOKS = 3
"""On either side of zero, and of a weight that grows."""
_GROWTH = 10.0
"""Which is worth telling of."""


_Factors = tuple[tuple[Location | None, float], ...]
"""With the lines that multiply by them."""


class _Term(NamedTuple):
    """A summand: what it is, "" for a divergence that is written out, and what it is multiplied by.

    weighed: the operations that did so, the last one first.
    """

    operation: str
    location: Location | None
    factors: _Factors
    weighed: tuple[Op, ...]

    @property
    def weight(self) -> float:
        return prod(factor for _, factor in self.factors)


@dataclass
class _Course:
    """The weights of a term in one loss, by step, and what it was itself, where that was a number.

    first, latest: its factors. at: what made it. backward_at: the line of the backward.
    """

    operation: str
    at: Location | None
    first: _Factors
    latest: _Factors
    backward_at: Location | None
    weights: list[tuple[int, float]] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)

    @property
    def weighed_at(self) -> Location | None:
        """The line of the factor that has changed its sign."""
        pairs = zip(self.first, self.latest, strict=False)
        turned = (at for (_, one), (at, other) in pairs if one * other < 0)
        return next(turned, self.backward_at)

    def turned(self) -> int:
        """Which look is the first of those below zero, if the weight faded away and went on falling; 0 otherwise."""
        values = [weight for _, weight in self.weights]
        first = next((place for place, weight in enumerate(values) if weight < 0), 0)
        falls = all(one >= other for one, other in pairwise(values))
        if not falls or min(first, len(values) - first) < _LEAST_LOOKS or values[-1] == values[first]:
            return 0
        return first if 2 * (values[first - 1] - values[first]) <= values[0] - values[-1] else 0

    def growth(self) -> float:
        """By what factor the weight has grown, if it never fell; 1 otherwise."""
        values = [abs(weight) for _, weight in self.weights]
        rises = len(values) >= _LEAST_LOOKS and all(one <= other for one, other in pairwise(values))
        return values[-1] / values[0] if rises else 1.0


class TermWeights(LossQuery):
    """Takes down the weights of terms in steps that are looked at closely."""

    emits: ClassVar[tuple[type[Event], ...]] = (TermWeightTurned, TermWeightGrew)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site, course, tape)
        self._courses: dict[tuple[Location | None, str, Location | None], _Course] = {}
        self._sizes: dict[Op, float] = {}
        self._sizes_of = -1

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._weighed, names=SCALING)

    def _weighed(self, op: Op) -> None:
        """A number is read as it is weighed: when the backward begins, it may be gone."""
        if self._sizes_of != self._course.steps:
            self._sizes_of, self._sizes = self._course.steps, {}
        tensor = tensor_of(op.live[0]) if len(op.live) == 1 and op.live[0].count == 1 else None
        if tensor is not None and readable(tensor) and not is_remote(tensor):
            self._sizes[op] = abs(float(tensor.detach()))

    def memory(self) -> dict[tuple[Location | None, str, Location | None], _Course]:
        return self._courses

    def remember(self, memory: dict[tuple[Location | None, str, Location | None], _Course]) -> None:
        self._courses = memory

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        if len(roots) != 1 or roots[0].count != 1:
            return
        where, step = here(), self._course.steps
        for term in _terms(roots[0]):
            key = (where, term.operation, term.location)
            course = self._courses.get(key)
            if course is None and len(self._courses) < _MOST_TERMS:
                course = self._courses[key] = _Course(term.operation, term.location, term.factors, term.factors, where)
            if course is not None and len(course.weights) < _MOST_LOOKS and term.weight:
                course.latest = term.factors
                course.weights.append((step, term.weight))
                course.sizes += [self._sizes[op] for op in term.weighed[-1:] if op in self._sizes]

    def finish(self) -> None:
        for course in self._courses.values():
            first = course.turned()
            if first:
                self._tell(course, first)
            elif course.growth() >= _GROWTH:
                self._tell_growth(course)

    def _tell(self, course: _Course, first: int) -> None:
        (since, _), (_, before), (_, after) = course.weights[first], course.weights[0], course.weights[-1]
        self.emit(
            TermWeightTurned(
                step=self._course.steps,
                location=course.weighed_at,
                operation=course.operation,
                computed_at=course.at,
                backward_at=course.backward_at,
                since=since,
                looks=len(course.weights) - first,
                before=first,
                first=before,
                last=after,
            )
        )

    def _tell_growth(self, course: _Course) -> None:
        self.emit(
            TermWeightGrew(
                step=self._course.steps,
                computed_at=course.at,
                backward_at=course.backward_at,
                first=abs(course.weights[0][1]),
                last=abs(course.weights[-1][1]),
                size_first=course.sizes[0] if course.sizes else None,
                size_last=course.sizes[-1] if course.sizes else None,
            )
        )


def _terms(root: Value) -> Iterator[_Term]:
    """The summands that are never below zero, or never above, with factors as of what is never below."""
    pending: list[tuple[Value, _Factors, tuple[Op, ...]]] = [(root, (), ())]
    seen = 0
    while pending and seen < _MOST_TERMS:
        value, factors, weighed = pending.pop()
        op, seen = value.by, seen + 1
        sign = _sign(value, op) if op is not None else 0
        if op is not None and sign:
            name = "" if op.name in ("add", "sub", *SCALING) else op.called
            yield _Term(name, op.location, (*factors, (op.location, float(sign))), weighed)
        elif op is not None:
            by = (*weighed, op) if op.name in SCALING else weighed
            pending += [(each, (*factors, (op.location, factor)), by) for each, factor in _parts(op)]


def _sign(value: Value, op: Op) -> int:
    """1 for what is never below zero, -1 for what is never above, 0 for what may be either."""
    if op.name in NEVER_NEGATIVE or op.name in _SIZES or op.is_square:
        return 1
    return sign_of_divergence(value)


def _parts(op: Op) -> Iterator[tuple[Value, float]]:
    """What a result is the sum or a multiple of, each with its factor. Nothing where a number is added."""
    if op.name in ("add", "sub") and (any(op.numbers) or any(value.count == 1 for value in op.plain)):
        return
    for part in summands(op) or ():
        if part.value.learns and part.factor is not None:
            yield part.value, part.factor
