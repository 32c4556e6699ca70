"""Whether anything learns: the values of parameters, compared with those that they had when they came into view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch

from autograd_doctor.events.cycle import ParametersCompared
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.rebinding import Rebinding
from autograd_doctor.reading.subclasses import gradient_of
from autograd_doctor.reading.tensor_facts import fingerprints_to_come
from autograd_doctor.signals import Signals
from autograd_doctor.signals.transforms import TransformCall

_STEPS_LOOKED_AT = 6
"""Steps after which it is enough that something changed; while nothing has, each further step is looked at."""


class Learning(Instrument):
    """Looks at parameters that an optimizer holds, or that a backward wrote a gradient to, until they have changed.

    The ledger numbers the leaves that backwards write to; updates that are written as new values for old names are
    followed by `Rebinding`, which gives the new ones the numbers of the old.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ParametersCompared,)

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        parameters: Parameters,
        optimizers: Optimizers,
        ledger: Ledger,
        rebinding: Rebinding,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._parameters = parameters
        self._optimizers = optimizers
        self._ledger = ledger
        self._rebinding = rebinding
        self._first: dict[int, int] = {}
        self._compared: set[int] = set()
        self._changed: set[int] = set()
        self._since = 0
        self._looks = self._backwards = 0
        self._said: ParametersCompared | None = None

    def connect(self, signals: Signals) -> None:
        self.listen(self._course.backward_over, self._backward_over)
        self.listen(self._course.step_taken, self._step_taken)
        self.listen(signals.transforms.ended, self._transform_ended)

    def finish(self) -> None:
        self._say()

    def _transform_ended(self, call: TransformCall) -> None:
        self._backward_over(self._course)

    def _backward_over(self, course: Course) -> None:
        """Take note of parameters that are new. A program may update others in ways that are not seen as steps."""
        self._backwards += 1
        self._look(only_new=not _is_power_of_two(self._backwards))

    def _step_taken(self, course: Course) -> None:
        self._look()

    def _look(self, *, only_new: bool = False) -> None:
        """Compare those parameters that have not changed yet, or take note of the new ones alone."""
        if self._changed and self._course.steps >= _STEPS_LOOKED_AT:
            self.unlisten(self._course.backward_over, self._backward_over)
            self.unlisten(self._course.step_taken, self._step_taken)
            self.unlisten(self._site.signals.transforms.ended, self._transform_ended)
            return
        known = self._first if only_new else self._changed
        living = [(n, p) for n, p in self._parameters.living() if n not in known and self._is_trained(n, p)]
        coming, step = fingerprints_to_come([parameter for _, parameter in living]), self._course.steps
        numbers = [number for number, _ in living]

        def take(values: Sequence[int]) -> None:
            pairs = zip(numbers, coming.put_together(values), strict=True)
            self._take({number: value for number, value in pairs if value is not None}, step, only_new=only_new)

        self._late_values.ask(self, coming.parts, take, in_place=True)

    def _take(self, found: dict[int, int], step: int, *, only_new: bool) -> None:
        """found: the fingerprints of parameters at that step."""
        if not self._first:
            self._since = step
        if not only_new:
            self._compared = found.keys() & self._first.keys()
            self._looks += 1
        changed = {number for number, value in found.items() if self._first.setdefault(number, value) != value}
        self._changed |= changed
        if changed or _is_power_of_two(self._looks):  # a killed program has said it not long ago
            self._say()

    def _say(self) -> None:
        """State what the looks have shown so far, unless it was said before."""
        event = ParametersCompared(
            step=self._course.steps,
            parameters=sorted(self._compared | self._changed),
            changed=sorted(self._changed),
            since=self._since,
        )
        if self._compared and event != self._said:
            self._said = event
            self.emit(event)

    def _is_trained(self, number: int, parameter: torch.Tensor) -> bool:
        known = number in self._first or gradient_of(parameter) is not None or self._ledger.is_given(number)
        return known or self._optimizers.holds(number)


def _is_power_of_two(count: int) -> bool:
    return count & (count - 1) == 0
