"""Losses whose targets are the values that a module took in, one position on, and whether it reads them backwards.

An output that depends on what comes later and on nothing that came before is given the answer, and what could help to
predict it is hidden: a causal mask is the wrong way round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import nn

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import SeriesReadBackwards
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site, failure_of_copy
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan, RootPassed
from autograd_doctor.operations import DISTANCES
from autograd_doctor.reading.call_copies import copied_call
from autograd_doctor.reading.later import follows, is_series, reads_backwards, shares_ahead
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.module_tree import has_parameters
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensor_facts import read_together
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_MOST_SECONDS = 0.2
"""Of one call, under our eyes; a trial makes four."""
_MOST_TRIED = 2
"""Times for each module."""
_MOST_MODULES = 4


@dataclass(eq=False, slots=True)
class _Call:
    """The newest call of a root in training.

    asked: targets that may be its values, one position on, by what tells of it and the line of the loss. compared_at:
    that of the loss whose targets are.
    """

    module: nn.Module
    number: int
    place: Place | None
    values: torch.Tensor
    args: Any
    kwargs: Any
    began: float
    seconds: float = 0.0
    asked: list[tuple[torch.Tensor, Place | None]] = field(default_factory=list)
    compared_at: Location | None = None


class NextValues(Instrument):
    """Tries, after a step that is looked at closely, roots that take one series in, and whose targets follow in it."""

    emits: ClassVar[tuple[type[Event], ...]] = (SeriesReadBackwards,)

    def __init__(self, site: Site, course: Course, lineage: Lineage, module_calls: ModuleCalls) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._lineage = lineage
        self._module_calls = module_calls
        self._calls: dict[int, _Call] = {}
        self._tried: IdentityTable[int] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._module_calls.root_passed, self._root_passed, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._operation_ended, names=DISTANCES)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _root_began(self, began: RootBegan) -> None:
        call, module = began.call, began.call.module
        tried = self._tried.get(module) or 0
        is_beyond = tried >= _MOST_TRIED or (not tried and len(self._tried) >= _MOST_MODULES)
        if not (call.grad_enabled and module.training) or is_beyond or not has_parameters(module):
            return
        series = [tensor for tensor in began.given if is_series(tensor)]
        if len(series) == 1:
            values = series[0].detach().clone()
            self._calls[began.module] = _Call(
                module, began.module, began.where, values, call.args, call.kwargs, CLOCK.thread_time()
            )

    def _root_passed(self, passed: RootPassed) -> None:
        known = self._calls.get(passed.call.conditions.module)
        if known is not None and not known.seconds:
            known.seconds = CLOCK.thread_time() - known.began

    def _operation_ended(self, operation: Operation) -> None:
        operands = operands_of(operation.args, operation.kwargs) if self._calls else None
        if operands is None or self._course.running is not None:
            return
        target = next((each for each in operands if not has_graph(each)), None)
        if target is None or operands[0].shape != operands[1].shape or not has_graph(operation.result):
            return
        for call in self._calls.values():
            shares = shares_ahead(call.values, target)
            if shares is not None:
                call.asked.append((shares, operation.place))

    def _step_taken(self, course: Course) -> None:
        """An accelerator is waited for once."""
        calls, self._calls = [*self._calls.values()], {}
        found = iter(read_together([shares for call in calls for shares, _ in call.asked]))
        for call in calls:
            ahead = [where for _, where in call.asked if follows(next(found))]
            if ahead:
                call.compared_at = locate(ahead[0])
                self._tried.put(call.module, (self._tried.get(call.module) or 0) + 1)
                self._judge(call)

    def _judge(self, call: _Call) -> None:
        if call.seconds > _MOST_SECONDS:
            return
        try:
            with self._guard.looking():
                copied, values = copied_call(call.module, call.args, call.kwargs, call.values)
                change = reads_backwards(copied, values)
        except Undecided:
            return
        except Exception as error:
            self.limited(failure_of_copy(error))
            return
        if change:
            self.emit(
                SeriesReadBackwards(
                    step=self._course.steps,
                    module=call.number,
                    change=change,
                    location=locate(call.place),
                    compared_at=call.compared_at,
                )
            )
