"""Seeds that are set again and again, and whether each step then draws the very numbers of the step before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

from autograd_doctor.events.data import SeedRepeated
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.generator_states import state_of
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.signals import Signals
from autograd_doctor.signals.seeds import Generator, Seeding

_MOST_LINES = 100
"""That set seeds: programs have a few."""
_MOST_SEEDS = 20
"""Of one line that are remembered."""
_FIRST_TOLD = 4
"""Steps in a row; from there on it is told whenever their number has doubled, and at the end."""


@dataclass(slots=True)
class _Line:
    """A line that seeds one generator, and the seed that it has set in the latest steps, in each of them.

    places: of the line, after that of the one which called its function. fresh: the state that the seed gives. after:
    the one in which the latest step left the generator. in_closures: how many of the `times` fell into closures.
    """

    generator: Generator
    places: tuple[Place, ...]
    seed: str
    step: int
    since: int
    fresh: int = 0
    steps: int = 1
    times: int = 1
    in_closures: int = 0
    repeated: int = 0
    after: int | None = None
    told: int = 0


@dataclass(slots=True)
class _Caller:
    """How often a line, called by another one, set each seed, and those that it has set since the latest step."""

    times: Counter[str] = field(default_factory=Counter)
    step: int = -1
    between: set[str] = field(default_factory=set)
    most_between: int = 0

    def give(self, seed: str, step: int) -> None:
        if len(self.times) < _MOST_SEEDS or seed in self.times:
            self.times[seed] += 1
        if step != self.step:
            self.step, self.between = step, set()
        if len(self.between) < _MOST_SEEDS:
            self.between.add(seed)
        self.most_between = max(self.most_between, len(self.between))

    def others(self, seed: str) -> int:
        """Of other seeds than this: how often it set one of them, or how many with no step in between."""
        again = max((times for each, times in self.times.items() if each != seed), default=0)
        return max(again, self.most_between - (seed in self.times))


class Seeds(Instrument):
    """Compares states of a generator at the ends of steps, from the second step on in which a line has seeded it.

    A state is taken as a number. A generator that is put back to where it was before the seed stands elsewhere at the
    end of each step, and so does one from which another count of numbers was drawn.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (SeedRepeated,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._lines: dict[tuple[Generator, tuple[Place, ...]], _Line] = {}
        self._callers: dict[tuple[Generator, tuple[Place, ...]], _Caller] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.seeds.given, self._given)

    def finish(self) -> None:
        for line in self._lines.values():
            if line.steps >= _FIRST_TOLD and (line.told < line.steps or self._set_elsewhere(line)):
                self._tell(line)

    def _given(self, call: Seeding) -> None:
        """One that begins in the same step as the last, or in the next one, has left no step out."""
        step, where, seed = self._course.steps, stack()[-2:], repr(call.seed)[:40]
        line = self._lines.get((call.generator, where))
        if call.seed is None or (line is None and len(self._lines) == _MOST_LINES):
            return
        if len(self._callers) < _MOST_LINES or (call.generator, where) in self._callers:
            self._callers.setdefault((call.generator, where), _Caller()).give(seed, step)
        if line is None or line.seed != seed or step > line.step + 1:
            line = _Line(call.generator, where, seed, step, step)
            self._lines[call.generator, where] = line
        else:
            line.times += 1
            line.steps += step > line.step
            line.step = step
        line.in_closures += self._course.closure_of is not None
        if line.steps > 1:
            line.fresh = state_of(call.generator)
            self.listen(self._course.step_taken, self._step_taken)

    def _step_taken(self, course: Course) -> None:
        for line in self._lines.values():
            if line.steps > 1 and line.step == course.steps - 1:
                state = state_of(line.generator)
                line.repeated += state == line.after and state != line.fresh
                line.after = state
                if line.steps >= max(_FIRST_TOLD, 2 * line.told):
                    self._tell(line)

    def _tell(self, line: _Line) -> None:
        line.told = line.steps
        callers = {places for _, places in self._lines if places[-1:] == line.places[-1:]}
        self.emit(
            SeedRepeated(
                step=self._course.steps,
                location=locate(line.places[-1]) if line.places else None,
                called_from=locate(line.places[0]) if len(line.places) > 1 else None,
                shared=len(callers) > 1,
                generator=line.generator,
                seed=line.seed,
                since=line.since,
                steps=line.steps,
                times=line.times,
                in_closures=line.in_closures,
                others=self._set_elsewhere(line),
                repeated=line.repeated,
            )
        )

    def _set_elsewhere(self, line: _Line) -> int:
        return max(
            (
                caller.others(line.seed)
                for (generator, places), caller in self._callers.items()
                if generator == line.generator and places[-1:] == line.places[-1:] and places[0] != line.places[0]
            ),
            default=0,
        )
