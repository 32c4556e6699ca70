"""Whether anything learns: the values of parameters, compared with those that they had when they came into view."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from autograd_doctor.events import ParametersCompared
from autograd_doctor.watching.fingerprints import fingerprints

if TYPE_CHECKING:
    from autograd_doctor.watching.watch import Watch

_STEPS_LOOKED_AT = 6
"""Steps after which it is enough that something changed; while nothing has, each further step is looked at."""


class Learning:
    """Looks at parameters that an optimizer holds, or that a backward wrote a gradient to, until they have changed."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._first: dict[int, int] = {}
        self._compared: set[int] = set()
        self._changed: set[int] = set()
        self._since = 0
        self._looks = self._backwards = 0
        self._said: ParametersCompared | None = None

    def backward_ended(self) -> None:
        """Take note of parameters that are new. A program may update others in ways that are not seen as steps."""
        self._backwards += 1
        self.look(only_new=not _is_power_of_two(self._backwards))

    def look(self, *, only_new: bool = False) -> None:
        """Compare those parameters that have not changed yet, or take note of the new ones alone."""
        if self._changed and self._watch.step >= _STEPS_LOOKED_AT:
            return
        known = self._first if only_new else self._changed
        living = [(n, p) for n, p in self._watch.parameters.living() if n not in known and self._is_trained(n, p)]
        values = fingerprints(living)
        if not self._first:
            self._since = self._watch.step
        if not only_new:
            self._compared = values.keys() & self._first.keys()
            self._looks += 1
        changed = {number for number, value in values.items() if self._first.setdefault(number, value) != value}
        self._changed |= changed
        if changed or _is_power_of_two(self._looks):  # a killed program has said it not long ago
            self.say()

    def say(self) -> None:
        """State what the looks have shown so far, unless it was said before."""
        event = ParametersCompared(
            step=self._watch.step,
            parameters=sorted(self._compared | self._changed),
            changed=sorted(self._changed),
            since=self._since,
        )
        if self._compared and event != self._said:
            self._said = event
            self._watch.emit(event)

    def _is_trained(self, number: int, parameter: torch.Tensor) -> bool:
        known = number in self._first or parameter.grad is not None
        return known or self._watch.optimizers.holds(number)


def _is_power_of_two(count: int) -> bool:
    return count & (count - 1) == 0
