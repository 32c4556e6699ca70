"""Work that ran after a bare `set_grad_enabled(False)` which was never undone."""

from __future__ import annotations

import sys
from types import FrameType
from typing import ClassVar

from torch import nn

from autograd_doctor.events.connectivity import GradModeLeftOff
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import GradSwitch
from autograd_doctor.findings import Location
from autograd_doctor.instruments.connectivity.grad_modes import GradModes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.places import Place, here, locate, place
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.modules import ModuleCall


class GradModeLeft(Instrument):
    """Watches what runs after a bare `set_grad_enabled(False)`, until it is undone or has been reported.

    Nothing is said of the call itself, nor of a forward pass under it: the program may still undo it. It is left off
    when a backward then finds no graph, or a step is taken although no backward found one.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (GradModeLeftOff,)

    def __init__(self, site: Site, course: Course, grad_modes: GradModes) -> None:
        super().__init__(site)
        self._course = course
        self._grad_modes = grad_modes
        self._modules = site.signals.modules
        self._backward = site.signals.backward
        self._work: Place | None = None
        self._reported = False

    def connect(self, signals: Signals) -> None:
        self.listen(self._grad_modes.changed, self._changed)

    def _changed(self, grad_modes: GradModes) -> None:
        """Start or stop to follow the forward passes."""
        switch = grad_modes.switch
        off = switch is not None and switch.form == "call"
        if off and not self._reported:
            self.listen(self._modules.began, self._forward_began)
            self.listen(self._backward.began, self._backward_began)
            self.listen(self._course.step_taken, self._stepped)
        elif not off and switch is None:
            self._rest()

    def _rest(self) -> None:
        self._work = None
        self.unlisten(self._modules.began, self._forward_began)
        self.unlisten(self._backward.began, self._backward_began)
        self.unlisten(self._course.step_taken, self._stepped)

    @property
    def _switch(self) -> GradSwitch | None:
        switch = self._grad_modes.switch
        return switch if switch is not None and switch.form == "call" else None

    def _forward_began(self, call: ModuleCall) -> None:
        if call.module.training and self._switch is not None and _is_root(sys._getframe(1)):
            self._work = place()

    def _backward_began(self, call: BackwardCall) -> None:
        if self._work is None and self._switch is None:
            return
        if any(getattr(root, "grad_fn", root) is not None for root in call.roots):
            self._work = None
        else:
            self._report(locate(self._work) or here())

    def _stepped(self, course: Course) -> None:
        if self._work is not None:
            self._report(locate(self._work))

    def _report(self, work: Location | None) -> None:
        switch = self._switch
        if switch is not None and not self._reported:
            self._reported = True
            self.emit(GradModeLeftOff(step=self._course.steps, switch=switch, work=work))
            self._rest()


def _is_root(frame: FrameType | None) -> bool:
    """Whether the module call that this frame belongs to is the outermost one on the stack."""
    while frame is not None:
        if frame.f_code is nn.Module._call_impl.__code__:
            return False
        frame = frame.f_back
    return True
