"""How large the data are that modules are evaluated on, beside those that they are trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch

from autograd_doctor.events.data import EvaluationOffScale
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.connectivity.unused_forwards import UnusedForwards
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.magnitude import Magnitude, magnitude_of, some_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention

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
    """What an argument was in training: over all batches, and in how many."""

    magnitude: Magnitude
    batches: int = 1


@dataclass
class _Evaluated:
    name: str
    step: int
    calls: list[Magnitude] = field(default_factory=list)


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
        tensors: Tensors,
        unused_forwards: UnusedForwards,
    ) -> None:
        super().__init__(site)
        self._unused_forwards = unused_forwards
        self._course = course
        self._late_values = late_values
        self._detail = detail
        self._module_calls = module_calls
        self._tensors = tensors
        self._trained: dict[Argument, _Trained] = {}
        self._evaluated: dict[tuple[Argument, Place | None, bool], _Evaluated] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)

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
            self._late_values.ask(self, [some], lambda values: self._join(argument, magnitude_of(values[0])))

    def _join(self, argument: Argument, found: Magnitude | None) -> None:
        known = self._trained.get(argument)
        if found is not None and known is None:
            self._trained[argument] = _Trained(found)
        elif found is not None and known is not None and known.magnitude.is_like(found):
            known.magnitude, known.batches = known.magnitude.joined(found), known.batches + 1

    def _evaluate(self, argument: Argument, where: Place | None, with_graph: bool, tensor: torch.Tensor) -> None:
        known = self._evaluated.get((argument, where, with_graph))
        if known is None and len(self._evaluated) < _MOST_ARGUMENTS:
            known = self._evaluated[argument, where, with_graph] = _Evaluated(variable_name(tensor), self._course.steps)
        some = some_of(tensor) if known is not None and len(known.calls) < _MOST_CALLS else None
        if some is not None and known is not None:
            self._late_values.ask(self, [some], partial(_note_call, known))

    def finish(self) -> None:
        """Tell of lines that are off scale for all modules that they evaluate: one fold may be unlike the others."""
        told: dict[Place | None, list[EvaluationOffScale]] = {}
        for (argument, where, with_graph), evaluated in self._evaluated.items():
            if with_graph and not self._unused_forwards.never_used(argument[0], where):
                continue
            trained = self._trained.get(argument)
            if trained is not None and (found := _compared(argument, where, evaluated, trained)) is not None:
                told.setdefault(where, []).append(found)
        for events in told.values():
            off = [event for event in events if event.times >= _WORTH_TELLING]
            if {event.module for event in off} == {event.module for event in events}:
                for event in off:
                    self.emit(event)


def _note_call(evaluated: _Evaluated, values: Sequence[torch.Tensor]) -> None:
    if (found := magnitude_of(values[0])) is not None:
        evaluated.calls.append(found)


def _compared(
    argument: Argument, where: Place | None, evaluated: _Evaluated, trained: _Trained
) -> EvaluationOffScale | None:
    """How far off an argument is at a line, None if it is nothing like what it was in training."""
    alike = [call for call in evaluated.calls if trained.magnitude.is_like(call)]
    if not alike:
        return None
    above = min(call.times_above(trained.magnitude) for call in alike)
    is_enough = sum(call.count for call in alike) >= _ENOUGH
    below = min(call.times_below(trained.magnitude) for call in alike) if is_enough else 0.0
    return EvaluationOffScale(
        step=evaluated.step,
        module=argument[0],
        name=evaluated.name,
        location=locate(where),
        calls=len(alike),
        batches=trained.batches,
        times=max(above, below),
        above=above > below,
        trained=(trained.magnitude.typical_median, trained.magnitude.typical_largest),
        evaluated=(alike[0].typical_median, alike[0].typical_largest),
    )
