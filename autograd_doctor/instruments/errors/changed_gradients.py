"""Gradients that a custom function was given by its backward, changed in place, and that another branch used as well.

A sum hands one and the same tensor to all of its summands. Branches run in the opposite order of their making: those
that were made before the function get what it left.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import torch
from torch.autograd.function import BackwardCFunction

from autograd_doctor.events.errors import GradientChangedInPlace
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.reading.changing_line import ChangingLine
from autograd_doctor.reading.custom_functions import definition, own_method
from autograd_doctor.reading.graph_walk import GraphWalk, Node, node_name
from autograd_doctor.reading.places import locate
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall

_MOST_NODES = 16
"""Of one backward, to watch."""
_MOST_TOLD = 4
"""Of each function."""


class _Shared(NamedTuple):
    """A custom function's node, and the sum that hands its gradient to another branch, too."""

    node: Node
    kind: type
    sum: Provenance | None


class ChangedGradients(Instrument):
    """Compares versions around backwards of the program's own, in steps that are looked at closely."""

    emits: ClassVar[tuple[type[Event], ...]] = (GradientChangedInPlace,)

    def __init__(self, site: Site, course: Course, ledger: Ledger) -> None:
        super().__init__(site)
        self._course = course
        self._ledger = ledger
        self._given: list[tuple[weakref.ref[torch.Tensor], int]] = []
        self._line: ChangingLine | None = None
        self._thread = 0
        self._handles: list[Any] = []
        self._told: dict[type, int] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.LIGHT)

    def detach(self) -> None:
        self._let_go()
        super().detach()

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        self._thread = threading.get_ident()
        shared = list(_shared(walk)) if walk is not None and not call.create_graph else []
        for each in shared[:_MOST_NODES]:
            if self._told.get(each.kind, 0) < _MOST_TOLD:
                after = partial(self._after, each)
                self._handles += [each.node.register_prehook(self._before), each.node.register_hook(after)]

    def _backward_ended(self, call: BackwardCall) -> None:
        self._let_go()

    def _end_line(self) -> Location | None:
        line, self._line = self._line, None
        if line is not None:
            line.end()
        return line.found if line is not None else None

    def _let_go(self) -> None:
        self._end_line()
        for handle in self._handles:
            handle.remove()
        self._handles, self._given = [], []

    def _before(self, gradients: Sequence[Any]) -> None:
        self._given = [(weakref.ref(each), version_of(each)) for each in gradients if isinstance(each, torch.Tensor)]
        # In the thread of an accelerator nobody would hear of it if this backward raised.
        self._line = ChangingLine(self._versions, in_call=threading.get_ident() != self._thread)
        self._line.begin()

    def _versions(self) -> list[int]:
        return [version_of(each) for reference, _ in self._given if (each := reference()) is not None]

    def _after(self, shared: _Shared, results: Sequence[Any], gradients: Sequence[Any]) -> None:
        found = self._end_line()
        living = [(reference(), version) for reference, version in self._given]
        self._given = []
        if not any(each is not None and version_of(each) != version for each, version in living):
            return
        kind = shared.kind
        self._told[kind] = self._told.get(kind, 0) + 1
        made = shared.sum
        self.emit(
            GradientChangedInPlace(
                step=self._course.steps,
                function=kind.__name__,
                location=found or definition(kind, "backward"),
                shared_by=made.operation if made is not None else "",
                shared_at=locate(made.place) if made is not None else None,
            )
        )


def _shared(walk: GraphWalk) -> Iterator[_Shared]:
    for key, node in walk.nodes.items():
        kind = getattr(node, "_forward_cls", None) if isinstance(node, BackwardCFunction) else None
        if kind is not None and own_method(kind, "backward") is not None:
            consumers = walk.consumers.get(key, [])
            summed = (walk.nodes[consumer] for consumer, _ in consumers if len(consumers) == 1)
            if any(_hands_on(consumer, node) for consumer in summed):
                yield _Shared(node, kind, walk.made.get(consumers[0][0]))


def _hands_on(consumer: Node, node: Node) -> bool:
    """Whether it hands one gradient to this node and to another that runs later."""
    if node_name(consumer) != "AddBackward" or getattr(consumer, "_saved_alpha", 1) != 1:
        return False
    others = [following for following, _ in consumer.next_functions if following is not node]
    if len(others) != 1 or others[0] is None or not _shapes(node) or _shapes(consumer) != _shapes(node):
        return False
    return _shapes(node)[0] in _shapes(others[0]) and bool(others[0]._sequence_nr() < node._sequence_nr())


def _shapes(node: Node) -> list[tuple[int, ...]]:
    return [tuple(each.shape) for each in getattr(node, "_input_metadata", ())]
