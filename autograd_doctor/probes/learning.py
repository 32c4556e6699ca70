"""Watches whether anything learns, also by updates that are written as new values for old names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self

import torch

from autograd_doctor.events import Event, OptimizerStepped, ParametersCompared, UpdatesDiscarded
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.learning import Learning as Values
from autograd_doctor.watching.rebinding import Rebinding
from autograd_doctor.watching.watch import Watch


class Learning:
    """Looks at the values of parameters after each backward and each step, until they have changed."""

    yields: ClassVar[tuple[type[Event], ...]] = (ParametersCompared, UpdatesDiscarded, OptimizerStepped)

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._values = Values(watch)
        self._rebinding = Rebinding(watch)

    def __enter__(self) -> Self:
        self._watch.backward_begins.append(self._backward_begins)
        self._watch.backward_finished.append(self._backward_ended)
        self._watch.stepped.append(self._stepped)
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.operated.clear()
        self._say()

    @careful
    def _backward_begins(self, leaves: Iterable[torch.Tensor]) -> None:
        self._rebinding.backward_begins(leaves)

    @careful
    def _backward_ended(self) -> None:
        self._rebinding.backward_ended()
        self._values.backward_ended()

    @careful
    def _stepped(self) -> None:
        self._values.look()

    @careful
    def _say(self) -> None:
        self._values.say()


PROBE = Learning
