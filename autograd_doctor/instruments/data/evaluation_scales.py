"""How large the data are that modules are evaluated on, beside those that they are trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from types import CodeType
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import EvaluationOffScale, ScaledAgain
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.connectivity.unused_forwards import UnusedForwards
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import DRAWS, MOVES, TAKES
from autograd_doctor.reading.live_values import LiveValue
from autograd_doctor.reading.magnitude import Magnitude, Reach, magnitude_of, reach_of, some_of, typical
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.scalings import Key, held_or_copied, scalings_of
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import source_of

_MOST_CALLS = 20
"""Of one line that evaluates."""
_MOST_ARGUMENTS = 200
_WORTH_TELLING = 2.0
_ENOUGH = 50
"""Values of a feature: a few are near zero by chance."""

Argument = tuple[int, int]
"""The number of a module, and which of the tensors that it is given."""


@dataclass
class _Trained:
    """What an argument was in training: over all batches, and in how many. made_at: the lines of its arithmetic.

    scaled: how often it went through which arithmetic with constants.
    """

    magnitude: Magnitude
    reach: Reach
    made_at: set[Place]
    scaled: Counter[Key]
    batches: int = 1


class _Again(NamedTuple):
    """What was scaled once more than in training: at which line, and how far it went before and goes now."""

    place: Place | None
    before: Reach
    now: Reach


@dataclass
class _Evaluated:
    """again: of the calls that were looked at closely, those whose data were scaled once more."""

    name: str
    step: int
    calls: list[Magnitude] = field(default_factory=list)
    made_at: set[Place] = field(default_factory=set)
    closely: int = 0
    again: list[_Again] = field(default_factory=list)


class EvaluationScales(Instrument):
    """Measures floating point data that a module is given: with gradients, in steps that are looked at closely, and in
    full ones without, or in eval mode, where no backward uses what comes of them.

    What parameters have flowed into may grow by itself, as what a model goes on from what it said: it is left out.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (EvaluationOffScale,)

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        detail: Detail,
        module_calls: ModuleCalls,
        tape: Tape,
        tensors: Tensors,
        unused_forwards: UnusedForwards,
    ) -> None:
        super().__init__(site)
        self._unused_forwards = unused_forwards
        self._course = course
        self._late_values = late_values
        self._detail = detail
        self._module_calls = module_calls
        self._tape = tape
        self._tensors = tensors
        self._drawing: set[CodeType] = set()
        self._trained: dict[Argument, _Trained] = {}
        self._evaluated: dict[tuple[Argument, Place | None, bool], _Evaluated] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)
        self.listen(signals.operations.ended, self._drawn, attention=Attention.FULL, names=DRAWS)

    def _drawn(self, operation: Operation) -> None:
        if operation.place is not None:
            self._drawing.add(operation.place[0])

    def _root_began(self, began: RootBegan) -> None:
        with_graph = began.call.grad_enabled
        trains = with_graph and began.call.module.training
        if trains and not self._detail.closely:
            return
        for position, tensor in enumerate(began.given):
            argument = began.module, position
            if not self._is_data(tensor):
                continue
            if trains:
                self._train(argument, tensor)
            else:
                self._evaluate(argument, began.where, with_graph, tensor)

    def _is_data(self, tensor: torch.Tensor) -> bool:
        if tensor.requires_grad or not tensor.is_floating_point() or tensor.numel() < 2:
            return False
        made = self._tensors.get(tensor)
        return made is None or made.values == 0

    def _train(self, argument: Argument, tensor: torch.Tensor) -> None:
        known = self._trained.get(argument)
        if known is None and len(self._trained) >= _MOST_ARGUMENTS:
            return
        if (some := some_of(tensor)) is not None:
            made_at, scaled = self._made_at(tensor), Counter(each.key for each in scalings_of(self._tape.value(tensor)))
            self._late_values.ask(self, [some], lambda values: self._join(argument, values[0], made_at, scaled))

    def _join(self, argument: Argument, values: torch.Tensor, made_at: set[Place], scaled: Counter[Key]) -> None:
        known, found = self._trained.get(argument), magnitude_of(values)
        if found is not None and known is None:
            self._trained[argument] = _Trained(found, reach_of(values), made_at, scaled)
        elif found is not None and known is not None and known.magnitude.is_like(found):
            known.magnitude, known.batches = known.magnitude.joined(found), known.batches + 1
            known.reach = known.reach.joined(reach_of(values))
            known.made_at |= made_at
            known.scaled |= scaled

    def _made_at(self, tensor: torch.Tensor) -> set[Place]:
        """The line of the last arithmetic on it, before rows were taken, if that is known: work on data may doze."""
        value = source_of(self._tape.value(tensor), TAKES | MOVES)
        made = value.provenance if isinstance(value, LiveValue) else None
        place = made.source or made.place if made is not None else None
        return {place} if place is not None else set()

    def _evaluate(self, argument: Argument, where: Place | None, with_graph: bool, tensor: torch.Tensor) -> None:
        known = self._evaluated.get((argument, where, with_graph))
        if known is None and len(self._evaluated) < _MOST_ARGUMENTS:
            known = self._evaluated[argument, where, with_graph] = _Evaluated(variable_name(tensor), self._course.steps)
        some = some_of(tensor) if known is not None and len(known.calls) < _MOST_CALLS else None
        if some is not None and known is not None:
            known.made_at |= self._made_at(tensor)
            self._late_values.ask(self, [some], partial(_note_call, known))
            if self._detail.closely and argument in self._trained:
                known.closely += 1
                self._look_before(known, self._trained[argument], tensor, some)

    def _look_before(self, known: _Evaluated, trained: _Trained, tensor: torch.Tensor, some: torch.Tensor) -> None:
        """At what was there between arithmetic that the data of training go through once, and these twice."""
        way = list(scalings_of(self._tape.value(tensor)))
        counts = Counter(each.key for each in way)
        for number, scaling in enumerate(way):
            is_twice = trained.scaled[scaling.key] == 1 and counts[scaling.key] == 2
            if not is_twice or scaling.key in (each.key for each in way[:number]):
                return
            held = held_or_copied(scaling.before)
            before = some_of(held) if held is not None and held.shape == tensor.shape else None
            if before is not None:
                look = partial(_compare_before, known, trained, way[0].place)
                self._late_values.ask(self, [before, some], look)

    def finish(self) -> None:
        """Tell of lines that are off scale for all modules that they evaluate: one fold may be unlike the others."""
        told: dict[Place | None, list[EvaluationOffScale]] = {}
        for (argument, where, with_graph), evaluated in self._evaluated.items():
            if with_graph and not self._unused_forwards.never_used(argument[0], where):
                continue
            trained = self._trained.get(argument)
            if trained is None:
                continue
            drawn_alike = self._are_drawn_alike(evaluated, trained)
            found = _compared(argument, where, evaluated, trained, drawn_alike=drawn_alike)
            if found is not None:
                told.setdefault(where, []).append(found)
        for events in told.values():
            off = [event for event in events if event.times >= _WORTH_TELLING or event.scaled is not None]
            if {event.module for event in off} == {event.module for event in events}:
                for event in off:
                    self.emit(event)

    def _are_drawn_alike(self, evaluated: _Evaluated, trained: _Trained) -> bool:
        """Whether functions that draw random numbers made all of it that was seen to be made, and train by them."""
        drawn = {place for place in evaluated.made_at if place[0] in self._drawing}
        return bool(drawn) and drawn == evaluated.made_at and drawn <= trained.made_at


