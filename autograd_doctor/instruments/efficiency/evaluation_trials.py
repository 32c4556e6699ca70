"""What evaluation takes with gradients, under `no_grad` and under `inference_mode`, and whether what it makes meets
autograd later.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from threading import get_ident
from typing import Any, ClassVar

import torch
from torch import nn

from autograd_doctor.events.efficiency import EvaluationTried
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.connectivity.unused_forwards import UnusedForwards
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.efficiency.module_times import ModuleTimes
from autograd_doctor.instruments.instrument import Instrument, Site, failure_of_copy
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.reading.forward_modes import Compared, compared
from autograd_doctor.reading.module_copies import copies_of, copy_of, obstacle
from autograd_doctor.reading.module_tree import modules_in, parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import changes_input
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.trials import Mode, Undecided, autocast_now
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.operations import Operation

_MOST_MODULES = 4
_MOST_STATE = 2**31
_MOST_INPUT = 2**28
_SECONDS = 2.0
"""For the trial."""


@dataclass(eq=False)
class _Evaluated:
    """A module that is evaluated: where, with what, and in which modes of its parts at first; what its passes took, in
    seconds.

    number: its own. switch: what had switched gradients off. followed: passes whose operations were recorded;
    within: those in iterations.
    """

    module: weakref.ref[nn.Module]
    number: int
    gradients: bool
    where: Place | None
    switch: Location | None
    given: Any
    autocast: Mode
    modes: dict[str, bool]
    passes: int = 0
    followed: int = 0
    within: int = 0
    seconds: float = 0.0


class EvaluationTrials(Instrument):
    """Tries the module on which evaluations have spent most, once, between two iterations or when the program is over.

    In steps that are recorded, it follows what passes under `no_grad` make: under `inference_mode`, all of that would
    be tensors which autograd refuses to save and to count changes of.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (EvaluationTried,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        modules: Modules,
        module_register: ModuleRegister,
        grad_modes: GradModes,
        unused_forwards: UnusedForwards,
        iteration_times: IterationTimes,
        module_times: ModuleTimes,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._modules = modules
        self._register = module_register
        self._grad_modes = grad_modes
        self._unused = unused_forwards
        self._iterations = iteration_times
        self._times = module_times
        self._guard = site.signals.guard
        self._thread = get_ident()
        self._evaluated: dict[tuple[int, bool], _Evaluated] = {}
        self._running: tuple[ModuleCall, _Evaluated | None, float] | None = None
        self._made: IdentityTable[bool] = IdentityTable()
        self._met: tuple[Place | None, str] | None = None
        self._tried: tuple[_Evaluated, Compared] | None = None
        self._has_tried = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.modules.entered, self._entered, bare=True)
        self.listen(signals.modules.left, self._left, bare=True)
        self.listen(signals.operations.ended, self._operation_ended, attention=Attention.FULL)
        self.listen(signals.custom_functions.ended, self._function_ended, attention=Attention.FULL)
        self.listen(self._iterations.over, self._over)

    def finish(self) -> None:
        self._try()
        if self._tried is not None:
            self.emit(self._event(*self._tried))

    # ------------------------------------------------------------------------------------------------------ evaluations

    def _entered(self, call: ModuleCall) -> None:
        """A forward within another one, or within a backward, is no evaluation."""
        within = self._running is not None or self._times.running > call.grad_enabled or self._iterations.in_backward
        if within or call.module.training or call.inference or get_ident() != self._thread:
            return
        with self._guard.looking():
            evaluated = self._of(call)
        self._running = call, evaluated, self._iterations.seconds()

    def _of(self, call: ModuleCall) -> _Evaluated | None:
        number = self._register.root(call.module)
        key = number, call.grad_enabled
        is_new = key not in self._evaluated and len(self._evaluated) < _MOST_MODULES and not self._has_tried
        if is_new and next(parameters_in(call.module), None) is not None:
            switch = self._grad_modes.switch
            self._evaluated[key] = _Evaluated(
                weakref.ref(call.module),
                number,
                call.grad_enabled,
                place(),
                switch.location if switch is not None and switch.form != "framework" else None,
                copies_of((call.args, call.kwargs), _MOST_INPUT),
                autocast_now(call.module),
                {path: inner.training for path, inner in modules_in(call.module)},
            )
        return self._evaluated.get(key)

    def _left(self, call: ModuleCall) -> None:
        if self._running is None or self._running[0] is not call:
            return
        _, evaluated, began = self._running
        self._running = None
        if evaluated is not None:
            evaluated.passes += 1
            evaluated.followed += self._detail.full
            evaluated.within += self._iterations.have_begun
            evaluated.seconds += self._iterations.seconds() - began

    # ------------------------------------------------------------------------------------------------- what they make

    def _operation_ended(self, operation: Operation) -> None:
        if self._running is not None and not self._running[0].grad_enabled:
            self._make(operation.result, operation.inputs)
            return
        found = [each in self._made for each in operation.inputs]
        if not any(found):
            return
        if not operation.grad_enabled:
            self._make(operation.result, operation.inputs)
        elif _has_graph(operation.result) or (found[0] and changes_input(operation.name)):
            self._meet(operation.place, operation.name)
        elif any(each._is_view() for each in tensors_in((operation.result,))):
            self._make(operation.result, operation.inputs)

    def _function_ended(self, call: FunctionCall) -> None:
        if any(each in self._made for each in tensors_in(call.args)) and _has_graph(call.result):
            self._meet(place(), call.function.__name__)

    def _make(self, result: Any, inputs: Iterable[torch.Tensor]) -> None:
        """What is written to in place stays what it was."""
        for tensor in tensors_in((result,)):
            if not any(tensor is each for each in inputs):
                self._made.put(tensor, value=True)

    def _meet(self, where: Place | None, name: str) -> None:
        self._met = self._met or (where, name)

    # -------------------------------------------------------------------------------------------------------- the trial

    def _over(self, iteration: Iteration) -> None:
        if not iteration.recorded:
            self._try()

    def _try(self) -> None:
        dearest = max(self._idle(), key=lambda each: each.seconds, default=None)
        if self._has_tried or dearest is None:
            return
        self._has_tried = True
        try:
            self._tried = dearest, _tried(dearest)
        except Undecided as undecided:
            self.limited(f"what `inference_mode` would save was not tried: {undecided}")
        except Exception as error:
            self.limited(f"what `inference_mode` would save was not tried: {failure_of_copy(error)}")
        for each in self._evaluated.values():
            each.given = None

    def _idle(self) -> list[_Evaluated]:
        """What is called with gradients is evaluated if no backward has come back to it."""
        return [
            each
            for each in self._evaluated.values()
            if not each.gradients or self._unused.never_used(each.number, each.where)
        ]

    def _event(self, tried: _Evaluated, found: Compared) -> EvaluationTried:
        where, by = self._met or (None, "")
        return EvaluationTried(
            step=self._course.steps,
            module=self._modules.name_of(tried.number),
            gradients=tried.gradients,
            passes=tried.passes,
            followed=tried.followed,
            within=tried.within,
            iterations=self._iterations.count,
            saved=found.saved,
            recording=found.recording,
            inference=found.inference,
            differs=found.differs,
            location=tried.switch or locate(tried.where),
            called=locate(tried.where),
            met=locate(where),
            by=by,
        )


def _tried(evaluated: _Evaluated) -> Compared:
    module = evaluated.module()
    if module is None:
        raise Undecided("the module is gone")
    if reason := obstacle(module, _MOST_STATE):
        raise Undecided(reason)
    if not evaluated.given:
        raise Undecided("what it is called with cannot be copied")
    copied = copy_of(module)
    for path, inner in modules_in(copied):
        attributes(inner)["training"] = evaluated.modes.get(path, False)
    return compared(copied, evaluated.given, _SECONDS, evaluated.autocast)


def _has_graph(result: Any) -> bool:
    return any(map(has_graph, tensors_in((result,))))
