"""Inputs that a custom function changed in place and did not mark as dirty, and what used them afterwards.

Autograd knows of the change by `ctx.mark_dirty` alone: it then takes the input for a result of the function. Without,
the input keeps the node that it had, and whatever works on it later sends its gradient past the function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import torch
from msgspec.structs import replace

from autograd_doctor.events.errors import InputChangedUnmarked
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.reading.custom_functions import definition, node_made_by, own_method
from autograd_doctor.reading.function_signature import argument_names
from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.places import here, locate
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.subclasses import bytes_of, node_of, version_of
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.custom_functions import FunctionCall

_KEY = "autograd_doctor.unmarked"
"""The key under which the node of an input holds the `_Change` that a custom function made to it."""
_CALLS_LOOKED_AT = 16
"""Of each function that changes an input: the layers of a network call it one after the other."""
_MOST_BYTES = 64 * 2**20
"""Of an input that is copied while the function runs."""
_ROUNDINGS = 16
"""What was changed and put back may be this many roundings away from what it was."""


class _Input(NamedTuple):
    """An input of a call that is running, with the node and, unless it is too large, the values that it had."""

    position: int
    tensor: torch.Tensor
    node: Any
    version: int
    values: torch.Tensor | None


class _Change(NamedTuple):
    """What is said of a change, and the number in sequence of the function's own node: later ones used it changed.

    of_view: the first of these is then the node that a view gets after each change.
    """

    event: InputChangedUnmarked
    order: int
    of_view: bool


class UnmarkedChanges(Instrument):
    """Compares the inputs of custom functions before and after, and looks in the graph of each backward."""

    emits: ClassVar[tuple[type[Event], ...]] = (InputChangedUnmarked,)

    def __init__(self, site: Site, course: Course, ledger: Ledger) -> None:
        super().__init__(site)
        self._course = course
        self._ledger = ledger
        self._running: dict[FunctionCall, list[_Input]] = {}
        self._calls: dict[type, int] = {}
        self._has_changes = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.custom_functions.began, self._began, attention=Attention.FULL)
        self.listen(signals.custom_functions.ended, self._ended, attention=Attention.LIGHT)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)

    def detach(self) -> None:
        self._running.clear()
        super().detach()

    def _began(self, call: FunctionCall) -> None:
        if self._calls.get(call.function, 0) >= _CALLS_LOOKED_AT or own_method(call.function, "forward") is None:
            return
        self._calls[call.function] = self._calls.get(call.function, 0) + 1
        self._running[call] = [
            _Input(position, value, node, version_of(value), _copied(value))
            for position, value in enumerate(call.args)
            if is_a(value, torch.Tensor) and readable(value) and (node := node_of(_whole(value))) is not None
        ]

    def _ended(self, call: FunctionCall) -> None:
        inputs = self._running.pop(call, ())
        node = node_made_by(call.function, call.result) if inputs else None
        if node is None:
            return
        for before in inputs:
            if version_of(before.tensor) == before.version or _is_as_before(before):
                continue
            self._has_changes = True
            event, of_view = self._event(call, before.position), _whole(before.tensor) is not before.tensor
            before.node.metadata[_KEY] = _Change(event, node._sequence_nr(), of_view)

    def _event(self, call: FunctionCall, position: int) -> InputChangedUnmarked:
        return InputChangedUnmarked(
            step=self._course.steps,
            function=call.function.__name__,
            input=position,
            name=argument_names(call.function, len(call.args))[position],
            location=definition(call.function, "forward"),
            applied_at=here(),
        )

    def _backward_began(self, call: BackwardCall) -> None:
        self._running.clear()  # a call that raised has no end
        walk = self._ledger.walk
        if walk is None or not self._has_changes:
            return
        self._has_changes = False
        for key, node in walk.nodes.items():
            change: _Change | None = node.metadata.pop(_KEY, None)
            used = next(_later_uses(walk, key, change), None) if change is not None else None
            if change is not None and used is not None:
                self.emit(replace(change.event, used_by=used.operation, used_at=locate(used.place)))


def _copied(tensor: torch.Tensor) -> torch.Tensor | None:
    return tensor.detach().clone() if bytes_of(tensor) <= _MOST_BYTES else None


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor of which this one is a view of all elements, or itself."""
    base = tensor._base
    return base if base is not None and base.numel() == tensor.numel() else tensor


def _is_as_before(before: _Input) -> bool:
    """Whether a change left the values that were there, or brought them back."""
    if before.values is None:
        return False
    now = before.tensor.detach()
    if not now.is_floating_point():
        return torch.equal(now, before.values)
    return torch.allclose(now, before.values, rtol=_ROUNDINGS * torch.finfo(now.dtype).eps, equal_nan=True)


def _later_uses(walk: GraphWalk, key: int, change: _Change) -> Iterator[Provenance]:
    """How those operations came to be that worked on what a node made, after the function had changed it."""
    for consumer, _ in walk.consumers.get(key, ()):
        if walk.nodes[consumer]._sequence_nr() <= change.order:
            continue
        users = [user for user, _ in walk.consumers.get(consumer, ())] if change.of_view else [consumer]
        yield from (made for user in users if (made := walk.made.get(user)) is not None)
