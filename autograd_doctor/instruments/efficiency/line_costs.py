"""What each line costs: its operations in the forward, their part of the backward, and what they save for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from autograd_doctor.events.efficiency import LineCost, LinesMeasured, Peak
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.efficiency.module_times import ModuleTimes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.reading.allocated import HighWater
from autograd_doctor.reading.graph_bytes import activations_of
from autograd_doctor.reading.graph_structure import nodes_of
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.reading.places import locate, place
from autograd_doctor.reading.subclasses import node_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.signals.operations import Operation

_MOST_LINES = 1000
_SCOPES = "_record_function_"
"""What marks a scope for torch's profiler computes nothing."""
_ITERATIONS = 20
"""From which costs are added up."""


@dataclass(eq=False)
class _Line:
    """The operations of a line within one module: what they took in the iteration that is running, and in all."""

    location: Location | None
    module: str
    operations: dict[str, None] = field(default_factory=dict)
    now: list[float] = field(default_factory=lambda: [0.0] * 5)
    sums: list[float] = field(default_factory=lambda: [0.0] * 5)

    def add(self, what: int, amount: float) -> None:
        self.now[what] += amount

    def end(self, *, counts: bool) -> None:
        """The iteration is over."""
        if counts:
            self.sums = [total + new for total, new in zip(self.sums, self.now, strict=True)]
        self.now = [0.0] * len(self.now)


_CALLS, _FORWARD, _BACKWARD, _SAVED, _WAITS = range(5)


class LineCosts(Instrument):
    """Looks at iterations in which operations are recorded, and values are not read.

    A node of the graph belongs to the line of the operation that made it; one inside a composite operation, or made
    where nobody looked, to that of the node that leads to it.

    rise: by how much memory rose in the iteration that was over last, and where; None if nobody looked.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (LinesMeasured,)

    def __init__(
        self, site: Site, course: Course, detail: Detail, iteration_times: IterationTimes, module_times: ModuleTimes
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._iterations = iteration_times
        self._modules = module_times
        self._lines: dict[tuple[str, int, str], _Line] = {}
        self._running: tuple[Operation, float] | None = None
        self._nodes: dict[Any, _Line] = {}
        self._hooks: list[Any] = []
        self._began: dict[int, float] = {}
        self._counts = False
        self._seen = 0
        self._water = HighWater()
        self.rise: Peak | None = None

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.began, self._operation_began, attention=Attention.FULL)
        self.listen(signals.operations.ended, self._operation_ended, attention=Attention.FULL)
        self.listen(signals.custom_functions.ended, self._function_ended, attention=Attention.FULL)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(signals.backward.ended, self._backward_ended)
        self.listen(self._iterations.over, self._over)

    def finish(self) -> None:
        if not self._seen:
            return
        costs = [self._cost(line) for line in self._lines.values() if any(line.sums)]
        self.emit(LinesMeasured(step=self._course.steps, iterations=self._seen, lines=costs))

    def saved_by_module(self) -> dict[str, float]:
        """Bytes that the operations of each module keep for the backward: a mean over iterations; empty before the
        first that counts."""
        saved: defaultdict[str, float] = defaultdict(float)
        for line in self._lines.values() if self._seen else ():
            saved[line.module] += line.sums[_SAVED] / self._seen
        return saved

    def _cost(self, line: _Line) -> LineCost:
        mean = [total / self._seen for total in line.sums]
        return LineCost(
            location=line.location,
            module=line.module,
            operations=list(line.operations),
            calls=mean[_CALLS],
            forward=mean[_FORWARD],
            backward=mean[_BACKWARD],
            saved=mean[_SAVED],
            waits=mean[_WAITS],
        )

    def _over(self, iteration: Iteration) -> None:
        """Only an iteration that was recorded from its beginning to its end tells what all lines took."""
        counts = self._counts and iteration.recorded and iteration.typical and iteration.split
        self._seen += counts
        self.rise = self._water.highest if counts else None
        self._water = HighWater()
        for line in self._lines.values():
            line.end(counts=counts)
        self._nodes.clear()
        self._counts = self._looks and self._seen < _ITERATIONS

    @property
    def _looks(self) -> bool:
        return self._detail.full and not self._detail.closely

    # ----------------------------------------------------------------------------------------------------- operations

    def _line(self) -> _Line | None:
        where, module = locate(place()), self._modules.innermost()
        key = (where.path, where.line, module) if where is not None else ("", 0, module)
        if key not in self._lines and len(self._lines) < _MOST_LINES:
            self._lines[key] = _Line(where, module)
        return self._lines.get(key)

    def _operation_began(self, operation: Operation) -> None:
        self._water.begin()
        self._running = operation, self._iterations.seconds()

    def _operation_ended(self, operation: Operation) -> None:
        running, self._running = self._running, None
        if not self._looks or self._course.running is not None:
            self._counts &= self._looks
            return
        line = self._line()
        if line is None or operation.name.startswith(_SCOPES):
            return
        if running is not None and running[0] is operation:
            line.add(_FORWARD, self._iterations.seconds() - running[1])
        self._water.look("forward", line.location)
        line.operations[operation.name] = None
        line.add(_CALLS, 1)
        line.add(_WAITS, operation.kind is Kind.ESCAPE)
        self._note_nodes(tensors_in((operation.result,)), line)

    def _function_ended(self, call: FunctionCall) -> None:
        line = self._line() if self._looks and self._course.running is None else None
        if line is not None:
            line.operations[call.function.__name__] = None
            self._note_nodes(tensors_in((call.result,)), line)

    def _note_nodes(self, made: list[torch.Tensor], line: _Line) -> None:
        """The nodes that an operation has made, down to those that are known."""
        waiting = [node_of(tensor) for tensor in made]
        while waiting:
            node = waiting.pop()
            if node is not None and node not in self._nodes:
                self._nodes[node] = line
                waiting += [following for following, _ in node.next_functions]

    # -------------------------------------------------------------------------------------------------------- backward

    def _backward_began(self, call: BackwardCall) -> None:
        if not self._looks:
            return
        lines, order = dict(self._lines_of(call)), {node: at for at, node in enumerate(self._nodes)}
        for node, saved in activations_of(sorted(lines, key=lambda node: order.get(node, len(order)))):
            lines[node].add(_SAVED, saved)
        for node, line in lines.items():
            self._hooks.append(node.register_prehook(self._beginning(id(node))))
            self._hooks.append(node.register_hook(self._ending(id(node), line)))

    def _lines_of(self, call: BackwardCall) -> Iterator[tuple[Any, _Line]]:
        """The nodes of a graph that belong to a line, the roots first."""
        inherited: dict[Any, _Line] = {}
        for node in nodes_of(call.roots, call.inputs):
            line = self._nodes.get(node) or inherited.get(node)
            if line is not None:
                yield node, line
                for following, _ in node.next_functions:
                    inherited.setdefault(following, line)

    def _beginning(self, node: int) -> Callable[[Any], None]:
        def begins(gradients: Any) -> None:
            self._began[node] = self._iterations.seconds()

        return begins

    def _ending(self, node: int, line: _Line) -> Callable[[Any, Any], None]:
        def ends(given: Any, found: Any) -> None:
            began = self._began.pop(node, None)
            if began is not None:
                line.add(_BACKWARD, self._iterations.seconds() - began)
                self._water.look("backward", line.location)

        return ends

    def _backward_ended(self, call: BackwardCall) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._began.clear()
