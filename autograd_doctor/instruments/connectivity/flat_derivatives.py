"""Derivatives of derivatives that are exactly zero, because the function is made of straight pieces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import torch

from autograd_doctor.events.connectivity import FlatDerivative
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.graph_structure import end_of, nodes_below, nodes_of
from autograd_doctor.reading.graph_walk import lineage_of, operation_of
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.reading.tensor_facts import read_together, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall

_STRAIGHT = {
    "Relu": "relu",
    "LeakyReluBackward": "leaky_relu",
    "HardtanhBackward": "hardtanh",
    "PreluKernelBackward": "prelu",
    "RreluWithNoiseBackward": "rrelu",
}
"""Nodes in the graph of a first derivative, and the activation that they come from, of which the slope is constant."""
_MOST_TOLD = 8


class FlatDerivatives(Instrument):
    """Looks, in steps that are looked at closely, at what `grad(…, create_graph=True)` gives for a derivative.

    Activations of something else than it is taken by do not count.

    What is one, `tensors` knows from `backward_runs` and `lineage`.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (FlatDerivative,)

    def __init__(
        self, site: Site, course: Course, tensors: Tensors, lineage: Lineage, backward_runs: BackwardRuns
    ) -> None:
        super().__init__(site)
        self._course = course
        self._tensors = tensors
        self._told: dict[Place, int] = {}
        self._lines: set[Place] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.CLOSE)

    def _backward_ended(self, call: BackwardCall) -> None:
        if call.kind != "grad" or not call.create_graph:
            return
        places = stack()
        nodes = nodes_of(call.roots) if self._is_flat(call) else []
        of_pieces = (node for node in nodes if operation_of(node) in _STRAIGHT)
        straight = next((node for node in of_pieces if _leads_to(node, call.inputs)), None)
        if straight is None:
            self._lines.update(places[-1:])
        elif places and self._told.get(places[-1], 0) < _MOST_TOLD:
            self._told[places[-1]] = self._told.get(places[-1], 0) + 1
            self._tell(call, places, _STRAIGHT[operation_of(straight)], nodes)

    def _is_flat(self, call: BackwardCall) -> bool:
        """Whether the derivative of a derivative is zero throughout."""
        if not all(map(self._is_derivative, call.roots)):
            return False
        slopes = [slope for slope in call.result if isinstance(slope, torch.Tensor)]
        return (
            bool(slopes)
            and all(map(readable, slopes))
            and not any(read_together([slope.detach().any() for slope in slopes]))
        )

    def _tell(self, call: BackwardCall, places: tuple[Place, ...], operation: str, nodes: list[Any]) -> None:
        """A line that took other derivatives as well is a helper's: then it is the line that called it."""
        is_shared = places[-1] in self._lines and len(places) > 1
        self.emit(
            FlatDerivative(
                step=self._course.steps,
                location=locate(places[-2] if is_shared else places[-1]),
                taken_at=locate(places[-1]),
                operation=operation,
                activation_at=locate(_line_of(operation, nodes)),
                values=sum(slope.numel() for slope in call.result if isinstance(slope, torch.Tensor)),
            )
        )

    def _is_derivative(self, root: torch.Tensor) -> bool:
        made = self._tensors.get(root)
        return made is not None and made.of_gradient and root.requires_grad


def _leads_to(node: Any, inputs: Iterable[Any]) -> bool:
    """Whether what a derivative is taken by went through a node."""
    below = set(nodes_below(node))
    return any(end_of(each) in below for each in inputs)


def _line_of(operation: str, nodes: list[Any]) -> Place | None:
    """Where the forward called the activation."""
    made = (lineage_of(node) for node in nodes)
    return next((each.place for each in made if each is not None and each.operation.strip("_") == operation), None)
