"""Who is who among the optimizers: their numbers and names, and the parameters that they were given."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from itertools import chain, repeat, zip_longest
from typing import Any, ClassVar

import msgspec
import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterGroup, ParametersAdded
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.conditions import is_in_a_loop
from autograd_doctor.reading.custom_functions import definition
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.optimizer_groups import rates_at_hand
from autograd_doctor.reading.places import here
from autograd_doctor.reading.variable_names import series_name, variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.optimizers import GroupAdded

_ATTEMPTS = 4
"""How often the variable is looked for that holds an optimizer: at its first uses it is in sight, or never."""
_TOLERANCES = ("tolerance_grad", "tolerance_change")
"""Settings of `torch.optim.LBFGS`, and of those written after it, by which a step may end without an update."""


def setting(group: dict[str, Any], name: str) -> float:
    """A number of a parameter group: 0 where it has none, NaN where the optimizer works it out by itself (`None`), or
    has several, as Adafactor has for `eps`."""
    return _number(group.get(name, 0.0))


def _momentum(group: dict[str, Any]) -> float:
    betas = group.get("betas") or 0.0
    first = betas[0] or 0.0 if isinstance(betas, tuple | list) else betas
    return setting(group, "momentum") if "momentum" in group else _number(first)


def learning_rate(group: dict[str, Any]) -> float | None:
    """None where a group has no `lr`, as optimizers of the program's own may call it anything, or works it out."""
    rate = group.get("lr")
    return None if rate is None else _number(rate)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):  # no number, or a tensor of several
        return math.nan


class Optimizers(Instrument):
    """The optimizers, introduced when they are built, or when they first step if they came out of a pickle."""

    emits: ClassVar[tuple[type[Event], ...]] = (OptimizerBuilt, ParametersAdded)

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self._course = course
        self._known = parameters
        self._numbers = Numbers()
        self._parameters: dict[int, set[int]] = {}
        self._rates: dict[int, list[float]] = {}
        self.held = 0
        """The parameters that any optimizer was given, as bits."""
        self._built: dict[int, OptimizerBuilt] = {}
        self._attempts: Counter[int] = Counter()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.optimizers.built, self._built_now)
        self.listen(signals.optimizers.group_added, self._group_added)

    def memory(self) -> tuple[Numbers, dict[int, list[float]]]:
        """Numbers, and the highest rates of groups."""
        return self._numbers, {number: self._highest(number, optimizer) for number, optimizer in self.living()}

    def remember(self, memory: tuple[Numbers, dict[int, list[float]]]) -> None:
        numbers, self._rates = memory
        self._numbers.follow(numbers)

    def _highest(self, number: int, optimizer: torch.optim.Optimizer) -> list[float]:
        rates = [rate or 0.0 for rate in rates_at_hand(optimizer)]
        return [max(pair) for pair in zip_longest(rates, self._rates.get(number, ()), fillvalue=0.0)]

    def _built_now(self, optimizer: torch.optim.Optimizer) -> None:
        self.number(optimizer, here())

    def _group_added(self, added: GroupAdded) -> None:
        """Take note of `add_param_group` on an optimizer that is already known."""
        number = self._numbers.get(added.optimizer)
        if number is not None:
            group = self._group(added.group)
            self._hold(number, group.parameters)
            self.emit(ParametersAdded(step=self._course.steps, optimizer=number, group=group, location=here()))

    def get(self, optimizer: torch.optim.Optimizer) -> int | None:
        return self._numbers.get(optimizer)

    def living(self) -> Iterator[tuple[int, torch.optim.Optimizer]]:
        return self._numbers.living()

    def known(self, optimizer: torch.optim.Optimizer) -> int:
        """The number of an optimizer that is in use, named if it can be by now."""
        number = self._numbers.get(optimizer)
        if number is None or self._built:
            number = self.number(optimizer)
            self.name_when_held(number, optimizer)
        return number

    def holds(self, parameter: int) -> bool:
        """Whether any optimizer was given this parameter."""
        return bool(self.held >> parameter & 1)

    def found(self, number: int, parameters: Iterable[int]) -> None:
        """What is in the groups of an optimizer when it steps: the program may have put others there since."""
        if not self._parameters.get(number, set()).issuperset(parameters):
            self._hold(number, parameters)

    def _hold(self, number: int, parameters: Iterable[int]) -> None:
        given = set(parameters)
        self._parameters.setdefault(number, set()).update(given)
        self.held |= sum(1 << parameter for parameter in given)

    def holders(self) -> Iterator[tuple[int, Set[int]]]:
        """Every optimizer with the parameters that it was given."""
        yield from self._parameters.items()

    def number(self, optimizer: torch.optim.Optimizer, built_at: Location | None = None) -> int:
        number = self._numbers.get(optimizer)
        if number is None:
            number = self._numbers.add(optimizer)
            highest = chain(self._rates.get(number, ()), repeat(0.0))
            groups = [self._group(group, rate) for group, rate in zip(optimizer.param_groups, highest, strict=False)]
            self._known.introduce()
            flat = [parameter for group in groups for parameter in group.parameters]
            self._hold(number, flat)
            self._built[number] = OptimizerBuilt(
                step=self._course.steps,
                optimizer=number,
                name="",
                kind=type(optimizer).__name__,
                location=built_at,
                groups=groups,
                rebuilds=self._rebuilds(number),
                duplicates=sorted(parameter for parameter, count in Counter(flat).items() if count > 1),
                has_tolerance=any(name in group for group in optimizer.param_groups for name in _TOLERANCES),
                in_loop=built_at is not None and is_in_a_loop(),
                own_step=definition(type(optimizer), "step"),
            )
            self.emit(self._built[number])
        return number

    def name_when_held(self, number: int, optimizer: torch.optim.Optimizer) -> None:
        """Introduce an optimizer once more when the variable that holds it is known: at its construction it is not."""
        built = self._built.get(number)
        if built is None:
            return
        name = series_name(optimizer) or variable_name(optimizer, wrapper=torch.optim.Optimizer)
        self._attempts[number] += 1
        if name:
            self.emit(msgspec.structs.replace(built, name=name))
        if name or self._attempts[number] >= _ATTEMPTS:
            del self._built[number]

    def introduce(self) -> None:
        """Name the optimizers that are still without: one that never steps has a name, too."""
        if self._built:
            for number, optimizer in self.living():
                self.name_when_held(number, optimizer)

    def _group(self, group: dict[str, Any], highest: float = 0.0) -> ParameterGroup:
        return ParameterGroup(
            parameters=[self._known.number(parameter) for parameter in group["params"]],
            lr=learning_rate(group),
            momentum=_momentum(group),
            weight_decay=setting(group, "weight_decay"),
            eps=setting(group, "eps") if "eps" in group else None,
            highest_lr=highest,
            climbs=group.get("maximize") is True,
        )

    def _rebuilds(self, number: int) -> int | None:
        mine = self._parameters[number]
        return next((earlier for earlier, held in self._parameters.items() if earlier != number and held & mine), None)