def _compare_before(
    evaluated: _Evaluated, trained: _Trained, place: Place | None, values: Sequence[torch.Tensor]
) -> None:
    if any(magnitude_of(each) is None or each.shape[1:] != trained.reach.whole.shape[1:] for each in values):
        return
    before, now = map(reach_of, values)
    if before.keeps_within(trained.reach) and now.leaves(trained.reach):
        evaluated.again.append(_Again(place, before, now))


def _note_call(evaluated: _Evaluated, values: Sequence[torch.Tensor]) -> None:
    if (found := magnitude_of(values[0])) is not None:
        evaluated.calls.append(found)


def _compared(
    argument: Argument, where: Place | None, evaluated: _Evaluated, trained: _Trained, *, drawn_alike: bool
) -> EvaluationOffScale | None:
    """How far off an argument is at a line, None if it is nothing like what it was in training.

    The same features must be off in all calls: an agent that does well may come to rest in one after the other.
    """
    alike = [call for call in evaluated.calls if trained.magnitude.is_like(call)]
    if not alike:
        return None
    all_calls = reduce(Magnitude.joined, alike)
    above = all_calls.times_above(trained.magnitude)
    below = all_calls.times_below(trained.magnitude) if all_calls.count >= _ENOUGH else 0.0
    return EvaluationOffScale(
        step=evaluated.step,
        module=argument[0],
        name=evaluated.name,
        location=locate(where),
        calls=len(alike),
        batches=trained.batches,
        times=max(above, below),
        above=above > below,
        drawn_alike=drawn_alike,
        trained=(trained.magnitude.typical_median, trained.magnitude.typical_largest),
        evaluated=(alike[0].typical_median, alike[0].typical_largest),
        scaled=_scaled(evaluated, trained),
    )


def _scaled(evaluated: _Evaluated, trained: _Trained) -> ScaledAgain | None:
    if not evaluated.again or len(evaluated.again) < evaluated.closely:
        return None
    place, before, now = evaluated.again[0]
    whole = typical(trained.reach.whole)
    return ScaledAgain(locate(place), evaluated.closely, whole, typical(now.most), typical(before.most))
