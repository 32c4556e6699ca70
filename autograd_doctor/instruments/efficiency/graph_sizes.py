"""How large the graphs are that the program computes backward, and whether that frees them."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.efficiency import GraphMeasured
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.graph_structure import depth_of, nodes_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall

_MOST_TOLD = 100
"""Graphs: to see whether they grow, these are enough."""


class GraphSizes(Instrument):
    """Measures graphs when a backward begins, and once more what they keep when it is over.

    saved: the bytes that the last one kept when its backward began.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (GraphMeasured,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._running: tuple[BackwardCall, int, int] | None = None
        self._told = 0
        self.saved = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._began, attention=Attention.FULL)
        self.listen(signals.backward.ended, self._ended, attention=Attention.FULL)

    def _began(self, call: BackwardCall) -> None:
        self.saved = saved_bytes(call.roots).bytes
        if self._told < _MOST_TOLD:
            nodes = nodes_of(call.roots, call.inputs)
            self._running = call, len(nodes), depth_of(nodes)

    def _ended(self, call: BackwardCall) -> None:
        running, self._running = self._running, None
        if running is None or running[0] is not call:
            return
        _, nodes, depth = running
        self._told += 1
        left = saved_bytes(call.roots).bytes
        self.emit(GraphMeasured(step=self._course.steps, nodes=nodes, depth=depth, saved=self.saved, left=left))
