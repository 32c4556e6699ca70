"""What the graph of a spoiled loss tells of a step in which nobody read the values of operations."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

import torch
from torch.autograd.graph import Node

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.numerics.nonfinite import NonFinite
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_losses import KnownLoss, LateLosses
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.birth import birth, brought_in, only_written, operation_of
from autograd_doctor.reading.graph_structure import nodes_of, structure_of
from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.operation_kinds import MASKS, STAYS_FINITE
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.provenance import Provenance, has_graph
from autograd_doctor.reading.tensor_facts import bad_rows, describe, extent, is_checkable, is_remote, is_spoiled
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall

_MOST_NODES = 200_000
"""Of all graphs together whose lines are kept, at 16 bytes each: models that people train on one machine have a few
thousand, and programs a few graphs."""
_MOST_SPOILED = 4
"""Losses to look into: a loss scale of 65536 (the default) that settles spoils a few, and they do no harm."""
Line = tuple[str, Place | None]
_Lines = dict[tuple[int, Place | None], list[Line | None]]
"""What made each node of a graph, by its structure and the line of the backward."""
_LossLines = dict[tuple[type, Place | None], Place | None]
"""Where losses were made, by the kind of their nodes and the line of the backward; None where that differs."""


class _Read(NamedTuple):
    """A value that is not finite, which the program has read. event: what made it so, None if that is not known."""

    event: Event | None
    is_scalar: bool


@dataclass(eq=False, slots=True)
class _Unread:
    """What the program has got hold of since the last backward, and what nobody has waited for yet.

    singles: of each device the largest of single numbers, NaN if one of them is. last: the largest of the last tensor
    of many numbers. made: what made them all, as far as that was recorded.
    """

    step: int
    singles: dict[torch.device, torch.Tensor] = field(default_factory=dict)
    last: torch.Tensor | None = None
    made: list[Provenance] = field(default_factory=list)


class Autopsies(Instrument):
    """Finds the node that made a loss not finite, and its line in a recorded step with a graph of the same structure.

    Where the graph does not tell, or no recorded one is like it, `detail` is told what was missed. A value that only
    the program has read, to stop or skip steps for it, counts as well if no backward follows until the end.

    What lies on an accelerator is not waited for in light steps: when it is known, the graph is gone.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (NonFiniteProduced, NonFiniteInput)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        late_losses: LateLosses,
        tensors: Tensors,
        ledger: Ledger,
        nonfinite: NonFinite,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._late_values = late_values
        self._late_losses = late_losses
        self._tensors = tensors
        self._ledger = ledger
        self._nonfinite = nonfinite
        self._guard = site.signals.guard
        self._operations = site.signals.operations
        self._lines: _Lines = {}
        self._loss_lines: _LossLines = {}
        self._nodes = self._spoiled = 0
        self._read: _Read | None = None
        self._unread: _Unread | None = None
        self._last_root: weakref.ref[torch.Tensor] | None = None

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, last=True)
        self.listen(signals.value_reads.read, self._value_read)
        self.listen(self._late_losses.known, self._loss_known)

    def memory(self) -> tuple[_Lines, _LossLines, int]:
        return self._lines, self._loss_lines, self._nodes

    def remember(self, memory: tuple[_Lines, _LossLines, int]) -> None:
        self._lines, self._loss_lines, self._nodes = memory

    def ignore_reads(self, signals: Signals) -> None:
        """Hear no more of what the program reads: its optimizers read a number of each parameter in each step."""
        self.unlisten(signals.value_reads.read, self._value_read)

    def finish(self) -> None:
        self._tell_of_read()
        if self._unread is not None:
            unread, self._unread = self._unread, None
            parts = [*unread.singles.values(), *([unread.last] if unread.last is not None else [])]
            self._late_values.ask(self, parts, lambda values: self._unread_known(unread, values))

    def _tell_of_read(self) -> None:
        """No backward went through a value that the program has read; it did without it."""
        if self._read is not None and self._read.event is not None:
            self.emit(self._read.event)
        elif self._read is not None:
            self._detail.missed()
        self._read = None

    def _backward_began(self, call: BackwardCall) -> None:
        """The last to see it: the value of the loss has been read."""
        if self._read is not None and self._read.is_scalar and not self._is_spoiled(call.roots[0]):
            self._tell_of_read()
        self._read = None
        self._last_root = weakref.ref(call.roots[0])
        if self._ledger.walk is not None:
            self._remember(self._ledger.walk)
        self._ask_of_unread(call.roots[0])
        if not self._detail.closely and self._is_spoiled(call.roots[0]) and self._spoiled < _MOST_SPOILED:
            self._spoiled += 1
            event = self._look_into(nodes_of(call.roots, call.inputs), place())
            if event is None:
                self._detail.missed()
            else:
                self.emit(event)

    def _is_spoiled(self, root: torch.Tensor) -> bool:
        """Of what lies on an accelerator that is told later."""
        loss = self._course.last_loss
        if loss is not None:
            return not math.isfinite(loss)
        if not is_remote(root):
            return is_spoiled(root)
        if root.numel() != 1 and is_checkable(root):
            step = self._course.steps
            self._late_values.ask(self, [extent(root)], lambda values: self._came_late(step, values[0]))
        return False

    # -------------------------------------------------------------------------------------------- on an accelerator

    def _loss_known(self, loss: KnownLoss) -> None:
        if loss.late and loss.kind != "transform":
            self._came_late(loss.step, loss.value)

    def _came_late(self, step: int, value: float) -> None:
        if not math.isfinite(value) and self._spoiled < _MOST_SPOILED:
            self._spoiled += 1
            self._detail.missed(step)

    def _put_off(self, tensor: torch.Tensor) -> None:
        unread = self._unread = self._unread or _Unread(self._course.steps)
        largest = extent(tensor)
        if tensor.numel() != 1:
            unread.last = largest
        else:
            before = unread.singles.get(tensor.device, largest)
            unread.singles[tensor.device] = torch.maximum(before, largest)
        made = self._tensors.get(tensor) if self._detail.closely else None
        unread.made += [made] if made is not None else []

    def _ask_of_unread(self, root: torch.Tensor) -> None:
        """A number that is spoiled, and a loss that is not: the program did without that number."""
        unread, self._unread = self._unread, None
        if unread is not None and unread.singles and is_checkable(root):
            parts = [extent(root), *unread.singles.values()]
            self._late_values.ask(self, parts, lambda values: self._judge(unread, *values))

    def _judge(self, unread: _Unread, loss: float, *values: float) -> None:
        if math.isfinite(loss):
            self._unread_known(unread, values)

    def _unread_known(self, unread: _Unread, values: Sequence[float]) -> None:
        if all(map(math.isfinite, values)):
            return
        self._nonfinite.settle()
        origins = [made.origin for made in unread.made if made.origin is not None]
        is_one = not all(map(math.isfinite, values[: len(unread.singles)]))
        if origins and not is_one and not any(map(math.isnan, values)) and all(each.deliberate for each in origins):
            return
        origin = next(iter(origins), None)
        if origin is not None:
            self.emit(origin.event(unread.step, "read"))
        else:
            self._detail.missed(unread.step)

    # ---------------------------------------------------------------------------------- what is read, and looked into

    def _value_read(self, tensor: torch.Tensor) -> None:
        """A bare signal: most reads are of something else, of a loss that has gone backward already, or our own."""
        if self._read is not None or not tensor.requires_grad or self._operations.inside:
            return
        if self._course.running is not None:
            return
        if (self._last_root is not None and self._last_root() is tensor) or not self._is_due(tensor):
            return
        with self._guard.looking():
            if not has_graph(tensor):
                return
            if is_remote(tensor):
                if is_checkable(tensor):
                    self._put_off(tensor)
            elif is_spoiled(tensor):
                self._nonfinite.settle()
                made = self._tensors.get(tensor) if self._detail.closely else None
                if self._is_meant(tensor, made):
                    return
                origin = made.origin if made is not None else None
                event = origin.event(self._course.steps, "read") if origin is not None else None
                told = event or self._look_into(nodes_of([tensor]), None, "read")
                self._read = _Read(told, tensor.numel() == 1)

    @staticmethod
    def _is_meant(tensor: torch.Tensor, made: Provenance | None) -> bool:
        """Whether all that is not finite are infinities that the program wrote down, as the outermost of bounds.

        A single number that was computed from them is as bad as any: of a loss of infinity nothing can be learned.
        """
        if bool(tensor.isnan().any()):
            return False
        if made is not None and made.origin is not None:
            is_moved = made.operation in MASKS or made.operation in STAYS_FINITE
            return made.origin.deliberate and (is_moved or tensor.numel() > 1)
        return only_written(nodes_of([tensor]), is_one=tensor.numel() == 1)

    def _is_due(self, tensor: torch.Tensor) -> bool:
        """What has many values takes long to look at: a program that goes by it reads it again."""
        return tensor.numel() == 1 or not self._detail.glancing

    def _remember(self, walk: GraphWalk) -> None:
        """Keep the lines of a recorded graph; where another of its structure has others, they tell nothing.

        A walk meets nodes in the same order as `nodes_of`.
        """
        made_of = [walk.made.get(key) for key in walk.nodes]
        lines = [None if made is None else (made.operation, made.place) for made in made_of]
        where = place()
        self._remember_loss(walk, where, lines)
        key = structure_of(walk.nodes.values()), where
        known = self._lines.get(key)
        if known is not None:
            known[:] = [line if line == other else None for line, other in zip(known, lines, strict=True)]
        elif self._nodes + len(lines) <= _MOST_NODES:
            self._lines[key] = lines
            self._nodes += len(lines)

    def _remember_loss(self, walk: GraphWalk, where: Place | None, lines: Sequence[Line | None]) -> None:
        """What is made where the backward runs is a framework's, as where it divides a loss."""
        made_at = next((line[1] for line in lines if line is not None and line[1] != where), None)
        root = next(iter(walk.nodes.values()), None)
        if self._loss_lines.setdefault((type(root), where), made_at) != made_at:
            self._loss_lines[type(root), where] = None

    def _look_into(
        self, nodes: Sequence[Node], where: Place | None, reached: Literal["loss", "read"] = "loss"
    ) -> NonFiniteProduced | NonFiniteInput | None:
        """nodes: of a graph. where: the line of the backward; None if there was none yet.

        Where no other run will tell the line, the operation is told without it, at that of the loss if all losses of
        this backward were made there; and so is what came in with the data.
        """
        structure = structure_of(nodes)
        alike = (lines for (other, line), lines in self._lines.items() if other == structure and where in (line, None))
        lines = next(alike, None)
        born = birth(nodes) if lines is not None or self._detail.is_only_run else None
        if born is None:
            return self._brought_in(nodes, lines, where) if self._detail.is_only_run and reached == "loss" else None
        line = lines[nodes.index(born.node)] if lines is not None else None
        if line is None and not self._detail.is_only_run:
            return None
        operation, made_at = line or (operation_of(born.node), self._loss_line(nodes, where))
        return NonFiniteProduced(
            step=self._course.steps,
            operation=operation,
            location=locate(made_at),
            output=describe(born.output),
            operands=[self._tensors.describe(operand) for operand in born.operands[:4]],
            rows=bad_rows(born.output),
            reached=reached,
            low_precision=born.low_precision,
            from_graph=True,
            at_backward=line is None,
        )

    def _brought_in(
        self, nodes: Sequence[Node], lines: list[Line | None] | None, where: Place | None
    ) -> NonFiniteInput | None:
        brought = brought_in(nodes)
        if brought is None:
            return None
        line = lines[nodes.index(brought.node)] if lines is not None else None
        return NonFiniteInput(
            step=self._course.steps,
            tensor=self._tensors.describe(brought.data),
            location=locate(line[1] if line is not None else self._loss_line(nodes, where)),
            rows=bad_rows(brought.data),
        )

    def _loss_line(self, nodes: Sequence[Node], where: Place | None) -> Place | None:
        """Where the loss was made that a backward at this line begins with, else that line: a framework runs it behind
        a line of the program's that says nothing."""
        return self._loss_lines.get((type(nodes[0]), where)) or where
