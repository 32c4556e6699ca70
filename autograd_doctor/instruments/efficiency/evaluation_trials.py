"""What evaluation takes with gradients, under `no_grad` and under `inference_mode`, and whether what it makes meets
autograd later.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from threading import get_ident
from typing import Any, ClassVar

from torch import nn

from autograd_doctor.events.efficiency import EvaluationTried
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import GradSwitch
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.connectivity.unused_forwards import UnusedForwards
from autograd_doctor.instruments.efficiency.blocks_without_gradients import BlocksWithoutGradients
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.efficiency.module_times import ModuleTimes
from autograd_doctor.instruments.instrument import Instrument, Site, failure_of_copy
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.reading.forward_modes import Compared, compared
from autograd_doctor.reading.module_copies import copies_of, copy_of, obstacle
from autograd_doctor.reading.module_tree import has_parameters, modules_in
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.trials import Mode, Undecided, autocast_now
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.modules import ModuleCall

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
    switch: GradSwitch | None
    given: Any
    autocast: Mode
    modes: dict[str, bool]
    passes: int = 0
    followed: int = 0
    within: int = 0
    seconds: float = 0.0


class EvaluationTrials(Instrument):
    """Tries the module on which evaluations have spent most, once: between two iterations, or at the end."""

    emits: ClassVar[tuple[type[Event], ...]] = (EvaluationTried,)

    def __init__(
        self,
        site: Site,
        course: Course,
        modules: Modules,
        module_register: ModuleRegister,
        grad_modes: GradModes,
        blocks_without_gradients: BlocksWithoutGradients,
        unused_forwards: UnusedForwards,
        iteration_times: IterationTimes,
        module_times: ModuleTimes,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._modules = modules
        self._register = module_register
        self._grad_modes = grad_modes
        self._blocks = blocks_without_gradients
        self._unused = unused_forwards
        self._iterations = iteration_times
        self._times = module_times
        self._guard = site.signals.guard
        self._thread = get_ident()
        self._evaluated: dict[tuple[int, bool], _Evaluated] = {}
        self._running: tuple[ModuleCall, _Evaluated | None, float] | None = None
        self._tried: tuple[_Evaluated, Compared] | None = None
        self._has_tried = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.modules.entered, self._entered, bare=True)
        self.listen(signals.modules.left, self._left, bare=True)
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
        if is_new and has_parameters(call.module):
            switch = self._grad_modes.switch
            self._evaluated[key] = _Evaluated(
                weakref.ref(call.module),
                number,
                call.grad_enabled,
                place(),
                switch,
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
            evaluated.followed += self._blocks.follows and not call.grad_enabled
            evaluated.within += self._iterations.have_begun
            evaluated.seconds += self._iterations.seconds() - began

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
        switch = tried.switch
        met = self._blocks.met(switch.location) if switch is not None else None
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
            location=switch.location if switch is not None and switch.form != "framework" else locate(tried.where),
            called=locate(tried.where),
            met=locate(met.where) if met is not None else None,
            by=met.by if met is not None else "",
            kind=switch.kind if switch is not None else "",
            form=switch.form if switch is not None else "",
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
