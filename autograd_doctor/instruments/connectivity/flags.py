"""Attributes that were set to freeze parameters, to have them learn, or to tune an optimizer, and that torch does not
read."""

from __future__ import annotations

import weakref
from types import FunctionType
from typing import ClassVar, NamedTuple

import torch
from torch import nn

from autograd_doctor.events.connectivity import FlagIgnored, SettingIgnored
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.places import Place, locate, own_frame, place
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.flags import FlagSet, SettingUsed
from autograd_doctor.signals.optimizers import StepCall

_MOST_SETTINGS = 100
_MOST_WAITING = 10_000
"""Flags set between two steps: one for each parameter of a large model."""


class _Flag(NamedTuple):
    holder: weakref.ref[nn.Module | torch.Tensor]
    name: str
    asked: bool
    place: Place | None


class _Setting(NamedTuple):
    optimizer: int
    name: str
    value: float
    place: Place | None


class Flags(Instrument):
    """What was set is judged after the next step: the program may freeze in another way as well.

    A class that sets it on its own instances keeps a note for itself. So does whoever reads what was set on an
    optimizer; it is told of at the end, when that is known.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (FlagIgnored, SettingIgnored)

    def __init__(self, site: Site, course: Course, parameters: Parameters, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._optimizers = optimizers
        self._settings: list[_Setting] = []
        self._ignored: dict[tuple[Place | None, str], SettingIgnored] = {}
        self._read: set[str] = set()
        self._course = course
        self._parameters = parameters
        self._waiting: list[_Flag] = []
        self._told: set[tuple[Place | None, str]] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.flags.set, self._set)
        self.listen(signals.flags.tuned, self._tuned)
        self.listen(signals.flags.read, self._asked_for)
        self.listen(signals.steps.ended, self._stepped)

    def finish(self) -> None:
        for (_, name), event in self._ignored.items():
            if name not in self._read:
                self.emit(event)

    def _asked_for(self, setting: SettingUsed) -> None:
        self._read.add(setting.name)

    def _tuned(self, setting: SettingUsed) -> None:
        """Optimizers of torch alone: others may read what they are told in any way."""
        is_torchs = type(setting.holder).__module__.startswith("torch.optim.")
        if is_torchs and type(setting.value) in (int, float) and len(self._settings) < _MOST_SETTINGS:
            number = self._optimizers.number(setting.holder)
            self._settings.append(_Setting(number, setting.name, setting.value, place()))

    def _stepped(self, call: StepCall) -> None:
        """What a group holds as well was set there, too."""
        mine = [each for each in self._settings if each.optimizer == self._optimizers.known(call.optimizer)]
        self._settings = [each for each in self._settings if each not in mine]
        for setting in mine:
            held = [group[setting.name] for group in call.optimizer.param_groups if setting.name in group]
            if held and setting.value not in held and len(self._ignored) < _MOST_SETTINGS:
                event = SettingIgnored(
                    step=self._course.steps,
                    optimizer=setting.optimizer,
                    name=setting.name,
                    asked=float(setting.value),
                    held=[float(value) for value in held],
                    location=locate(setting.place),
                )
                self._ignored.setdefault((setting.place, setting.name), event)

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
