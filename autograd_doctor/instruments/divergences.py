"""Values that are the divergence of one normal distribution from another, whoever wrote the formula down."""

from __future__ import annotations

import torch

from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.within_step import WithinStep
from autograd_doctor.reading.made import has_graph, next_order
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.pairs import ADDING, ELEMENTWISE, SCALING
from autograd_doctor.reading.signs import NEGATIONS, is_square
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

_CURVES = {"exp": "exp", "expm1": "exp", "log": "log"}
_KINDS = ("itself", "exp", "log", "square")
_Part = tuple[str, int]
"""What was done to which tensor, by its number: "itself" for nothing."""


class Divergences(WithinStep):
    """Follows sums of what the formula is made of, in steps that are looked at closely.

    It holds a squared mean, and a variance beside its logarithm: ``log_var.exp() - log_var``, ``std**2 - log(std)``.
    """

    def __init__(self, site: Site, course: Course, detail: Detail, lineage: Lineage) -> None:
        super().__init__(site, course, detail)
        self._lineage = lineage

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._lineage.operated, self._operation_ended, names=ELEMENTWISE | ADDING)

    def is_one(self, values: torch.Tensor) -> bool:
        """Whether each of these values is a divergence."""
        parts = self._parts.get(values) or frozenset()
        numbers = {kind: {number for each, number in parts if each == kind} for kind in _KINDS}
        by_logarithm = numbers["exp"] & numbers["itself"]
        by_variance = numbers["log"] & (numbers["square"] | numbers["itself"])
        return bool(by_logarithm | by_variance) and bool(numbers["square"])

    def _forget(self) -> None:
        self._numbers: ValueTable[int] = self.value_table()
        self._parts: ValueTable[frozenset[_Part]] = self.value_table()

    def _operation_ended(self, operation: Operation) -> None:
        name, result = operation.name, operation.result
        if not isinstance(result, torch.Tensor) or not result.dim() or not has_graph(result):
            return
        given = tensors_in(operation.args)
        curve = "square" if is_square(name, operation.args) else _CURVES.get(name)
        if curve is not None and given:
            self._parts.put(result, frozenset({(curve, self._number(given[0])), ("itself", self._number(result))}))
        elif name in ADDING:
            self._parts.put(result, frozenset[_Part]().union(*(self._parts_of(each) for each in given)))
        elif len(given) == 1 and (name in NEGATIONS or name in SCALING):
            self._numbers.put(result, self._number(given[0]))
            if given[0] in self._parts:
                self._parts.put(result, self._parts_of(given[0]))

    def _number(self, tensor: torch.Tensor) -> int:
        """The same for a tensor and for its multiples."""
        number = self._numbers.get(tensor)
        if number is None:
            number = next_order()
            self._numbers.put(tensor, number)
        return number

    def _parts_of(self, tensor: torch.Tensor) -> frozenset[_Part]:
        parts = self._parts.get(tensor)
        return parts if parts is not None else frozenset({("itself", self._number(tensor))})
