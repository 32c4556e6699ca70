"""Values that left torch as numbers and were joined, when they came back, with what kept its graph.

`torch.stack` and `torch.cat` of both teach the parameters through one part only. A `detach()`, a block without
gradients and a choice say that this is meant; what a number of Python's is used for, nobody sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from autograd_doctor.events.connectivity import CopyJoined
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import JOINS
from autograd_doctor.reading.live_values import LiveValue
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, behind, numbers_in

_TO_NUMBERS = frozenset({"__float__", "as_tensor", "asarray", "item", "new_tensor", "tensor", "tolist"})
"""What makes numbers of a tensor that has a graph, without anybody saying that the graph is to end."""


class JoinedCopies(LossQuery):
    """Tells, when a backward begins, of the joins behind it."""

    emits: ClassVar[tuple[type[Event], ...]] = (CopyJoined,)

    def __init__(self, site: Site, course: Course, tape: Tape, optimizers: Optimizers) -> None:
        super().__init__(site, course, tape)
        self._optimizers = optimizers

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        for op in behind(roots):
            if op.name in JOINS and op.plain:
                self._joined(op)

    def _joined(self, op: Op) -> None:
        taught = 0
        for value in op.live:
            taught |= value.connected
        taught &= self._optimizers.held
        for value in op.plain:
            made = value.provenance if isinstance(value, LiveValue) and value.is_floating else None
            if made is not None and made.values & taught and made.step == self._course.steps and _is_copy(made):
                self._tell(op, value, made, made.values & taught)
                return

    def _tell(self, op: Op, value: Value, made: Provenance, parameters: int) -> None:
        if not self._is_news(op.location):
            return
        tensor = value.tensor if isinstance(value, LiveValue) else None
        self.emit(
            CopyJoined(
                step=self._course.steps,
                backward=self._course.backwards,
                location=op.location,
                operation=op.called,
                name="" if tensor is None else variable_name(tensor),
                cuts=made.cuts_of(parameters),
                parameters=numbers_in(parameters),
                guessed=bool(parameters & made.guessed),
            )
        )


def _is_copy(made: Provenance) -> bool:
    """Whether all that flowed in lost its graph by becoming numbers, and was a number of its own all the way."""
    return bool(made.cuts) and all(
        point.reason == "operation" and point.operation in _TO_NUMBERS and not point.choice for point in made.cuts
    )
