"""Scalars with a graph that nothing takes in: no later operation, no backward, and nobody who reads a number.

So, too, one number for each sample that a line adds up over several layers, as the volume of a flow.

They are followed by the operation that makes them and its place. One use, at any time, and those of that place are let
alone for good: losses that take turns, metrics that are shown now and then, and what is kept for later are of use.
Where one takes in another, the last of the chain alone can be idle. Those that are merely read are of use, and may be
losses that were meant to go backward: that is said of the first of each place.

Operations are listened to in steps that are looked at closely, and once a term looks idle, in all full ones.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from autograd_doctor.events.connectivity import LossDropped, TermIdle, TermUsed
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootPassed
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import ADDING, ORDERINGS
from autograd_doctor.reading.asked_for import is_call_of_library
from autograd_doctor.reading.graph_structure import MOST_NODES, nodes_of, structure_of
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.reading.places import Place, locate, own_frame, stack
from autograd_doctor.reading.provenance import Provenance, has_graph
from autograd_doctor.reading.subclasses import node_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.custom_functions import FunctionCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import numbers_in

_MOST_ORIGINS = 1000
"""Places that make scalars: more come of code that is made anew all the time."""
_SUSPICIOUS = 2
"""Idle steps after which operations are heard in all full steps, and reads in light ones, too: most that look idle in
the first are shown in it."""
_TELL_AT = 3
"""Idle steps at which it is told first; then when they have doubled, and when the program is over."""
_STRUCTURES = 4
"""Structures to know the graph of a term by in light steps: few have more than one."""
_TRACKERS = frozenset({"wandb", "comet_ml", "clearml", "neptune", "mlflow"})
"""They are switched off in a check, and would read what they are given."""


@dataclass(eq=False, slots=True)
class _Origin:
    """An operation at a place. told: the number of idle steps that was stated last. dropped: one was stated to be.

    derived: the numbers of the nodes of second derivatives, taken with a graph of their own, that are in what it makes
    and that no backward came through. added_up: it is no vector, or one that is added up in each step. calls: the lines
    under way when it was met first, outermost first. named_at: that of them which gave the variable `name` to what a
    function returned.
    """

    operation: str
    place: Place | None
    calls: tuple[Place, ...]
    first: int
    by_library: bool = False
    step: int = -1
    idle: int = 0
    told: int = 0
    used: bool = False
    dropped: bool = False
    name: str = ""
    named_at: Place | None = None
    parameters: int = 0
    derived: set[int] = field(default_factory=set)
    added_up: bool = True
    structures: set[int] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class _Term:
    """A scalar of which it is not decided yet whether something takes it in."""

    origin: _Origin
    made: Provenance
    tensor: weakref.ref[torch.Tensor]


class IdleTerms(Instrument):
    """Decides on a scalar when it has died, and all of its life was listened to."""

    emits: ClassVar[tuple[type[Event], ...]] = (LossDropped, TermIdle, TermUsed)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        optimizers: Optimizers,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
        module_calls: ModuleCalls,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._optimizers = optimizers
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._module_calls = module_calls
        self._guard = site.signals.guard
        self._value_reads = site.signals.value_reads
        self._origins: dict[tuple[Place | None, str], _Origin] = {}
        self._open: IdentityTable[_Term] = IdentityTable()
        self._pending: list[_Term] = []
        self._read_only: list[_Term] = []
        self._operations = site.signals.operations
        self._derivatives: set[int] = set()
        self._second_derivatives: set[int] = set()
        self._steps, self._heard = 0, -1
        self._listens = self._evaluates = self._suspects = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.shown, self._put_away)
        self.listen(signals.custom_functions.began, self._function_began)
        self.listen(signals.states.pickling, self._put_away)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.FULL)
        self.listen(self._module_calls.root_passed, self._root_passed)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)
        self.listen(self._detail.turned, self._turned)
        self.listen(self._detail.focused, self._turned)
        self._attend()

    def finish(self) -> None:
        for origin in self._origins.values():
            if origin.idle >= _TELL_AT and origin.idle > origin.told:
                self._tell(origin)

    def _turned(self, detail: Detail) -> None:
        self._attend()

    def _attend(self) -> None:
        """Begin to listen to operations, or stop: what takes in those terms that live on is not known then."""
        wanted = self._detail.closely or (self._suspects and self._detail.full)
        if wanted and not self._listens:
            self.listen(self._operations.ended, self._operation_ended)
        elif not wanted and self._listens:
            self.unlisten(self._operations.ended, self._operation_ended)
            self._settle()
            self._pending.clear()
            self._read_only.clear()
        self._listens = wanted

    # ------------------------------------------------------------------------------------------------ how they are made

    def _operation_ended(self, operation: Operation) -> None:
        if self._course.running is not None:
            return
        if self._heard != self._course.steps:
            self._heard = self._course.steps
            self._steps += 1
        summed = self._taken_in(operation) if self._open or self._suspects else []
        result = operation.result
        if (
            operation.kind is Kind.OPERATION
            and not self._evaluates
            and isinstance(result, torch.Tensor)
            and (result.dim() == 0 or (result.dim() == 1 < result.numel() and operation.name in ADDING))
            and result.is_floating_point()
            and has_graph(result)
        ):
            self._made(operation, result, summed)
        elif summed:
            self._now_used(summed[0].origin)

    def _taken_in(self, operation: Operation) -> list[_Term]:
        """Let what the operation takes in be of use, but for what the same line has added up so far, as `sum` does.

        A number with a second derivative in it that is compared steers the program, as the size of a next step does.
        """
        summed, reads = [], not any(map(has_graph, tensors_in((operation.result,))))
        for tensor in operation.inputs:
            term = self._open.get(tensor)
            if term is not None and (term.origin.place, term.origin.operation) == (operation.place, operation.name):
                summed.append(term)
            else:
                steers = operation.name in ORDERINGS and term is not None and bool(term.origin.derived)
                self._taken(tensor, reads=reads and not steers)
        return summed

    def _made(self, operation: Operation, result: torch.Tensor, summed: Sequence[_Term]) -> None:
        made, key = self._tensors.get(result), (operation.place, operation.name)
        origin = self._origins.get(key)
        if origin is None:
            if made is None or not made.connected or len(self._origins) >= _MOST_ORIGINS:
                return
            origin = _Origin(operation.name, operation.place, stack(), self._steps, by_library=is_call_of_library())
            self._origins[key] = origin
        if origin.used or made is None:
            return
        if origin.step == self._course.steps and not summed:  # one of many, as the losses of batches and layers are
            self._now_used(origin)
            return
        self._pending = [term for term in self._pending if term not in summed]
        origin.added_up = not result.dim() or bool(summed)
        origin.step = self._course.steps
        if len(origin.structures) < _STRUCTURES:
            nodes = nodes_of([result])
            origin.structures.add(structure_of(nodes))
            origin.derived |= self._second_derivatives.intersection(node._sequence_nr() for node in nodes)
        term = _Term(origin, made, weakref.ref(result))
        self._open.put(result, term)
        self._pending.append(term)

    def _root_passed(self, passed: RootPassed) -> None:
        """Whether what comes next is part of an evaluation; the mode of a criterion does not tell."""
        if next(iter(parameters_in(passed.call.module)), None) is not None:
            self._evaluates = not passed.call.conditions.training

    # ------------------------------------------------------------------------------------------------------- their uses

    def _put_away(self, tensor: torch.Tensor) -> None:
        """It is printed, or written to a file."""
        self._taken(tensor, reads=True)

    def _taken(self, tensor: torch.Tensor, *, reads: bool = False) -> None:
        term = self._open.get(tensor)
        if term is not None:
            if reads and not term.origin.used:
                _name(term.origin, tensor)
                self._read_only.append(term)
            elif not reads:
                self._read_only = [other for other in self._read_only if other is not term]
            self._now_used(term.origin)
        elif self._suspects and self._tensors.get(tensor) is None and tensor.dim() <= 1 and has_graph(tensor):
            self._made_unseen(tensor)

    def _made_unseen(self, scalar: torch.Tensor) -> None:
        """In a light step: the structure of its graph tells whose it may be."""
        structure = structure_of(nodes_of([scalar]))
        for origin in self._origins.values():
            if structure in origin.structures:
                self._now_used(origin)

    def _function_began(self, call: FunctionCall) -> None:
        for tensor in tensors_in((*call.args, *call.kwargs.values())):
            self._taken(tensor)

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if walk is None or not self._origins:
            return
        whole = len(walk.nodes) < MOST_NODES
        met = {id(made) for made in walk.made.values()}
        for term in self._pending:
            tensor = term.tensor()
            if id(term.made) in met or not whole:
                self._now_used(term.origin)
            elif tensor is not None and not term.origin.name:
                _name(term.origin, tensor)
        self._pending = [term for term in self._pending if not term.origin.used]
        self._read_only = [term for term in self._read_only if whole and id(term.made) not in met]
        derived = [origin.derived for origin in self._origins.values() if origin.derived]
        reached = {node._sequence_nr() for node in walk.nodes.values()} if derived else ()
        for numbers in derived:
            numbers.difference_update(reached)
        dropped = [(key, origin) for key, origin in self._origins.items() if origin.dropped]
        through = {(made.place, made.operation) for made in walk.made.values() if made is not None} if dropped else ()
        for key, origin in dropped:
            if key in through:
                origin.dropped = False
                self._say_used(origin)

    def _backward_ended(self, call: BackwardCall) -> None:
        """Remember derivatives with a graph by the numbers of their nodes, which keep nothing alive."""
        if call.kind == "grad" and call.create_graph:
            is_second = not self._derivatives.isdisjoint(
                node._sequence_nr() for node in nodes_of(call.roots, call.inputs)
            )
            nodes = [node_of(tensor) for tensor in call.result if isinstance(tensor, torch.Tensor)]
            numbers = {node._sequence_nr() for node in nodes if node is not None}
            self._derivatives |= numbers
            self._second_derivatives |= numbers if is_second else set()

    def _read(self, tensor: torch.Tensor) -> None:
        with self._guard.looking():
            self._taken(tensor, reads=True)

    def _now_used(self, origin: _Origin) -> None:
        if origin.told and not origin.used:
            self._say_used(origin)
        origin.used = True

    def _say_used(self, origin: _Origin) -> None:
        where = locate(origin.place)
        self.emit(TermUsed(step=self._course.steps, location=where, operation=origin.operation))

    # ---------------------------------------------------------------------------------------------- what became of them

    def _step_taken(self, course: Course) -> None:
        self._evaluates = False
        self._derivatives.clear()
        self._second_derivatives.clear()
        self._settle()
        self._suspects = any(origin.idle >= _SUSPICIOUS and not origin.used for origin in self._origins.values())
        if self._suspects:
            self.listen(self._value_reads.read, self._read)
        else:
            self.unlisten(self._value_reads.read, self._read)
        self._attend()

    def _settle(self) -> None:
        dead = [term for term in self._pending if term.tensor() is None and not term.origin.used]
        self._pending = [term for term in self._pending if term.tensor() is not None and not term.origin.used]
        self._drop()
        for term in dead:
            if any(map(self._optimizers.holds, numbers_in(term.made.connected))) and _TRACKERS.isdisjoint(sys.modules):
                term.origin.idle += 1
                term.origin.parameters |= term.made.connected
                if term.origin.idle >= max(_TELL_AT, 2 * term.origin.told):
                    self._tell(term.origin)

    def _drop(self) -> None:
        """Those that were read, and have died now."""
        for origin, made in [(term.origin, term.made) for term in self._read_only if term.tensor() is None]:
            parameters = [number for number in numbers_in(made.connected) if self._optimizers.holds(number)]
            if parameters:
                origin.dropped = True
                self.emit(
                    LossDropped(
                        step=self._course.steps,
                        location=locate(origin.place),
                        operation=origin.operation,
                        name=origin.name,
                        named_at=locate(origin.named_at),
                        parameters=parameters,
                        derived=bool(origin.derived),
                    )
                )
        self._read_only = [term for term in self._read_only if term.tensor() is not None]

    def _tell(self, origin: _Origin) -> None:
        if origin.used or not origin.added_up:
            return
        origin.told = origin.idle
        self.emit(
            TermIdle(
                step=self._course.steps,
                location=locate(origin.place),
                operation=origin.operation,
                name=origin.name,
                named_at=locate(origin.named_at),
                parameters=[number for number in numbers_in(origin.parameters) if self._optimizers.holds(number)],
                idle=origin.idle,
                steps=self._steps - origin.first + 1,
                by_library=origin.by_library,
            )
        )


def _name(origin: _Origin, tensor: torch.Tensor) -> None:
    """Give it the name of the variable that holds a term, in the innermost frame of the program."""
    frame, origin.name = own_frame(), variable_name(tensor)
    if frame is not None and origin.name.isidentifier():
        inner = [code for code, _ in origin.calls[-1:]]
        calls = [call for call in origin.calls if call[0] is frame.f_code and frame.f_code not in inner]
        origin.named_at = calls[-1] if calls else None
