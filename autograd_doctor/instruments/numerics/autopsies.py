"""What the graph of a spoiled loss tells of a step in which nobody read the values of operations."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

import torch
from torch.autograd.graph import Node

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.numerics.nonfinite import NonFinite
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.light_steps import LightSteps
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.birth import birth
from autograd_doctor.reading.graph_structure import nodes_of, structure_of
from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensor_facts import bad_rows, describe, is_spoiled
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall

_MOST_NODES = 200_000
"""Of all graphs together whose lines are kept, at 16 bytes each: models that people train on one machine have a few
thousand, and programs a few graphs."""
_MOST_SPOILED = 4
"""Losses to look into: a loss scale of 65536 (the default) that settles spoils a few, and they do no harm."""
Line = tuple[str, Place | None]


class _Read(NamedTuple):
    """A value that is not finite, which the program has read. event: what made it so, None if that is not known."""

    event: Event | None
    is_scalar: bool


class Autopsies(Instrument):
    """Finds the node that made a loss not finite, and its line in a recorded step with a graph of the same structure.

    Where the graph does not tell, or no recorded one is like it, `detail` is told what was missed. A value that only
    the program has read, to stop or skip steps for it, counts as well if no backward follows until the end.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (NonFiniteProduced,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        light_steps: LightSteps,
        tensors: Tensors,
        ledger: Ledger,
        nonfinite: NonFinite,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._tensors = tensors
        self._ledger = ledger
        self._nonfinite = nonfinite
        self._guard = site.signals.guard
        self._operations = site.signals.operations
        self._lines: dict[tuple[int, Place | None], list[Line | None]] = {}
        self._nodes = self._spoiled = 0
        self._read: _Read | None = None
        self._last_root: weakref.ref[torch.Tensor] | None = None

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, last=True)
        self.listen(signals.value_reads.read, self._value_read)

    def finish(self) -> None:
        self._tell_of_read()

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
        if not self._detail.closely and self._is_spoiled(call.roots[0]) and self._spoiled < _MOST_SPOILED:
            self._spoiled += 1
            event = self._look_into(nodes_of(call.roots, call.inputs), place())
            if event is None:
                self._detail.missed()
            else:
                self.emit(event)

    def _is_spoiled(self, root: torch.Tensor) -> bool:
        loss = self._course.last_loss
        if loss is None:
            return is_spoiled(root)
        return not math.isfinite(loss)

    def _value_read(self, tensor: torch.Tensor) -> None:
        """A bare signal: most reads are of something else, of a loss that has gone backward already, or our own."""
        if self._read is not None or not tensor.requires_grad or self._operations.inside:
            return
        if self._course.running is not None:
            return
        if (self._last_root is not None and self._last_root() is tensor) or not self._is_due(tensor):
            return
        with self._guard.looking():
            if has_graph(tensor) and is_spoiled(tensor):
                self._nonfinite.settle()
                made = self._tensors.get(tensor) if self._detail.closely else None
                origin = made.origin if made is not None else None
                event = origin.event(self._course.steps, "read") if origin is not None else None
                told = event or self._look_into(nodes_of([tensor]), None, "read")
                self._read = _Read(told, tensor.numel() == 1)

    def _is_due(self, tensor: torch.Tensor) -> bool:
        """What has many values takes long to look at: a program that goes by it reads it again."""
        return tensor.numel() == 1 or not self._detail.glancing

    def _remember(self, walk: GraphWalk) -> None:
        """Keep the lines of a recorded graph; where another of its structure has others, they tell nothing.

        A walk meets nodes in the same order as `nodes_of`.
        """
        made_of = [walk.made.get(key) for key in walk.nodes]
        lines = [None if made is None else (made.operation, made.place) for made in made_of]
        key = structure_of(walk.nodes.values()), place()
        known = self._lines.get(key)
        if known is not None:
            known[:] = [line if line == other else None for line, other in zip(known, lines, strict=True)]
        elif self._nodes + len(lines) <= _MOST_NODES:
            self._lines[key] = lines
            self._nodes += len(lines)

    def _look_into(
        self, nodes: Sequence[Node], where: Place | None, reached: Literal["loss", "read"] = "loss"
    ) -> NonFiniteProduced | None:
        """nodes: of a graph. where: the line of the backward; None if there was none yet."""
        structure = structure_of(nodes)
        alike = (lines for (other, line), lines in self._lines.items() if other == structure and where in (line, None))
        lines = next(alike, None)
        born = birth(nodes) if lines is not None else None
        line = lines[nodes.index(born.node)] if lines is not None and born is not None else None
        if born is None or line is None:
            return None
        operation, made_at = line
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
        )
