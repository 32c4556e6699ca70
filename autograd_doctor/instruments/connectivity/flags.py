"""Attributes that were set to freeze parameters, or to have them learn, and that torch does not read."""

from __future__ import annotations

import weakref
from types import FunctionType
from typing import ClassVar, NamedTuple

import torch
from torch import nn

from autograd_doctor.events.connectivity import FlagIgnored
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.places import Place, locate, own_frame, place
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.flags import FlagSet

_MOST_WAITING = 10_000
"""Flags set between two steps: one for each parameter of a large model."""


class _Flag(NamedTuple):
    holder: weakref.ref[nn.Module | torch.Tensor]
    name: str
    asked: bool
    place: Place | None


class Flags(Instrument):
    """What was set is judged after the next step: the program may freeze in another way as well.

    A class that sets it on its own instances keeps a note for itself.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (FlagIgnored,)

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._waiting: list[_Flag] = []
        self._told: set[tuple[Place | None, str]] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.flags.set, self._set)

    def _set(self, flag: FlagSet) -> None:
        if type(flag.value) is bool and len(self._waiting) < _MOST_WAITING and not _is_set_by_itself(flag.holder):
            self.listen(self._course.step_taken, self._step_taken, last=True)
            self._waiting.append(_Flag(weakref.ref(flag.holder), flag.name, flag.value, place()))

    def _step_taken(self, course: Course) -> None:
        self.unlisten(self._course.step_taken, self._step_taken)
        waiting, self._waiting = self._waiting, []
        unheeded: dict[tuple[Place | None, str, bool, str], list[int]] = {}
        for flag in waiting:
            holder = flag.holder()
            if holder is not None and (flag.place, flag.name) not in self._told:
                key = flag.place, flag.name, flag.asked, "module" if is_a(holder, nn.Module) else "tensor"
                unheeded.setdefault(key, []).extend(self._unheeding(holder, flag.asked))
        for (where, name, asked, kind), parameters in unheeded.items():
            if parameters:
                self._told.add((where, name))
                self.emit(
                    FlagIgnored(
                        step=course.steps,
                        holder=kind,
                        name=name,
                        asked=asked,
                        parameters=sorted(set(parameters)),
                        location=locate(where),
                    )
                )

    def _unheeding(self, holder: nn.Module | torch.Tensor, asked: bool) -> list[int]:
        """Known parameters that are not as was asked; none if another one of them is, which was then seen to."""
        concerned = [each for _, each in parameters_in(holder)] if isinstance(holder, nn.Module) else [holder]
        known = [number for each in concerned if (number := self._parameters.get(each)) is not None]
        return known if all(each.requires_grad is not asked for each in concerned) else []


def _is_set_by_itself(holder: object) -> bool:
    """Whether the line that sets it belongs to a method of the holder's class."""
    frame = own_frame()
    if frame is None:
        return False
    methods = (vars(kind).get(frame.f_code.co_name) for kind in type(holder).__mro__)
    return any(isinstance(method, FunctionType) and method.__code__ is frame.f_code for method in methods)
