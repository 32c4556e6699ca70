"""Softmaxes over a dimension of size one, and shares of the sum over one, by line."""

from __future__ import annotations

from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import SoftmaxOfOne
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.places import locate
from autograd_doctor.reading.shaping import softmax_dim
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import Op, numbers_in

_SOFTMAXES = frozenset({"softmax", "log_softmax"})
_MOST_LINES = 100


class LoneSoftmaxes(Instrument):
    """Tells of a line once it ran over one element, and once more when it ran over several."""

    emits: ClassVar[tuple[type[Event], ...]] = (SoftmaxOfOne,)

    def __init__(self, site: Site, course: Course, lineage: Lineage, tape: Tape, tensors: Tensors) -> None:
        super().__init__(site)
        self._course = course
        self._lineage = lineage
        self._tape = tape
        self._tensors = tensors
        self._is_one: dict[Location | None, bool] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operated, names=_SOFTMAXES)
        self.listen(self._tape.recorded, self._divided, names={"div"})

    def _operated(self, operation: Operation) -> None:
        result = operation.result
        if not isinstance(result, torch.Tensor) or not result.requires_grad:
            return
        dim = softmax_dim(operation.args, operation.kwargs, result)
        is_one = result.dim() > 0 and result.shape[dim] == 1
        self._note(operation.name, locate(operation.place), result, dim, is_one=is_one)

    def _divided(self, op: Op) -> None:
        """What is divided by its own sum, which is over one element where it has the shape of what is summed up."""
        result = tensor_of(op.output)
        if result is None or len(op.values) != 2 or not op.output.learns:
            return
        given, whole = op.values
        if whole.by is None or whole.by.name != "sum" or whole.by.values[0] is not given:
            return
        ones = [at for at, size in enumerate(given.shape) if size == 1]
        is_one = bool(ones) and whole.shape == given.shape and given.count > 1
        if len(whole.shape) == len(given.shape):
            self._note("div", op.location, result, ones[-1] if ones else 0, is_one=is_one)

    def _note(self, name: str, where: Location | None, result: torch.Tensor, dim: int, *, is_one: bool) -> None:
        known = self._is_one.get(where)
        if known is None and len(self._is_one) >= _MOST_LINES:
            return
        self._is_one[where] = is_one and known is not False
        if is_one if known is None else known and not is_one:
            made = self._tensors.get(result)
            self.emit(
                SoftmaxOfOne(
                    step=self._course.steps,
                    location=where,
                    operation=name,
                    shape=list(result.shape),
                    dim=dim,
                    varies=not is_one,
                    parameters=numbers_in(made.values) if made is not None else [],
                )
            )
