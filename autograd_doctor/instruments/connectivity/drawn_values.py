"""What depends on parameters by draws alone: samples, and choices between whole numbers or truth values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch

from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import DRAWN_AS_TOLD
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.provenance import Provenance, has_graph
from autograd_doctor.signals.operations import Operation


class Drawn(NamedTuple):
    """What of a tensor was drawn.

    parameters: those that have flowed in by draws alone, as bits. draws: which ones, by the order of their results.
    """

    parameters: int
    draws: frozenset[int]


class Draws:
    """Draws, followed through what is made of them without a graph."""

    def __init__(self, tensors: Tensors) -> None:
        self._tensors = tensors
        self._drawn: IdentityTable[Drawn] = IdentityTable()

    def of(self, tensor: torch.Tensor) -> Drawn | None:
        """What was drawn of a tensor that has no graph, or had none until just now; None if nothing."""
        return self._drawn.get(tensor)

    def discard(self, tensor: torch.Tensor) -> None:
        """It has a graph from now on."""
        self._drawn.discard(tensor)

    def clear(self) -> None:
        self._drawn.clear()

    def drew(self, result: torch.Tensor) -> None:
        """A distribution has drawn this, by whichever operations."""
        made = self._tensors.get(result)
        if made is not None and made.values and not has_graph(result):
            self._drawn.put(result, Drawn(made.values, frozenset([made.order])))

    def follow(self, operation: Operation, result: torch.Tensor, made: Provenance) -> None:
        """An operation has made something without a graph of values of parameters."""
        inputs = operation.inputs
        met = _draws_of(known for tensor in inputs if (known := self.of(tensor)) is not None)
        if operation.name in DRAWN_AS_TOLD or not (result.is_floating_point() or result.is_complex()):
            self._drawn.put(result, Drawn(made.values, met | {made.order}))
            return
        direct = 0
        for tensor in inputs:
            known = self.of(tensor)
            values = self._tensors.derive(Provenance("", None, made.step), [tensor]).values
            direct |= values if known is None else values & ~known.parameters
        if made.values & ~direct:
            self._drawn.put(result, Drawn(made.values & ~direct, met))
        else:
            self._drawn.discard(result)

    def scored(self, inputs: Iterable[torch.Tensor], made: Provenance) -> frozenset[int]:
        """The draws that something with a graph was computed from, beside what has a gradient to parameters behind
        them, as the log-probability of a sample is."""
        plain = (tensor for tensor in inputs if not has_graph(tensor))
        known = (drawn for tensor in plain if (drawn := self.of(tensor)) is not None)
        return _draws_of(drawn for drawn in known if drawn.parameters & made.connected)


def _draws_of(known: Iterable[Drawn]) -> frozenset[int]:
    return frozenset[int]().union(*(drawn.draws for drawn in known))
