"""Values that are the divergence of one normal distribution from another, whoever wrote the formula down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.reading.made import has_graph, next_order
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.pairs import ADDING, SCALING
from autograd_doctor.reading.signs import NEGATIONS
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_CURVES = {"exp": "exp", "expm1": "exp", "log": "log", "square": "square"}
_PRODUCTS = frozenset({"mul", "multiply"})
_POWERS = frozenset({"__pow__", "pow"})
_Part = tuple[str, int]
"""What was done to which tensor, by its number: "itself" for nothing."""


class Divergences(Instrument):
    """Follows sums of what the formula is made of, in steps that are looked at closely.

    It holds a squared mean, and a variance beside its logarithm: ``log_var.exp() - log_var``, ``std**2 - log(std)``.
    """

    def __init__(self, site: Site, course: Course, detail: Detail, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._lineage = lineage
        self._forget()

    def connect(self, signals: Signals) -> None:
        names = frozenset(_CURVES) | _PRODUCTS | _POWERS | ADDING | SCALING | NEGATIONS
        self.listen(self._lineage.operated, self._operation_ended, names=names)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._turned)

    def is_one(self, values: torch.Tensor) -> bool:
        """Whether each of these values is a divergence."""
        parts = self._parts.get(values) or frozenset()
        numbers = {kind: {number for each, number in parts if each == kind} for kind in ("itself", *_CURVES.values())}
        by_logarithm = numbers["exp"] & numbers["itself"]
        by_variance = numbers["log"] & (numbers["square"] | numbers["itself"])
        return bool(by_logarithm | by_variance) and bool(numbers["square"])

    def _forget(self) -> None:
        self._numbers: IdentityTable[int] = IdentityTable()
        self._parts: IdentityTable[frozenset[_Part]] = IdentityTable()

    def _turned(self, detail: Detail) -> None:
        self._forget()

    def _step_taken(self, course: Course) -> None:
        self._forget()

    def _operation_ended(self, operation: Operation) -> None:
        name, result = operation.name, operation.result
        if not isinstance(result, torch.Tensor) or not result.dim() or not has_graph(result):
            return
        given = tensors_in(operation.args)
        curve = _curve(name, operation.args)
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


def _curve(name: str, args: Sequence[Any]) -> str | None:
    """What an operation does to its first argument, if the formula has it."""
    if name not in _PRODUCTS | _POWERS or len(args) < 2:
        return _CURVES.get(name)
    is_two = isinstance(args[1], int | float) and args[1] == 2
    return "square" if (is_two if name in _POWERS else args[1] is args[0]) else None
