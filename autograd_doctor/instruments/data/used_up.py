"""Iterators that have come to their end, and to which the loop that trained with them comes back all the same."""

from __future__ import annotations

import dis
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import CodeType, FrameType, ModuleType
from typing import ClassVar

import torch

from autograd_doctor.events.data import IteratorUsedUp
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.frame_locals import local_variables, variables
from autograd_doctor.reading.iterators import is_plain_iterator, is_used_up
from autograd_doctor.reading.loops import Loop, counter_of, loops_around, offsets_of
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, is_own, locate, own_frame, own_frames, place
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.grad_modes import GradSwitched
from autograd_doctor.signals.loaders import BatchAsked, PassBegan
from autograd_doctor.signals.modules import TrainCall
from autograd_doctor.signals.schedulers import ScheduleCall

_MOST_ITERATORS = 1000
_MOST_MARKS = 256
"""Between two steps, to look at where the program is."""
_MOST_ROUNDS = 16
"""Loops of a function and iterators that they come back to."""
_MOST_VISITS = 8
"""Of a line, to look whether an outer loop goes on with an iterator."""
_EMPTY_PASSES = 3
"""Ends of one iterator that show a loop coming back to it: who takes batches in groups meets the end twice."""


@dataclass
class _Suspect:
    """What was found to be used up, after so many steps. loop: the one that came back, in this code."""

    event: IteratorUsedUp
    code: CodeType
    loop: Loop


@dataclass
class _Rounds:
    """A loop that comes back to an iterator, and counts its rounds: what the counter was in the last of so many steps.

    name, number: of the iterator, as the loop that it fed names it. turns: how often it went on while steps were taken.
    """

    loop: Loop
    name: str
    number: int
    feeding: Place | None
    steps: int
    counter: str = ""
    value: int = 0
    turns: int = 0

    def count(self, value: object, steps: int) -> None:
        if type(value) is int:
            self.turns += value != self.value
            self.value, self.steps = value, steps


@dataclass
class _Pass:
    """Over a loader, with one iterator. since: the step in which it began. place, times: the line that has last met the
    end, and how often in a row.
    """

    since: int
    fed: bool = False
    place: Place | None = None
    times: int = 0


