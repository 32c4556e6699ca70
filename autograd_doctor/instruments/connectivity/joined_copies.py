"""Values that left torch as numbers and were joined, when they came back, with what kept its graph.

`torch.stack` and `torch.cat` of both teach the parameters through one part only. A `detach()`, a block without
gradients and a choice say that this is meant; what a number of Python's is used for, nobody sees. But for one use:
where all numbers of a living part are in the rebuilt one, as in a memory of batches that holds this one too, they teach
as the part that they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch

from autograd_doctor.events.connectivity import CopyJoined
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import JOINS
from autograd_doctor.reading.live_values import LiveValue, tensor_of
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.tensor_facts import at_home, readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, behind, numbers_in

_TO_NUMBERS = frozenset({"__float__", "as_tensor", "asarray", "item", "new_tensor", "tensor", "tolist"})
"""What makes numbers of a tensor that has a graph, without anybody saying that the graph is to end."""
_MOST = 2**20
"""Numbers that are looked for among others, which sorts them."""


class JoinedCopies(LossQuery):
    """Looks at joins as they are made, and tells, when a backward begins, of those behind it."""

    emits: ClassVar[tuple[type[Event], ...]] = (CopyJoined,)

    def __init__(self, site: Site, course: Course, tape: Tape, optimizers: Optimizers) -> None:
        super().__init__(site, course, tape)
        self._optimizers = optimizers
        self._copies: dict[Op, list[tuple[Value, Provenance]]] = {}

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._joined, names=JOINS)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._copies.clear()

    def _joined(self, op: Op) -> None:
        """While what is joined lives."""
        for value in op.plain if op.live else ():
            made = value.provenance if isinstance(value, LiveValue) and value.is_floating else None
            if made is None or made.step != self._course.steps or not _is_copy(made):
                continue
            if not any(_is_among(each, value) for each in op.live):
                self._copies.setdefault(op, []).append((value, made))

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        for op in behind(roots) if self._copies else ():
            taught = 0
            for each in op.live:
                taught |= each.connected
            taught &= self._optimizers.held
            first = next((each for each in self._copies.get(op, ()) if each[1].values & taught), None)
            if first is not None:
                self._tell(op, *first, first[1].values & taught)

    def _tell(self, op: Op, value: Value, made: Provenance, parameters: int) -> None:
        if not self._is_news(op.location):
            return
        tensor = tensor_of(value)
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


def _is_among(living: Value, rebuilt: Value) -> bool:
    """Whether each number of what kept its graph is one of those that were rebuilt."""
    original, copy = tensor_of(living), tensor_of(rebuilt)
    if original is None or copy is None or not 0 < original.numel() <= copy.numel() <= _MOST:
        return False
    if not (readable(original) and readable(copy)):
        return False
    return bool(torch.isin(at_home(original).detach().to(copy.dtype), at_home(copy)).all())
