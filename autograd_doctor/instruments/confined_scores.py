"""Similarities of unit vectors on their way to a loss over classes: how far apart the scores can be at most."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events import Event, ScoresConfined
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.reading.linear import JOINS, REARRANGEMENTS
from autograd_doctor.reading.loss_arguments import usual_class_dim
from autograd_doctor.reading.made import has_graph
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

_SIMILARITIES = frozenset({"__matmul__", "__rmatmul__", "cosine_similarity", "linear", "matmul", "mm"})
_TIMES = frozenset({"__imul__", "__rmul__", "mul", "mul_", "multiply"})
_OVER = frozenset({"__itruediv__", "div", "div_", "divide", "true_divide"})
_KEEPS = (REARRANGEMENTS - {"mean", "nanmean", "nansum", "sum"}) | JOINS | {"masked_fill", "masked_fill_"}
"""Operations that change no value, but for those that a mask rules out."""
_LOSSES = frozenset({"cross_entropy", "log_softmax"})
_UNIT = 1e-3
"""By how much the length of a vector may differ from 1."""
_MOST_TOLD = 4


class _Confined(NamedTuple):
    """No value is further from 0 than `bound`. scaled_at: where a number has set that, if one has."""

    bound: float
    scaled_at: Place | None = None


class ConfinedScores(Instrument):
    """Tells of losses over classes whose scores are similarities, times a number that is no parameter."""

    emits: ClassVar[tuple[type[Event], ...]] = (ScoresConfined,)

    def __init__(self, site: Site, course: Course, detail: Detail, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._lineage = lineage
        self._known: ValueTable[_Confined] = self.value_table()
        self._told: dict[Place | None, int] = {}

    def connect(self, signals: Signals) -> None:
        names = _SIMILARITIES | _TIMES | _OVER | _KEEPS | _LOSSES
        self.listen(self._lineage.operated, self._operated, names=names)
        self.listen(self._detail.focused, self._focused)

    def _focused(self, detail: Detail) -> None:
        """What operations of other steps did is not known."""
        self._known.clear()

    def _operated(self, operation: Operation) -> None:
        name, result = operation.name, operation.result
        if name in _LOSSES:
            self._scored(operation)
        elif name in _SIMILARITIES:
            if isinstance(result, torch.Tensor) and has_graph(result) and _are_similarities(operation):
                self._known.put(result, _Confined(1.0))
        elif len(self._known):
            confined = self._carried(operation)
            if confined is not None:
                for tensor in tensors_in([result]):
                    self._known.put(tensor, confined)

    def _carried(self, operation: Operation) -> _Confined | None:
        """What is known of the result of an operation on confined values."""
        tensors = tensors_in(operation.args)
        if operation.name in _KEEPS:
            known = [confined for tensor in tensors if (confined := self._known.get(tensor)) is not None]
            whole = known and (operation.name not in JOINS or len(known) == len(tensors))
            return max(known, key=lambda each: each.bound) if whole else None
        first = self._known.get(tensors[0]) if tensors else None
        factor = _number(next((each for each in operation.args if each is not tensors[0]), None)) if first else None
        if first is None or not factor:
            return None
        scale = abs(factor) if operation.name in _TIMES else 1 / abs(factor)
        return _Confined(first.bound * scale, operation.place)

    def _scored(self, operation: Operation) -> None:
        scores = operation.args[0] if operation.args else operation.kwargs.get("input")
        confined = self._known.get(scores)
        told = self._told.get(operation.place, 0)
        if confined is None or not isinstance(scores, torch.Tensor) or told >= _MOST_TOLD:
            return
        dim = usual_class_dim(operation.name, scores)
        if dim is not None and scores.shape[dim] > 1:
            self._told[operation.place] = told + 1
            self.emit(
                ScoresConfined(
                    step=self._course.steps,
                    location=locate(operation.place),
                    scaled_at=locate(confined.scaled_at),
                    bound=confined.bound,
                    classes=scores.shape[dim],
                )
            )


def _are_similarities(operation: Operation) -> bool:
    """Whether both factors of a product consist of vectors of length 1, along what is summed up."""
    if operation.name == "cosine_similarity":
        return True
    factors = operation.args[:2]
    if len(factors) < 2 or not all(isinstance(each, torch.Tensor) and each.dim() >= 2 for each in factors):
        return False
    second = -1 if operation.name == "linear" else -2
    return len(operation.args) == 2 and _are_units(factors[0], -1) and _are_units(factors[1], second)


def _are_units(tensor: torch.Tensor, dim: int) -> bool:
    if not tensor.is_floating_point() or not readable(tensor) or tensor.shape[dim] < 2 or not tensor.numel():
        return False
    lengths = torch.linalg.vector_norm(tensor.detach(), dim=dim)
    return float((lengths - 1).abs().max()) < _UNIT


def _number(value: Any) -> float | None:
    """A factor that is not learned."""
    if isinstance(value, torch.Tensor):
        return float(value) if value.numel() == 1 and not value.requires_grad else None
    return float(value) if isinstance(value, int | float) else None
