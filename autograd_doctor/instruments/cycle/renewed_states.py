"""Averages of gradients that an optimizer of the program's own keeps: whether they hold more than the newest one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import torch
from torch.optim import Optimizer

from autograd_doctor.events.cycle import StateRenewed
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.changing_line import ChangingLine
from autograd_doctor.reading.custom_functions import definition, own_method
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import norms, readable
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall

_MOST_STEPS = 8
"""Of each optimizer, to look at."""
_ROUNDING = 1e-5
"""Of an average, relative: a hundred roundings in float32."""


class _Entry(NamedTuple):
    """What the state of a parameter holds under a key, and the decays that its group gives to averages."""

    parameter: torch.Tensor
    key: Any
    decays: list[float]


class RenewedStates(Instrument):
    """Looks at steps, in those that are looked at closely, of optimizers whose `step` the program defines.

    The average of the first step is the gradient, or its square, times 1 - decay. Later ones are that only if nothing
    is left of what was there when the step began. Once that is seen, the line is looked for that first changes one.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (StateRenewed,)

    def __init__(self, site: Site, course: Course, parameters: Parameters, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._optimizers = optimizers
        self._looks: Counter[int] = Counter()
        self._kept: dict[int, list[_Entry]] = {}
        self._renewed: set[int] = set()
        self._line: ChangingLine | None = None

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._began, attention=Attention.CLOSE)
        self.listen(signals.steps.ended, self._ended, attention=Attention.CLOSE)

    def detach(self) -> None:
        if self._line is not None:  # of a step that raised
            self._line.end()
        super().detach()

    def _began(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        if self._looks[number] >= _MOST_STEPS or own_method(type(call.optimizer), "step") is None:
            return
        entries = list(_entries(call.optimizer))
        held = norms([call.optimizer.state[entry.parameter][entry.key] for entry in entries])
        kept = self._kept[number] = [entry for entry, norm in zip(entries, held, strict=True) if norm > 0]
        if number in self._renewed and kept:
            self._line = ChangingLine(partial(_identity, call.optimizer, kept[0]))
            self._line.begin()

    def _ended(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        line, self._line = self._line, None
        if line is not None:
            line.end()
        state = call.optimizer.state
        kept = [
            entry for entry in self._kept.pop(number, ()) if _is_average(state[entry.parameter].get(entry.key), entry)
        ]
        if not kept:
            return
        self._looks[number] += 1
        renewed = _newest_alone([(entry, state[entry.parameter][entry.key].detach()) for entry in kept])
        if renewed:
            self._renewed.add(number)
        self.emit(
            StateRenewed(
                step=self._course.steps,
                optimizer=number,
                parameters=sorted({self._parameters.number(entry.parameter) for entry in renewed}),
                entries=sorted({str(entry.key) for entry in renewed}),
                location=(line.found if line else None) or definition(type(call.optimizer), "step"),
            )
        )


def _entries(optimizer: Optimizer) -> Iterator[_Entry]:
    for group in optimizer.param_groups:
        decays = [each for key, setting in group.items() if key != "lr" for each in _shares_in(setting)]
        decays = [each for each in decays if 1 - each != group.get("lr")]
        for parameter in group["params"] if decays else ():
            state = optimizer.state.get(parameter, {})
            entries = (_Entry(parameter, key, decays) for key in (state if type(state) is dict else ()))
            yield from (entry for entry in entries if _is_average(state[entry.key], entry))


def _identity(optimizer: Optimizer, entry: _Entry) -> tuple[int, int]:
    """Which tensor it is, and how often that was changed."""
    value = optimizer.state[entry.parameter].get(entry.key)
    return id(value), version_of(value) if is_a(value, torch.Tensor) else 0


def _shares_in(setting: Any) -> list[float]:
    values = setting if type(setting) in (tuple, list) else (setting,)
    return [each for each in values if type(each) is float and 0 < each < 1]


def _is_average(value: Any, entry: _Entry) -> bool:
    """Whether it may be one: as many numbers as the parameter and its gradient have."""
    gradient = entry.parameter.grad
    if gradient is None or not readable(gradient) or not is_a(value, torch.Tensor) or not readable(value):
        return False
    return bool(value.is_floating_point()) and value.numel() > 1 and value.shape == gradient.shape


def _newest_alone(averages: list[tuple[_Entry, torch.Tensor]]) -> list[_Entry]:
    """Those that are the newest gradient, or its square, times 1 - decay."""
    differences = [
        (position, average - (1 - decay) * newest)
        for position, (entry, average) in enumerate(averages)
        for newest in _newest(entry)
        for decay in entry.decays
    ]
    found = norms([*(average for _, average in averages), *(difference for _, difference in differences)])
    sizes, distances = found[: len(averages)], found[len(averages) :]
    pairs = zip(differences, distances, strict=True)
    near = {position for (position, _), distance in pairs if distance <= _ROUNDING * sizes[position]}
    return [averages[position][0] for position in sorted(near) if sizes[position] > 0]


def _newest(entry: _Entry) -> Iterator[torch.Tensor]:
    if entry.parameter.grad is not None:
        gradient = entry.parameter.grad.detach()
        yield from (gradient, gradient.square())
