"""Whether `eval()` and then `train()` leave a model another one, where the program says itself what these do.

Tried on a copy after a step of training, until one trial finds a difference; then the model itself is watched, whether
evaluations leave it so, and training goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import nn
from torch.optim import Optimizer

from autograd_doctor.events.cycle import EvaluationChangedModel
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.connectivity.train_modes import TrainModes
from autograd_doctor.instruments.instrument import Instrument, Site, failure_of_copy
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.changing_line import untraced
from autograd_doctor.reading.module_tree import has_parameters
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.round_trips import Trip, differences, has_own_switch, held_tensors, round_trip
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.signals import Signals

_MOST_SECONDS = 0.2
"""Of one call; a trial makes six at most."""
_UNTRIED = 3
"""Steps with calls of a module before the one after which it is tried first: adapters that begin with zeros have then
learned something."""
_MOST_TRIED = 4
_MOST_MODULES = 4


_Given = tuple[tuple[Any, ...], dict[str, Any]]
"""What a call was given."""


class _Left(NamedTuple):
    """What a step left of the tensors that a trial found to differ: their paths, and the values of the first."""

    step: int
    paths: list[str]
    values: torch.Tensor | None


@dataclass(eq=False, slots=True)
class _Root:
    """A root that trains, and whose mode the program switches in its own way.

    steps: those in which it was called. is_due: it is tried after the next one. trip: what a trial has found, with its
    parameters, of which an optimizer holds some if it is `trained`. left: by the newest step. evaluated: it was, since
    that; evaluated_at: the line that put it into evaluation mode. is_other: it came back to training as another one.
    times, returns: how often it did, and how often it came back at all since it was found. since: the first step, by
    its number, that was taken with what an evaluation had left.
    """

    number: int
    steps: int = 0
    tried: int = 0
    is_due: bool = False
    evaluated: bool = False
    evaluated_at: Location | None = None
    trip: Trip | None = None
    left: _Left | None = None
    is_other: bool = False
    times: int = 0
    since: int = 0
    returns: int = 0
    parameters: tuple[int, ...] = ()
    trained: bool = False


class SwitchedModels(Instrument):
    """Tries a root after its first few steps, and after the next ones that follow an evaluation."""

    emits: ClassVar[tuple[type[Event], ...]] = (EvaluationChangedModel,)

    def __init__(
        self,
        site: Site,
        course: Course,
        module_calls: ModuleCalls,
        train_modes: TrainModes,
        parameters: Parameters,
        optimizers: Optimizers,
    ) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._module_calls = module_calls
        self._train_modes = train_modes
        self._parameters = parameters
        self._optimizers = optimizers
        self._roots: IdentityTable[_Root | None] = IdentityTable()
        self._candidates = 0
        self._found: list[tuple[_Root, Trip]] = []
        self._calls: dict[int, tuple[nn.Module, _Given | None]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began)
        self.listen(signals.optimizers.built, self._optimizer_built)
        self.listen(self._course.step_taken, self._step_taken)

    def finish(self) -> None:
        for root, trip in self._found:
            if root.times:
                self.emit(self._event(root, trip))

    def detach(self) -> None:
        self._calls.clear()
        super().detach()

    # --------------------------------------------------------------------------------------------------------- calls

    def _root_began(self, began: RootBegan) -> None:
        module = began.call.module
        root = self._roots.get(module) if module in self._roots else self._met(began)
        if root is None:
            return
        if not module.training:
            self._evaluated(root, module)
        elif began.call.grad_enabled:
            began.again |= root.trip is not None or root.tried < _MOST_TRIED
            if root.evaluated:
                self._came_back(root, module)
            given = (began.call.args, began.call.kwargs) if root.is_due else None
            self._calls[began.module] = (module, given)

    def _met(self, began: RootBegan) -> _Root | None:
        module = began.call.module
        is_one = self._candidates < _MOST_MODULES and has_own_switch(module) and has_parameters(module)
        root = _Root(began.module) if is_one else None
        self._candidates += is_one
        self._roots.put(module, root)
        return root

    def _evaluated(self, root: _Root, module: nn.Module) -> None:
        if root.steps:
            root.evaluated = True
            root.evaluated_at = self._train_modes.set_at(module)

    def _came_back(self, root: _Root, module: nn.Module) -> None:
        root.evaluated = False
        root.is_due = root.trip is None and root.tried < _MOST_TRIED
        left = root.left
        if left is not None and left.step == self._course.steps and root.trip is not None:
            root.returns += 1
            root.is_other = _is_other(left, held_tensors(module), root.trip)

    def _optimizer_built(self, _: Optimizer) -> None:
        """A stage begins, with the model as it is now."""
        for _module, root in self._roots.items():
            if root is not None:
                root.evaluated = root.is_other = False

    # --------------------------------------------------------------------------------------------------------- steps

    def _step_taken(self, course: Course) -> None:
        calls, self._calls = [*self._calls.values()], {}
        for module, given in calls:
            root = self._roots.get(module)
            if root is None:
                continue
            if root.is_other:
                root.times += 1
                root.since = root.since or course.steps
            root.is_other = False
            if given is not None and module.training:
                self._try(root, module, *given)
            root.steps += 1
            root.is_due |= root.steps == _UNTRIED and not root.tried
        for module, root in self._roots.items():
            if root is not None and root.trip is not None:
                root.left = _as_left(course.steps, held_tensors(module), root.trip)

    def _try(self, root: _Root, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        root.is_due = False
        root.tried += 1
        try:
            with self._guard.looking(), untraced():
                root.trip = round_trip(module, args, kwargs, _MOST_SECONDS)
        except Undecided as undecided:
            self._give_up(root, str(undecided))
        except Exception as error:
            self._give_up(root, failure_of_copy(error))
        if root.trip is not None:
            self._found.append((root, root.trip))
            self._note_parameters(root, held_tensors(module), root.trip)

    def _give_up(self, root: _Root, reason: str) -> None:
        root.tried = _MOST_TRIED
        self.limited(f"whether evaluations change what is trained was not tested: {reason}")

    def _note_parameters(self, root: _Root, held: dict[str, torch.Tensor], trip: Trip) -> None:
        found = [self._parameters.get(held[path]) for path in trip.tensors if path in held]
        root.parameters = tuple(number for number in found if number is not None)
        root.trained = any(map(self._optimizers.holds, root.parameters))

    def _event(self, root: _Root, trip: Trip) -> EvaluationChangedModel:
        return EvaluationChangedModel(
            step=self._course.steps,
            module=root.number,
            tensors=[*trip.tensors],
            change=trip.change,
            alike=trip.alike,
            again=trip.again,
            trained=root.trained,
            parameters=[*root.parameters],
            times=root.times,
            returns=root.returns,
            since=root.since,
            written_at=trip.written_at,
            back_at=trip.back_at,
            evaluated_at=root.evaluated_at,
        )


def _as_left(step: int, held: dict[str, torch.Tensor], trip: Trip) -> _Left:
    first = held.get(next(iter(trip.tensors)))
    paths = [path for path in trip.tensors if path in held]
    return _Left(step, paths, None if first is None else first.detach().clone())


def _is_other(left: _Left, now: dict[str, torch.Tensor], trip: Trip) -> bool:
    first = next(iter(trip.tensors))
    if [path for path in trip.tensors if path in now] != left.paths:
        return True
    return left.values is not None and bool(differences({first: left.values}, {first: now[first]}))
