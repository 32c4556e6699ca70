"""What switched gradients off, at every moment: a block, a decorator, a bare call or a framework, with its line."""

from __future__ import annotations

import contextlib
import threading
from functools import cache
from types import CodeType, FrameType, FunctionType
from typing import Any, Literal

import torch
from msgspec import structs
from torch.autograd import grad_mode
from torch.utils import _contextlib

from autograd_doctor.events.facts import GradSwitch
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.conditions import depends_on_a_choice, is_chosen
from autograd_doctor.reading.frame_locals import local_variables
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, here, is_own, locate, place
from autograd_doctor.reading.without_running import is_a, unwrapped
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.grad_modes import GradDecorated, GradSwitched
from autograd_doctor.signals.signal import Signal

Kind = Literal["no_grad", "inference_mode", "set_grad_enabled"]
Form = Literal["block", "decorator", "call", "framework"]


class GradModes(Instrument):
    """Keeps `switch` right at every moment, for each thread; sends `changed` when it may have changed.

    The context managers of torch restore what they found when they were entered (`set_grad_enabled`: when it was
    built). So the switch that was in force then is remembered per manager, and comes back when the manager exits; one
    that was entered unseen, by torch for itself, has changed nothing.
    """

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.changed: Signal[GradModes] = Signal(site.signals.guard)
        self._thread = threading.local()
        self._decorated: dict[tuple[CodeType, str], Place | None] = {}
        """Where each function was put under a manager of a kind: the line of the decorator, or that of a call."""
        self._guard = site.signals.guard
        self._conditional: dict[Place | CodeType, bool] = {}
        self._before: IdentityTable[GradSwitch | None] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.grad_modes.applied, self._applied)
        self.listen(signals.grad_modes.entered, self._entered)
        self.listen(signals.grad_modes.exited, self._restored)
        self.listen(signals.grad_modes.called, self._called)
        self.listen(signals.grad_modes.decorated, self._restored)

    @property
    def switch(self) -> GradSwitch | None:
        """What switched gradients off in the current thread, None while they are on."""
        return getattr(self._thread, "switch", None)

    def _applied(self, decorated: GradDecorated) -> None:
        code = _code(decorated.function)
        if code is not None:
            self._decorated[code, type(decorated.manager).__name__] = place()

    def _entered(self, switched: GradSwitched) -> None:
        if not is_a(switched.manager, torch.set_grad_enabled):
            self._before.put(switched.manager, self.switch)
        self._set(switched, "block")

    def _called(self, switched: GradSwitched) -> None:
        self._before.put(switched.manager, self.switch)
        if switched.frame.f_code.co_filename != grad_mode.__file__:
            self._set(switched, "call")
            self.changed.relay(self)

    def _restored(self, switched: GradSwitched) -> None:
        if switched.enabled or switched.manager in self._before:
            self._thread.switch = None if switched.enabled else self._before.get(switched.manager)
            self.changed.relay(self)

    def _set(self, switched: GradSwitched, form: Form) -> None:
        """A framework that switches off what the user had switched off already changes nothing."""
        kind = type(switched.manager).__name__
        new = None if switched.enabled else self._described(kind, switched.frame, form)
        if new is None or new.form != "framework" or self.switch is None:
            self._thread.switch = new

    def _described(self, kind: Any, frame: FrameType, form: Form) -> GradSwitch:
        while frame.f_code.co_filename == contextlib.__file__ and frame.f_back is not None:
            frame = frame.f_back
        if frame.f_code.co_filename == _contextlib.__file__:
            code = _code(local_variables(frame).get("func"))
            if code is not None and is_own(code.co_filename):
                applied = self._decorated.get((code, kind))
                return _decorator(kind, code, applied, conditional=self._is_conditional(code))
        elif is_own(frame.f_code.co_filename):
            where = (frame.f_code, frame.f_lasti)
            return _switch_at(kind, form, where, conditional=self._is_conditional(where))
        return GradSwitch(kind=kind, form="framework", location=here())

    def _is_conditional(self, what: Place | CodeType) -> bool:
        """Whether a choice leads to a block or a decorated function; in light steps, whether one did before."""
        if what not in self._conditional or self._guard.attention >= Attention.FULL:
            self._conditional[what] = depends_on_a_choice()
        return self._conditional[what]


def _code(function: object) -> CodeType | None:
    """The code of what is decorated, below other decorators."""
    inner = unwrapped(function)
    return inner.__code__ if isinstance(inner, FunctionType) else None


@cache
def _switch_at(kind: Kind, form: Form, where: Place, *, conditional: bool) -> GradSwitch:
    conditional = conditional or is_chosen(*where, of_constants=kind == "set_grad_enabled")
    return GradSwitch(kind=kind, form=form, location=locate(where), conditional=conditional)


@cache
def _decorator(kind: Kind, code: CodeType, applied: Place | None, *, conditional: bool) -> GradSwitch:
    """A function under a decorator; one that was decorated unseen begins at its first decorator."""
    location = locate(applied) or Location(path=code.co_filename, line=code.co_firstlineno)
    location = structs.replace(location, function=code.co_qualname)
    return GradSwitch(
        kind=kind, form="decorator", location=location, function=code.co_qualname, conditional=conditional
    )
