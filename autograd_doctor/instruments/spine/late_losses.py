"""The values of all losses that go backward or are differentiated, in order: those of light steps come late."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.light_steps import LightSteps
from autograd_doctor.reading.places import Place, place
from autograd_doctor.reading.tensor_facts import is_remote, is_single, number_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.signal import Signal
from autograd_doctor.signals.transforms import TransformCall

Kind = Literal["backward", "grad", "transform"]


class KnownLoss(NamedTuple):
    """A loss of one value. step, place: when and where it went backward. late: by now that is over.

    kind: "backward", "grad" for `torch.autograd.grad`, which may be of a mere part of the loss, or "transform".
    """

    step: int
    place: Place | None
    kind: Kind
    value: float
    late: bool


class LateLosses(Instrument):
    """Takes the number that others have read of a loss, or a copy that is read later where it lies on an accelerator.

    known: a `KnownLoss`, in the order in which they went backward.
    """

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        light_steps: LightSteps,
        backward_runs: BackwardRuns,
    ) -> None:
        super().__init__(site)
        self.known: Signal[KnownLoss] = Signal(site.signals.guard)
        self._course = course
        self._late_values = late_values

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, last=True)
        self.listen(signals.transforms.ended, self._transform_ended, last=True)

    def _backward_began(self, call: BackwardCall) -> None:
        """The last to see it: whoever reads it at once has done so."""
        root, loss = call.roots[0], self._course.last_loss
        if loss is None and is_single(root) and is_remote(root):
            self._put_off(root, call.kind)
        elif loss is not None:
            self._told(call.kind, loss)

    def _transform_ended(self, call: TransformCall) -> None:
        """Its value is a plain number: the graph is gone."""
        if call.value is None:
            return
        if is_remote(call.value):
            self._course.loss_seen(None)
            self._put_off(call.value, "transform")
        else:
            self._course.loss_seen(float(call.value))
            self._told("transform", float(call.value))

    def _told(self, kind: Kind, value: float) -> None:
        loss = KnownLoss(self._course.steps, place(), kind, value, late=False)
        self._late_values.ask(self, [], lambda _: self._tell(loss))

    def _put_off(self, root: torch.Tensor, kind: Kind) -> None:
        step, where = self._course.steps, place()
        self._course.loss_put_off()
        self._late_values.ask(
            self,
            [number_of(root)],
            lambda values: self._tell(KnownLoss(step, where, kind, values[0], late=True)),
        )

    def _tell(self, loss: KnownLoss) -> None:
        if loss.late:
            self._course.loss_came_late(loss.step, loss.value)
        self.known.tell(loss)
