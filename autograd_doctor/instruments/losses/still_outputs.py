"""Outputs of modules that are the same for all samples of a batch, to the bit, though their inputs differ.

Once a module has returned different values for different samples, it is looked at no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import nn

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import OutputMoved, OutputStoodStill
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan, RootPassed
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import SHAPE_ONLY
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import address
from autograd_doctor.reading.subclasses import is_parameter
from autograd_doctor.reading.tensor_facts import read_together, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention

_MOST_STEPS = 8
_MOST_MODULES = 8


class _Loss(NamedTuple):
    """An operation that made the same of samples that differ. zero: its weights, by numbers, if all of them are 0."""

    operation: str
    place: Place | None
    zero: list[int]


class StillOutputs(Instrument):
    """Looks at the root modules that build a graph, in full steps."""

    emits: ClassVar[tuple[type[Event], ...]] = (OutputStoodStill, OutputMoved)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        lineage: Lineage,
        module_register: ModuleRegister,
        module_calls: ModuleCalls,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._lineage = lineage
        self._register = module_register
        self._module_calls = module_calls
        self._still: IdentityTable[set[int]] = IdentityTable()
        self._moved: IdentityTable[None] = IdentityTable()
        self._lost: _Loss | None = None
        self._given: frozenset[int] = frozenset()
        """Where those inputs of the call lie that differ between samples, if they are watched."""
        self._reads = False

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._module_calls.root_passed, self._root_passed)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._lost = None

    def _root_began(self, began: RootBegan) -> None:
        is_still = began.call.module in self._still
        given = (tensor for tensor in began.given if tensor.dim() and _vary(tensor)) if is_still else ()
        self._given, self._reads = frozenset(map(address, given)) - {0}, False

    def _root_passed(self, passed: RootPassed) -> None:
        module, lost, reads = passed.call.module, self._lost, self._reads if self._given else None
        self._lost, self._given = None, frozenset()
        if module in self._moved or self._course.running is not None:
            return
        rows = {tensor.shape[0] for tensor in passed.outputs if tensor.dim()}
        if not any(tensor.dim() and tensor.shape[0] in rows for tensor in passed.inputs):
            return
        both = [*passed.inputs, *passed.outputs]
        vary = dict(zip(map(id, both), _which_vary(both), strict=True))
        samples = next((tensor.shape[0] for tensor in passed.inputs if vary[id(tensor)]), 0)
        outputs = [tensor for tensor in passed.outputs if tensor.dim() and tensor.shape[0] == samples]
        if samples < 2 or not outputs or not all(map(readable, outputs)):
            return
        if any(vary[id(output)] for output in outputs):
            self._moves(module)
        else:
            self._stands_still(module, passed, outputs, lost, reads=reads)

    def _moves(self, module: nn.Module) -> None:
        self._moved.put(module, None)
        if module in self._still:
            self._still.discard(module)
            self.emit(OutputMoved(step=self._course.steps, module=self._register.root(module)))
        if not self._still:
            self.unlisten(self._lineage.recorded, self._recorded)

    def _stands_still(
        self,
        module: nn.Module,
        passed: RootPassed,
        outputs: Sequence[torch.Tensor],
        lost: _Loss | None,
        *,
        reads: bool | None,
    ) -> None:
        steps = self._still.get(module)
        if steps is None:
            if len(list(self._still.items())) >= _MOST_MODULES:
                return
            steps = set()
            self._still.put(module, steps)
            self.listen(self._lineage.recorded, self._recorded)
        if self._course.steps in steps or len(steps) >= _MOST_STEPS:
            return
        steps.add(self._course.steps)
        lost = lost or _Loss("", None, [])
        self.emit(
            OutputStoodStill(
                step=self._course.steps,
                module=self._register.root(module),
                location=locate(passed.call.conditions.where),
                samples=outputs[0].shape[0],
                shape=list(outputs[0].shape),
                operation=lost.operation,
                at=locate(lost.place),
                zero=lost.zero,
                zeroed_at=next(iter([locate(self._lineage.filled.get(number)) for number in lost.zero]), None),
                reads=reads,
            )
        )

    def _recorded(self, recorded: Recorded) -> None:
        """Remember the last operation that made the same of samples that differ, and whether any took them in."""
        output = recorded.output
        if recorded.name not in SHAPE_ONLY and not self._given.isdisjoint(map(address, recorded.inputs)):
            self._reads = True
        if output.dim() == 0 or not readable(output) or self._course.running is not None:
            return
        inputs = [
            tensor
            for tensor in recorded.inputs
            if not is_parameter(tensor) and tensor.dim() and tensor.shape[0] == output.shape[0]
        ]
        if any(map(_vary, inputs)) and not _vary(output):
            whole = (tensor if tensor._base is None else tensor._base for tensor in recorded.inputs if tensor.dim() > 1)
            weights = [tensor for tensor in whole if is_parameter(tensor)]
            is_zero = not any(bool(weight.detach().any()) for weight in weights)
            zero = [self._parameters.number(weight) for weight in weights] if is_zero else []
            self._lost = _Loss(recorded.made.operation, recorded.made.place, zero)


def _vary(tensor: torch.Tensor) -> bool:
    """Whether the rows of a tensor differ."""
    return _which_vary([tensor])[0]


def _which_vary(tensors: Sequence[torch.Tensor]) -> list[bool]:
    """The same of several, read in one go."""
    some = {
        position: tensor.detach()
        for position, tensor in enumerate(tensors)
        if tensor.dim() and readable(tensor) and tensor.shape[0] > 1 and tensor.numel()
    }
    vary = dict(zip(some, read_together([(plain != plain[:1]).any() for plain in some.values()]), strict=True))
    return [vary.get(position, False) for position in range(len(tensors))]