class UsedUp(Instrument):
    """Tells, at the end, of loops that came back without a step.

    Nothing tells of a loop that runs over nothing. What else the loop around it does shows that it came back: it
    switches the mode of a module or gradients, has a schedule step, or reads the loss of the last backward, twice at
    one line without a step in between. Then the iterators that were alive during steps in that loop are looked at
    again. So does the number that a `for` statement counts its rounds by, where it has gone up by two and more since
    the last step. Those of loaders tell of each end by themselves.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (IteratorUsedUp,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._fed: dict[tuple[CodeType, int], tuple[set[int], Place | None]] = {}
        self._loss: weakref.ref[torch.Tensor] | None = None
        self._switching = 0
        self._marked: dict[Place | None, int] = {}
        self._again: Counter[Place | None] = Counter()
        self._visits: Counter[Place | None] = Counter()
        self._turns: Counter[tuple[CodeType, int]] = Counter()
        """How often an outer loop came round while an iterator had something left to give."""
        self._since = 0
        self._rounds: defaultdict[CodeType, list[_Rounds]] = defaultdict(list)
        self._passes: IdentityTable[_Pass] = IdentityTable()
        self._suspects: dict[Place | None, _Suspect] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._rounds_counted)
        self.listen(signals.backward.began, self._backward_began)
        self.listen(signals.value_reads.read, self._value_read)
        self.listen(signals.train_modes.began, self._mode_set)
        self.listen(signals.train_modes.ended, self._mode_was_set)
        self.listen(signals.schedulers.began, self._mode_set)
        self.listen(signals.schedulers.ended, self._mode_was_set)
        self.listen(signals.grad_modes.entered, self._grad_switched)
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.exhausted, self._exhausted)

    def finish(self) -> None:
        for suspect in self._suspects.values():
            self.emit(suspect.event)

    # -------------------------------------------------------------------------------------------------------- steps

    def _step_taken(self, course: Course) -> None:
        """Take note of the iterators that the frames under way hold, while they have something to give."""
        feeding: Place | None = None
        fed: dict[int, str] = {}
        for frame in own_frames():
            loop = next(loops_around(frame.f_code, frame.f_lasti), None)
            if feeding is None and loop is not None:
                feeding = frame.f_code, loop.first
            all_held = list(_iterators(frame))
            self._goes_on_without({id(each) for _, each in all_held if is_used_up(each)}, frame.f_code)
            held = {id(each): name for name, each in all_held if not is_used_up(each)}
            for number in held if len(self._fed) < _MOST_ITERATORS else ():
                self._fed.setdefault((frame.f_code, number), (set(), feeding))[0].add(frame.f_lasti)
            self._meet_loops(frame, held, fed, feeding)

    def _meet_loops(self, frame: FrameType, held: dict[int, str], fed: dict[int, str], feeding: Place | None) -> None:
        """Loops of a frame that come back to what it goes through itself, or to what it calls goes through.

        An iterator that is made in the loop is another one in each round.
        """
        if not (held or fed):
            return
        code = frame.f_code
        reads = {number: offsets_of(code, _last(name), "LOAD") for number, name in held.items()}
        made = {number: offsets_of(code, _last(name), "STORE") for number, name in held.items()}
        for loop in loops_around(code, frame.f_lasti):
            for number, name in (held | fed).items():
                comes_back = number in fed or any(offset in loop for offset in reads[number])
                if comes_back and not any(offset in loop for offset in made.get(number, ())):
                    self._meet_rounds(frame, loop, _Rounds(loop, name, number, feeding, steps=self._course.steps))
        fed |= {number: name for number, name in held.items() if reads[number] and number not in fed}
        for number in [number for number, places in made.items() if places and number in fed]:
            del fed[number]

    def _meet_rounds(self, frame: FrameType, loop: Loop, rounds: _Rounds) -> None:
        known, counter = self._rounds[frame.f_code], counter_of(frame.f_code, loop)
        is_known = any(each.loop == loop and each.number == rounds.number for each in known)
        value = local_variables(frame).get(counter) if counter and not is_known else None
        if counter and type(value) is int and len(known) < _MOST_ROUNDS:
            known.append(replace(rounds, counter=counter, value=value))

    def _goes_on_without(self, used_up: set[int], code: CodeType) -> None:
        """What has come to its end before a step is not what the steps lived on."""
        if used_up and code in self._rounds:
            self._rounds[code] = [each for each in self._rounds[code] if each.number not in used_up]

    def _rounds_counted(self, course: Course) -> None:
        for frame in own_frames() if self._rounds else ():
            if known := self._rounds.get(frame.f_code):
                local = local_variables(frame)
                for each in known:
                    each.count(local.get(each.counter), course.steps)

    def _look_at_rounds(self) -> None:
        for frame in own_frames() if self._rounds else ():
            if known := self._rounds.get(frame.f_code):
                local = local_variables(frame)
                for each in list(known):
                    value = local.get(each.counter)
                    if each.steps == self._course.steps and type(value) is int and value > each.value:
                        self._came_back(frame, each, value - each.value - 1)

    def _came_back(self, frame: FrameType, known: _Rounds, rounds: int) -> None:
        """rounds: how many passed without a step, and are through."""
        iterator = next((each for _, each in _iterators(frame) if id(each) == known.number), None)
        if iterator is None or not is_used_up(iterator):
            self._rounds[frame.f_code].remove(known)
        elif rounds:
            event = self._event(known.name, type(iterator).__name__, known.feeding, rounds, fed=True, turns=known.turns)
            self._suspect(event, known.feeding, frame.f_code, known.loop)

    def _step_resumed(self, course: Course) -> None:
        """A loop that trains again was not left without data."""
        for frame in own_frames():
            for key, suspect in list(self._suspects.items()):
                if frame.f_code is suspect.code and frame.f_lasti in suspect.loop:
                    del self._suspects[key]

    def _suspect(self, event: IteratorUsedUp, key: Place | None, code: CodeType, loop: Loop) -> None:
        self._suspects[key] = _Suspect(event, code, loop)
        self.listen(self._course.step_taken, self._step_resumed)

    # -------------------------------------------------------------------------------------------------------- marks

    def _backward_began(self, call: BackwardCall) -> None:
        self._loss = weakref.ref(call.roots[0])

    def _value_read(self, tensor: torch.Tensor) -> None:
        """A bare signal, sent for whatever is read."""
        if self._loss is not None and self._loss() is tensor:
            self._mark()

    def _mode_set(self, call: TrainCall | ScheduleCall) -> None:
        """Both call themselves for what is inside."""
        self._switching += 1
        if self._switching == 1:
            self._mark()

    def _mode_was_set(self, call: TrainCall | ScheduleCall) -> None:
        self._switching -= 1

    def _grad_switched(self, switched: GradSwitched) -> None:
        if is_own(switched.frame.f_code.co_filename):
            self._mark()

    def _mark(self) -> None:
        """The program is at a line that it comes to in each round of a loop."""
        steps = self._course.steps
        if not self._fed:
            return
        self._look_at_rounds()
        if self._since != steps:
            self._since = steps
            self._again.clear()
        where = place()
        if self._marked.get(where) == steps:
            self._again[where] += 1
            if self._again.total() <= _MOST_MARKS:
                self._look(self._again[where])
        elif len(self._marked) < _MOST_ITERATORS or where in self._marked:
            self._marked[where] = steps
            self._visits[where] += 1
            if self._visits[where] <= _MOST_VISITS:
                self._count_turns()

    def _count_turns(self) -> None:
        frame, loop = _innermost_loop()
        if frame is None or loop is None:
            return
        for _, iterator in _iterators(frame):
            key = frame.f_code, id(iterator)
            fed, feeding = self._fed.get(key, (set(), None))
            is_around = feeding != (frame.f_code, loop.first) and any(offset in loop for offset in fed)
            if is_around and not is_used_up(iterator):
                self._turns[key] += 1

    def _look(self, rounds: int) -> None:
        """Look for what the innermost loop under way lived on, if it is the one that trained."""
        frame, loop = _innermost_loop()
        if frame is None or loop is None:
            return
        for name, iterator in _iterators(frame):
            key = frame.f_code, id(iterator)
            fed, feeding = self._fed.get(key, (set(), None))
            if any(offset in loop for offset in fed) and is_used_up(iterator):
                kind, turns = type(iterator).__name__, self._turns[key]
                event = self._event(name, kind, feeding, rounds, fed=True, turns=turns)
                self._suspect(event, feeding, frame.f_code, loop)

    def _event(
        self, name: str, kind: str, where: Place | None, rounds: int, *, fed: bool, turns: int = 0
    ) -> IteratorUsedUp:
        return IteratorUsedUp(
            step=self._course.steps, name=name, kind=kind, location=locate(where), fed=fed, rounds=rounds, turns=turns
        )

    # ------------------------------------------------------------------------------------------ iterators of loaders

    def _pass_began(self, began: PassBegan) -> None:
        self._passes.put(began.iterator, _Pass(self._course.steps))

    def _exhausted(self, asked: BatchAsked) -> None:
        known, frame = self._passes.get(asked.iterator), own_frame()
        if known is None or frame is None:
            return
        where = frame.f_code, frame.f_lasti
        if known.place is None:
            known.fed = self._course.steps > known.since
        known.times = known.times + 1 if known.place == where else 1
        known.place = where
        loop = next(loops_around(*where), None)
        if loop is not None and known.times >= (2 if _is_at_loop(frame) else _EMPTY_PASSES):
            kind = type(asked.iterator).__name__
            event = self._event(variable_name(asked.iterator), kind, where, known.times - 1, fed=known.fed)
            self._suspect(event, where, frame.f_code, loop)


def _innermost_loop() -> tuple[FrameType | None, Loop | None]:
    """The loop under way, of the innermost frame of the program's that is in one."""
    for frame in own_frames():
        loop = next(loops_around(frame.f_code, frame.f_lasti), None)
        if loop is not None:
            return frame, loop
    return None, None


def _iterators(frame: FrameType) -> Iterator[tuple[str, object]]:
    """What variables hold, and what they stand for: a comprehension keeps its own under no name."""
    for name, value in variables(frame):
        if is_plain_iterator(value) and name.removeprefix("self.").isidentifier():
            yield name, value
    for name, holder in local_variables(frame).items():
        if name != "self" and not is_a(holder, ModuleType):
            inside = attributes(holder).items()
            yield from ((f"{name}.{each}", value) for each, value in inside if is_plain_iterator(value))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _is_at_loop(frame: FrameType) -> bool:
    """Whether it is a `for` statement that asks for more."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "FOR_ITER"
