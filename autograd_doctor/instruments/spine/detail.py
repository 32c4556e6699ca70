"""Which steps are recorded operation by operation: the first of each phase, samples of the others, and what is new."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch.optim import Optimizer

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import DetailTurned, Missed, MoreDetailNeeded
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.hand_steps import HandSteps
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.reading.places import place
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.signal import Signal

FIRST_STEPS = 10
"""Steps of each phase in full. Three censuses of survivors fall into them, and growth needs three points to show."""
CLOSE_STEPS = 4
"""Of these, the first in which values are read, too, as they are in one step of each sample and after something new:
most that is wrong with values is so from the start. Weights that begin at zero keep the gradients behind them at zero
for one step only; the others show that it was no accident."""
SAMPLED_EVERY = 25
"""Later steps in full: so rarely that they add little to the time, so often that a short epoch has one."""
RARER_FROM = 2000
"""Steps from which on samples come half as often, and again each time that their number has doubled: by then a run has
had 80, which cost as much as all its light steps."""
CLOSE_SAMPLES_UNTIL = 500
"""Steps until which each sample has a step that is looked at closely, and every other one later: where operations are
small, such a step takes as long as fifteen plain ones."""
GLANCED_AFTER = 25
"""Steps since the last one that was full for something new, after which most light ones are only glanced at: they cost
a third of one that is looked at, and what is wrong in one of these shows in the next that is looked at."""
_LOOKED_AT_EVERY = 7 + (1 + 5**0.5) / 2
"""Of such steps two in a row are looked at, so that they can be compared. The golden ratio is in it because no number
keeps further from all fractions: programs that do something in every third step, or every tenth, are seen doing it."""
_IN_A_ROW = 2
"""Full steps among light ones, and steps that are looked at among those that are glanced at: what the first leaves
behind, such as a gradient that was used, shows in the second."""
_ALWAYS_GRANTED = 100
_SHARE = 0.2
"""Programs that build new models and optimizers all the time get so many full steps, and this share of the later ones:
beyond, every step would be one of something new."""
_BEYOND = 4
"""Steps of a second run to look at closely from the one on for which it is made: it may be a few steps behind."""
_MOST_PHASES = 10_000
"""Programs that build something new in every step would fill the table: what comes beyond is not looked at as new."""


@dataclass
class _Phase:
    """A kind of work at a place of the program, by the steps in which it was met, and how often in the last of them."""

    steps: int = 0
    step: int = -1
    times: int = 0


class Standing(NamedTuple):
    """What is known when a step has been taken, and what decides how closely the next one is looked at.

    step: how many there have been. fresh, young: the last one was among the first of a phase, of those in full and of
    those that are looked at closely. asked: full steps asked for that are still to come. granted: full steps for what
    is new are not used up. wanted: the next one must be full in any case. repeated: a second run is made for it.
    news_at: the latest that was full for something new. was_full: so was the last one.
    """

    step: int
    fresh: bool = False
    young: bool = False
    asked: int = 0
    granted: bool = True
    wanted: bool = False
    repeated: bool = False
    news_at: int = 0
    was_full: bool = False

    @property
    def has_news(self) -> bool:
        return (self.fresh or self.asked > 0) and self.granted

    @property
    def is_near(self) -> bool:
        """Whether values are to be read, if the step is a full one."""
        return self.young or self.repeated or self.asked == _IN_A_ROW or _sampled(self.step)[1]


def attention_to(now: Standing) -> Attention:
    """How closely to look at the step that begins."""
    if now.has_news or now.wanted or _sampled(now.step)[0]:
        return Attention.CLOSE if now.is_near else Attention.FULL
    is_looked_at = now.step % _LOOKED_AT_EVERY < _IN_A_ROW
    is_soon = now.was_full or now.step < now.news_at + GLANCED_AFTER
    return Attention.LIGHT if is_soon or is_looked_at else Attention.GLANCE


class Detail(Instrument):
    """Turns the attention of all who listen, and lets operations rest in light steps.

    A phase is what somebody calls one: a forward of a module under its conditions, a backward at its line, the steps
    of an optimizer, the first and the last batch of a pass. Where the program puts new leaves in the place of its
    parameters, only its operations tell of its steps, and all are full.

    full: whether the present step is recorded operation by operation; `turned` is sent when that has changed. closely:
    whether the values of tensors and gradients are to be read as well; `focused` is sent when that has. full_from: this
    step, the one before it and a few that follow are full and looked at closely in any case. full_steps: how many were.
    glancing: whether the present step is merely glanced at. dozing: whether all steps are. is_only_run: no second run
    is made for what was missed.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (DetailTurned, MoreDetailNeeded)

    def __init__(self, site: Site, course: Course, optimizers: Optimizers, hand_steps: HandSteps) -> None:
        super().__init__(site)
        self.turned: Signal[Detail] = Signal(site.signals.guard)
        self.focused: Signal[Detail] = Signal(site.signals.guard)
        self.full_from: int | None = None
        self.full_steps = 0
        self.is_only_run = False
        self._course = course
        self._optimizers = optimizers
        self._hand_steps = hand_steps
        self._guard = site.signals.guard
        self._guard.attention_turned.append(self._attention_turned)
        self._attention_turned()
        self._operations = site.signals.operations
        self._phases: dict[Hashable, _Phase] = {}
        self._fresh = self._young = False
        self._near = True
        self._asked = 0
        self._news_at = 0
        self._as_before_until = 0
        self._missed: set[Missed] = set()
        self._has_optimizer = False
        self._on_news: Callable[[], None] | None = None

    def detach(self) -> None:
        super().detach()
        if self._attention_turned in self._guard.attention_turned:
            self._guard.attention_turned.remove(self._attention_turned)

    def connect(self, signals: Signals) -> None:
        self.listen(signals.optimizers.built, self._optimizer_built)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.LIGHT)
        self.listen(signals.steps.began, self._step_began, attention=Attention.LIGHT)
        self.listen(self._course.step_taken, self._step_taken, bare=True)
        self.listen(self._course.began_by_hand, self._by_hand)

    def doze(self, on_news: Callable[[], None]) -> None:
        """Glance at all steps from now on, and call this where one would have been recorded for something new."""
        self._rest()
        self._turn(full=False)
        self._guard.attend(Attention.GLANCE)
        self._on_news = on_news

    @property
    def dozing(self) -> bool:
        return self._on_news is not None

    def _by_hand(self, course: Course) -> None:
        """Steps are counted inside operations then, where these cannot be laid to rest: it is tried where it can."""
        self.listen(self._site.signals.value_reads.read, self._rest)
        self.listen(self._site.signals.grad_modes.entered, self._rest)

    def _rest(self, what: object = None) -> None:
        if not self.full and not self._operations.resting:
            self._operations.rest("light step")

    def _optimizer_built(self, optimizer: Optimizer) -> None:
        """A new one begins a stage of its own, and may never step."""
        self._has_optimizer = True
        if self._course.steps:
            self.met(("built", self._optimizers.number(optimizer)))

    def _backward_began(self, call: BackwardCall) -> None:
        self.met(("backward", call.kind, place()))

    def _step_began(self, call: StepCall) -> None:
        """The step of an optimizer that is new: what it uses was made unseen, so that only the next one is full."""
        self._has_optimizer = True
        self._count(("step", self._optimizers.known(call.optimizer)))

    def met(self, phase: Hashable, most: int | None = None) -> None:
        """The program is about to do work of a phase: one that is new makes the present step a full one.

        most: how often in one step to look at it closely.
        """
        known = self._count(phase)
        if most is not None and known.times > most:
            self._turn(full=self._is_wanted)
        elif known.steps <= FIRST_STEPS and self._on_news is not None:
            self._on_news()
        elif known.steps <= FIRST_STEPS and self._may_be_granted:
            self._near |= known.steps <= CLOSE_STEPS
            self._news_at = self._course.steps
            self._turn(full=True)

    def _count(self, phase: Hashable) -> _Phase:
        known = self._phases.get(phase)
        if known is None:
            if len(self._phases) >= _MOST_PHASES:
                return _Phase(steps=FIRST_STEPS + 1)
            known = self._phases[phase] = _Phase()
        if known.step != self._course.steps:
            known.step, known.times = self._course.steps, 0
            known.steps += 1
            self._fresh |= known.steps < FIRST_STEPS
            self._young |= known.steps < CLOSE_STEPS
        known.times += 1
        return known

    def ask(self) -> None:
        """Something is not as it was before: the next steps should be full ones, the first looked at closely."""
        if self._on_news is not None:
            self._on_news()
        else:
            self._asked = _IN_A_ROW

    def missed(self, step: int | None = None, what: Missed = "non-finite loss") -> None:
        """What came of a step, of this one by default, is not finite, and values were not followed: state it, once."""
        if what not in self._missed:
            self._missed.add(what)
            self.emit(MoreDetailNeeded(step=self._course.steps if step is None else step, what=what))

    def _step_taken(self, course: Course) -> None:
        if self._on_news is not None:
            return
        if course.steps < self._as_before_until and self.glancing and not (self._fresh or self._asked):
            return
        self.full_steps += self.full
        now = Standing(
            course.steps,
            self._fresh,
            self._young,
            self._asked,
            self._may_be_granted,
            self._is_wanted,
            self.is_repeated,
            self._news_at,
            self.full,
        )
        self._near = now.is_near
        if now.has_news:
            self._news_at = now.step
        self._fresh = self._young = False
        self._asked = max(0, self._asked - 1)
        attention = attention_to(now)
        if attention >= Attention.FULL or self.full:
            self._turn(full=attention >= Attention.FULL)
            return
        self._rest()
        self._guard.attend(attention)
        if attention is Attention.GLANCE:
            self._as_before_until = 0 if self.full_from else course.steps + _until_next_look(course.steps)

    @property
    def _is_wanted(self) -> bool:
        """Whether the present step must be full, however often the like of it was seen."""
        return self.is_repeated or self._course.rebinds or not (self._has_optimizer or self._hand_steps.are_told)

    @property
    def is_repeated(self) -> bool:
        """Whether this is a second run, about the step for which it is made."""
        return self.full_from is not None and -1 <= self._course.steps - self.full_from < _BEYOND

    @property
    def _may_be_granted(self) -> bool:
        return self.full_steps < _ALWAYS_GRANTED + _SHARE * self._course.steps

    def _turn(self, *, full: bool) -> None:
        full = full and not self.dozing
        # Where it could not be done at once, as inside an operation, it is tried again.
        (self._operations.resume if full else self._operations.rest)("light step")
        was_full, was_close = self.full, self.closely
        self._guard.attend(Attention.LIGHT if not full else Attention.CLOSE if self._near else Attention.FULL)
        if full != was_full:
            self.emit(DetailTurned(step=self._course.steps, full=full))
            self.turned.tell(self)
        if self.closely != was_close:
            self.focused.tell(self)

    def _attention_turned(self) -> None:
        self.full = self._guard.attention >= Attention.FULL
        self.closely = self._guard.attention is Attention.CLOSE
        self.glancing = self._guard.attention is Attention.GLANCE


def _until_next_look(step: int) -> int:
    """Steps that are glanced at, from this one on, unless there is something new."""
    to_look = math.ceil(_LOOKED_AT_EVERY - step % _LOOKED_AT_EVERY)
    return min(to_look, SAMPLED_EVERY - step % SAMPLED_EVERY)


def _sampled(step: int) -> tuple[bool, bool]:
    """Whether a step belongs to a sample, and whether it is to be looked at closely there."""
    number, since = divmod(step, SAMPLED_EVERY << (step // RARER_FROM).bit_length())
    sampled = number > 0 and since < _IN_A_ROW
    return sampled, sampled and since == 0 and (step < CLOSE_SAMPLES_UNTIL or number % 2 == 1)
