"""Graphs that the program had kept by `retain_graph` or `create_graph`: what they kept, and who used them again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.lifetime import GraphRetained
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.reading.asked_for import asked_by_program
from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.places import here
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.custom_functions import FunctionCall

_MEASURED = 3
"""Graphs to measure of those retained at one time: each walk visits the whole graph, and those of a loop are alike."""
_STEPS = 2
"""Steps after which a graph is used no more: a loop that takes turns between two optimizers comes back after one."""


@dataclass
class _Retained:
    location: Location | None
    create_graph: bool
    since_step: int
    bytes_held: int
    used_again: bool = False


class RetainedGraphs(Instrument):
    """The lineage marks the nodes by which a second derivative is told.

    What a custom function keeps in its forward is left alone: its backward, inside of which nothing is seen, may run
    the same lines and use it.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (GraphRetained,)

    def __init__(self, site: Site, course: Course, detail: Detail, ledger: Ledger, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._ledger = ledger
        self._lineage = lineage
        self._retained: dict[int, _Retained] = {}
        self._running: tuple[FunctionCall | None, int] = (None, 0)

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.LIGHT)
        self.listen(signals.custom_functions.began, self._function_began, attention=Attention.FULL)
        self.listen(signals.custom_functions.ended, self._function_ended, attention=Attention.FULL)

    def finish(self) -> None:
        self._settle(everything=True)

    def _function_began(self, call: FunctionCall) -> None:
        if not self._is_in_function:
            self._running = call, self._course.steps

    def _function_ended(self, call: FunctionCall) -> None:
        if self._running[0] is call:
            self._running = None, 0

    @property
    def _is_in_function(self) -> bool:
        """One that raised does not end; it is forgotten with its step."""
        return self._running[0] is not None and self._running[1] == self._course.steps

    def _backward_began(self, call: BackwardCall) -> None:
        if self._is_in_function:
            return
        option = "create_graph" if call.create_graph else "retain_graph" if call.retain_graph else ""
        if option and asked_by_program(option):
            size = saved_bytes(call.roots).bytes if len(self._retained) < _MEASURED else 0
            self._retained[self._course.backwards] = _Retained(here(), call.create_graph, self._course.steps, size)

    def _backward_ended(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if walk is None:
            return
        for earlier, kept in self._retained.items():
            kept.used_again |= earlier in (walk.differentiated if kept.create_graph else walk.reused)
        self._settle()

    def _settle(self, *, everything: bool = False) -> None:
        """Report the graphs whose time to be used again is over."""
        for number, kept in list(self._retained.items()):
            if everything or self._course.steps >= kept.since_step + _STEPS:
                del self._retained[number]
                self.emit(
                    GraphRetained(
                        step=self._course.steps,
                        backward=number,
                        location=kept.location,
                        create_graph=kept.create_graph,
                        used_again=kept.used_again,
                        bytes_held=kept.bytes_held,
                    )
                )
