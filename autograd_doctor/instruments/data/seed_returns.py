"""Seeds that are set again every few steps, after each of which training draws the numbers that it drew before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from autograd_doctor.events.data import SeedReturned
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.generator_states import state_of
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.reading.subclasses import gradient_of
from autograd_doctor.reading.tensor_facts import fingerprints
from autograd_doctor.signals import Signals
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.seeds import Generator, Seeding

_MOST_LINES = 100
"""That set seeds: programs have a few."""
_MOST_STEPS = 16
"""After a seed, whose draws are compared."""
_FEWEST_STEPS = 3
"""That tell an epoch from steps that are seeded one by one."""
_Key = tuple[Generator, tuple[Place, ...]]


@dataclass(slots=True)
class _Trail:
    """Where a generator stood when it was seeded, and after each step from then on.

    optimizers: which of them stepped. weights: fingerprints of a few that the first of them is about to change.
    """

    states: list[int]
    optimizers: set[int] = field(default_factory=set)
    weights: Sequence[int | None] = ()

    @property
    def steps(self) -> int:
        return len(self.states) - 1

    @property
    def drawing(self) -> int:
        """In how many steps numbers were drawn. What is drawn before the first, as the order of an epoch, is none."""
        return sum(one != other for one, other in zip(self.states[1:], self.states[2:], strict=False))

    def repeats(self, before: _Trail) -> bool:
        """Whether it is the same once more, of a training that has gone on meanwhile."""
        steps = min(self.steps, before.steps)
        is_long = steps >= _FEWEST_STEPS and steps >= before.steps // 2
        is_rewound = any(one == other for one, other in zip(self.weights, before.weights, strict=False))
        is_same = self.optimizers == before.optimizers and not is_rewound
        return is_long and is_same and self.states[: steps + 1] == before.states[: steps + 1]


@dataclass(slots=True)
class _Line:
    """A line that seeds a generator, with one seed, and what followed it the last time."""

    seed: str
    since: int
    times: int = 0
    repeated: int = 0
    steps: int = 0
    drawing: int = 0
    last: _Trail | None = None


class SeedReturns(Instrument):
    """Compares where a generator stands after each step that follows a seed with where it stood the last time.

    A run that begins anew, with an optimizer of its own or with the weights that the last one began with, is no part of
    the one before.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (SeedReturned,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._optimizers = Numbers()
        self._lines: dict[_Key, _Line] = {}
        self._open: dict[Generator, tuple[_Line, _Trail]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.seeds.given, self._given)
        self.listen(signals.steps.began, self._step_began)
        self.listen(signals.steps.ended, self._step_ended)

    def finish(self) -> None:
        for generator in list(self._open):
            self._close(generator)
        for key, line in self._lines.items():
            if line.repeated:
                self._tell(key, line)

    def _given(self, call: Seeding) -> None:
        self._close(call.generator)
        key, seed = (call.generator, stack()[-2:]), repr(call.seed)[:40]
        line = self._lines.get(key)
        if call.seed is None or (line is None and len(self._lines) >= _MOST_LINES):
            return
        if line is None or (line.seed != seed and not line.repeated):
            line = self._lines[key] = _Line(seed, self._course.steps)
        if line.seed == seed:
            line.times += 1
            self._open[call.generator] = line, _Trail([state_of(call.generator)])

    def _close(self, generator: Generator) -> None:
        """What followed the last seed is over."""
        line, trail = self._open.pop(generator, (None, None))
        if line is None or trail is None or not trail.steps:
            return
        before, line.last = line.last, trail
        if before is not None and trail.repeats(before):
            line.repeated += 1
            line.steps, line.drawing = trail.steps, trail.drawing

    def _step_began(self, call: StepCall) -> None:
        for _, trail in self._open.values():
            if not trail.optimizers:
                learning = [each for each in parameters_of(call.optimizer) if gradient_of(each) is not None]
                trail.weights = fingerprints([*learning[:1], *learning[-1:]])

    def _step_ended(self, call: StepCall) -> None:
        """Several optimizers may step one after the other: each is a step here."""
        for generator, (_, trail) in self._open.items():
            if trail.steps < _MOST_STEPS:
                trail.optimizers.add(self._optimizers.number(call.optimizer))
                trail.states.append(state_of(generator))

    def _tell(self, key: _Key, line: _Line) -> None:
        generator, places = key
        callers = {other for _, other in self._lines if other[-1:] == places[-1:]}
        self.emit(
            SeedReturned(
                step=self._course.steps,
                location=locate(places[-1]) if places else None,
                called_from=locate(places[0]) if len(places) > 1 else None,
                shared=len(callers) > 1,
                generator=generator,
                seed=line.seed,
                since=line.since,
                times=line.times,
                steps=line.steps,
                drawing=line.drawing,
                repeated=line.repeated,
            )
        )
