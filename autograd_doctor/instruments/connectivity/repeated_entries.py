"""Modules that stand twice in one list or dictionary, and are called on different data in one pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar

import torch
from torch import nn

from autograd_doctor.events.connectivity import EntriesAreOne
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.regions import region_of
from autograd_doctor.reading.tensor_facts import at_home
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.registration import Registered

_MOST_STEPS = 8
"""To tell of."""
_MOST_NUMBERS = 4096
_LEAST_NUMBERS = 16
"""Of an input, to compare."""
_UNRELATED = 0.5
"""Of a correlation: views of a sample have most in common; 16 numbers come to as much by chance once in 20 times."""


@dataclass
class _Repeated:
    """A module, the line that put it in once more, and how often it is there. inputs: data that it was given in this
    step, by their regions, None where what parameters made is among them."""

    where: Place | None
    times: int = 2
    inputs: dict[object, torch.Tensor] | None = field(default_factory=dict)
    told: int = 0


class RepeatedEntries(Instrument):
    """Looks at their inputs in steps that are looked at closely.

    Layers that are repeated on purpose go on from what they said, and heads that are shared from what other layers
    said: only data tell two parts apart that were meant to be two.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (EntriesAreOne,)

    def __init__(self, site: Site, course: Course, parameters: Parameters, tensors: Tensors) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._tensors = tensors
        self._modules = site.signals.modules
        self._repeated: IdentityTable[_Repeated] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.registration.submodule, self._registered)

    def _registered(self, registered: Registered) -> None:
        given, container = registered.given, registered.module
        if not isinstance(container, nn.ModuleList | nn.ModuleDict) or not isinstance(given, nn.Module):
            return
        if not any(entry is given for entry in container._modules.values()):
            return
        known = self._repeated.get(given)
        if known is not None:
            known.times += 1
            return
        self._repeated.put(given, _Repeated(place()))
        if len(self._repeated) == 1:
            self.listen(self._modules.began, self._called, attention=Attention.CLOSE)
            self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _called(self, call: ModuleCall) -> None:
        known = self._repeated.get(call.module)
        if known is None or known.inputs is None or not call.grad_enabled:
            return
        given = [each for each in call.args if isinstance(each, torch.Tensor)]
        if len(given) != 1 or self._is_made(given[0]):
            known.inputs = None
        else:
            known.inputs[region_of(given[0])] = at_home(given[0].detach().reshape(-1)[:_MOST_NUMBERS]).double().clone()

    def _is_made(self, tensor: torch.Tensor) -> bool:
        """Whether parameters, or what learns, have flowed into it."""
        made = self._tensors.get(tensor)
        return tensor.requires_grad or (made is not None and made.values != 0)

    def _step_taken(self, course: Course) -> None:
        for module, known in self._repeated.items():
            inputs, known.inputs = known.inputs, {}
            if inputs is None or len(inputs) != known.times or None in inputs or known.told >= _MOST_STEPS:
                continue
            if not all(_are_apart(one, other) for one, other in combinations(inputs.values(), 2)):
                continue
            known.told += 1
            numbers = (self._parameters.get(parameter) for _, parameter in parameters_in(module))
            self.emit(
                EntriesAreOne(
                    step=course.steps,
                    location=locate(known.where),
                    times=known.times,
                    parameters=sorted(number for number in numbers if number is not None),
                )
            )


def _are_apart(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether neither tells of the other, as two views of a sample do."""
    if one.shape != other.shape:
        return True
    pair = torch.stack([one, other])
    if len(one) < _LEAST_NUMBERS or not bool(torch.isfinite(pair).all()):
        return False
    shared = torch.corrcoef(pair)[0, 1]
    return bool(shared.abs() < _UNRELATED)
